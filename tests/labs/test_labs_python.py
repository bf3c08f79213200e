"""The Python side of the labs: settings, answers, changed models, and what a page is given."""

import json
import math
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import jaxtyping
import numpy as np
import pytest
import torch
import traitlets
from bs4 import BeautifulSoup
from IPython.core.interactiveshell import InteractiveShell
from small_learners import BANDIT, GLYPHS
from small_learners import untrained as small_learner
from small_machines import untrained as small_machine
from small_painters import untrained as small_painters
from small_picture_models import untrained as small_captioners
from small_pointers import untrained as small_pointers
from small_readers import untrained
from small_transformers import untrained as small_transformer

import heed
from heed.data.grammar import Grammar, classic
from heed.data.pairs import Pair
from heed.experiments.export import as_exported
from heed.experiments.trained import Trained
from heed.labs import (
    AlignmentLab,
    BanditLab,
    BottleneckLab,
    EatingLab,
    EpisodeLab,
    HeadsLab,
    LearningLab,
    LookingLab,
    MaskLab,
    PictureLab,
    PlaneLab,
    PointerLab,
    PredictLab,
    ReadingLab,
    RivalsLab,
    TapeLab,
    TwinsLab,
    WindowLab,
    YearsLab,
)
from heed.labs import base as labs_base
from heed.models.bahdanau import Bahdanau
from heed.models.seq2seq import Seq2Seq
from heed.trace import AttentionTrace
from heed.viz.bottleneck import common

TEXT = "The old minister signed the agreement ."
NASTY = "</script><img src=x onerror=alert(1)> & the <b>cat</b> \u2028 \"'"


@pytest.fixture(scope="module")
def attended() -> Trained:
    return heed.load("bahdanau_grammar")


@pytest.fixture(scope="module")
def fixed() -> Trained:
    return heed.load("seq2seq_grammar")


@pytest.fixture
def own(attended: Trained) -> Trained:
    """A copy that a test may spoil."""
    twin = Bahdanau(attended.model.config)
    twin.load_state_dict(attended.model.state_dict())
    return replace(attended, model=twin.eval())


@pytest.fixture
def lab(attended: Trained) -> Iterator[AlignmentLab]:
    made = AlignmentLab(attended, text=TEXT)
    yield made
    made.close()


# ---------------------------------------------------------------------------- the alignment lab


def test_left_alone_it_says_what_the_model_says(lab: AlignmentLab, attended: Trained) -> None:
    plain = attended.translate(TEXT)
    assert lab.answer["source"] == [*plain.source, "</s>"]
    assert lab.answer["target"] == [*plain.words, "</s>"]
    assert lab.answer["log_prob"] == pytest.approx(plain.log_prob, abs=1e-5)
    assert lab.answer["alone"] is None
    assert lab.answer["message"] == ""
    np.testing.assert_allclose(lab.answer["weights"], plain.weights, atol=1e-6)
    np.testing.assert_array_equal(lab.trace.weights[0], plain.weights)
    assert lab.trace.query.labels == (*plain.words, "</s>")


@pytest.mark.parametrize(
    "settings",
    [{}, {"temperature": 3.0}, {"look": "shuffled", "shuffle": 2}, {"width": 3, "hidden": [1]}],
    ids=str,
)
def test_probabilities_multiply_to_that_of_the_sentence(
    attended: Trained, settings: dict[str, Any]
) -> None:
    made = AlignmentLab(attended, text=TEXT, **settings)
    assert len(made.answer["probability"]) == len(made.answer["target"])
    total = sum(math.log(p) for p in made.answer["probability"])
    assert total == pytest.approx(made.answer["log_prob"], abs=1e-4 * len(made.answer["target"]))
    made.close()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", 4.0),
        ("hidden", [1, 2]),
        ("look", "uniform"),
        ("look", "shuffled"),
        ("width", 5),
        ("text", "She will admire Louis ."),
    ],
)
def test_each_setting_changes_the_answer(lab: AlignmentLab, name: str, value: Any) -> None:
    lab.text = "The company that the lawyers are criticizing zqx be criticized ."
    before, count = dict(lab.answer), lab.answer["count"]
    setattr(lab, name, value)
    assert lab.answer["count"] == count + 1
    same = {**lab.answer, "count": count}
    if name == "width":  # a beam may find no better sentence, but never a worse one
        assert lab.answer["log_prob"] >= before["log_prob"] - 1e-4
    else:
        assert same != before


