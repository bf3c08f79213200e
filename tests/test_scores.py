"""The six scores, each against a slow loop written from its paper, and what they promise.

The list of promises comes from years of tutorials whose "attention" never looked at the source.
"""

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import get_args

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import normalize, scaled_dot_product_attention
from torch.testing import assert_close

import heed.scores
from heed.attention import Attention
from heed.masks import causal, padding
from heed.scores import (
    Additive,
    Cosine,
    Dot,
    General,
    Location,
    ScaledDot,
    Score,
    ScoreName,
    score_of,
)

B, Q, K, D_Q, D_K, D_HIDDEN, D_V = 2, 3, 5, 7, 11, 13, 17  # primes: no two axes can be confused
LENGTHS = torch.tensor([3, 5])


# --- the equations, one query and one key at a time, in Python's own numbers ----------------


def inner(a: list[float], b: list[float]) -> float:
    assert len(a) == len(b)
    total = 0.0
    for x, y in zip(a, b, strict=True):
        total += x * y
    return total


def dot(score: Dot, s: list[float], h: list[float], j: int) -> float:
    """sᵀh                                              (Luong et al. 2015, section 3.1)"""
    return inner(s, h)


def scaled_dot(score: ScaledDot, s: list[float], h: list[float], j: int) -> float:
    """qᵀk / √d_k                                              (Vaswani et al. 2017, Eq. 1)"""
    return inner(s, h) / len(h) ** 0.5


def general(score: General, s: list[float], h: list[float], j: int) -> float:
    """sᵀ W h                                           (Luong et al. 2015, section 3.1)"""
    W = score.W.weight.tolist()
    total = 0.0
    for row in range(len(s)):
        for column in range(len(h)):
            total += s[row] * W[row][column] * h[column]
    return total


def additive(score: Additive, s: list[float], h: list[float], j: int) -> float:
    """v_aᵀ tanh(W_a s + U_a h)                              (Bahdanau et al. 2015, A.1.2)"""
    W, U, (v,) = score.W.weight.tolist(), score.U.weight.tolist(), score.v.weight.tolist()
    total = 0.0
    for unit in range(len(v)):
        total += v[unit] * math.tanh(inner(W[unit], s) + inner(U[unit], h))
    return total


def cosine(score: Cosine, s: list[float], h: list[float], j: int) -> float:
    """β K[s, h],  K[u, v] = u·v / (‖u‖ ‖v‖)             (Graves et al. 2014, Eq. 5 and 6)"""
    beta = float(torch.as_tensor(score.strength).detach())
    return beta * inner(s, h) / (math.sqrt(inner(s, s)) * math.sqrt(inner(h, h)))


def location(score: Location, s: list[float], h: list[float], j: int) -> float:
    """α_t = softmax(W_a s_t): row j of W_a, and no h           (Luong et al. 2015, Eq. 8)"""
    return inner(score.W.weight.tolist()[j], s)


@dataclass(frozen=True)
class Case:
    build: Callable[[], Score]
    equation: Callable[..., float]
    d_q: int = D_K
    d_k: int = D_K

    def score(self) -> Score:
        return self.build().double()

    def inputs(self, *batch: int, queries: int = Q, keys: int = K) -> tuple[Tensor, Tensor]:
        query = torch.randn(*batch, queries, self.d_q, dtype=torch.float64)
        return query, torch.randn(*batch, keys, self.d_k, dtype=torch.float64)

    def weights(
        self, score: Score, query: Tensor, keys: Tensor, keep: Tensor | None = None
    ) -> Tensor:
        return Attention(score)(query, keys, keys, keep=keep).weights


CASES = {
    "Dot": Case(Dot, dot),
    "ScaledDot": Case(ScaledDot, scaled_dot),
    "General": Case(lambda: General(d_q=D_Q, d_k=D_K), general, d_q=D_Q),
    "Additive": Case(lambda: Additive(d_q=D_Q, d_k=D_K, d_hidden=D_HIDDEN), additive, d_q=D_Q),
    "Cosine": Case(lambda: Cosine(strength=2.5), cosine),
    "Cosine, learnt": Case(lambda: Cosine(strength=2.5, learnt=True), cosine),
    "Location": Case(lambda: Location(d_q=D_Q, max_keys=K + 2), location, d_q=D_Q),
}
every_score = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
every_score_that_reads_the_source = pytest.mark.parametrize(
    "case",
    [c for n, c in CASES.items() if n != "Location"],
    ids=[n for n in CASES if n != "Location"],
)


