"""SNAIL: what an answer depends on, and on what it must not."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from heed.models.snail import SNAIL, SNAILConfig

SMALL = SNAILConfig(
    ways=3, longest=7, channels=2, d_picture=5, attention=((3, 2), (5, 4)), filters=3
)
VARIANTS = {
    "whole": SMALL,
    "no convolutions": replace(SMALL, temporal=False),
    "no attention": replace(SMALL, attention=(None, None)),
    "as printed": replace(SMALL, dilations="as_printed"),
}
variants = pytest.mark.parametrize("config", VARIANTS.values(), ids=VARIANTS)


def episodes() -> tuple[Tensor, Tensor]:
    labels = torch.tensor([[0, 2, 1, 1, 2, 0, -1], [1, 0, 2, -1, -1, -1, -1]])
    return torch.rand(2, 7, 28, 28), labels


@variants
def test_no_step_sees_a_later_picture_or_label(config):
    model = SNAIL(config).eval()
    pictures, labels = episodes()
    before = model(pictures, labels).logits
    for t in range(7):
        other, renamed = pictures.clone(), labels.clone()
        other[0, t], renamed[0, t] = torch.rand(28, 28), (labels[0, t] + 1) % 3
        differs = (model(other, renamed).logits - before)[0].abs().amax(dim=1) > 1e-6
        assert not differs[:t].any()
        assert differs[t]


def test_a_short_episode_is_answered_as_if_it_stood_alone():
    model = SNAIL(SMALL).eval()
    pictures, labels = episodes()
    together = model(pictures, labels, torch.tensor([7, 4])).at(torch.tensor([6, 3]))
    alone = model(pictures[1:, :4], labels[1:, :4]).at(torch.tensor([3]))
    assert_close(together[1:], alone, rtol=0, atol=1e-5)


def test_a_softmax_over_queries_does_not_count_what_fills_up_a_batch():
    model = SNAIL(replace(SMALL, over="queries")).eval()
    pictures, labels = episodes()
    together = model(pictures, labels, torch.tensor([7, 4])).at(torch.tensor([6, 3]))
    alone = model(pictures[1:, :4], labels[1:, :4]).at(torch.tensor([3]))
    assert_close(together[1:], alone, rtol=0, atol=1e-5)


def test_what_follows_an_episode_does_not_reach_the_batch_norm():
    pictures, labels = episodes()
    wild = pictures.clone()
    wild[1, 4:] = 100.0
    lengths = torch.tensor([7, 4])
    seen = []
    for shown in (pictures, wild):
        torch.manual_seed(0)
        model = SNAIL(SMALL).train()
        model(shown, labels, lengths)
        seen.append(model.embed.parts[1].running_mean)
    assert torch.equal(*seen)


def test_a_picture_shown_twice_may_be_embedded_once():
    pictures, labels = episodes()
    pictures[1, :3] = pictures[0, [4, 0, 2]]
    lengths = torch.tensor([7, 4])
    drawings = torch.tensor([[30, 11, 12, 13, 14, 15, 16], [14, 30, 12, 20, 0, 0, 0]])
    model = SNAIL(SMALL).eval()
    once = model(pictures, labels, lengths, drawings).at(lengths - 1)
    assert_close(once, model(pictures, labels, lengths).at(lengths - 1), rtol=0, atol=1e-5)
    seen = []
    model.embed.register_forward_pre_hook(lambda _, inputs: seen.append(len(inputs[0])))
    model(pictures, labels, lengths, drawings)
    assert seen == [8], "7 and 4 pictures, three of them twice"


def test_no_label_is_a_label_of_zeros():
    model = SNAIL(replace(SMALL, temporal=False, attention=(None,))).eval()
    with torch.no_grad():
        model.output.weight.zero_()
        model.output.weight[:, -3:] = torch.eye(3)
        model.output.bias.zero_()
    logits = model(*episodes()).logits
    assert logits[0].tolist() == [
        [1, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0], [0, 0, 0]
    ]  # fmt: skip


def test_every_attention_block_hands_out_where_it_looked():
    out = SNAIL(SMALL).eval()(*episodes())
    assert set(out.weights) == {"attention 1", "attention 2"}
    for each in out.weights.values():
        assert_close(each.sum(dim=-1), torch.ones(2, 7))
        assert (each.triu(1) == 0).all()
    assert SNAIL(VARIANTS["no attention"]).eval()(*episodes()).weights == {}


def test_a_longer_episode_than_it_was_made_for_is_refused():
    model = SNAIL(replace(SMALL, longest=6)).eval()
    with pytest.raises(ValueError, match=r"^7 pictures, but this network looks back over 6$"):
        model(*episodes())


def test_every_parameter_has_a_part_in_the_answer():
    model = SNAIL(SMALL)
    model(*episodes()).logits.square().sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert (parameter.grad != 0).any(), name


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"ways": 1}, r"^ways=1: one class is no choice$"),
        ({"longest": 1}, r"^longest=1: a picture"),
        ({"attention": ()}, r"^attention=\(\) leaves nothing"),
    ],
)
def test_a_size_that_makes_no_sense_is_refused(option, message):
    with pytest.raises(ValueError, match=message):
        replace(SMALL, **option)
