"""Write data/glyphs/strokes.npz anew, from strokes that were traced from the Noto fonts.

    .venv/bin/python tools/make_glyphs.py TRACED.npz

The file is committed; this shows what was done to the tracing, and makes the same file again.
``data/glyphs/SOURCE.md`` says how the fonts were traced. What is checked: each stroke has two
points or more, each point lies on the square, no character comes twice.
"""

import io
import re
import sys
import zipfile
from pathlib import Path

import numpy as np

from heed.data.glyphs import BOX, STROKES

ARRAYS = ("points", "stroke_len", "n_strokes", "codepoint", "script", "scripts")


def spaced(name: str) -> str:
    """``OldSouthArabian`` as one writes it: Old South Arabian; the name of N'Ko stays."""
    return "N'Ko" if name == "NKo" else re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)


def convert(traced: Path) -> dict[str, np.ndarray]:
    """The arrays of ``strokes.npz``; an ``AssertionError`` names what is not as it should be."""
    with np.load(traced, allow_pickle=False) as file:
        points, lengths, counts, characters, scripts, names = (file[name] for name in ARRAYS)
    assert lengths.min() >= 2, "a stroke of one point"
    assert lengths.sum() == len(points), "points that belong to no stroke"
    assert counts.sum() == len(lengths), "strokes that belong to no character"
    assert points.max() <= BOX, "a point beside the square"
    assert len(set(characters.tolist())) == len(characters), "a character that comes twice"
    assert (np.diff(scripts.astype(int)) >= 0).all(), "a script in two pieces"
    return {
        "points": points.astype(np.uint8),
        "strokes": lengths.astype(np.uint8),
        "glyphs": counts.astype(np.uint8),
        "characters": characters.astype(np.uint32),
        "scripts": scripts.astype(np.uint8),
        "names": np.array([spaced(name) for name in names.tolist()]),
    }


def write(arrays: dict[str, np.ndarray], path: Path) -> None:
    """The same bytes for the same arrays: no time stands in the file."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
        for name, array in arrays.items():
            content = io.BytesIO()
            np.lib.format.write_array(content, array, allow_pickle=False)
            entry = zipfile.ZipInfo(f"{name}.npy", date_time=(2000, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            file.writestr(entry, content.getvalue())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    STROKES.parent.mkdir(parents=True, exist_ok=True)
    write(convert(Path(sys.argv[1])), STROKES)
    print(f"{STROKES}: {STROKES.stat().st_size:,} bytes")