def test_yours_and_only(lab: AlignmentLab) -> None:
    lab.look = "yours"
    assert lab.answer["alone"] is None  # no row yet
    lab.rows = {0: [2], "1": [3, 4]}
    assert lab.rows == {"0": [2], "1": [3, 4]}
    assert lab.answer["weights"][0][2] == 1
    assert lab.answer["weights"][1][3:5] == [0.5, 0.5]
    assert lab.answer["alone"]["target"][-1] == "</s>"
    lab.only = 1
    assert lab.answer["weights"][0][2] < 1
    assert lab.answer["weights"][1][3:5] == [0.5, 0.5]


def test_alone_is_the_same_search_without_steering(lab: AlignmentLab) -> None:
    lab.width = 2
    plain = dict(lab.answer)
    lab.temperature = 5.0
    assert lab.answer["alone"] == {
        "target": plain["target"],
        "copied": plain["copied"],
        "log_prob": pytest.approx(plain["log_prob"], abs=1e-5),
    }


@pytest.mark.parametrize(
    ("hidden", "neutral"), [([], True), ([99, -1], True), ([1], False), (list(range(8)), True)]
)
def test_hidden_positions_that_do_not_count(
    lab: AlignmentLab, hidden: list[int], neutral: bool
) -> None:
    assert len(lab.answer["source"]) == 8
    lab.hidden = hidden
    assert (lab.answer["alone"] is None) is neutral


def test_unknown_words_are_copied_from_where_they_are_looked_at() -> None:
    made = AlignmentLab("bahdanau_everyday", text="I met Leibniz at the station yesterday.")
    at, place = made.answer["target"].index("<unk>"), made.answer["source"].index("leibniz")
    assert made.answer["copied"][at] == place
    assert made.answer["copied"].count(-1) == len(made.answer["target"]) - 1
    assert not made.answer["known"][place]
    made.copy = False
    assert set(made.answer["copied"]) == {-1}
    made.close()


@pytest.mark.parametrize(
    ("text", "message", "read", "of"),
    [
        ("", "empty", 0, 0),
        (" \n\t", "empty", 0, 0),
        ("zqx vlurp", "unknown", 2, 2),
        ("the " * 500, "long", 60, 500),
        ("zqx " * 61, "unknown", 60, 61),
        ("the " * 60, "", 60, 60),
        ("שלום 😀", "unknown", 2, 2),
    ],
)
def test_odd_texts_get_a_sentence(
    lab: AlignmentLab, text: str, message: str, read: int, of: int
) -> None:
    lab.text = text
    found = [lab.answer[key] for key in ("message", "read", "of")]
    assert found == [message, read, of]
    assert len(lab.answer["known"]) == len(lab.answer["source"]) == (read + 1 if read else 0)
    assert len(lab.answer["weights"]) == len(lab.answer["target"])
    json.dumps(lab.answer, allow_nan=False)
    assert lab.html()
    if not read:
        assert lab.answer["target"] == []
        with pytest.raises(ValueError, match="AlignmentLab shows no attention now"):
            _ = lab.trace


def test_a_luong_is_steered_through_its_window() -> None:
    made = AlignmentLab("luong_local_p_reverse", text="a b c d e f", look="shuffled", shuffle=1)
    assert made.answer["alone"]["target"] == [*"fedcba", "</s>"]
    made.look = "own"
    assert made.answer["alone"] is None
    assert made.answer["target"] == [*"fedcba", "</s>"]
    assert (np.array(made.answer["weights"]).sum(1) < 1).all()
    made.hidden = [5]
    assert made.answer["weights"][0][5] == 0
    made.close()


# ---------------------------------------------------------------------------- the others


