"""Everyday English-French sentences by Tatoeba's volunteers, as manythings.org packs them.

The text is never part of this repository: ``fetch`` downloads it, ``find`` looks where it
lies, ``load`` reads it and splits it by English sentence. One English sentence often has
several French ones; all of them are kept as accepted translations of a test sentence, and none
of them is trained on.
"""

import hashlib
import io
import json
import os
import re
import sys
import tempfile
import unicodedata
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path

from tqdm import tqdm

from heed.data.pairs import Pair
from heed.data.text import tokenize

URL = "https://www.manythings.org/anki/fra-eng.zip"
CREDIT = "Tatoeba sentence pairs, CC BY 2.0 FR, via manythings.org/anki"
LICENCE = "CC BY 2.0 FR"

SHA256 = "16c4f7d0df9e7c5e6c54cdb0447f3f4a18a55052ff5e2e0b27dd4a06c0e49d04"
"""The file that the shipped weights learnt from: 2017-09-29, 2,951,390 bytes, 142,787 pairs."""

_ARCHIVE, _TEXT = "fra-eng.zip", "fra.txt"
_FEWEST_SENTENCES = 100_000  # the file has only ever grown
_MOST_BYTES = 200_000_000
_AGENT = "Mozilla/5.0 (attention-book; python -m heed fetch tatoeba)"  # urllib's is refused
_BROKEN_ZIP = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
_INVISIBLE = re.compile(r"[\u200b\u00ad\ufeff]")


class TatoebaError(OSError):
    """The file could not be had, or is not what it should be; one line says which and why."""


@dataclass(frozen=True, kw_only=True)
class Sentences:
    """Tatoeba, split by English sentence.

    train: a pair for each distinct translation
    valid, test: a pair for each English sentence; ``references`` holds all its translations
    sha256: fingerprint of the file, for cards
    """

    train: list[Pair]
    valid: list[Pair]
    test: list[Pair]
    sha256: str


# ---------------------------------------------------------------------------- reading


def load(
    path: Path,
    *,
    longest_source: int = 30,
    longest_target: int = 40,
    valid_share: float = 0.02,
    test_share: float = 0.025,
) -> Sentences:
    """Read ``fra-eng.zip`` or ``fra.txt``: lines of English, tab, French (, tab, credit).

    Each English sentence goes to train, valid or test by a hash of its words, punctuation left
    out: always to the same one, whatever else is in the file, and "Stop !" with "Stop .".

    longest_source, longest_target: in words; longer pairs are dropped, and so are empty ones
    """
    if not 0 <= valid_share + test_share < 1:
        raise ValueError(
            f"valid_share={valid_share} and test_share={test_share} leave nothing to train on"
        )
    content = path.read_bytes()
    groups: dict[tuple[str, ...], dict[tuple[str, ...], None]] = {}
    for english, french in _rows(content, path):
        source, target = tuple(tokenize(english, "en")), tuple(tokenize(french, "fr"))
        if 1 <= len(source) <= longest_source and 1 <= len(target) <= longest_target:
            groups.setdefault(source, {})[target] = None
    train, valid, test = [], [], []
    for source, targets in groups.items():
        place = _place(source)
        if place >= valid_share + test_share:
            train += [Pair(source=source, target=target) for target in targets]
            continue
        first = next(iter(targets))
        pair = Pair(source=source, target=first, references=tuple(targets))
        (test if place < test_share else valid).append(pair)
    return Sentences(
        train=train, valid=valid, test=test, sha256=hashlib.sha256(content).hexdigest()
    )


def clean(text: str) -> str:
    """NFC; any kind of space as a plain one; no invisible letters; nothing at the ends."""
    text = _INVISIBLE.sub("", unicodedata.normalize("NFC", text))
    return " ".join(text.split())


def _rows(content: bytes, path: Path) -> list[tuple[str, str]]:
    if content[:2] == b"PK":
        content = _unpack(content, path)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise TatoebaError(f"{path} is neither a zip nor UTF-8 text") from None
    rows = _well_formed(text)
    if not rows:
        raise TatoebaError(f"{path} has no line of English, tab, French")
    return rows


def _unpack(content: bytes, path: Path | str) -> bytes:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if archive.getinfo(_TEXT).file_size > _MOST_BYTES:
                raise TatoebaError(f"{_TEXT} in {path} is larger than {_MOST_BYTES:,} bytes")
            return archive.read(_TEXT)
    except KeyError:
        raise TatoebaError(f"{path} is a zip without {_TEXT}") from None
    except _BROKEN_ZIP as fault:
        raise TatoebaError(f"{path} is a damaged zip ({fault})") from None


def _well_formed(text: str) -> list[tuple[str, str]]:
    # split("\n"), since splitlines would also cut at the odd separators inside sentences
    fields = (line.split("\t") for line in text.split("\n"))
    cleaned = ((clean(f[0]), clean(f[1])) for f in fields if len(f) >= 2)
    return [(english, french) for english, french in cleaned if english and french]


def _place(source: Iterable[str]) -> float:
    """A fixed number from [0, 1) for a sentence; Python's own hash is another in each run."""
    words = [word for word in source if any(letter.isalnum() for letter in word)]
    digest = hashlib.blake2b(" ".join(words or source).encode(), digest_size=7).digest()
    return int.from_bytes(digest, "big") / 2**56


