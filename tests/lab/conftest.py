"""JupyterLab as a reader starts it, on a free port, with folders of its own."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output
from notebook_in_lab import CELLS, Jupyter, chapters_with_labs
from run_chapters import tidy
from slices import for_labs


def committed(metadata: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """A notebook as the tree holds it: run, and tidied by the chapter runner."""
    from heed.labs import AlignmentLab

    lab = AlignmentLab("bahdanau_grammar", text="The old minister signed the agreement .")
    cell = new_code_cell("lab", execution_count=1)
    data, _ = lab._repr_mimebundle_()
    cell.outputs = [new_output("execute_result", data=data, execution_count=1)]
    notebook = new_notebook(cells=[cell], metadata=metadata)
    tidy(notebook)
    return notebook


@pytest.fixture(scope="session")
def jupyter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jupyter]:
    """The server; in its folder a notebook with each lab, and what the chapters' labs need."""
    home = tmp_path_factory.mktemp("jupyter")
    notebook = new_notebook(cells=[new_code_cell(cell.strip()) for cell in CELLS])
    notebook.metadata["kernelspec"] = {
        "name": "python3",
        "display_name": "Python 3",
        "language": "python",
    }
    nbformat.write(notebook, home / "labs.ipynb")
    nbformat.write(committed(notebook.metadata), home / "committed.ipynb")
    for path in chapters_with_labs():
        nbformat.write(for_labs(nbformat.read(path, as_version=4)), home / path.name)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = home / "config" / "labconfig"
    config.mkdir(parents=True)
    # News come from another host; the toolbar of cells throws in long notebooks, labs or none
    # (_markdownOverlapsToolbar of a cell that is scrolled away).
    without = ("apputils-extension:announcements", "cell-toolbar-extension:plugin")
    disabled = {"disabledExtensions": {f"@jupyterlab/{name}": True for name in without}}
    (config / "page_config.json").write_text(json.dumps(disabled))
    own = {
        f"JUPYTER_{kind}_DIR": str(home / kind.lower()) for kind in ("CONFIG", "DATA", "RUNTIME")
    }
    programs = str(Path(sys.executable).parent)
    environment = os.environ | own
    environment |= {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "OMP_NUM_THREADS": "1"}
    said = (home / "server.log").open("w")
    server = subprocess.Popen(
        [
            *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"),
            *("--ip=127.0.0.1", f"--port={port}", "--ServerApp.port_retries=0"),
            *("--IdentityProvider.token=", "--ServerApp.password="),
            f"--ServerApp.root_dir={home}",
            "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
            "--ServerApp.disable_check_xsrf=True",  # so that the tests can end a kernel
        ],
        cwd=home,
        env=environment,
        stdout=said,
        stderr=subprocess.STDOUT,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        _wait(server, f"{address}/api/status", home / "server.log")
        yield Jupyter(address)
    finally:
        server.terminate()
        try:
            server.wait(30)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
        said.close()


def _wait(server: subprocess.Popen[bytes], url: str, log: Path, patience: float = 120) -> None:
    until = time.monotonic() + patience
    while time.monotonic() < until:
        assert server.poll() is None, log.read_text()
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except OSError:
            time.sleep(0.2)
    raise AssertionError(f"JupyterLab did not start:\n{log.read_text()}")