def test_no_score_is_left_out_of_this_file():
    defined = {
        name
        for name, kind in inspect.getmembers(heed.scores, inspect.isclass)
        if issubclass(kind, Score) and kind is not Score
    }
    assert defined == {name.split(",")[0] for name in CASES}


# --- what holds for all six ------------------------------------------------------------------


@every_score
def test_a_score_agrees_with_a_loop_written_from_its_equation(case):
    score, (query, keys) = case.score(), case.inputs(B)
    found = score(query, keys)
    assert found.shape == (B, Q, K)
    for b in range(B):
        for q in range(Q):
            for k in range(K):
                expected = case.equation(score, query[b, q].tolist(), keys[b, k].tolist(), k)
                assert abs(found[b, q, k].item() - expected) < 1e-9


@every_score
def test_the_weights_agree_with_a_softmax_written_out(case):
    score, (query, keys) = case.score(), case.inputs(B)
    found = case.weights(score, query, keys, padding(LENGTHS, K))
    for b, n in enumerate(LENGTHS.tolist()):
        for q in range(Q):
            e = [
                case.equation(score, query[b, q].tolist(), keys[b, k].tolist(), k) for k in range(n)
            ]
            total = sum(math.exp(x) for x in e)
            expected = [math.exp(x) / total for x in e] + [0.0] * (K - n)
            assert_close(
                found[b, q], torch.tensor(expected, dtype=torch.float64), rtol=0, atol=1e-9
            )


@every_score
def test_weights_are_never_negative_and_sum_to_one(case):
    weights = case.weights(case.score(), *case.inputs(B), padding(LENGTHS, K))
    assert (weights >= 0).all()
    assert_close(weights.sum(dim=-1), torch.ones(B, Q).double(), rtol=0, atol=1e-12)


@every_score
def test_a_masked_place_gets_exactly_nothing(case):
    keep = padding(LENGTHS, K)
    weights = case.weights(case.score(), *case.inputs(B), keep)
    assert (weights[~keep.expand(B, Q, K)] == 0.0).all()
    assert (weights[keep.expand(B, Q, K)] > 0.0).all()


@every_score
def test_a_query_that_may_look_nowhere_gets_zeros_and_a_zero_gradient(case):
    score, (query, keys) = case.score(), case.inputs(B)
    query.requires_grad_()
    keys.requires_grad_()
    keep = padding(LENGTHS, K).repeat(1, Q, 1)
    keep[0, 1] = False
    attended = Attention(score)(query, keys, keys, keep=keep)
    assert (attended.weights[0, 1] == 0.0).all()
    assert (attended.context[0, 1] == 0.0).all()

    attended.context.square().sum().backward()
    assert query.grad is not None
    assert (query.grad[0, 1] == 0.0).all()
    assert (query.grad[0, 0] != 0.0).any()
    for tensor in (query, keys, *score.parameters()):
        assert tensor.grad is not None
        assert tensor.grad.isfinite().all()


@every_score
def test_when_nobody_may_look_anywhere_every_gradient_is_zero(case):
    score, (query, keys) = case.score(), case.inputs(B)
    query.requires_grad_()
    keys.requires_grad_()
    keep = torch.zeros(B, Q, K, dtype=torch.bool)
    Attention(score)(query, keys, keys, keep=keep).context.square().sum().backward()
    for tensor in (query, keys, *score.parameters()):
        assert tensor.grad is None or (tensor.grad == 0.0).all()


@every_score
def test_padding_the_source_changes_no_weight(case):
    score, (query, keys) = case.score(), case.inputs(B)
    alone = case.weights(score, query, keys)
    for filler in (torch.zeros(B, 2, case.d_k), 50 * torch.randn(B, 2, case.d_k)):
        longer = torch.cat([keys, filler.double()], dim=1)
        keep = padding(torch.full((B,), K), K + 2)
        padded = case.weights(score, query, longer, keep)
        assert_close(padded[..., :K], alone, rtol=0, atol=1e-12)
        assert (padded[..., K:] == 0.0).all()


@every_score
def test_what_stands_on_a_masked_place_does_not_matter(case):
    score, (query, keys) = case.score(), case.inputs(B)
    keep = padding(LENGTHS, K)
    other = keys.masked_fill(~keep.mT, 1e3)
    assert torch.equal(
        case.weights(score, query, keys, keep), case.weights(score, query, other, keep)
    )


