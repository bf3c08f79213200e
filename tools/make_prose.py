"""Write data/prose/sentences.txt anew: clean English sentences from Python docstrings.

    .venv/bin/python tools/make_prose.py

Docstrings change with every patch version, so the file is committed and nothing is trained on what
this prints elsewhere. It says which versions it read; data/prose/SOURCE.md has those of the file.
"""

import ast
import re
import sys
import sysconfig
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from heed.data.text import tokenize

OUT = Path(__file__).resolve().parents[1] / "data" / "prose" / "sentences.txt"
PACKAGES = ("numpy", "scipy", "scikit-learn")
FOLDERS = {"scikit-learn": "sklearn"}
SKIPPED = {
    "site-packages",
    "test",
    "tests",
    "idlelib",
    "lib2to3",
    "turtledemo",
    "_vendor",
    "externals",
}
SHORTEST, LONGEST = 6, 28
"""Words, punctuation among them."""

SENTENCE = re.compile(r"[A-Z](?:[A-Za-z]|[ ,;:'()-](?! ?-))*[.!?]")
"""Letters and plain punctuation: no code, no numbers, no markup."""
CODE = re.compile(r"[a-z][A-Z]|\b[b-hj-zB-HJ-Z]\b(?!')|[A-Z]{3,} [A-Z]{3,}|\(\)")
"""camelCase, one-letter names, shouting, calls."""
NOT_PROSE = re.compile(r">>>|::|={4,}|-{4,}")


def docstrings(folder: Path) -> Iterator[str]:
    """All docstrings below a folder, file by file."""
    for file in sorted(folder.rglob("*.py")):
        if SKIPPED & set(file.relative_to(folder).parts):
            continue
        try:
            tree = ast.parse(file.read_text("utf-8"))
        except (SyntaxError, UnicodeDecodeError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield ast.get_docstring(node) or ""


def sentences(docstring: str) -> Iterator[str]:
    """The sentences of its paragraphs that read as English."""
    for paragraph in re.split(r"\n\s*\n", docstring):
        if NOT_PROSE.search(paragraph):
            continue
        for found in re.split(r"(?<=[.!?])\s+(?=[A-Z])", " ".join(paragraph.split())):
            plain = found.replace("e.g.", "eg").replace("i.e.", "ie")
            if SENTENCE.fullmatch(plain) and not CODE.search(found):
                yield found


def main() -> None:
    stdlib = Path(sysconfig.get_paths()["stdlib"])
    site = Path(sysconfig.get_paths()["purelib"])
    folders = [stdlib, *(site / FOLDERS.get(name, name) for name in PACKAGES)]
    kept: dict[tuple[str, ...], str] = {}  # by its words: no sentence twice
    for folder in folders:
        before = len(kept)
        for docstring in docstrings(folder):
            for sentence in sentences(docstring):
                words = tuple(tokenize(sentence, "en"))
                if SHORTEST <= len(words) <= LONGEST:
                    kept.setdefault(words, sentence)
        print(f"{folder.name}: {len(kept) - before:,} sentences")
    OUT.parent.mkdir(parents=True, exist_ok=True)
    text = "\n".join(sorted(kept.values())) + "\n"
    OUT.write_text(text, encoding="utf-8", newline="\n")
    print(f"{len(kept):,} sentences, {sum(map(len, kept)):,} words, {len(text):,} bytes")
    print(
        f"Python {sys.version.split()[0]},",
        ", ".join(f"{p} {metadata.version(p)}" for p in PACKAGES),
    )


if __name__ == "__main__":
    main()
