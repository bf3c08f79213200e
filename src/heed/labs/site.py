"""What the labs of a static page fetch: put it where the page looks for it.

    OUT/labs/            the front end, as it lies in labs/frontend
    OUT/ort/             onnxruntime-web
    OUT/models/NAME/     export.json and the files that it lists: the graphs of a model, its words

What is large is compressed here, as .gz, since many hosts of static pages compress neither
WebAssembly nor ONNX; ``frontend/runtime.js`` inflates it.
"""

import gzip
import shutil
from collections.abc import Iterable
from pathlib import Path

from heed.experiments.export import MANIFEST, read_manifest
from heed.experiments.table import trained_folder
from heed.labs.modules import FRONTEND

RUNTIME = ("ort.wasm.min.mjs", "ort-wasm-simd-threaded.mjs", "ort-wasm-simd-threaded.wasm")
_COMPRESSED = {".wasm", ".onnx"}


class AssetError(RuntimeError):
    """Something that the pages need is not there."""


def exported(trained: Path | None = None) -> list[str]:
    """The names of all models that can answer in a page."""
    folder = trained or trained_folder()
    return sorted(manifest.parent.name for manifest in folder.glob(f"*/{MANIFEST}"))


def copy_assets(
    out: Path, models: Iterable[str], *, vendor: Path, trained: Path | None = None
) -> None:
    """Fill ``out``. ``AssetError`` if the runtime is missing, ``ExportError`` if a model's export
    is not whole or not made from the weights beside it.

    vendor: holds ort/ with the three files of onnxruntime-web
    trained: holds a folder for each model; the shipped ones by default
    """
    shutil.copytree(FRONTEND, out / "labs", dirs_exist_ok=True)
    # Sphinx copies all of book/_vendor, and 11 MB of WebAssembly that nobody fetches with it.
    shutil.rmtree(out / "ort", ignore_errors=True)
    for name in RUNTIME:
        source = vendor / "ort" / name
        if not source.is_file():
            raise AssetError(f"{source} is missing; make fetches onnxruntime-web")
        _put(source, out / "ort")
    for name in models:
        folder = (trained or trained_folder()) / name
        for file in (MANIFEST, *read_manifest(folder)["files"]):
            _put(folder / file, out / "models" / name)


def _put(source: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if source.suffix in _COMPRESSED:
        content = gzip.compress(source.read_bytes(), mtime=0)
        (folder / f"{source.name}.gz").write_bytes(content)
    else:
        shutil.copyfile(source, folder / source.name)
