"""Serve a folder on this machine and say where: python tools/serve.py _build/html"""

import argparse
import errno
import functools
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread


class Handler(SimpleHTTPRequestHandler):
    """Quiet, and sure of its types: what the system's tables say of .mjs and .wasm varies."""

    extensions_map = {  # noqa: RUF012 (the base class reads it as a class attribute)
        **SimpleHTTPRequestHandler.extensions_map,
        ".js": "text/javascript",
        ".mjs": "text/javascript",
        ".wasm": "application/wasm",
    }

    def log_message(self, format: str, *args: object) -> None:
        pass


def server(folder: Path, port: int) -> ThreadingHTTPServer:
    """A server for `folder` on `port`, or on the next free port after it."""
    handler = functools.partial(Handler, directory=str(folder))
    for candidate in range(port, port + 20):
        try:
            return ThreadingHTTPServer(("127.0.0.1", candidate), handler)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
    raise SystemExit(f"ports {port} to {port + 19} are all taken; say PORT=…")


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The address of `folder` on a free port, for as long as the block lasts."""
    running = ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Handler, directory=str(folder))
    )
    thread = Thread(target=running.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{running.server_port}"
    finally:
        running.shutdown()
        running.server_close()
        thread.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--port", type=int, default=8000)
    asked = parser.parse_args()
    if not (asked.folder / "index.html").is_file():
        raise SystemExit(f"{asked.folder} holds no book; run make book")
    running = server(asked.folder, asked.port)
    print(f"Reading at http://127.0.0.1:{running.server_port} (Ctrl-C stops)", flush=True)
    try:
        running.serve_forever()
    except KeyboardInterrupt:
        print()


if __name__ == "__main__":
    main()
