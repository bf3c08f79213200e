"""Files that are either there and whole, or not there."""

import hashlib
import os
from contextlib import suppress
from pathlib import Path


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


def sha256(content: bytes) -> str:
    """The fingerprint by which a card knows its files."""
    return hashlib.sha256(content).hexdigest()
