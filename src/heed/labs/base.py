"""What all labs share: settings come in, an answer goes out, and a page can show both.

A lab is an ``anywidget`` whose view (``labs/frontend``) sets *settings* and draws the *answer*.
Here the model in the kernel answers. In a static page nobody is there to observe, so the same cell
leaves a ``<heed-lab>`` element behind: settings and answer as JSON, the answer drawn as plain HTML,
and a module that takes over with the exported weights.
"""

import json
import math
import re
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar, cast, overload

import anywidget
import traitlets
from IPython.core.getipython import get_ipython
from torch import Tensor, nn

from heed.data.text import tokenize
from heed.data.vocabulary import EOS, SPECIALS, Vocabulary
from heed.evaluation.decoding import Hypothesis
from heed.experiments.table import trained_folder
from heed.experiments.trained import Trained, load
from heed.labs import modules
from heed.trace import AttentionTrace

LONGEST = 60
"""Words of a text that are read; the models have seen no longer sentence."""

CHARACTERS = 5_000
"""Of a text, at most: who pastes a book waits for no tokeniser."""

END = SPECIALS[EOS]

HALF = re.compile("[\ud800-\udfff]")


# ---------------------------------------------------------------------------- what goes in


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A typed text as a model reads it.

    words: at most ``LONGEST``; of: how many there were
    known: for each word whether the vocabulary has it, and True for the ``EOS`` that follows
    message: ``""``, or what the reader should be told: ``"empty"``, ``"unknown"`` (not one word
        of it is known) or ``"long"`` (it was cut)
    """

    words: tuple[str, ...]
    of: int
    known: tuple[bool, ...]
    message: str

    @property
    def source(self) -> list[str]:
        """The words and the end of the sentence; nothing for no words."""
        return [*self.words, END] if self.words else []

    def told(self) -> dict[str, Any]:
        """The part of every answer that is about the text."""
        return {
            "source": self.source,
            "known": list(self.known),
            "read": len(self.words),
            "of": self.of,
            "message": self.message,
        }


def read(text: str, *vocabularies: Vocabulary) -> Reading:
    """Cut an English text into words; known are those that every vocabulary has."""
    every = tokenize(text[:CHARACTERS], "en")
    words = tuple(every[:LONGEST])
    known = [all(word in vocabulary for vocabulary in vocabularies) for word in words]
    if not words:
        message = "empty"
    elif not any(known):
        message = "unknown"
    else:
        message = "long" if len(every) > len(words) else ""
    return Reading(
        words=words,
        of=len(every),
        known=(*known, True) if words else (),
        message=message,
    )


def spoken(hypothesis: Hypothesis, vocabulary: Vocabulary) -> list[str]:
    """The words of a hypothesis; the end is one of them if the model wrote it."""
    words = vocabulary.decode(hypothesis.tokens)
    return [*words, END] if hypothesis.finished else words


def resolve(trained: Trained | str, lab: str) -> Trained:
    """A trained model, or the name of a shipped one."""
    if isinstance(trained, str):
        return load(trained)
    if not isinstance(trained, Trained):
        raise TypeError(
            f"{lab} needs a model as heed.load gives it, or its name, "
            f"not a {type(trained).__name__}"
        )
    return trained


class Asked:
    """A trained model that a lab asks, as in ``fixed = Asked(Seq2Seq, "shows the vector of")``.

    Takes what ``heed.load`` gives, the name of a shipped model, or a bare model that knows the
    words of the one before; the lab then answers anew.

    kind: what the model must be, or one of what; does: and what the lab does with it. Anything if
        not given.
    """

    def __init__(self, kind: type | tuple[type, ...] | None = None, does: str = "") -> None:
        kinds = kind if isinstance(kind, tuple) else (kind,) if kind is not None else ()
        self.kinds, self.does = kinds, does

    def __set_name__(self, owner: type, name: str) -> None:
        self.place = f"_{name}"

    @overload
    def __get__(self, lab: None, owner: Any = None) -> "Asked": ...
    @overload
    def __get__(self, lab: "Lab", owner: Any = None) -> Trained: ...
    def __get__(self, lab: "Lab | None", owner: Any = None) -> "Asked | Trained":
        return self if lab is None else getattr(lab, self.place)

    def __set__(self, lab: "Lab", trained: Trained | str | nn.Module) -> None:
        name = type(lab).__name__
        if isinstance(trained, nn.Module) and hasattr(lab, self.place):
            trained = in_place_of(getattr(lab, self.place), trained)
        trained = resolve(cast(Any, trained), name)
        if self.kinds and not isinstance(trained.model, self.kinds):
            wanted = " or a ".join(each.__name__ for each in self.kinds)
            raise TypeError(
                f"{name} {self.does} a {wanted}, "
                f"and {trained.card.experiment} is a {type(trained.model).__name__}"
            )
        before = getattr(lab, self.place, None)
        setattr(lab, self.place, trained)
        if not getattr(lab, "_count", 0):  # not before the first answer
            return
        try:
            lab.refresh()
        except Exception:
            setattr(lab, self.place, before)  # the lab goes on with the one it had
            lab.refresh()
            raise


def in_place_of(trained: Trained, model: Any) -> Trained:
    """The same vocabularies and card with another model, which must have as many words."""
    config = getattr(model, "config", None)
    for size, words in (
        ("source_vocab", "source_vocab"),
        ("target_vocab", "target_vocab"),
        ("vocab", "vocabulary"),
    ):
        there, here = getattr(config, size, None), getattr(trained, words, None)
        if there is not None and here is not None and there != len(here):
            kind = size.removesuffix("vocab").replace("_", " ")
            raise ValueError(
                f"this model has {there} {kind}words, but the lab's vocabulary has {len(here)}"
            )
    return replace(trained, model=model)


def shipped(models: Sequence[Trained]) -> list[str]:
    """Names under which a page finds these models; none if one of them is not as shipped."""
    names = [each.card.experiment for each in models]
    homes = [trained_folder() / name for name in names]
    if [each.folder for each in models] != homes or any(each.changed for each in models):
        return []
    return names


# ---------------------------------------------------------------------------- changed models

_living: "weakref.WeakSet[Lab]" = weakref.WeakSet()


def fingerprint(model: Any) -> tuple[Any, ...]:
    """Differs when a parameter or buffer of the model was changed or exchanged.

    PyTorch counts changes in place in ``_version``. It does not count those through ``.data``,
    so the sum of the numbers is looked at as well.
    """
    if not isinstance(model, nn.Module):
        return (id(model),)
    parts = tuple(id(module) for module in model.modules())
    return parts + tuple(_state(tensor) for tensor in (*model.parameters(), *model.buffers()))


def _state(tensor: Tensor) -> tuple[int, int, str]:
    version = 0 if tensor.is_inference() else tensor._version
    total = tensor.detach().sum().item()
    return id(tensor), version, repr(total)  # repr: a NaN does not equal itself


def _after_cell(*_: Any) -> None:
    """Labs whose model was changed by the cell that just ran answer again."""
    labs = list(_living)
    models = {id(each.model): each.model for lab in labs for each in lab.asked()}
    now = {key: fingerprint(model) for key, model in models.items()}
    faults = []
    for lab in labs:
        prints = [now[id(each.model)] for each in lab.asked()]
        if prints == lab._prints:
            continue
        try:
            lab.refresh()
        except Exception as fault:  # the others have their own models
            faults.append(fault)
    if faults:
        raise ExceptionGroup("labs whose model failed", faults)  # the shell shows it and goes on


def _watch(lab: "Lab") -> None:
    _living.add(lab)
    shell = get_ipython()
    if shell is None:
        return
    if _after_cell not in shell.events.callbacks["post_run_cell"]:
        shell.events.register("post_run_cell", _after_cell)


# ---------------------------------------------------------------------------- what goes out


def rounded(value: Any, digits: int) -> Any:
    """The same JSON value with fewer digits; whole numbers lose their point, and what is no
    number, which JSON cannot say, is None."""
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        short = round(value, digits)
        return int(short) if short.is_integer() else short
    if isinstance(value, Mapping):
        return {key: rounded(each, digits) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(each, digits) for each in value]
    return value


def in_script(value: Any) -> str:
    """JSON that may stand in a <script>: no character of it can end the element."""
    text = json.dumps(rounded(value, 4), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    escapes = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}
    return text.translate(str.maketrans(escapes | {"\u2028": "\\u2028", "\u2029": "\\u2029"}))


@cache
def strings(language: str = "en") -> dict[str, str]:
    """The words of the interface."""
    return json.loads((modules.FRONTEND / f"strings.{language}.json").read_text("utf-8"))


class Finite(traitlets.Float):
    """A number that JSON can say: neither NaN, which is in no range and out of none, nor ∞."""

    def validate(self, obj: Any, value: Any) -> float:
        try:
            number = super().validate(obj, value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise traitlets.TraitError(f"{self.name}={number:g} is no finite number")
        return number


class Lab(anywidget.AnyWidget):
    """A view with a model behind it.

    A subclass says what a reader may change (``settings``), which of that the answer depends on
    (``asks``; nothing if nothing is computed), what the view is told once (``facts``), which models
    it asks (an ``Asked`` for each), what it finds (``find``) and how that is drawn without
    JavaScript (``drawn``).

    ``answer`` is what the view draws; its ``count`` goes up by one with each answer, and its
    ``asked`` says which settings it is about: while another text is on its way, the view knows that
    the map it has is not that text's. ``trace`` is the attention on screen. A setting that comes
    from a browser is bent into its range; one that is wrong in Python is refused.
    """

    kind: ClassVar[str] = ""
    settings: ClassVar[tuple[str, ...]] = ()
    asks: ClassVar[tuple[str, ...]] = ()
    facts: ClassVar[tuple[str, ...]] = ()
    _models: ClassVar[tuple[str, ...]] = ()

    answer = traitlets.Dict().tag(sync=True)
    strings = traitlets.Dict().tag(sync=True)
    models = traitlets.List(traitlets.Unicode()).tag(sync=True)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in cls.settings:
            # ipywidgets sends a view its own settings back. While a slider moves they are old
            # when they arrive, and the slider would jump back under the reader's hand.
            getattr(cls, name).tag(echo_update=False)
        # More, not other ones: a widget with traits of its own is made a subclass of its class.
        cls._models += tuple(name for name, each in vars(cls).items() if isinstance(each, Asked))

    def __init__(self, **given: Any) -> None:
        allowed = (*self.settings, *self.facts)
        strange = next((name for name in given if name not in allowed), None)
        if strange is not None:
            raise TypeError(
                f"{type(self).__name__} has no setting {strange!r}; "
                f"it has {', '.join(self.settings)}"
            )
        self._trace: AttentionTrace | None = None
        self._prints: list[tuple[Any, ...]] = []
        self._holding = False
        self._count = 0
        super().__init__(strings=strings(), **given)
        for name in self.asks:
            self.observe(lambda change: self._asked(), names=name)
        _watch(self)

    @property
    def _esm(self) -> str:  # anywidget makes a trait of it
        return modules.bundle(f"{self.kind}.js")

    @property
    def _css(self) -> str:
        return modules.style()

    @traitlets.validate("text")
    def _text(self, proposal: Mapping[str, Any]) -> str:
        """Half a character, as JavaScript knows them, can be sent to no browser and no file."""
        return HALF.sub("\N{REPLACEMENT CHARACTER}", proposal["value"])

    # ------------------------------------------------------------------ for subclasses

    def find(self) -> tuple[dict[str, Any], AttentionTrace | None]:
        """The answer to the settings as they are, and the attention in it."""
        raise NotImplementedError

    def drawn(self) -> str:
        """The answer as HTML, for who has no JavaScript, or not yet."""
        raise NotImplementedError

    # ------------------------------------------------------------------ for readers

    def asked(self) -> tuple[Trained, ...]:
        """The models that the lab asks."""
        return tuple(getattr(self, name) for name in self._models)

    @property
    def model(self) -> Any:
        """The translator alone, in a lab that asks one; assign another that knows its words."""
        return getattr(self, self._only()).model

    @model.setter
    def model(self, model: Any) -> None:
        name = self._only()
        setattr(self, name, in_place_of(getattr(self, name), model))

    def _only(self) -> str:
        if len(self._models) != 1:
            raise AttributeError(
                f"{type(self).__name__} has no model that could be exchanged alone"
            )
        return self._models[0]

    @property
    def trace(self) -> AttentionTrace:
        """The attention on screen."""
        if self._trace is None:
            raise ValueError(f"{type(self).__name__} shows no attention now")
        return self._trace

    def refresh(self) -> None:
        """Ask the models again. Needed only where no notebook does it after each cell, or when
        something other than weights was changed."""
        self._prints = [fingerprint(each.model) for each in self.asked()]
        self.recount()
        self._find()

    def recount(self) -> None:
        """Compute anew what the view is told once, where a model has part in it."""

    # ------------------------------------------------------------------ the exchange

    def open(self) -> None:
        """Once, before the view exists: it gets its first answer with everything else."""
        self._prints = [fingerprint(each.model) for each in self.asked()]
        self._find()
        super().open()

    def close(self) -> None:
        _living.discard(self)
        super().close()
        vars(self).pop("_repr_mimebundle_", None)  # ipywidgets puts None there: nothing to show

    def set_state(self, sync_data: dict[str, Any]) -> None:
        """What a view sends: several settings at once, and one answer to them all."""
        tame = {name: value for name, value in self._tamed(sync_data)}
        with self._one_answer():
            super().set_state(tame)
        corrected = [
            name for name in self.settings if name in sync_data and not _same(tame, sync_data, name)
        ]
        if corrected:
            self.send_state(corrected)
        # Even if nothing changed: the view waits for a count that is another one.
        if any(name in self.asks for name in sync_data):
            self._find()

    def _tamed(self, state: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        for name, value in state.items():
            if name in self.settings:
                try:
                    yield name, tamed(self.traits()[name], self, value)
                except (traitlets.TraitError, TypeError, ValueError, OverflowError):
                    continue
            elif name not in (*self.facts, "answer", "strings", "models"):
                yield name, value

    @contextmanager
    def _one_answer(self) -> Iterator[None]:
        self._holding = True
        try:
            yield
        finally:
            self._holding = False

    def _asked(self) -> None:
        if not self._holding:
            self._find()

    def _find(self) -> None:
        self._count += 1
        # The page has the models as they were shipped: a changed one would say otherwise there.
        self.models = shipped(self.asked())
        try:
            answer, self._trace = self.find()
        except Exception:
            # A reader's own model may fail. The view must not wait for it, and the reader is told.
            self._trace = None
            self.answer = {**self.answer, "message": "failed", "count": self._count}
            raise
        asked = {name: getattr(self, name) for name in self.asks}
        self.answer = {**rounded(answer, 6), "asked": asked, "count": self._count}

    # ------------------------------------------------------------------ the page

    def html(self) -> str:
        """The element that the page makes a lab of."""
        content = {name: getattr(self, name) for name in (*self.facts, "models")}
        content["settings"] = {name: getattr(self, name) for name in self.settings}
        content["asks"] = bool(self.asks)
        if not self.asked():
            content["models"] = None  # none is missing: the page computes the answer by itself
        content["answer"] = {**self.answer, "count": 1}
        return (
            f'<div class="heed-lab-frame"><heed-lab kind="{self.kind}" class="heed-lab">'
            f'<script type="application/json">{in_script(content)}</script>'
            f"{self.drawn()}</heed-lab></div>"
        )

    def __repr__(self) -> str:
        shown = f"{self.text!r}" if self.has_trait("text") else ""  # type: ignore[attr-defined]
        return f"{type(self).__name__}({shown})"

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        if self.comm is None:  # closed: there is no view any more
            return {"text/plain": repr(self), "text/html": self.html()}, {}
        bundle = cast(Any, super()._repr_mimebundle_(**kwargs))
        if bundle is None:
            return None
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        return {**data, "text/html": self.html()}, metadata


def _same(tame: Mapping[str, Any], sent: Mapping[str, Any], name: str) -> bool:
    return name in tame and tame[name] == sent[name]


def tamed(trait: Any, lab: Lab, value: Any) -> Any:
    """A value that a browser sent, bent into the trait's range; an error where that cannot be."""
    if isinstance(trait, traitlets.Float | traitlets.Int):
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not math.isfinite(value)
        ):
            raise ValueError(f"{value!r} is no number")
        low = -math.inf if trait.min is None else trait.min
        high = math.inf if trait.max is None else trait.max
        bent = min(max(value, low), high)
        value = float(bent) if isinstance(trait, traitlets.Float) else int(bent)
    return trait._validate(lab, value)


