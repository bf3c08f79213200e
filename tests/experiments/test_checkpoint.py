import os
import pickle
import subprocess
import sys
from dataclasses import asdict, replace
from functools import partial

import numpy as np
import pytest
import torch
from torch import nn

from heed.experiments import checkpoint
from heed.experiments.cards import Card, CardError
from heed.experiments.checkpoint import fill, load_weights, weights
from heed.experiments.maps import moments, pack, quantise, unpack
from heed.experiments.runner import Run
from heed.experiments.trained import load


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(5, 3)
        self.unembed = nn.Linear(3, 5, bias=False)
        self.unembed.weight = self.embed.weight
        self.register_buffer("seen", torch.tensor(4))


# ------------------------------------------------------------------ weights


@pytest.mark.parametrize("half", [False, True])
def test_tied_weights_go_round_once_and_stay_tied(half):
    old, new = Tied(), Tied()
    content = weights(old, half=half)
    load_weights(new, content, where="here")
    expected = old.embed.weight.half().float() if half else old.embed.weight
    assert torch.equal(new.embed.weight, expected)
    assert new.unembed.weight is new.embed.weight
    assert new.embed.weight.dtype == torch.float32
    assert new.seen.item() == 4
    assert len(content) < 400


def test_half_the_precision_is_half_the_bytes():
    model = nn.Linear(100, 100)
    assert len(weights(model, half=True)) < 0.51 * len(weights(model, half=False))


def test_names_and_shapes_must_fit():
    with pytest.raises(CardError, match="has no 'bias'"):
        fill(nn.Linear(2, 2), {"weight": torch.zeros(2, 2)}, where="file")
    with pytest.raises(CardError, match="has a foreign 'more'"):
        fill(
            nn.Linear(1, 1, bias=False),
            {"weight": torch.zeros(1, 1), "more": torch.zeros(1)},
            where="file",
        )
    with pytest.raises(CardError, match=r"'weight' is \(2, 3\), the model wants \(2, 2\)"):
        fill(nn.Linear(2, 2, bias=False), {"weight": torch.zeros(2, 3)}, where="file")


def test_nothing_is_filled_when_one_shape_is_wrong():
    model = nn.Linear(2, 2)
    before = model.weight.clone()
    with pytest.raises(CardError):
        fill(model, {"weight": torch.ones(2, 2), "bias": torch.ones(3)}, where="file")
    assert torch.equal(model.weight, before)


def test_a_pickle_is_never_opened(tmp_path):
    class Bomb:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "exploded"),)

    with pytest.raises(CardError, match="damaged"):
        load_weights(Tied(), pickle.dumps(Bomb()), where="file")
    assert not (tmp_path / "exploded").exists()


# ------------------------------------------------------------------ loading what was shipped


def test_what_is_loaded_is_what_was_trained(tiny, corpus, task, runs, shipped):
    trained = load(tiny, shipped)
    run = Run(tiny, 0, task, runs=runs)
    run.load()
    for (name, ours), (_, theirs) in zip(
        trained.model.named_parameters(), run.model.named_parameters(), strict=True
    ):
        assert torch.equal(ours, theirs.half().float()), name
    assert trained.source_vocab == corpus.source_vocab
    assert trained.target_vocab == corpus.target_vocab
    assert not trained.model.training


def test_the_numbers_on_the_card_are_those_of_the_shipped_weights(tiny, task, shipped):
    trained = load(tiny, shipped)
    metrics, _ = task.evaluate(trained.model)
    for name in ("bleu", "valid_loss", "aer", "exact_match"):
        assert trained.card.metrics[name]["seeds"][0] == pytest.approx(metrics[name], abs=1e-5), (
            name
        )


def test_it_translates_text_and_tokens_alike(tiny, shipped):
    trained = load(tiny, shipped)
    told, cut = trained.translate("A b C"), trained.translate(["a", "b", "c"])
    assert told.source == ("a", "b", "c")
    assert told.words == cut.words
    assert trained.say("a b c") == trained.say(["a", "b", "c"])
    assert trained.say("a b c")[0].isupper()


@pytest.mark.parametrize(
    "text", ["", "   ", "привет 👋 שלום", "<script>alert(1)</script>", "a " * 500]
)
def test_any_input_gets_an_answer(tiny, shipped, text):
    answer = load(tiny, shipped).translate(text, copy_unknown=True)
    assert "<unk>" not in answer.words
    assert (answer.words == ()) == (not text.strip())


def test_the_maps_of_the_moments_come_with_it(tiny, shipped):
    trained = load(tiny, shipped)
    steps, maps = trained.maps()
    assert steps == moments(40) == [moment["step"] for moment in trained.card.moments]
    for table, pair in zip(maps, trained.card.inputs, strict=True):
        assert table.shape == (30, len(pair["target"]) + 1, len(pair["source"]) + 1)
        assert np.allclose(table.sum(axis=-1), 1, atol=0.03)