def test_the_bottleneck_lab_compares(fixed: Trained, attended: Trained) -> None:
    story = ["the minister signed the agreement", "in the castle because the farmers were tired ."]
    made = BottleneckLab(fixed, attended, story=story, gold=["le ministre a signé l' accord", ""])
    assert made.text == " ".join(story)
    assert made.gold == [["le", "ministre", "a", "signé", "l'", "accord"], []]
    assert made.backward is fixed.model.config.reverse_source
    said = [*fixed.translate(made.text).words, "</s>"]
    told = [*attended.translate(made.text).words, "</s>"]
    assert made.answer["fixed"]["target"] == said
    assert made.answer["attended"]["target"] == told
    pairs = common(said, told)
    kept = [i for i, kept in enumerate(made.answer["fixed"]["kept"]) if kept]
    assert kept == [i for i, _ in pairs]
    # By its definition, word by word: looked at most by some word, and by none that came through.
    weights, through = np.array(made.answer["attended"]["weights"]), {j for _, j in pairs}
    for place, lost in enumerate(made.answer["lost"]):
        lookers = [i for i, row in enumerate(weights) if row.argmax() == place]
        assert lost is (bool(lookers) and not through & set(lookers))
    assert any(made.answer["lost"])
    state = made.answer["state"]
    assert state["names"] == ["h, layer 1", "h, layer 2", "c, layer 1", "c, layer 2"]
    assert {len(row) for row in state["values"]} == {fixed.model.config.d_hidden}
    assert made.trace.weights.shape == (1, len(told), len(made.answer["source"]))
    before = made.answer["state"]
    made.text = "the minister signed the agreement ."
    assert made.answer["state"] != before
    with pytest.raises(AttributeError, match="BottleneckLab has no model that could be exchanged"):
        made.model = fixed.model
    made.text = ""
    assert made.answer["message"] == "empty"
    assert made.answer["state"] == {"names": [], "values": []}
    made.close()


def test_the_predict_lab_shows_the_gold_words(attended: Trained) -> None:
    pairs = [classic(), Grammar(3).pair(4, 9)]
    made = PredictLab(attended, pairs, example=1)
    assert [len(each["weights"]) for each in made.examples] == [len(p.target) + 1 for p in pairs]
    assert made.examples[0]["target"] == [*classic().target, "</s>"]
    assert {tuple(link) for link in made.examples[0]["sure"]} == classic().sure
    assert made.answer["target"] == [*pairs[1].target, "</s>"]
    assert made.trace.key.labels == (*pairs[1].source, "</s>")
    np.testing.assert_allclose(made.trace.weights.sum(-1), 1, atol=1e-6)
    made.marks = {0: 1}
    assert made.marks == {"0": 1}
    made.example, made.text = -1, TEXT
    assert made.answer["target"] == [*attended.translate(TEXT).words, "</s>"]
    made.close()


def test_the_learning_lab_has_what_was_kept(attended: Trained) -> None:
    made = LearningLab(attended, [classic()])
    steps, maps = attended.maps()
    assert made.data["steps"] == steps
    assert made.moment == len(steps) - 1
    assert made.data["inputs"][0]["right"][-1] > 0.9
    assert made.data["inputs"][1]["right"] is None
    np.testing.assert_array_equal(made.trace.weights[0], maps[0][-1])
    made.sentence, made.moment = 1, 3
    np.testing.assert_array_equal(made.trace.weights[0], maps[1][3])
    assert len(made.html()) < 250_000
    made.close()


