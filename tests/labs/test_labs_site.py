"""What the labs of a static page fetch lies where they look, and arrives as it lies there."""

import gzip
import hashlib
import json
import urllib.request
from pathlib import Path

import pytest
from reader import serving

from heed.experiments.graphs import ExportError
from heed.experiments.table import trained_folder
from heed.labs.modules import FRONTEND
from heed.labs.site import RUNTIME, AssetError, copy_assets, exported

NAME = "bahdanau_grammar"
TYPES = {
    ".js": "text/javascript",
    ".mjs": "text/javascript",
    ".json": "application/json",
    ".wasm": "application/wasm",
    ".onnx": "application/octet-stream",
    ".gz": "application/gzip",
    ".css": "text/css",
}


@pytest.fixture
def vendor(tmp_path: Path) -> Path:
    """Three small files under the names of the runtime's."""
    folder = tmp_path / "vendor" / "ort"
    folder.mkdir(parents=True)
    for name in RUNTIME:
        (folder / name).write_bytes(name.encode() * 100)
    return folder.parent


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "_static"


@pytest.fixture
def trained(tmp_path: Path) -> Path:
    """A folder with one model that may be spoilt."""
    source, copy = trained_folder() / NAME, tmp_path / "trained" / NAME
    copy.mkdir(parents=True)
    for file in source.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    return copy.parent


def test_everything_is_where_the_page_looks(out: Path, vendor: Path) -> None:
    copy_assets(out, [NAME], vendor=vendor)
    fetched = {str(file.relative_to(out)) for file in out.rglob("*") if file.is_file()}
    frontend = {f"labs/{f.relative_to(FRONTEND)}" for f in FRONTEND.rglob("*") if f.is_file()}
    assert fetched == frontend | {
        "ort/ort.wasm.min.mjs",
        "ort/ort-wasm-simd-threaded.mjs",
        "ort/ort-wasm-simd-threaded.wasm.gz",
        f"models/{NAME}/export.json",
        f"models/{NAME}/vocabulary.json",
        f"models/{NAME}/encoder.onnx.gz",
        f"models/{NAME}/decoder.onnx.gz",
    }


def test_what_is_compressed_is_what_the_manifest_names(out: Path, vendor: Path) -> None:
    copy_assets(out, [NAME], vendor=vendor)
    folder = out / "models" / NAME
    files = json.loads((folder / "export.json").read_text("utf-8"))["files"]
    for name, about in files.items():
        content = gzip.decompress((folder / f"{name}.gz").read_bytes())
        assert hashlib.sha256(content).hexdigest() == about["sha256"]


def test_two_builds_give_the_same_bytes(tmp_path: Path, vendor: Path) -> None:
    for name in ("one", "two"):
        copy_assets(tmp_path / name, [NAME], vendor=vendor)
    one, two = (
        {f.relative_to(tmp_path / n): f.read_bytes() for f in (tmp_path / n).rglob("*.*")}
        for n in ("one", "two")
    )
    assert one == two


def test_a_missing_runtime_is_named(out: Path, vendor: Path) -> None:
    (vendor / "ort" / RUNTIME[1]).unlink()
    with pytest.raises(AssetError, match=rf"{RUNTIME[1]} is missing; make fetches"):
        copy_assets(out, [NAME], vendor=vendor)


def test_an_export_that_is_not_of_these_weights_is_refused(
    out: Path, vendor: Path, trained: Path
) -> None:
    assert exported(trained) == [NAME]
    copy_assets(out, [NAME], vendor=vendor, trained=trained)
    with (trained / NAME / "decoder.onnx").open("ab") as graph:
        graph.write(b"\0")
    with pytest.raises(ExportError, match=r"decoder\.onnx"):
        copy_assets(out, [NAME], vendor=vendor, trained=trained)
    (trained / NAME / "export.json").unlink()
    assert exported(trained) == []


@pytest.mark.parametrize("ending", TYPES)
def test_files_arrive_as_they_lie_there_and_with_their_type(tmp_path: Path, ending: str) -> None:
    content = gzip.compress(b"as it lies here")
    (tmp_path / f"file{ending}").write_bytes(content)
    with serving(tmp_path) as host, urllib.request.urlopen(f"{host}/file{ending}") as answer:
        assert answer.headers["Content-Type"] == TYPES[ending]
        assert answer.headers["Content-Encoding"] is None
        assert answer.read() == content


def test_models_of_all_labs_fit_into_a_page() -> None:
    """Bytes of one model, gzipped, beside 2.9 MB of runtime: 6 MB are allowed."""
    assert exported()
    for name in exported():
        folder = trained_folder() / name
        files = [folder / f for f in ("encoder.onnx", "decoder.onnx")]
        weight = sum(len(gzip.compress(file.read_bytes(), 6)) for file in files)
        assert weight < 3_100_000, name