# ------------------------------------------------------------------ refusing what is not right


@pytest.fixture
def untouched(monkeypatch):
    """Fails the test if a single weight is read."""

    def never(*_, **__):
        raise AssertionError("weights were read before the files were checked")

    monkeypatch.setattr(checkpoint, "from_bytes", never)


@pytest.mark.parametrize("name", ["model.safetensors", "vocabulary.json"])
@pytest.mark.parametrize("place", [0, 9, -1])
def test_one_changed_byte_is_refused(tiny, shipped, untouched, name, place):
    path = shipped / name
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)
    with pytest.raises(CardError, match="is not the file that its card describes") as fault:
        load(tiny, shipped)
    assert name in str(fault.value)
    assert "\n" not in str(fault.value)


@pytest.mark.parametrize("name", ["model.safetensors", "vocabulary.json", "card.json"])
def test_a_missing_file_is_named(tiny, shipped, untouched, name):
    (shipped / name).unlink()
    with pytest.raises(CardError, match=name):
        load(tiny, shipped)


def test_a_changed_map_is_refused_when_it_is_asked_for(tiny, shipped):
    path = shipped / "maps.npz"
    path.write_bytes(path.read_bytes() + b"x")
    trained = load(tiny, shipped)
    with pytest.raises(CardError, match=r"maps\.npz is not the file"):
        trained.maps()


def test_a_truncated_card_loads_nothing(tiny, shipped, untouched):
    path = shipped / "card.json"
    path.write_text(path.read_text()[:300])
    with pytest.raises(CardError, match=r"card\.json is damaged"):
        load(tiny, shipped)


def test_the_card_of_another_experiment_is_refused(tiny, shipped, untouched):
    with pytest.raises(CardError, match="holds 'tiny_reverse', not 'other'"):
        load(replace(tiny, name="other"), shipped)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"config": 8}, r"config\.d_state was 7, the table says 8"),
        ({"train": 1e-4}, r"train\.lr was 0\.005, the table says 0\.0001"),
        ({"data": 30}, r"data\.held_out was 24, the table says 30"),
    ],
)
def test_a_config_that_is_no_longer_the_tables_is_refused(tiny, shipped, untouched, change, told):
    changed = {
        "config": lambda value: partial(tiny.config, d_state=value),
        "train": lambda value: replace(tiny.train, lr=value),
        "data": lambda value: replace(tiny.data, held_out=value),
    }
    ((name, value),) = change.items()
    with pytest.raises(CardError, match=told):
        load(replace(tiny, **{name: changed[name](value)}), shipped)


def test_a_size_that_is_not_trained_here_says_so(tiny):
    with pytest.raises(CardError, match="no weights of tiny_reverse are shipped: too big"):
        load(replace(tiny, trained=False, notes="too big"))


def test_a_forged_card_still_cannot_load_weights_of_another_shape(tiny, shipped):
    other = Tied()
    content = weights(other, half=True)
    (shipped / "model.safetensors").write_bytes(content)
    card = Card.read(shipped)
    forged = card.files | {"model.safetensors": checkpoint.sha256(content)}
    Card(**asdict(card) | {"files": forged}).write(shipped)
    with pytest.raises(CardError, match="belongs to another model"):
        load(tiny, shipped)


# ------------------------------------------------------------------ maps


def test_maps_lose_less_than_half_a_level():
    table = np.random.default_rng(0).random((3, 5), dtype=np.float32)
    steps, (back,) = unpack(pack({7: [quantise(table)], 2: [quantise(1 - table)]}))
    assert steps == [2, 7]
    assert np.abs(back[1] - table).max() <= 0.5 / 255 + 1e-6


@pytest.mark.parametrize("steps", [29, 30, 31, 100, 3000, 16000, 1_000_000])
def test_thirty_moments_from_the_first_to_the_last(steps):
    chosen = moments(steps)
    assert len(chosen) == len(set(chosen)) == 30
    assert chosen == sorted(chosen)
    assert (chosen[0], chosen[-1]) == (0, steps)


def test_half_of_the_moments_lie_in_the_first_tenth():
    assert sum(step <= 300 for step in moments(3000)) >= 15


def test_a_short_training_is_watched_all_through():
    assert moments(3) == [0, 1, 2, 3]


# ------------------------------------------------------------------ the front door


def test_importing_heed_imports_no_torch():
    code = "import sys, heed; print('torch' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"


def test_load_stands_at_the_front_door():
    import heed

    assert heed.load is load


def test_what_is_not_there_is_an_attribute_error():
    import heed

    with pytest.raises(AttributeError, match="lode"):
        _ = heed.lode