@every_score
def test_preparing_the_keys_once_gives_the_same_scores(case):
    score, (query, keys) = case.score(), case.inputs(B)
    prepared = score.prepare(keys)
    assert torch.equal(score.compare(query, prepared), score(query, keys))
    for q in range(Q):
        one = score.compare(query[:, q : q + 1], prepared)
        assert_close(one, score(query, keys)[:, q : q + 1], rtol=0, atol=1e-12)


@every_score
def test_each_row_of_a_batch_and_each_head_is_scored_alone(case):
    score, (query, keys) = case.score(), case.inputs(B, 3)
    found = score(query, keys)
    assert found.shape == (B, 3, Q, K)
    for b in range(B):
        for head in range(3):
            alone = score(query[b, head], keys[b, head])
            assert_close(found[b, head], alone, rtol=0, atol=1e-12)


@every_score
def test_the_gradient_is_the_slope_of_the_attention(case):
    score, (query, keys) = case.score(), case.inputs(1, queries=2, keys=3)
    values = torch.randn(1, 3, 2, dtype=torch.float64)
    keep = torch.tensor([[True, True, False], [False, False, False]])
    names = [name for name, _ in score.named_parameters()]

    def attend(query: Tensor, keys: Tensor, values: Tensor, *parameters: Tensor) -> Tensor:
        own = {f"score.{name}": p for name, p in zip(names, parameters, strict=True)}
        attended = torch.func.functional_call(
            Attention(score), own, (query, keys, values), {"keep": keep}
        )
        return torch.cat([attended.context, attended.weights], dim=-1)

    inputs = [query, keys, values, *(p.detach() for p in score.parameters())]
    assert torch.autograd.gradcheck(attend, [tensor.requires_grad_() for tensor in inputs])


@every_score
def test_half_of_the_numbers_precision_still_gives_a_distribution(case):
    score, (query, keys) = case.score().bfloat16(), case.inputs(B)
    weights = case.weights(score, query.bfloat16(), keys.bfloat16(), padding(LENGTHS, K))
    assert weights.dtype == torch.bfloat16
    assert_close(weights.float().sum(dim=-1), torch.ones(B, Q), rtol=0, atol=0.02)


# --- does it look at the source? -------------------------------------------------------------


@every_score_that_reads_the_source
def test_changing_one_source_vector_changes_the_weights(case):
    score, (query, keys) = case.score(), case.inputs(B)
    before = case.weights(score, query, keys)
    for k in range(K):
        changed = keys.clone()
        changed[:, k] = torch.randn(B, case.d_k)
        difference = (case.weights(score, query, changed) - before).abs()
        assert (difference.amax(dim=-1) > 1e-6).all(), f"position {k} is not looked at"


@every_score_that_reads_the_source
def test_permuting_the_source_permutes_the_weights(case):
    score, (query, keys) = case.score(), case.inputs(B)
    order = torch.tensor([3, 0, 4, 1, 2])
    before = case.weights(score, query, keys)
    after = case.weights(score, query, keys[:, order])
    assert_close(after, before[..., order], rtol=0, atol=1e-12)


def test_the_location_score_is_blind_to_the_source():
    case = CASES["Location"]
    score, (query, keys) = case.score(), case.inputs(B)
    before = case.weights(score, query, keys)
    assert torch.equal(case.weights(score, query, torch.randn_like(keys)), before)
    order = torch.tensor([3, 0, 4, 1, 2])
    assert torch.equal(case.weights(score, query, keys[:, order]), before)
    assert not torch.equal(before, before[..., order])


def test_the_location_score_sends_the_source_no_gradient():
    case = CASES["Location"]
    query, keys = case.inputs(B)
    keys.requires_grad_()
    (slope,) = torch.autograd.grad(case.score()(query, keys).sum(), keys, allow_unused=True)
    assert slope is None


def test_every_score_looks_with_the_query():
    for name, case in CASES.items():
        score, (query, keys) = case.score(), case.inputs(B)
        other = torch.randn_like(query)
        difference = (case.weights(score, query, keys) - case.weights(score, other, keys)).abs()
        assert (difference.amax(dim=-1) > 1e-6).all(), name


# --- location: a fixed number of places ------------------------------------------------------


