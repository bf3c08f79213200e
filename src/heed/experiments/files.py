"""Files that are either there and whole, or not there."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows, where nobody is kept out
    fcntl = None


def write_by_rename(path: Path, content: bytes) -> None:
    """Write beside ``path``, force it to the disk, then rename: nobody ever sees half a file.

    A full disk or a folder that may not be written raises ``OSError`` and leaves what was there.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with beside.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise


class InUse(RuntimeError):
    """Somebody else is writing there."""


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Keep a second writer out of the folder. The system lets go even after a kill -9."""
    folder.mkdir(parents=True, exist_ok=True)
    if fcntl is None:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InUse(f"another process is at work in {folder}") from None
        yield
    finally:
        os.close(descriptor)


def sha256(content: bytes) -> str:
    """The fingerprint by which a card knows its files."""
    return hashlib.sha256(content).hexdigest()
