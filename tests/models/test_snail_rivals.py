"""SNAIL's rivals: an LSTM and prototypes, on the same episodes."""

import pytest
import torch
from torch.testing import assert_close

from heed.experiments.table import EXPERIMENTS
from heed.models.meta_lstm import EpisodeLSTM, EpisodeLSTMConfig
from heed.models.prototypes import Prototypes, PrototypesConfig

SIZES = {"ways": 3, "channels": 2, "d_picture": 5}
LABELS = torch.tensor([[0, 2, 1, 1, 2, 0, -1], [1, 0, 2, -1, -1, -1, -1]])
LENGTHS = torch.tensor([7, 4])


def models() -> list[torch.nn.Module]:
    return [
        EpisodeLSTM(EpisodeLSTMConfig(**SIZES, d_hidden=4)).eval(),
        Prototypes(PrototypesConfig(**SIZES)).eval(),
    ]


def test_a_short_episode_is_answered_as_if_it_stood_alone():
    pictures = torch.rand(2, 7, 28, 28)
    for model in models():
        together = model(pictures, LABELS, LENGTHS).at(LENGTHS - 1)
        alone = model(pictures[1:, :4], LABELS[1:, :4]).at(torch.tensor([3]))
        assert_close(together[1:], alone, rtol=0, atol=1e-5)


def test_no_step_sees_a_later_picture_or_label():
    pictures = torch.rand(2, 7, 28, 28)
    for model in models():
        before = model(pictures, LABELS).logits
        for t in range(7):
            other, renamed = pictures.clone(), LABELS.clone()
            other[0, t], renamed[0, t] = torch.rand(28, 28), (LABELS[0, t] + 1) % 3
            after = model(other, renamed).logits
            assert torch.equal(after[0, :t], before[0, :t])
            assert not torch.equal(after[0, t:], before[0, t:])


def test_a_prototype_is_the_mean_of_what_was_shown_and_the_nearest_one_wins():
    model = models()[1]
    pictures = torch.rand(2, 7, 28, 28)
    with torch.no_grad():
        f = model.embed(pictures[0])
        logits = model(pictures, LABELS).logits[0]
    for t, so_far in ((6, (0, 1, 2)), (2, (0, 2))):
        for way in range(3):
            shown = [s for s in range(t) if LABELS[0, s] == way]
            if way in so_far:
                wanted = -(f[t] - f[shown].mean(dim=0)).square().sum()
                assert_close(logits[t, way], wanted, rtol=1e-4, atol=1e-5)
            else:
                assert logits[t, way] == float("-inf")


def test_prototypes_learn_from_a_first_step_whose_classes_were_never_shown():
    model = Prototypes(PrototypesConfig(**SIZES))
    guess = model(torch.rand(2, 7, 28, 28), LABELS, LENGTHS).at(LENGTHS - 1)
    torch.nn.functional.cross_entropy(guess, torch.tensor([1, 2])).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name


@pytest.mark.parametrize("data", ["glyphs", "bandit"])
def test_the_lstm_has_as_many_parameters_as_the_snail(data):
    sizes = []
    for name in ("snail", "lstm"):
        row = EXPERIMENTS[f"{name}_{data}"]
        sizes.append(sum(p.numel() for p in row.build(row.sized({})).parameters()))
    assert sizes[1] == pytest.approx(sizes[0], rel=0.01)


def test_one_class_is_no_choice():
    for config in (EpisodeLSTMConfig, PrototypesConfig):
        with pytest.raises(ValueError, match=r"^ways=1: one class is no choice$"):
            config(ways=1)
