"""Views that a reader changes: the same in the static page and in JupyterLab.

    from heed.labs import AlignmentLab

    lab = AlignmentLab("bahdanau_everyday", text="I want to know why.")
    lab                 # the view; in JupyterLab the model in the kernel answers
    lab.trace           # what it shows, as an AttentionTrace

Each lab is a small class around one question. What draws it is in ``labs/frontend``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heed.labs.alignment import AlignmentLab
    from heed.labs.bandit import BanditLab
    from heed.labs.bottleneck import BottleneckLab
    from heed.labs.eating import EatingLab
    from heed.labs.episode import EpisodeLab
    from heed.labs.heads import HeadsLab
    from heed.labs.learning import LearningLab
    from heed.labs.looking import LookingLab
    from heed.labs.mask import MaskLab
    from heed.labs.picture import PictureLab
    from heed.labs.plane import PlaneLab
    from heed.labs.pointer import PointerLab
    from heed.labs.predict import PredictLab
    from heed.labs.reading import ReadingLab
    from heed.labs.rivals import RivalsLab
    from heed.labs.tape import TapeLab
    from heed.labs.twins import TwinsLab
    from heed.labs.window import WindowLab
    from heed.labs.years import YearsLab

__all__ = [
    "AlignmentLab",
    "BanditLab",
    "BottleneckLab",
    "EatingLab",
    "EpisodeLab",
    "HeadsLab",
    "LearningLab",
    "LookingLab",
    "MaskLab",
    "PictureLab",
    "PlaneLab",
    "PointerLab",
    "PredictLab",
    "ReadingLab",
    "RivalsLab",
    "TapeLab",
    "TwinsLab",
    "WindowLab",
    "YearsLab",
]

_HOMES = {name: f"heed.labs.{name.removesuffix('Lab').lower()}" for name in __all__}


def __getattr__(name: str) -> Any:
    # Late: who only builds the pages, or steers a model by hand, needs no widgets.
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'heed.labs' has no attribute {name!r}")