def test_a_word_beyond_the_last_place_of_the_location_score_gets_no_weight():
    score = Location(d_q=D_Q, max_keys=3).double()
    query, keys = CASES["Location"].inputs(B)
    attended = Attention(score)(query, keys, keys)
    assert (attended.weights[..., 3:] == 0.0).all()
    short = Attention(score)(query, keys[:, :3], keys[:, :3])
    assert_close(attended.weights[..., :3], short.weights, rtol=0, atol=1e-12)


def test_a_query_held_to_words_beyond_the_last_place_gets_zeros_instead_of_nan():
    score = Location(d_q=D_Q, max_keys=3)
    query = torch.randn(B, Q, D_Q, requires_grad=True)
    keys = torch.randn(B, K, D_K)
    attended = Attention(score)(query, keys, keys, keep=torch.arange(K).ge(3).expand(B, 1, K))
    assert (attended.weights == 0.0).all()
    attended.context.sum().backward()
    assert query.grad is not None
    assert (query.grad == 0.0).all()


# --- how the scores are related --------------------------------------------------------------


def test_the_scaled_dot_product_is_the_dot_product_of_a_shrunken_query():
    query, keys = CASES["Dot"].inputs(B)
    assert_close(ScaledDot()(query, keys), Dot()(query / D_K**0.5, keys), rtol=0, atol=1e-12)


@pytest.mark.parametrize("mask", ["none", "padding", "causal", "both"])
def test_the_scaled_dot_product_agrees_with_pytorch(mask):
    query, keys = torch.randn(B, 3, K, D_K), torch.randn(B, 3, K, D_K)
    values = torch.randn(B, 3, K, D_V)
    pads = padding(LENGTHS, K).unsqueeze(1)
    keep = {"none": None, "padding": pads, "causal": causal(K), "both": pads & causal(K)}[mask]
    ours = Attention(ScaledDot())(query, keys, values, keep=keep).context
    theirs = scaled_dot_product_attention(query, keys, values, attn_mask=keep)
    assert_close(ours, theirs, rtol=0, atol=1e-6)


def test_the_scaled_dot_product_of_a_head_is_scaled_by_the_width_of_that_head():
    heads, d = 3, 4
    query, keys = torch.randn(2, B, heads, K, d, dtype=torch.float64)
    assert_close(ScaledDot()(query, keys), query @ keys.mT / 2.0)


def test_general_with_the_identity_in_the_middle_is_the_dot_product():
    score = General(d_q=D_K, d_k=D_K).double()
    nn.init.eye_(score.W.weight)
    query, keys = CASES["Dot"].inputs(B)
    assert_close(score(query, keys), Dot()(query, keys), rtol=0, atol=1e-12)


def test_additive_is_the_surveys_form_with_one_wide_matrix_cut_in_two():
    case = CASES["Additive"]
    score, (query, keys) = case.score(), case.inputs(B)
    wide = torch.cat([score.W.weight, score.U.weight], dim=1)
    for q in range(Q):
        for k in range(K):
            joined = torch.cat([query[:, q], keys[:, k]], dim=-1)  # [s; h]
            expected = torch.tanh(joined @ wide.T) @ score.v.weight[0]
            assert_close(score(query, keys)[:, q, k], expected, rtol=0, atol=1e-12)


def test_an_additive_score_cannot_exceed_the_sum_of_its_v():
    case = CASES["Additive"]
    score, (query, keys) = case.score(), case.inputs(B)
    assert (score(1e3 * query, keys).abs() <= score.v.weight.abs().sum() + 1e-12).all()


def test_the_cosine_of_unit_vectors_is_their_dot_product():
    query, keys = (normalize(tensor, dim=-1) for tensor in CASES["Dot"].inputs(B))
    assert_close(Cosine()(query, keys), Dot()(query, keys), rtol=0, atol=1e-12)


@pytest.mark.parametrize("factor", [1e-3, 0.5, 40.0])
def test_only_the_cosine_does_not_care_how_long_the_vectors_are(factor):
    for name in ("Cosine", "Dot", "ScaledDot", "General", "Additive"):
        case = CASES[name]
        score, (query, keys) = case.score(), case.inputs(B)
        before = case.weights(score, query, keys)
        for after in (
            case.weights(score, query, factor * keys),
            case.weights(score, factor * query, keys),
        ):
            same = (after - before).abs().max() < 1e-9
            assert same == (name == "Cosine"), name