def whole_numbers(values: Iterable[Any]) -> list[int]:
    """Those of the values that are whole numbers."""
    return [value for value in values if isinstance(value, int) and not isinstance(value, bool)]


class ChoiceLab(Lab):
    """A lab that asks one of several models, by the names that a reader sees.

    A subclass may say what each model must be and what the lab does with it (``kinds``, ``does``),
    what cannot be done with a single one (``with_several``), what the view is told of a model
    besides its name and note (``told_of``), and which settings and facts follow from the models
    where they are not given (``first``).
    """

    kinds: ClassVar[type | None] = None
    does: ClassVar[str] = "asks a"
    with_several: ClassVar[str | None] = None

    choice = traitlets.Int(0, min=0).tag(sync=True)
    choices = traitlets.List(traitlets.Dict()).tag(sync=True)

    def __init__(
        self,
        trained: Mapping[str, Trained | str],
        notes: Mapping[str, str] | None = None,
        **given: Any,
    ) -> None:
        name, notes = type(self).__name__, notes or {}
        if not trained:
            raise ValueError(f"a {name} needs a model, and got none")
        if self.with_several and len(trained) < 2:
            raise ValueError(f"there is nothing to {self.with_several} with 1 model")
        strange = next((each for each in notes if each not in trained), None)
        if strange is not None:
            raise ValueError(f"a note on {strange!r}, but the models are {', '.join(trained)}")
        if "choices" in given:
            raise TypeError(f"the choices of a {name} are made from its models")
        self._trained = [self._checked(each) for each in trained.values()]
        self._notes = {label: notes.get(label, "") for label in trained}
        super().__init__(choices=self.told(), **(self.first(given) | given))

    def _checked(self, trained: Trained | str) -> Trained:
        found = resolve(trained, type(self).__name__)
        if self.kinds is not None and not isinstance(found.model, self.kinds):
            raise TypeError(
                f"{type(self).__name__} {self.does} {self.kinds.__name__}, "
                f"and {found.card.experiment} is a {type(found.model).__name__}"
            )
        return found

    @traitlets.validate("choice")
    def _choice(self, proposal: Mapping[str, Any]) -> int:
        choice = proposal["value"]
        if choice >= len(self._trained):
            raise traitlets.TraitError(f"choice={choice}, but there are {len(self._trained)}")
        return choice

    def asked(self) -> tuple[Trained, ...]:
        return tuple(self._trained)

    def told(self) -> list[dict[str, Any]]:
        """What the view knows of each model."""
        return [
            {"label": label, "note": note} | self.told_of(each)
            for (label, note), each in zip(self._notes.items(), self._trained, strict=True)
        ]

    def told_of(self, trained: Any) -> dict[str, Any]:
        return {}

    def first(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Settings and facts that follow from the models, where they are not among those given."""
        return {}
