"""Multi-head attention against PyTorch's, against a loop written from the paper, and alone."""

import math

import pytest
import torch
import torch.nn.functional as F
from shaken import shaken
from torch import Tensor, nn
from torch.testing import assert_close

from heed.layers.multihead import MultiHead, switch
from heed.masks import causal, padding

B, QUERIES, KEYS, D, HEADS = 2, 5, 7, 12, 3
LENGTHS = torch.tensor([7, 4])
MASKS = {
    "none": None,
    "padding": padding(LENGTHS, KEYS),
    "causal": causal(KEYS)[-QUERIES:].unsqueeze(0),
    "both": padding(LENGTHS, KEYS) & causal(KEYS)[-QUERIES:],
    "any": torch.rand(B, QUERIES, KEYS, generator=torch.Generator().manual_seed(3)) < 0.5,
}
MASKS["any"][..., 2] = True  # PyTorch's module has no answer for a query that may look nowhere
masks = pytest.mark.parametrize("keep", MASKS.values(), ids=MASKS)
ways = pytest.mark.parametrize("weights", [False, True], ids=["in blocks", "with weights"])


def inputs() -> tuple[Tensor, Tensor]:
    return torch.randn(B, QUERIES, D), torch.randn(B, KEYS, D)


def theirs(ours: MultiHead) -> nn.MultiheadAttention:
    """PyTorch's module with the same matrices."""
    bias = ours.W_q.bias is not None
    module = nn.MultiheadAttention(D, ours.heads, bias=bias, batch_first=True).eval()
    with torch.no_grad():
        parts = (ours.W_q, ours.W_k, ours.W_v)
        module.in_proj_weight.copy_(torch.cat([part.weight for part in parts]))
        module.out_proj.weight.copy_(ours.W_o.weight)
        if bias:
            module.in_proj_bias.copy_(torch.cat([part.bias for part in parts]))
            module.out_proj.bias.copy_(ours.W_o.bias)
    return module


@masks
@ways
@pytest.mark.parametrize("bias", [False, True])
def test_it_is_pytorchs_module_with_the_mask_turned_round(keep, weights, bias):
    ours = shaken(MultiHead(d_model=D, heads=HEADS, bias=bias)).float()
    query, source = inputs()
    drop = None
    if keep is not None:
        drop = ~keep.expand(B, QUERIES, KEYS).repeat_interleave(HEADS, dim=0)
    wanted, alpha = theirs(ours)(query, source, source, attn_mask=drop, average_attn_weights=False)
    found = ours(query, source, keep=keep, weights=weights)
    assert_close(found.out, wanted, rtol=0, atol=1e-5)
    if weights:
        assert_close(found.weights, alpha, rtol=0, atol=1e-5)
    else:
        assert found.weights is None


