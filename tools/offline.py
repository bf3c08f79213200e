"""One zip of the whole book, for a place without a network.

    python tools/offline.py _build/html _build/attention-book.zip

    attention-book/START.txt     how to begin
    attention-book/index.html    leads to the pages, if the server was started here
    attention-book/pages/        the built book: pages, labs, their runtime and their models
    attention-book/source/       what git tracks: chapters, package, weights, data, tests

Two zips of the same book are equal byte for byte: names in order, no time of day, fixed rights.
"""

import argparse
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOP = "attention-book"
LARGEST = 150_000_000  # bytes: what fits a small stick and a patient download
LONG_AGO = (1980, 1, 1, 0, 0, 0)  # the first day that a zip can name
PACKED = {".gz", ".npz", ".png", ".woff", ".woff2", ".zip"}  # deflating these once more is idle

START = """\
Attention, from the bottleneck up

To read the book you need Python 3 and a browser, and no network:

1. Unpack this zip and open a terminal in the folder where this file lies.
2. python -m http.server --directory pages --bind 127.0.0.1
   (where there is no "python", say "python3")
3. Open http://127.0.0.1:8000/ in a browser.

The labs answer in the browser, with the trained models that lie in pages/. Opened as
files, by a double click, the pages can be read but the labs stay still: a browser loads
no module from a file.

The chapters as notebooks lie in source/chapters, the package, the weights and the data
beside them. To run them you need Python 3.11 or newer, pip and make, and a network once,
to install PyTorch and Jupyter:

    cd source
    make lab

Licences: source/LICENSE (code), source/LICENSE-text (text and figures); credits stand at
the end of source/README.md.
"""

DOOR = """\
<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<title>Attention, from the bottleneck up</title>
<link rel="icon" href="data:,">
<meta http-equiv="refresh" content="0; url=pages/">
<p><a href="pages/">To the book</a></p>
</html>
"""


def tracked(root: Path) -> list[str]:
    """What git keeps of the tree, in order, as far as it is there."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=root, check=True, stdout=subprocess.PIPE, text=True
    ).stdout.split("\0")
    return sorted(name for name in listed if name and (root / name).is_file())


def contents(site: Path, root: Path) -> Iterator[tuple[str, bytes]]:
    """Every file of the zip: its name and what is in it, in order."""
    yield "START.txt", START.encode()
    yield "index.html", DOOR.encode()
    for file in sorted(site.rglob("*")):
        name = file.relative_to(site)
        if file.is_file() and not name.parts[-1].startswith("."):  # notes of make and Sphinx
            yield f"pages/{name.as_posix()}", file.read_bytes()
    for name in tracked(root):
        yield f"source/{name}", (root / name).read_bytes()


def pack(site: Path, target: Path, root: Path = ROOT) -> int:
    """Write the zip, by rename, and return its bytes. ``ValueError`` if there is no built book."""
    if not (site / "index.html").is_file():
        raise ValueError(f"{site} holds no built book; make html builds it")
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.part")
    try:
        with zipfile.ZipFile(draft, "w") as book:
            for name, content in contents(site, root):
                entry = zipfile.ZipInfo(f"{TOP}/{name}", LONG_AGO)
                entry.create_system = 3  # Unix, wherever it is made
                executable = content.startswith(b"#!")
                entry.external_attr = (0o100755 if executable else 0o100644) << 16
                packed = Path(name).suffix in PACKED
                how = zipfile.ZIP_STORED if packed else zipfile.ZIP_DEFLATED
                book.writestr(entry, content, compress_type=how, compresslevel=6)
        size = draft.stat().st_size
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
    return size


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("site", type=Path, help="the built book, as in _build/html")
    parser.add_argument("target", type=Path, help="the zip to write")
    asked = parser.parse_args()
    try:
        size = pack(asked.site, asked.target)
    except ValueError as fault:
        sys.exit(str(fault))
    print(f"{asked.target}: {size / 1e6:.0f} MB")
    if size > LARGEST:
        sys.exit(f"more than {LARGEST / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