# ---------------------------------------------------------------------------- where it lies


def cache_folder() -> Path:
    """Where downloads go: ``HEED_CACHE``, or ``attention-book`` in the user's cache folder."""
    told = os.environ.get("HEED_CACHE")
    if told:
        return Path(told).expanduser()
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "attention-book"


def find(path: Path | None = None) -> Path:
    """The file: ``path``, or the environment's ``HEED_TATOEBA``, or what ``fetch`` put away.

    Each may name the file or its folder. One that is named and holds nothing is an error,
    rather than a reason to look further. Raises ``FileNotFoundError`` with what to do.
    """
    told = os.environ.get("HEED_TATOEBA")
    if path is not None:
        place, who = path.expanduser(), "the path given"
    elif told:
        place, who = Path(told).expanduser(), "HEED_TATOEBA"
    else:
        place, who = cache_folder(), "the cache"
    for candidate in (place, place / _ARCHIVE, place / _TEXT):
        if candidate.is_file():
            return candidate
    raise FileNotFoundError(
        f"no Tatoeba sentences at {place} ({who}): `python -m heed fetch tatoeba` downloads "
        f"them, and HEED_TATOEBA or an option names a copy of {_ARCHIVE}"
    )


# ---------------------------------------------------------------------------- fetching


def fetch(destination: Path | None = None, *, url: str = URL, show: bool = True) -> Path:
    """Download ``fra-eng.zip`` into the folder ``destination`` (the cache, if none is named).

    The download is checked before anything is written, and written by rename: the folder holds
    the whole file or none. Beside it, ``fra-eng.json`` records where it came from, its size
    and sha256. The site's file grows now and then; a newer one than ours is taken, and said so.

    show: a progress bar and notes on stderr
    """
    folder = cache_folder() if destination is None else destination.expanduser()
    target = folder / _ARCHIVE
    if target.is_file() and hashlib.sha256(target.read_bytes()).hexdigest() == SHA256:
        _say(f"{target} is there already, the very file of the cards", show)
        return target
    content = _download(url, folder, show)
    pairs = _check(content, url)
    fingerprint = hashlib.sha256(content).hexdigest()
    folder.mkdir(parents=True, exist_ok=True)
    record = {"url": url, "bytes": len(content), "sha256": fingerprint, "pairs": pairs}
    record |= {"credit": CREDIT}
    _write_by_rename(target, content)
    _write_by_rename(target.with_suffix(".json"), json.dumps(record, indent=2).encode())
    _say(f"{pairs:,} pairs, sha256 {fingerprint}. {CREDIT}", show)
    if fingerprint != SHA256:
        _say(
            f"this is not the file of the cards (sha256 {SHA256}): the site has changed it "
            "since, so numbers may differ from the book's",
            show,
        )
    return target


def _download(url: str, folder: Path, show: bool) -> bytes:
    request = urllib.request.Request(url, headers={"User-Agent": _AGENT})
    by_hand = f"put {_ARCHIVE} into {folder} by hand, or name a copy with HEED_TATOEBA"
    received = io.BytesIO()
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            announced = int(answer.headers.get("Content-Length") or 0)
            with tqdm(
                total=announced or None,
                unit="B",
                unit_scale=True,
                desc=_ARCHIVE,
                disable=not show,
            ) as bar:
                while piece := answer.read(1 << 16):
                    bar.update(received.write(piece))
                    if received.tell() > _MOST_BYTES:
                        raise TatoebaError(f"{url} sends more than {_MOST_BYTES:,} bytes: refused")
    except urllib.error.HTTPError as fault:
        raise TatoebaError(f"{url} answers {fault.code} {fault.reason}; {by_hand}") from None
    except urllib.error.URLError as fault:
        raise TatoebaError(f"cannot reach {url} ({fault.reason}); {by_hand}") from None
    except TatoebaError:
        raise
    except (OSError, HTTPException, ValueError) as fault:  # a connection that breaks half-way
        raise TatoebaError(f"cannot download {url} ({fault}); {by_hand}") from None
    if announced and received.tell() != announced:
        raise TatoebaError(
            f"{url} broke off after {received.tell():,} of {announced:,} bytes; nothing was "
            "written, try again"
        )
    return received.getvalue()


def _check(content: bytes, url: str) -> int:
    """How many sentence pairs a download holds; ``TatoebaError`` if it is not a good one."""
    if content[:2] != b"PK":
        raise TatoebaError(f"{url} sends no zip file; nothing was written")
    try:
        pairs = len(_well_formed(_unpack(content, url).decode("utf-8-sig")))
    except UnicodeDecodeError:
        raise TatoebaError(f"{_TEXT} in {url} is not UTF-8; nothing was written") from None
    if pairs < _FEWEST_SENTENCES:
        raise TatoebaError(
            f"{url} holds {pairs:,} sentence pairs where {_FEWEST_SENTENCES:,} or more are "
            "expected; nothing was written"
        )
    return pairs


def _write_by_rename(path: Path, content: bytes) -> None:
    """Write beside ``path``, then rename, so that nobody ever sees half a file."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)  # mkstemp lets nobody else read
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


def _say(line: str, show: bool) -> None:
    if show:
        print(line, file=sys.stderr)
