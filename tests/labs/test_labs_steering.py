"""Steering: the weights are what was asked for, and the model stays what it was."""

import copy
import math
from itertools import islice
from typing import Any

import pytest
import torch
from torch import Tensor

from heed.data.batches import encode_batch
from heed.data.pairs import Pair
from heed.data.vocabulary import BOS, EOS, Vocabulary
from heed.evaluation.decoding import beam, forced_weights, greedy
from heed.labs.steering import Steered, Window, mulberry32, permutation
from heed.models.bahdanau import Bahdanau, BahdanauConfig
from heed.models.luong import Luong, LuongConfig
from heed.models.seq2seq import Seq2Seq, Seq2SeqConfig

WORDS = 11
SOURCE = torch.tensor([[4, 7, 5, 9, 6, 10, EOS]])
LENGTHS = torch.tensor([7])


@pytest.fixture
def model() -> Bahdanau:
    config = BahdanauConfig(
        source_vocab=WORDS,
        target_vocab=WORDS,
        d_embedding=5,
        d_encoder=6,
        d_state=7,
        d_align=3,
        d_maxout=5,
    )
    drawn = Bahdanau(config)
    with torch.no_grad():  # far from uniform, so that a change of the look is a change of the words
        for parameter in drawn.parameters():
            parameter.mul_(2.5)
        drawn.attention.score.v.weight.mul_(3)  # type: ignore[union-attr]
    return drawn.eval()


def looked(model: Any, source: Tensor = SOURCE, lengths: Tensor = LENGTHS) -> Tensor:
    """Weights of four forced steps, batch first."""
    target_in = torch.tensor([[BOS, 4, 5, 6]]).expand(len(source), -1)
    with torch.inference_mode():
        return model(source, lengths, target_in).weights["cross"][:, 0]


# ---------------------------------------------------------------------------- chance


def test_mulberry_gives_the_numbers_that_javascript_gives() -> None:
    # node: the generator as it is written for JavaScript, with Math.imul and >>>
    assert list(islice(mulberry32(42), 3)) == [
        0.6011037519201636,
        0.44829055899754167,
        0.8524657934904099,
    ]
    assert list(islice(mulberry32(2**32 - 1), 2)) == [
        0.8964226141106337,
        0.189478256739676,
    ]


@pytest.mark.parametrize(
    ("count", "seed", "order"),
    [
        (7, 0, (3, 2, 4, 5, 6, 0, 1)),
        (10, 1, (7, 8, 3, 2, 1, 5, 9, 4, 0, 6)),
        (12, 2**32 - 1, (9, 1, 5, 0, 11, 4, 3, 6, 8, 7, 2, 10)),
        (1, 5, (0,)),
        (0, 5, ()),
    ],
)
def test_permutations_are_those_of_javascript(
    count: int, seed: int, order: tuple[int, ...]
) -> None:
    assert permutation(count, seed) == order


def test_every_shuffle_is_a_permutation() -> None:
    for seed in range(200):
        assert sorted(permutation(13, seed)) == list(range(13))


# ---------------------------------------------------------------------------- the look


def test_nothing_asked_is_the_model_itself(model: Bahdanau) -> None:
    steered = Steered(model)
    torch.testing.assert_close(looked(steered), looked(model))
    for search in (greedy, lambda *a: beam(*a, width=3)):
        mine, theirs = search(steered, SOURCE, LENGTHS)[0], search(model, SOURCE, LENGTHS)[0]
        assert mine.tokens == theirs.tokens
        assert mine.log_prob == pytest.approx(theirs.log_prob, abs=1e-5)


def test_temperature_divides_the_scores(model: Bahdanau) -> None:
    own, warm = looked(model)[:, 0], looked(Steered(model, temperature=2.0))[:, 0]
    # softmax(e / 2) from softmax(e): the square roots, normalised
    expected = own.sqrt() / own.sqrt().sum(-1, keepdim=True)
    torch.testing.assert_close(warm, expected)


