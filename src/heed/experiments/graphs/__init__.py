"""Translators as ONNX graphs, for a runtime that is not PyTorch: the page's, in WebAssembly.

A translator becomes two graphs. The *encoder* reads a sentence, the *decoder* makes one step;
whoever runs them loops. Their inputs and outputs bear the names of the model's own records
(``Annotations.keep``, ``Thought.h``), a state that comes out has ``next_`` before its name.
Batch and source length are free.

The graphs are built node by node, a file for each model. A trace of our encoders would unroll
their loops and freeze the length of the source; ONNX has an operator for GRU and LSTM.

Each parameter of the model lies in exactly one of the two files, once, under its own name and in
its own layout. Turning, negating and casting are nodes, which the runtime computes once, when it
loads the file.
"""

from heed.experiments.graphs.families import FAMILIES, Family, family_of
from heed.experiments.graphs.graph import IR_VERSION, OPSET, Graph
from heed.experiments.graphs.storage import ExportError, Kind, Stored, pack

__all__ = [
    "FAMILIES",
    "IR_VERSION",
    "OPSET",
    "ExportError",
    "Family",
    "Graph",
    "Kind",
    "Stored",
    "family_of",
    "pack",
]