@masks
@ways
@pytest.mark.parametrize("scaled", [False, True])
def test_each_head_is_pytorchs_scaled_dot_product_attention(keep, weights, scaled):
    ours = shaken(MultiHead(d_model=D, heads=HEADS, scaled=scaled))
    query, source = (each.double() for each in inputs())
    heads = []
    for i in range(HEADS):
        rows = slice(i * D // HEADS, (i + 1) * D // HEADS)
        q, k, v = (
            x @ part.weight[rows].mT
            for x, part in ((query, ours.W_q), (source, ours.W_k), (source, ours.W_v))
        )
        scale = 1 / math.sqrt(D // HEADS) if scaled else 1.0
        heads.append(F.scaled_dot_product_attention(q, k, v, attn_mask=keep, scale=scale))
    wanted = torch.cat(heads, dim=-1) @ ours.W_o.weight.mT
    assert_close(ours(query, source, keep=keep, weights=weights).out, wanted, rtol=0, atol=1e-10)


@ways
def test_a_query_that_may_look_nowhere_gets_zeros_and_a_finite_gradient(weights):
    ours = shaken(MultiHead(d_model=D, heads=HEADS))
    query, source = (each.double().requires_grad_() for each in inputs())
    keep = MASKS["any"].clone()
    keep[1, 3] = False
    found = ours(query, source, keep=keep, weights=weights)
    assert (found.out[1, 3] == 0).all()
    assert (found.out[1, 2] != 0).all()
    found.out.square().sum().backward()
    for each in (query, source, ours.W_q.weight, ours.W_k.weight):
        assert each.grad is not None
        assert each.grad.isfinite().all()
    assert (query.grad[1, 3] == 0).all()


@ways
def test_what_the_mask_forbids_has_no_gradient_at_all(weights):
    ours = shaken(MultiHead(d_model=D, heads=HEADS))
    source = torch.randn(B, KEYS, D).double().requires_grad_()
    query = source.detach()
    keep = causal(KEYS).unsqueeze(0)
    out = ours(query, source, keep=keep, weights=weights).out
    for t in range(KEYS):
        (grad,) = torch.autograd.grad(out[:, t].square().sum(), source, retain_graph=True)
        assert (grad[:, t + 1 :] == 0).all()
        assert (grad[:, : t + 1] != 0).any(dim=-1).all()


@ways
def test_a_head_that_is_off_takes_no_part(weights):
    ours = shaken(MultiHead(d_model=D, heads=HEADS))
    query, source = (each.double() for each in inputs())
    whole = ours(query, source, weights=True)
    parts = [
        ours(query, source, on=switch(HEADS, {1, 2, 3} - {head}, torch.device("cpu")))
        for head in (1, 2, 3)
    ]
    assert_close(sum(part.out for part in parts), whole.out, rtol=0, atol=1e-10)
    off = ours(query, source, on=switch(HEADS, {2}, torch.device("cpu")), weights=weights)
    assert_close(off.out, whole.out - parts[1].out, rtol=0, atol=1e-10)
    if weights:
        assert torch.equal(off.weights, whole.weights)


def test_a_head_that_is_not_there_cannot_be_switched_off():
    with pytest.raises(ValueError, match=r"^head 4 is none of 1 to 3$"):
        switch(3, {1, 4}, torch.device("cpu"))


def test_preparing_once_and_looking_twice_is_looking_twice():
    ours = shaken(MultiHead(d_model=D, heads=HEADS))
    query, source = (each.double() for each in inputs())
    prepared = ours.prepare(source)
    for part in (query[:, :1], query[:, 1:]):
        assert torch.equal(ours.look(part, prepared).out, ours(part, source).out)


@ways
def test_dropout_takes_weights_in_training_and_none_afterwards(weights):
    ours = shaken(MultiHead(d_model=D, heads=HEADS, dropout=0.5))
    query, source = (each.double() for each in inputs())
    calm = ours(query, source, weights=weights).out
    assert torch.equal(ours(query, source, weights=weights).out, calm)
    ours.train()
    assert not torch.allclose(ours(query, source, weights=weights).out, calm)


def test_nothing_is_kept_for_the_way_back_when_nobody_asks():
    """The map of queries and keys is the only thing here that is QUERIES × KEYS large."""
    ours = MultiHead(d_model=D, heads=HEADS)
    long = torch.randn(1, 64, D)
    for weights, held in ((False, False), (True, True)):
        sizes = set()

        def note(tensor: Tensor, sizes: set = sizes) -> Tensor:
            sizes.add(tuple(tensor.shape[-2:]))
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
            ours(long, long, weights=weights)
        assert ((64, 64) in sizes) == held


def test_on_a_processor_the_blocks_are_of_float32_whatever_is_around_them(monkeypatch):
    ours = MultiHead(d_model=D, heads=HEADS)
    query, source = inputs()
    kinds, real = [], F.scaled_dot_product_attention

    def note(q, k, v, *rest, **options):
        kinds.append({q.dtype, k.dtype, v.dtype})
        return real(q, k, v, *rest, **options)

    monkeypatch.setattr(F, "scaled_dot_product_attention", note)
    exact = ours(query, source, keep=MASKS["padding"]).out
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rough = ours(query, source, keep=MASKS["padding"]).out
    assert kinds == [{torch.float32}] * 2
    assert rough.dtype == torch.bfloat16
    assert_close(rough.float(), exact, rtol=0, atol=0.02)
    ours.double()(query.double(), source.double())
    assert kinds[-1] == {torch.float64}


@pytest.mark.parametrize("heads", [0, 5])
def test_a_width_that_cannot_be_split_is_refused(heads):
    with pytest.raises(ValueError, match=rf"^d_model=12 cannot be split over {heads} heads$"):
        MultiHead(d_model=D, heads=heads)