def test_hidden_positions_get_nothing_and_the_rest_keeps_its_proportions(model: Bahdanau) -> None:
    own, seen = looked(model)[:, 0], looked(Steered(model, hidden=[1, 6, 40, -3]))[:, 0]
    assert seen[:, [1, 6]].eq(0).all()
    shown = [0, 2, 3, 4, 5]
    expected = own[:, shown] / own[:, shown].sum(-1, keepdim=True)
    torch.testing.assert_close(seen[:, shown], expected)


def test_hiding_everything_hides_nothing(model: Bahdanau) -> None:
    torch.testing.assert_close(looked(Steered(model, hidden=range(7))), looked(model))


def test_uniform_shares_among_what_is_shown(model: Bahdanau) -> None:
    rows = looked(Steered(model, look="uniform", hidden=[2, 3]))
    expected = torch.tensor([0.2, 0.2, 0, 0, 0.2, 0.2, 0.2])
    torch.testing.assert_close(rows, expected.expand(1, 4, 7))


def test_shuffled_moves_the_models_own_weights_the_same_way_in_all_steps(model: Bahdanau) -> None:
    rows = looked(Steered(model, look="shuffled", shuffle=3, hidden=[4]))
    shown = [0, 1, 2, 3, 5, 6]
    order = permutation(6, 3)
    assert order != (0, 1, 2, 3, 4, 5)
    # The first row depends on no earlier one, so the model's own is known.
    own = looked(Steered(model, hidden=[4]))[0, 0]
    expected = torch.zeros(7)
    for i, place in enumerate(shown):
        expected[place] = own[shown[order[i]]]
    torch.testing.assert_close(rows[0, 0], expected)
    torch.testing.assert_close(rows.sum(-1), torch.ones(1, 4))
    assert rows[..., 4].eq(0).all()


def test_yours_is_equal_shares_in_your_rows_and_the_model_elsewhere(model: Bahdanau) -> None:
    rows = {0: [2, 5, 5], 2: [1], 3: [99]}
    found = looked(Steered(model, look="yours", rows=rows, hidden=[6]))
    torch.testing.assert_close(found[0, 0], torch.tensor([0, 0, 0.5, 0, 0, 0.5, 0]))
    torch.testing.assert_close(found[0, 2], torch.nn.functional.one_hot(torch.tensor(1), 7).float())
    assert found[0, 1].max() < 1
    torch.testing.assert_close(found[0, 3].sum(), torch.tensor(1.0))
    assert found[0, 3].count_nonzero() == 6  # no key of its row exists, so it looks for itself


def test_only_one_step_is_forced(model: Bahdanau) -> None:
    own, forced = looked(model), looked(Steered(model, look="uniform", only=1))
    torch.testing.assert_close(forced[:, 0], own[:, 0])
    torch.testing.assert_close(forced[:, 1], torch.full((1, 7), 1 / 7))
    assert (forced[:, 2] - 1 / 7).abs().max() > 1e-3


def test_a_forced_look_changes_what_comes_after(model: Bahdanau) -> None:
    target_in = torch.tensor([[BOS, 4, 5, 6]])
    with torch.inference_mode():
        own = model(SOURCE, LENGTHS, target_in).logits
        forced = Steered(model, look="uniform", only=0)(SOURCE, LENGTHS, target_in).logits
    assert (own - forced).abs().amax(-1).gt(1e-4).all()


def test_beams_count_their_steps(model: Bahdanau) -> None:
    rows = {0: [3], 1: [0], 2: [5]}
    steered = Steered(model, look="yours", rows=rows)
    for found in (greedy(steered, SOURCE, LENGTHS)[0], beam(steered, SOURCE, LENGTHS, width=4)[0]):
        assert found.weights is not None
        for step, (key,) in rows.items():
            if step < len(found.weights):
                assert found.weights[step].argmax() == key
                assert found.weights[step].max() == 1


def test_sentences_of_one_batch_have_shuffles_of_their_own_length(model: Bahdanau) -> None:
    source = torch.tensor([[4, 7, 5, 9, 6, 10, EOS], [4, 7, 5, EOS, 0, 0, 0]])
    lengths = torch.tensor([7, 4])
    both = looked(Steered(model, look="shuffled", shuffle=2), source, lengths)
    alone = looked(Steered(model, look="shuffled", shuffle=2), source[1:, :4], lengths[1:])
    torch.testing.assert_close(both[1:, :, :4], alone)
    assert both[1, :, 4:].eq(0).all()


