"""Each wrong wiring breaks the promises that it should, and no others."""

from itertools import product

import pytest
import torch
from torch.testing import assert_close

from heed.attention import Attention
from heed.evaluation.leaks import PROMISES, Bench, Wiring, attend, leaks
from heed.masks import causal
from heed.scores import ScaledDot

READER, WRITER = Wiring(), Wiring(causal=True)
BENCH = Bench.of()

BROKEN = {
    READER: {"ahead"},  # a reader may
    WRITER: set(),
    Wiring(padding="after"): {"ahead", "sum", "filling"},
    Wiring(padding="none"): {"ahead", "padding", "filling"},
    Wiring(over="queries"): {"ahead", "sum", "filling", "question"},
    Wiring(causal=True, over="queries"): {"ahead", "sum", "filling", "question"},
    Wiring(swapped=True): {"ahead", "question"},
    Wiring(causal=True, swapped=True): {"question"},
    # over the queries, what padding gets as a key matters less than what it takes as a query
    Wiring(over="queries", padding="after"): {"ahead", "sum", "filling", "question"},
    Wiring(over="queries", padding="none"): {"ahead", "sum", "padding", "filling", "question"},
    Wiring(swapped=True, padding="after"): {"ahead", "sum", "filling", "question"},
    Wiring(swapped=True, padding="none"): {"ahead", "padding", "filling", "question"},
    # padding stands behind, and a causal mask covers it by chance
    Wiring(causal=True, padding="after"): set(),
    Wiring(causal=True, padding="none"): set(),
}


@pytest.mark.parametrize("wiring", BROKEN, ids=str)
def test_a_wiring_breaks_these_promises_and_no_others(wiring):
    for seed in range(5):
        found = leaks(wiring, Bench.of(seed=seed))
        assert list(found) == list(PROMISES)
        assert {name for name, leak in found.items() if leak > 1e-6} == BROKEN[wiring]
        assert all(leak > 0.005 or leak < 1e-12 for leak in found.values())


@pytest.mark.parametrize("wiring", [READER, WRITER], ids=str)
def test_the_right_wiring_is_the_packages_attention(wiring):
    query, keys = BENCH.x @ BENCH.W_q, BENCH.x @ BENCH.W_k
    keep = BENCH.keep & causal(len(BENCH.x)) if wiring.causal else BENCH.keep[None]
    found = Attention(ScaledDot())(query, keys, BENCH.x, keep=keep)
    assert_close(attend(wiring, BENCH).weights, found.weights)
    assert_close(attend(wiring, BENCH).context, found.context)


def test_no_wiring_gives_what_is_not_a_number():
    for padding, cause, over, swapped in product(
        ("before", "after", "none"), (False, True), ("keys", "queries"), (False, True)
    ):
        wiring = Wiring(padding=padding, causal=cause, over=over, swapped=swapped)
        assert torch.isfinite(attend(wiring, BENCH).weights).all()
        assert all(leak < float("inf") for leak in leaks(wiring).values())


def test_a_bench_is_the_same_each_time_and_without_padding_none_can_be_looked_at():
    assert torch.equal(Bench.of().x, BENCH.x)
    assert not torch.equal(Bench.of(seed=1).x, BENCH.x)
    assert leaks(Wiring(padding="none"), Bench.of(padding=0))["padding"] == 0.0


@pytest.mark.parametrize(
    ("name", "value", "known"),
    [("padding", "during", "before, after, none"), ("over", "rows", "keys, queries")],
)
def test_an_unknown_wiring_is_refused(name, value, known):
    wiring = Wiring()
    object.__setattr__(wiring, name, value)  # the type checks would refuse it before we do
    with pytest.raises(ValueError, match=f"{name}='{value}' is none of {known}"):
        wiring.__post_init__()