@pytest.mark.parametrize("width", [1, 3])
def test_a_sentence_is_read_and_written_once(
    fixed: Trained, attended: Trained, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    made = AlignmentLab(attended, text=TEXT, width=width)
    both = BottleneckLab(fixed, attended, text=TEXT)
    asked: list[str] = []

    def noting(kind: type, name: str) -> Any:
        then = getattr(kind, name)

        def noted(self: Any, *given: Any) -> Any:
            asked.append(f"{kind.__name__}.{name}")
            return then(self, *given)

        return noted

    for kind in (Bahdanau, Seq2Seq):
        for name in ("encode", "step", "forward"):
            monkeypatch.setattr(kind, name, noting(kind, name))
    made.refresh()
    assert asked.count("Bahdanau.encode") == 1
    assert len(asked) - 1 == asked.count("Bahdanau.step") < 2 * len(made.answer["target"])
    asked.clear()
    both.refresh()
    assert asked.count("Seq2Seq.encode") == asked.count("Bahdanau.encode") == 1
    written = [both.answer[which]["target"] for which in ("fixed", "attended")]
    assert len(asked) == 2 + sum(map(len, written))
    made.close()
    both.close()


# ---------------------------------------------------------------------------- changed models


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    """A shell as a notebook has one; get_ipython finds it while the test runs."""
    yield InteractiveShell.instance()
    InteractiveShell.clear_instance()


def ran(shell: InteractiveShell) -> None:
    """A cell has been run."""
    shell.events.trigger("post_run_cell", None)


def test_weights_changed_in_place_show_after_the_cell(
    shell: InteractiveShell, own: Trained
) -> None:
    made = AlignmentLab(own, text=TEXT)
    twin = AlignmentLab(own, text=TEXT, temperature=2.0)
    before, count = made.answer, twin.answer["count"]
    assert made.models == ["bahdanau_grammar"]
    ran(shell)
    assert made.answer is before  # nothing changed, nothing asked
    with torch.no_grad():
        own.model.attention.score.v.weight.neg_()
    ran(shell)
    assert made.answer["weights"] != before["weights"]
    assert twin.answer["count"] == count + 1
    assert twin.answer["alone"]["target"] == made.answer["target"]
    assert made.models == []  # the page has no such model
    seen = made.answer
    own.model.attention.score.v.weight.data.neg_()  # no version counter sees this one
    ran(shell)
    assert made.answer["weights"] == before["weights"] != seen["weights"]
    assert made.models == ["bahdanau_grammar"]  # the shipped numbers again
    own.model.attention.score.W = torch.nn.Linear(
        own.model.config.d_state, own.model.config.d_align, bias=False
    )
    ran(shell)
    assert made.answer["weights"] != before["weights"]
    made.close()
    twin.close()


def zeroed(trained: Trained) -> Trained:
    with torch.no_grad():
        trained.model.attention.score.v.weight.zero_()
    return trained


def other_parts(trained: Trained) -> Trained:
    """The same numbers, but each embedded word passes something else on its way."""
    trained.model.embed_source = torch.nn.Sequential(trained.model.embed_source, torch.nn.Tanh())
    return trained


@pytest.mark.parametrize("change", [zeroed, other_parts])
def test_a_model_that_was_changed_before_is_not_the_shipped_one(
    own: Trained, fixed: Trained, change: Any
) -> None:
    assert not own.changed
    spoilt = change(own)
    assert spoilt.changed
    assert not heed.load("bahdanau_grammar").changed
    for made in (
        AlignmentLab(spoilt, text=TEXT),
        PredictLab(spoilt, [classic()]),
        BottleneckLab(fixed, spoilt, text=TEXT),
    ):
        assert made.models == []
        assert '"models":[]' in made.html()
        made.close()


def test_a_model_as_it_was_exported_is_the_shipped_one() -> None:
    rounded = as_exported(heed.load("bahdanau_everyday"))
    assert rounded.numbers != heed.load("bahdanau_everyday").numbers
    assert not rounded.changed
    assert as_exported(zeroed(rounded)).changed


def test_a_lab_that_fails_stops_no_other(
    own: Trained, attended: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, sound = AlignmentLab(own, text=TEXT), AlignmentLab(attended, text=TEXT)
    count = sound.answer["count"]
    own.model.output = torch.nn.Linear(3, 3)
    sound._prints = []  # as if its model had been changed too
    monkeypatch.setattr(labs_base, "_living", [broken, sound])
    with pytest.raises(ExceptionGroup, match="labs whose model failed") as caught:
        labs_base._after_cell()
    assert len(caught.value.exceptions) == 1
    assert broken.answer["message"] == "failed"
    assert sound.answer["count"] == count + 1
    labs_base._after_cell()  # reported once, not after each cell
    monkeypatch.undo()
    broken.close()
    sound.close()


def test_without_a_notebook_one_asks(own: Trained) -> None:
    made = AlignmentLab(own, text=TEXT)
    before = made.answer["weights"]
    with torch.no_grad():
        own.model.attention.score.v.weight.neg_()
    made.refresh()
    assert made.answer["weights"] != before
    made.close()


def test_another_model_in_its_place(own: Trained, attended: Trained) -> None:
    made = AlignmentLab(attended, text=TEXT)
    before = made.answer["weights"]
    with torch.no_grad():
        own.model.attention.score.v.weight.neg_()
    made.model = own.model
    assert made.answer["weights"] != before
    assert made.model is own.model
    assert made.models == []
    made.trained = "bahdanau_everyday"
    assert made.models == ["bahdanau_everyday"]
    with pytest.raises(ValueError, match="this model has 842 source words, but the lab's"):
        made.model = own.model
    made.close()


def test_a_refused_model_does_not_stay(
    fixed: Trained, attended: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # a reader has no such hook
    for made, name in (
        (PredictLab(attended, [classic()]), "trained"),
        (PredictLab(attended, [], text=TEXT), "trained"),
        (BottleneckLab(fixed, attended, text=TEXT), "attended"),
        (AlignmentLab(attended, text=TEXT), "trained"),
    ):
        before, models, html = dict(made.answer), made.models, made.html()
        with pytest.raises(TypeError):
            setattr(made, name, "seq2seq_grammar")
        assert getattr(made, name) is attended
        assert {**made.answer, "count": 1} == before
        assert made.models == models
        assert made.html() == html
        made.close()


def test_predictions_follow_a_changed_model(own: Trained) -> None:
    made = PredictLab(own, [classic()])
    before = made.examples[0]["weights"]
    with torch.no_grad():
        own.model.attention.score.v.weight.neg_()
    made.refresh()
    assert made.examples[0]["weights"] != before
    assert made.answer["weights"] == made.examples[0]["weights"]
    made.close()


def test_a_model_that_fails_leaves_the_view_free(own: Trained) -> None:
    made = AlignmentLab(own, text=TEXT)
    count = made.answer["count"]
    own.model.output = torch.nn.Linear(3, 3)
    with pytest.raises(RuntimeError):
        made.refresh()
    assert made.answer["count"] == count + 1
    assert made.models == []  # what still stands there is not what the page's model would say
    made.close()


def test_a_closed_lab_is_forgotten(own: Trained) -> None:
    made = AlignmentLab(own, text=TEXT)
    assert made in labs_base._living
    made.close()
    assert made not in labs_base._living


# ---------------------------------------------------------------------------- what a browser sends


def test_settings_from_a_browser_are_bent(lab: AlignmentLab) -> None:
    sent = {"temperature": 99, "width": -3, "look": "away", "hidden": ["x"], "only": 1.5}
    lab.set_state({**sent, "answer": {}, "strings": {}, "models": ["other"]})
    found = (lab.temperature, lab.width, lab.look, lab.hidden, lab.only)
    assert found == (5.0, 1, "own", [], 1)
    assert lab.answer["target"]
    assert lab.strings["map.key"]
    assert lab.models == ["bahdanau_grammar"]


@pytest.mark.parametrize("sent", [99, 1e300, 10**400])
def test_an_example_that_is_none_is_the_last(attended: Trained, sent: Any) -> None:
    made = PredictLab(attended, [classic(), classic()])
    made.set_state({"example": sent})
    assert made.example == 1
    assert made.answer["target"] == made.examples[1]["target"]
    assert "<td" in made.html()
    with pytest.raises(traitlets.TraitError, match="example=2, but there are 2 examples"):
        made.example = 2
    made.close()
    made = PredictLab(attended, [], text=TEXT)
    made.set_state({"example": 0})
    assert made.example == -1
    assert made.answer["source"]
    made.close()


def test_many_settings_get_one_answer(lab: AlignmentLab) -> None:
    count = lab.answer["count"]
    lab.set_state({"temperature": 2, "look": "uniform", "width": 2, "text": "she sleeps ."})
    assert lab.answer["count"] == count + 1
    assert lab.answer["source"] == ["she", "sleeps", ".", "</s>"]
    lab.set_state({"temperature": 2})
    assert lab.answer["count"] == count + 2  # the same again: the view waits for another count
    lab.temperature = 3.0
    assert lab.answer["count"] == count + 3


def test_an_answer_says_what_it_answers(lab: AlignmentLab) -> None:
    assert lab.answer["asked"] == {name: getattr(lab, name) for name in lab.asks}
    lab.set_state({"text": "she sleeps .", "hidden": [1], "temperature": 99})
    assert lab.answer["asked"]["text"] == "she sleeps ."
    assert lab.answer["asked"]["hidden"] == [1]
    assert lab.answer["asked"]["temperature"] == 5.0  # what was asked, not what was sent


def test_an_answer_that_failed_still_answers_what_it_did(own: Trained) -> None:
    made = AlignmentLab(own, text=TEXT)
    own.model.output = torch.nn.Linear(3, 3)
    with pytest.raises(RuntimeError):
        made.set_state({"text": "she sleeps ."})
    assert made.answer["asked"]["text"] == TEXT
    assert made.answer["count"] == 2
    assert made.answer["message"] == "failed"
    with pytest.raises(ValueError, match="shows no attention now"):
        _ = made.trace
    own.model.output = torch.nn.Linear(own.model.config.d_maxout, own.model.config.target_vocab)
    made.refresh()
    assert made.answer["message"] == ""
    assert made.trace.key.labels == ("she", "sleeps", ".", "</s>")
    made.close()


def test_what_no_answer_depends_on_asks_nobody(attended: Trained) -> None:
    made = PredictLab(attended, [classic()], example=-1, text=TEXT)
    answer = made.answer
    assert answer["asked"] == {"example": -1, "text": TEXT}
    made.set_state({"marks": {"0": 1}})
    made.set_state({"shown": True})
    made.marks = {1: 2}
    assert (made.marks, made.shown) == ({"1": 2}, True)
    assert made.answer is answer
    made.set_state({"marks": {}, "shown": False, "example": 0})
    assert made.answer["count"] == answer["count"] + 1
    assert made.answer["asked"]["example"] == 0
    made.close()
    watched = LearningLab(attended)
    answer = watched.answer
    watched.set_state({"moment": 3, "sentence": 1})
    assert watched.answer is answer
    assert watched.trace.name == f"step {watched.data['steps'][3]}"
    watched.close()


@pytest.mark.parametrize("value", [None, "hot", True, float("nan"), 10**400, [], {}])
def test_nonsense_from_a_browser_changes_nothing(lab: AlignmentLab, value: Any) -> None:
    before = {**lab.answer, "count": 0}
    settings = [name for name in lab.settings if name not in {"copy", "text", "rows", "hidden"}]
    lab.set_state(dict.fromkeys(settings, value))
    assert {**lab.answer, "count": 0} == before


def test_half_a_character_is_replaced(lab: AlignmentLab) -> None:
    lab.set_state({"text": "the \ud83d cat \U0001f642"})
    assert lab.text == lab.answer["asked"]["text"] == "the \ufffd cat \U0001f642"
    assert lab.answer["source"] == ["the", "\ufffd", "cat", "\U0001f642", "</s>"]
    assert lab.html().encode()
    lab.text = "a \udc00"
    assert lab.html().encode()


@pytest.mark.parametrize("marks", [{"0": 99}, {"0": -3}, {"-7": 0}, {"0": True}, {"x": 1}, [1]])
def test_marks_that_are_nowhere_are_left_out(attended: Trained, marks: Any) -> None:
    made = PredictLab(attended, [classic()], marks={0: 1})
    made.set_state({"marks": marks})
    assert made.marks == {"0": 1}
    with pytest.raises(traitlets.TraitError):
        made.marks = marks
    made.close()


@pytest.mark.parametrize("rows", [{"a": [1]}, {"0": 1}, [1], "x"])
def test_rows_that_are_none_are_left_out(lab: AlignmentLab, rows: Any) -> None:
    lab.rows = {0: [1]}
    lab.set_state({"look": "yours", "rows": rows})
    assert lab.rows == {"0": [1]}
    assert lab.answer["weights"][0][1] == 1


# ---------------------------------------------------------------------------- one clear line


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: AlignmentLab("seq2seq_grammar"), "of a Bahdanau or a Luong, and seq"),
        (lambda: AlignmentLab("nobody"), "nobody"),
        (lambda: AlignmentLab(torch.nn.Linear(1, 1)), "not a Linear"),  # type: ignore[arg-type]
        (lambda: AlignmentLab("bahdanau_grammar", tau=2), "no setting 'tau'; it has text, temp"),
        (lambda: AlignmentLab("bahdanau_grammar", temperature=9), "temperature"),
        (lambda: AlignmentLab("bahdanau_grammar", look="away"), "look"),
        (lambda: AlignmentLab("bahdanau_grammar", rows={"a": [1]}), "give source positions by"),
        (lambda: BottleneckLab("bahdanau_grammar", "bahdanau_grammar"), "vector of a Seq2Seq"),
        (lambda: BottleneckLab("seq2seq_grammar", "seq2seq_grammar", text="the"), "has none"),
        (lambda: BottleneckLab("seq2seq_grammar", "bahdanau_grammar", story="x y"), "one text"),
        (lambda: PredictLab("seq2seq_grammar", [classic()]), "has no attention"),
        (lambda: PredictLab("bahdanau_grammar", [classic()], example=1), "there are 1 examples"),
        (
            lambda: PredictLab("bahdanau_grammar", [Pair(source=("the",), target=("le",))]),
            "'the' has no gold links",
        ),
        (lambda: LearningLab("seq2seq_grammar"), "was not watched"),
        (lambda: LearningLab("bahdanau_grammar", moment=30), "moment=30, but there are 30"),
    ],
)
def test_a_mistake_gets_one_clear_line(
    make: Any, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # a reader has no such hook
    with pytest.raises(Exception) as caught:  # noqa: PT011  (each its own kind; the words count)
        make()
    message = str(caught.value)
    assert said in message
    assert "\n" not in message


# ---------------------------------------------------------------------------- what a page is given


def every_lab(fixed: Trained, attended: Trained, text: str) -> list[Any]:
    pairs = [classic()]
    return [
        AlignmentLab(attended, text=text),
        BottleneckLab(fixed, attended, story=["the cat"], text=text, examples=[text]),
        PredictLab(attended, pairs, example=-1, text=text),
        LearningLab(attended, pairs),
        PlaneLab(),
        LookingLab(mode="hide"),
        EatingLab(untrained()[0]),
        MaskLab(padding="after"),
        RivalsLab({text: attended, "one vector": fixed}, {text: text}, text=text),
        YearsLab({text: attended, "one vector": fixed}, {text: text}, text=text, examples=[text]),
        WindowLab({text: "luong_local_p_reverse"}, {text: text}, text=text, examples=[text]),
        HeadsLab({text: small_transformer()}, {text: text}, text=text, examples=[text]),
        ReadingLab(*untrained(), text=text, examples=[text]),
        PictureLab(dict(zip((text, "hard"), small_captioners(), strict=True))),
        TwinsLab(dict(zip((text, "b", "c"), small_painters(), strict=True)), {text: text}),
        TapeLab(small_machine()),
        PointerLab(dict(zip((text, "b", "c"), small_pointers(), strict=True)), {text: text}),
        EpisodeLab(small_learner(GLYPHS), shots=5),
        BanditLab(small_learner(BANDIT)),
    ]


def test_what_is_typed_stays_text(fixed: Trained, attended: Trained) -> None:
    for made in every_lab(fixed, attended, NASTY):
        html = made.html()
        assert html.count("</script>") == 1
        page = BeautifulSoup(html, "html.parser")
        # A lab's own picture lies in the page itself; what is typed would name a file.
        own = "data:image/png;base64,"
        found = page.find_all(["img", "b"])
        assert not [each for each in found if not str(each.get("src", "")).startswith(own)]
        script = page.find("script")
        assert script is not None
        told = json.loads(script.text)
        if made.has_trait("text"):
            assert told["settings"]["text"] == NASTY
            cut = [word for word in made.answer["source"] if word != "</s>"]
            seen = ["∅", "<s>", *cut[:-1]] if made.kind == "reading" else [*cut, "</s>"]
            for head in page.select("table.heed-cells thead"):
                assert [th.text for th in head.find_all("th")] == seen
        made.close()


def test_the_page_gets_settings_answer_and_facts(fixed: Trained, attended: Trained) -> None:
    for made in every_lab(fixed, attended, TEXT):
        page = BeautifulSoup(made.html(), "html.parser")
        element = page.select_one(".heed-lab-frame > heed-lab.heed-lab")
        assert element is not None
        assert element["kind"] == made.kind
        # Maps of a whole training, and a picture that lies in no other file, take more room.
        most = {"learning": 250_000, "looking": 180_000}.get(made.kind, 60_000)
        assert len(made.html()) < most
        told = json.loads(page.find("script").text)  # type: ignore[union-attr]
        assert set(told["settings"]) == set(made.settings)
        assert set(told) == {"settings", "answer", "asks", "models", *made.facts}
        assert told["asks"] is bool(made.asks)
        assert (told["models"] is None) is not bool(made.asked())
        assert set(told["answer"]["asked"]) == set(made.asks) <= set(made.settings)
        assert told["answer"]["count"] == 1
        rows = page.select("table.heed-cells tbody tr")
        trace: AttentionTrace = made.trace
        if made.kind in {"looking", "eating"}:  # they list what is likely, and draw no map
            assert page.select("heed-lab table tbody tr")
            made.close()
            continue
        assert [row.find("th").text for row in rows][: len(trace.query.labels)] == list(  # type: ignore[union-attr]
            trace.query.labels
        )
        assert all(th["scope"] in {"row", "col"} for th in page.find_all("th"))
        made.close()


def test_the_drawn_map_has_the_weights(lab: AlignmentLab) -> None:
    page = BeautifulSoup(lab.html(), "html.parser")
    for row, weights in zip(page.select("tbody tr"), lab.trace.weights[0], strict=True):
        for cell, weight in zip(row.find_all("td"), weights, strict=True):
            assert (float(cell.text or 0) == pytest.approx(weight, abs=0.006)) or weight < 0.05


def test_weights_that_are_no_numbers_still_make_a_page(own: Trained, fixed: Trained) -> None:
    with torch.no_grad():
        own.model.attention.score.v.weight.fill_(math.nan)
    for made in (
        AlignmentLab(own, text=TEXT),
        PredictLab(own, [classic()]),
        BottleneckLab(fixed, own, text=TEXT),
    ):
        answer = made.answer.get("attended", made.answer)
        assert {weight for row in answer["weights"] for weight in row} == {None}
        json.dumps(made.get_state(["answer"]), allow_nan=False)  # as a kernel sends it
        page = BeautifulSoup(made.html(), "html.parser")
        script = page.find("script")
        assert script is not None
        json.loads(script.text, parse_constant=pytest.fail)
        assert len(page.select("table.heed-cells tbody tr")) >= len(answer["target"])
        made.close()


def test_a_prediction_is_not_given_away(attended: Trained) -> None:
    made = PredictLab(attended, [classic()])
    page = BeautifulSoup(made.html(), "html.parser")
    covered = page.select_one(".heed-sheet > .heed-map")
    assert covered is not None
    assert not any(cell.text for cell in covered.select("tbody td"))
    assert page.select("details:not([open]) .heed-map")
    made.close()


def test_notebook_and_page_get_their_own(lab: AlignmentLab) -> None:
    data, _ = lab._repr_mimebundle_()
    assert data["text/plain"] == f"AlignmentLab({TEXT!r})"
    assert data["text/html"] == lab.html()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert lab.html() == AlignmentLab("bahdanau_grammar", text=TEXT).html()  # run again: the same
    lab.close()
    data, _ = lab._repr_mimebundle_()
    assert data == {"text/plain": f"AlignmentLab({TEXT!r})", "text/html": lab.html()}


def test_heed_stays_light() -> None:
    code = (
        "import sys, heed, heed.labs, heed.labs.sphinx_ext;"
        "assert not {'anywidget', 'ipywidgets', 'torch', 'matplotlib'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_pasted_book_is_cut_before_it_is_read(fixed):
    found = labs_base.read("a" + "'s" * 200_000, fixed.source_vocab)
    assert found.of == 1 + labs_base.CHARACTERS // 2  # a, 's, 's, … and a last apostrophe
    assert found.message == "long"