def test_metrics_work_on_a_steered_model(model: Bahdanau) -> None:
    words = Vocabulary(tuple("abcdefg"))
    batch = encode_batch([Pair(source=("a", "b"), target=("c",))], words, words)
    weights = forced_weights(Steered(model, look="uniform"), batch)
    assert weights is not None
    assert weights[0] == pytest.approx(1 / 3)


# ---------------------------------------------------------------------------- the model


def test_the_model_is_not_touched(model: Bahdanau) -> None:
    before = copy.deepcopy(model.state_dict())
    parts = {name: id(part) for name, part in model.named_modules()}
    own = looked(model)
    model.train()
    steered = Steered(
        model, temperature=0.5, hidden=[1], look="yours", rows={0: [2]}, shuffle=4, only=-1
    )
    greedy(steered, SOURCE, LENGTHS)
    assert all(part.training for part in model.modules())
    model.eval()
    assert {name: id(part) for name, part in model.named_modules()} == parts
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert torch.equal(looked(model), own)


def test_a_change_of_the_model_shows_in_its_twin(model: Bahdanau) -> None:
    steered = Steered(model, temperature=2.0)
    before = looked(steered)
    with torch.no_grad():
        model.attention.score.v.weight.neg_()  # type: ignore[union-attr]
    assert (looked(steered) - before).abs().max() > 1e-3


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"temperature": 0.0}, "temperature=0.0 is not from 0.1 to 5"),
        ({"temperature": float("nan")}, "temperature=nan is not from 0.1 to 5"),
        ({"look": "away"}, "look='away' is none of own, uniform, shuffled, yours"),
    ],
)
def test_what_cannot_be_is_refused(model: Bahdanau, wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Steered(model, **wrong)


def test_one_vector_cannot_be_steered() -> None:
    config = Seq2SeqConfig(source_vocab=WORDS, target_vocab=WORDS, d_embedding=2, d_hidden=2)
    with pytest.raises(TypeError, match="only a Bahdanau or a Luong can be steered, not a Seq2"):
        Steered(Seq2Seq(config))


# ---------------------------------------------------------------------------- windows


def luong(attention: Any = "local_p", **options: Any) -> Luong:
    sizes: dict[str, Any] = {"d_embedding": 5, "d_hidden": 6, "d_align": 4, "D": 2}
    config = LuongConfig(
        source_vocab=WORDS, target_vocab=WORDS, attention=attention, **(sizes | options)
    )
    drawn = Luong(config)
    with torch.no_grad():
        for parameter in drawn.parameters():
            parameter.mul_(2.5)
    return drawn.eval()


every_attention = pytest.mark.parametrize("attention", ["global", "local_m", "local_p"])


def placed(model: Any) -> Tensor:
    """p_t of four forced steps."""
    target_in = torch.tensor([[BOS, 4, 5, 6]])
    with torch.inference_mode():
        return model(SOURCE, LENGTHS, target_in).places[0]


@every_attention
def test_a_window_of_which_nothing_is_said_is_the_models_own(attention: str) -> None:
    model = luong(attention)
    steered = Steered(model, window=Window())
    torch.testing.assert_close(looked(steered), looked(model))
    for search in (greedy, lambda *a: beam(*a, width=3)):
        mine, theirs = search(steered, SOURCE, LENGTHS)[0], search(model, SOURCE, LENGTHS)[0]
        assert mine.tokens == theirs.tokens
        assert mine.log_prob == pytest.approx(theirs.log_prob, abs=1e-5)


@every_attention
def test_a_place_is_held_in_the_steps_for_which_it_is_said(attention: str) -> None:
    model = luong(attention)
    steered = Steered(model, window=Window(places={0: 4.25, 2: 1.0}, radius=1.5))
    found = looked(steered)[0]
    outside = torch.tensor([True, True, True, False, False, False, True])
    assert found[0][outside].eq(0).all()
    assert found[0][~outside].gt(0).all()
    assert found[2][[3, 4, 5, 6]].eq(0).all()
    if attention == "global":
        assert found[1].gt(0).all()  # of this step nothing is said: it has no window
        with pytest.raises(TypeError):
            placed(steered)
    else:
        assert placed(steered)[[0, 2]].tolist() == [4.25, 1.0]
        if attention == "local_m":
            assert placed(steered)[[1, 3]].tolist() == [1, 3]
        else:  # the place follows from the state, and this from where the step before looked
            assert placed(steered)[1] != placed(model)[1]


def test_one_place_for_all_gives_way_to_a_place_of_its_own_and_both_to_none() -> None:
    window = Window(places={1: 3.5}, still=2.0, monotonic=True)
    assert [window.place(step) for step in range(3)] == [2.0, 3.5, 2.0]
    window = Window(places={1: 3.5}, monotonic=True)
    assert [window.place(step) for step in range(3)] == [0, 3.5, 2]
    assert placed(Steered(luong(), window=window)).tolist() == [0, 3.5, 2, 3]


@pytest.mark.parametrize("attention", ["local_m", "local_p"])
def test_everything_inside_and_a_flat_hill_are_global_attention(attention: str) -> None:
    model = luong(attention)
    everywhere = luong("global")
    everywhere.load_state_dict(model.state_dict(), strict=False)
    wide = Steered(model, window=Window(radius=math.inf, sigma=math.inf))
    assert (looked(model) - looked(everywhere)).abs().max() > 1e-3
    torch.testing.assert_close(looked(wide), looked(everywhere), atol=1e-6, rtol=1e-5)


def test_the_hill_may_be_made_steeper_and_taken_away() -> None:
    model, first = luong(), 0  # before the first look nothing has changed yet
    plain, flat, steep = (
        looked(Steered(model, window=Window(places={0: 2.5}, sigma=sigma)))[0, first]
        for sigma in (None, math.inf, 0.5)
    )
    away = torch.arange(7) - 2.5
    torch.testing.assert_close(flat.sum(), torch.tensor(1.0))
    for found, sigma in ((plain, 1.0), (steep, 0.5)):
        torch.testing.assert_close(found, flat * torch.exp(-(away**2) / (2 * sigma**2)))


@every_attention
def test_a_luong_is_steered_as_a_bahdanau_is(attention: str) -> None:
    model = luong(attention, D=9, sigma=1e6)  # all is inside
    own = looked(model)[:, 0]
    warm = looked(Steered(model, temperature=2.0))[:, 0]
    torch.testing.assert_close(warm, own.sqrt() / own.sqrt().sum(-1, keepdim=True))
    rows = looked(Steered(model, look="uniform", hidden=[2, 3], only=1))
    assert rows[:, :, [2, 3]].eq(0).all()
    torch.testing.assert_close(rows[0, 1], torch.tensor([0.2, 0.2, 0, 0, 0.2, 0.2, 0.2]))
    yours = Steered(model, look="yours", rows={0: [3], 1: [0]}, window=Window(places={1: 6.0}))
    for found in (greedy(yours, SOURCE, LENGTHS)[0], beam(yours, SOURCE, LENGTHS, width=4)[0]):
        assert found.weights is not None
        assert found.weights[0, 3] == 1
    rows = looked(yours)[0]
    assert rows[0, 3] == rows[1, 0] == 1


def test_beams_keep_their_windows_apart() -> None:
    """What a beam writes by itself is what it writes when it is made to."""
    model = luong()
    for seed in range(5):
        torch.manual_seed(seed)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.normal_()
        steered = Steered(model, window=Window(places={0: 5.0, 1: 2.5}, radius=1.5))
        found = beam(steered, SOURCE, LENGTHS, width=4)[0]
        target_in = torch.tensor([[BOS, *found.tokens]])[:, : len(found.log_probs)]
        with torch.inference_mode():
            again = steered(SOURCE, LENGTHS, target_in).weights["cross"][0, 0]
        torch.testing.assert_close(torch.from_numpy(found.weights), again, atol=1e-5, rtol=1e-4)


def test_only_a_luong_has_a_window_to_move(model: Bahdanau) -> None:
    with pytest.raises(TypeError, match="only a Luong has a window that can be moved, not a Bahd"):
        Steered(model, window=Window())