@pytest.mark.parametrize(("keys", "bound"), [(5, 0.65), (20, 0.28), (50, 0.13)])
def test_without_a_strength_the_cosine_cannot_make_up_its_mind(keys, bound):
    """One perfect match among opposites: e / (e + (n − 1) / e), and nothing gets above it."""
    match = torch.randn(D_K, dtype=torch.float64)
    source = torch.stack([match, *[-match] * (keys - 1)])
    best = Attention(Cosine())(match[None], source, source).weights[0, 0].item()
    assert best == pytest.approx(math.e / (math.e + (keys - 1) / math.e), abs=1e-12)
    assert best == pytest.approx(bound, abs=0.005)

    query, others = torch.randn(101, D_K).double(), torch.randn(keys, D_K).double()
    assert Attention(Cosine())(query, others, others).weights.max() <= best
    assert Attention(Cosine(strength=20.0))(match[None], source, source).weights[0, 0] > 0.999


def test_the_cosine_of_a_zero_vector_is_zero_and_its_gradient_finite():
    query = torch.zeros(1, D_K, requires_grad=True)
    keys = torch.stack([torch.zeros(D_K), torch.ones(D_K)]).requires_grad_()
    scores = Cosine()(query, keys)
    assert scores.tolist() == [[0.0, 0.0]]
    scores.sum().backward()
    for tensor in (query, keys):
        assert tensor.grad is not None
        assert tensor.grad.isfinite().all()


def test_wide_vectors_make_the_dot_product_sharp_and_leave_the_scaled_one_alone():
    """Var(sᵀh) = d for independent N(0, 1) entries, so the softmax saturates as d grows."""
    sharpest = {Dot: [], ScaledDot: []}
    for d in (16, 64, 512):
        query, keys = torch.randn(400, 1, d), torch.randn(400, 20, d)
        assert Dot()(query, keys).var().item() == pytest.approx(d, rel=0.1)
        assert ScaledDot()(query, keys).var().item() == pytest.approx(1, rel=0.1)
        for kind, means in sharpest.items():
            weights = Attention(kind())(query, keys, keys).weights
            means.append(weights.amax(dim=-1).mean().item())
    assert sharpest[Dot] == pytest.approx([0.66, 0.83, 0.94], abs=0.03)
    assert sharpest[ScaledDot] == pytest.approx([0.21, 0.21, 0.21], abs=0.02)


# --- chosen by name --------------------------------------------------------------------------


SIZES = {"d_q": 4, "d_k": 4, "d_hidden": 3, "max_keys": 5}


@pytest.mark.parametrize("name", get_args(ScoreName))
def test_each_name_of_a_config_stands_for_a_score(name):
    kinds = {
        "additive": Additive,
        "general": General,
        "dot": Dot,
        "scaled_dot": ScaledDot,
        "content_base": Cosine,
        "unit_content_base": Cosine,
        "location_base": Location,
    }
    score = score_of(name, **SIZES)
    assert type(score) is kinds[name]
    assert score(torch.randn(2, 3, 4), torch.randn(2, 5, 4)).shape == (2, 3, 5)


def test_content_base_learns_its_strength_from_one_and_its_unit_form_does_not():
    learnt, unit = score_of("content_base", **SIZES), score_of("unit_content_base", **SIZES)
    assert [torch.as_tensor(s.strength).item() for s in (learnt, unit)] == [1.0, 1.0]
    assert not list(unit.parameters())
    (strength,) = learnt.parameters()
    query, keys = torch.randn(1, 2, 4), torch.randn(1, 3, 4)
    learnt(query, keys).sum().backward()
    assert_close(strength.grad, learnt(query, keys).sum().detach())  # d β cos / d log β = β cos


@pytest.mark.parametrize("name", ["dot", "scaled_dot", "content_base", "unit_content_base"])
def test_a_score_without_a_matrix_needs_equal_widths(name):
    with pytest.raises(ValueError, match=f"'{name}' needs d_q = d_k, not 4 and 6"):
        score_of(name, **(SIZES | {"d_k": 6}))


def test_a_strength_must_be_positive_and_a_name_known():
    with pytest.raises(ValueError, match=r"strength=0\.0 must be positive"):
        Cosine(strength=0.0)
    with pytest.raises(ValueError, match="score='cosine' is none of additive, general"):
        score_of("cosine", **SIZES)
