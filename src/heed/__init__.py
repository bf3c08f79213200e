"""heed: the models that the book *Attention, from the bottleneck up* explains."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heed.experiments.trained import load

__all__ = ["load"]


def __getattr__(name: str) -> Any:
    # Late, so that ``import heed`` is quick and floor 0 does not import the sixth on its way.
    if name == "load":
        from heed.experiments.trained import load

        return load
    raise AttributeError(f"module 'heed' has no attribute {name!r}")
