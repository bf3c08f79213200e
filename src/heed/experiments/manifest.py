"""``export.json``: what the graphs of a model are made from, and how they are run."""

import json
from pathlib import Path
from typing import Any

from heed.experiments.files import sha256
from heed.experiments.graphs import ExportError

WEIGHTS, MANIFEST = "model.safetensors", "export.json"


def read_manifest(folder: Path) -> dict[str, Any]:
    """``export.json``, if all files are the ones it describes, made from the weights that lie
    beside them; else ``ExportError``, in one line."""
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_bytes())
        expected = {WEIGHTS: manifest["made_from"][WEIGHTS]} | {
            name: file["sha256"] for name, file in manifest["files"].items()
        }
    except FileNotFoundError:
        raise ExportError(f"{path} is missing: nothing is exported here") from None
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError, AttributeError):
        raise ExportError(f"{path} is damaged") from None
    for name in expected:
        file = folder / name
        if not file.is_file():
            raise ExportError(f"{file} is missing, though {MANIFEST} lies there")
        if sha256(file.read_bytes()) != expected[name]:
            why = (
                "has changed since the export: export again"
                if name == WEIGHTS
                else f"is not the file that {MANIFEST} describes"
            )
            raise ExportError(f"{file} {why}")
    return manifest
