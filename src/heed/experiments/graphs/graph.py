"""An ONNX graph, built node by node."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from heed.experiments.graphs.storage import Stored

OPSET, IR_VERSION = 20, 10
"""What onnxruntime-web 1.30 reads, and versions before it too."""


class Graph:
    """An ONNX graph under construction. ``graph("Tanh", x)`` adds a node and gives its output.

    wide: compute in float64 whatever is called float32. What goes in, comes out and lies in the
        file stays float32.
    prefix: of all names made up here; a graph inside another one needs its own
    """

    def __init__(
        self,
        name: str,
        parameters: Mapping[str, Stored],
        *,
        wide: bool = False,
        prefix: str = "",
    ) -> None:
        self.name = name
        self.parameters = parameters
        self.wide = wide
        self.prefix = prefix
        self.nodes: list[Any] = []
        self.initializers: dict[str, np.ndarray] = {}
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self._loaded: dict[str, str] = {}

    def takes(self, name: str, kind: str, *shape: str | int) -> str:
        """An input; a word in the shape is a size that is not known beforehand."""
        self.inputs.append(_value(name, kind, shape))
        return self.cast(name, kind) if self.wide and kind == "float32" else name

    def gives(self, name: str, kind: str, *shape: str | int) -> None:
        """An output: the node of this name."""
        self.outputs.append(_value(name, kind, shape))
        if self.wide:
            from onnx import helper

            self.nodes.append(helper.make_node("Cast", [_inside(name)], [name], to=_type(kind)))

    def __call__(self, op: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        return self.several(op, *inputs, names=(name,), **attributes)[0]

    def several(
        self, op: str, *inputs: str, names: tuple[str, ...], **attributes: Any
    ) -> list[str]:
        """A node with more than one output."""
        from onnx import helper

        outputs = [
            (_inside(name) if self.wide else name) or f"{self.prefix}{op}.{len(self.nodes)}.{i}"
            for i, name in enumerate(names)
        ]
        self.nodes.append(helper.make_node(op, inputs, outputs, **attributes))
        return outputs

    def constant(self, values: Any, kind: str = "float32") -> str:
        """Numbers of the graph's own."""
        name = f"{self.prefix}constant.{len(self.initializers)}"
        self.initializers[name] = np.asarray(values, dtype=self._inner(kind))
        return name

    def weight(self, name: str) -> str:
        """A parameter of the model, as float32; of a wide graph, the same number as float64."""
        if name not in self._loaded:
            stored = self.parameters[name]
            self.initializers[name] = stored.data
            value = name if stored.kind == "float32" else self("Cast", name, to=_type("float32"))
            if stored.scale is not None:
                self.initializers[f"{name}.scale"] = stored.scale
                value = self("Mul", value, f"{name}.scale")
            self._loaded[name] = self.cast(value, "float32") if self.wide else value
        return self._loaded[name]

    def cast(self, x: str, kind: str) -> str:
        """The same numbers in another type."""
        return self("Cast", x, to=_type(self._inner(kind)))

    def _inner(self, kind: str) -> str:
        return "float64" if self.wide and kind == "float32" else kind

    def reshape(self, x: str, *shape: int, name: str = "") -> str:
        """0 keeps an axis as it is, −1 takes what is left."""
        return self("Reshape", x, self.constant(shape, "int64"), name=name)

    def insert(self, x: str, axis: int) -> str:
        """A new axis of size 1."""
        return self("Unsqueeze", x, self.constant([axis], "int64"))

    def drop(self, x: str, axis: int, name: str = "") -> str:
        """Take an axis of size 1 away."""
        return self("Squeeze", x, self.constant([axis], "int64"), name=name)

    def split(self, x: str, sizes: list[int], axis: int) -> list[str]:
        """Cut an axis into parts."""
        return self.several(
            "Split", x, self.constant(sizes, "int64"), names=("",) * len(sizes), axis=axis
        )

    def linear(self, x: str, name: str, *, bias: bool = True, out: str = "") -> str:
        """``nn.Linear`` on rows: x Wᵀ + b."""
        both = (self.weight(f"{name}.weight"), *([self.weight(f"{name}.bias")] if bias else []))
        return self("Gemm", x, *both, transB=1, name=out)

    def sum(self, *terms: str) -> str:
        """Add them up."""
        return self("Sum", *terms)

    def proto(self) -> Any:
        """The graph as ONNX's own object."""
        from onnx import helper, numpy_helper

        weights = [numpy_helper.from_array(v, name=n) for n, v in self.initializers.items()]
        return helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, weights)

    def serialise(self) -> bytes:
        """The file, checked for what ONNX can check."""
        import onnx
        from onnx import helper

        model = helper.make_model(
            self.proto(),
            producer_name="heed",
            ir_version=IR_VERSION,
            opset_imports=[helper.make_opsetid("", OPSET)],
        )
        onnx.checker.check_model(model, full_check=True)
        return model.SerializeToString()


def _inside(name: str) -> str:
    """What an output of a wide graph is called before it is cast; nothing, if it has no name."""
    return name and f"{name}.wide"


def _type(kind: str) -> int:
    from onnx import helper

    return helper.np_dtype_to_tensor_dtype(np.dtype(kind))


def _value(name: str, kind: str, shape: tuple[str | int, ...]) -> Any:
    from onnx import helper

    return helper.make_tensor_value_info(name, _type(kind), shape)
