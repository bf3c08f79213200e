"""What the labs of a static page fetch lies where they look, and arrives as it lies there."""

import gzip
import hashlib
import json
import shutil
import urllib.request
from pathlib import Path

import pytest
from playwright.sync_api import Page
from reader import ROOT, serving

from heed.experiments.export import read_manifest
from heed.experiments.graphs import ExportError
from heed.experiments.table import trained_folder
from heed.labs.modules import FRONTEND
from heed.labs.site import RUNTIME, AssetError, copy_assets, exported

NAME = "bahdanau_grammar"
VENDOR = ROOT / "book" / "_vendor"
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


def arrived(folder: Path, name: str) -> bytes:
    """A file of a model, inflated if it lies there compressed."""
    packed = folder / f"{name}.gz"
    return gzip.decompress(packed.read_bytes()) if packed.exists() else (folder / name).read_bytes()


def test_what_arrives_is_what_the_manifest_names(out: Path, vendor: Path) -> None:
    copy_assets(out, [NAME], vendor=vendor)
    folder = out / "models" / NAME
    files = json.loads((folder / "export.json").read_text("utf-8"))["files"]
    assert "vocabulary.json" in files
    for name, about in files.items():
        assert hashlib.sha256(arrived(folder, name)).hexdigest() == about["sha256"]


def of_another_kind(folder: Path, files: dict[str, bytes]) -> None:
    """Make the model in the folder one that consists of these files."""
    manifest = json.loads((folder / "export.json").read_text("utf-8"))
    for name in manifest["files"]:
        (folder / name).unlink()
    manifest["files"] = {
        name: {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
        for name, content in files.items()
    }
    for name, content in files.items():
        (folder / name).write_bytes(content)
    (folder / "export.json").write_text(json.dumps(manifest), "utf-8")


def test_a_model_may_have_other_files(out: Path, vendor: Path, trained: Path) -> None:
    files = {"eye.onnx": b"sees", "hand.onnx": b"draws", "scenes.json": b"[]", "one.onnx": b"more"}
    of_another_kind(trained / NAME, files)
    copy_assets(out, [NAME], vendor=vendor, trained=trained)
    folder = out / "models" / NAME
    assert {file.name.removesuffix(".gz") for file in folder.iterdir()} == {*files, "export.json"}
    assert {name: arrived(folder, name) for name in files} == files


def test_the_page_loads_what_the_manifest_names(
    bench: Page, assets: Path, tmp_path: Path, trained: Path
) -> None:
    """No names of files, no translator: whoever asks makes something of the parts."""
    graph = (trained / NAME / "encoder.onnx").read_bytes()
    files = {"eye.onnx": graph, "scenes.json": b'[{"cup": 3}]', "hand.onnx": graph}
    of_another_kind(trained / NAME, files)
    copy_assets(tmp_path / "out", [NAME], vendor=VENDOR, trained=trained)
    (tmp_path / "out" / "models" / NAME).rename(assets / "models" / "other")
    try:
        found = bench.evaluate(
            """async () => {
                const { model } = await import(new URL("labs/runtime.js", location.href).href);
                const { ort, manifest, sessions, scenes } = await model("other");
                return {
                    tensors: typeof ort.Tensor,
                    files: Object.keys(manifest.files),
                    inputs: Object.entries(sessions).map(([n, s]) => [n, s.inputNames]),
                    scenes,
                    once: (await model("other")) === (await model("other")),
                };
            }"""
        )
    finally:
        shutil.rmtree(assets / "models" / "other")
    inputs = ["source", "source_lengths"]
    assert found == {
        "tensors": "function",
        "files": list(files),
        "inputs": [["eye", inputs], ["hand", inputs]],
        "scenes": [{"cup": 3}],
        "once": True,
    }


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
        files = [folder / file for file in read_manifest(folder)["files"]]
        weight = sum(len(gzip.compress(file.read_bytes(), 6)) for file in files)
        assert weight < 3_100_000, name
