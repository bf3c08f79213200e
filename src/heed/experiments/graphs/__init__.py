"""Models as ONNX graphs, for a runtime that is not PyTorch: the page's, in WebAssembly.

A translator becomes two graphs. The *encoder* reads a sentence, the *decoder* makes one step;
whoever runs them loops. So does a model that describes pictures: its encoder looks at one. A
language model is one graph, the *step*; a model that makes pictures is one, too, the *painter*.
A pointer network has an encoder of points, and a decoder that scores them.
Of a machine with a memory there are two: the *start* of a sequence, and a *step*. What learns
within an *episode* is one graph, and so is the *step* of a policy.
Inputs and outputs bear the names of the model's own records (``Annotations.keep``,
``LSTMNState.tape``), a state that comes out has ``next_`` before its name. Batch, source length and
slots are free.

The graphs are built node by node, a file for each model. A trace of our encoders would unroll
their loops and freeze the length of the source; ONNX has an operator for GRU and LSTM.

Each parameter of the model lies in exactly one of the files, once, under its own name and in
its own layout. Turning, negating and casting are nodes, which the runtime computes once, when it
loads the file.
"""

from heed.experiments.graphs.families import (
    FAMILIES,
    Family,
    HeadedFamily,
    LearningFamily,
    MachineFamily,
    PaintingFamily,
    PlayingFamily,
    PointingFamily,
    ReadingFamily,
    TellingFamily,
    family_of,
)
from heed.experiments.graphs.graph import IR_VERSION, OPSET, Graph
from heed.experiments.graphs.storage import ExportError, Kind, Stored, pack

__all__ = [
    "FAMILIES",
    "IR_VERSION",
    "OPSET",
    "ExportError",
    "Family",
    "Graph",
    "HeadedFamily",
    "Kind",
    "LearningFamily",
    "MachineFamily",
    "PaintingFamily",
    "PlayingFamily",
    "PointingFamily",
    "ReadingFamily",
    "Stored",
    "TellingFamily",
    "family_of",
    "pack",
]
