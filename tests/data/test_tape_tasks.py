"""The five tasks on a tape: what stands where, and what is right."""

import math

import pytest
import torch

from heed.data.tapes import (
    CopyTapes,
    NGramTapes,
    RecallTapes,
    RepeatTapes,
    SortTapes,
)

ALL = [CopyTapes(), RepeatTapes(), RecallTapes(), NGramTapes(), SortTapes()]


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("data", ALL, ids=lambda data: type(data).__name__)
def test_widths_are_as_promised_and_only_scored_steps_have_targets(data):
    for sizes in data.tested[:2]:
        tape = data.tape(3, seeded(), **sizes)
        assert (tape.inputs.shape[2], tape.targets.shape[2]) == data.widths
        assert len(tape.scored) == tape.inputs.shape[1] == tape.targets.shape[1]
        assert (tape.targets[:, ~tape.scored] == 0).all()
        assert set(tape.targets.unique().tolist()) <= {0.0, 1.0}
        assert tape.bits == tape.scored.sum() * data.widths[1]


@pytest.mark.parametrize("data", ALL, ids=lambda data: type(data).__name__)
def test_a_generator_always_gives_the_same_tape_and_held_out_ones_are_fixed(data):
    one, same, other = (data.draw(4, seeded(seed)) for seed in (1, 1, 2))
    assert torch.equal(one.inputs, same.inputs)
    assert one.inputs.shape != other.inputs.shape or not torch.equal(one.inputs, other.inputs)
    sizes = data.tested[0]
    held = data.held_out_tape(7, 4, sizes)
    assert torch.equal(held.inputs, data.held_out_tape(7, 4, sizes).inputs)
    assert not torch.equal(held.inputs, data.held_out_tape(8, 4, sizes).inputs)


@pytest.mark.parametrize("data", ALL, ids=lambda data: type(data).__name__)
def test_training_sizes_fill_their_whole_range(data):
    generator = seeded()
    drawn = [data.sizes(generator) for _ in range(300)]
    for name, (least, most) in data.trained.items():
        assert {sizes[name] for sizes in drawn} == set(range(least, most + 1))


def test_copy_has_vectors_then_a_mark_then_silence():
    tape = CopyTapes().tape(5, seeded(), length=4)
    said = tape.inputs[:, :4, :8]
    assert set(said.unique().tolist()) == {0.0, 1.0}
    assert (tape.inputs[:, :4, 8] == 0).all()
    assert tape.inputs[:, 4].tolist() == [[0.0] * 8 + [1.0]] * 5
    assert (tape.inputs[:, 5:] == 0).all()
    assert torch.equal(tape.targets[:, 5:], said)
    assert tape.scored.tolist() == [False] * 5 + [True] * 4


def test_repeat_copy_wants_the_vectors_again_and_again_and_an_end_mark():
    data = RepeatTapes()
    tape = data.tape(5, seeded(), length=2, repeats=3)
    said = tape.inputs[:, :2, :8]
    wanted = tape.targets[:, tape.scored]
    assert wanted.shape == (5, 7, 9)
    for time in range(3):
        assert torch.equal(wanted[:, 2 * time : 2 * time + 2, :8], said)
    assert wanted[:, :, 8].tolist() == [[0.0] * 6 + [1.0]] * 5
    assert (wanted[:, -1, :8] == 0).all()
    assert (tape.inputs[:, 3:] == 0).all()
    assert tape.inputs[0, 2, 8] == 1


def test_the_number_of_repeats_has_mean_0_and_variance_1():
    data = RepeatTapes(repeats=(1, 10))
    numbers = [data.number(repeats) for repeats in range(1, 11)]
    assert sum(numbers) == pytest.approx(0)
    assert sum(x * x for x in numbers) / 10 == pytest.approx(1)
    assert RepeatTapes(repeats=(3, 3)).number(3) == 0
    tape = data.tape(2, seeded(), length=1, repeats=10)
    assert tape.inputs[0, 1, 9].item() == pytest.approx(4.5 / (99 / 12) ** 0.5)


def test_recall_wants_the_item_after_the_one_that_is_asked_for():
    data = RecallTapes()
    tape = data.tape(40, seeded(), items=4)
    asked_of = set()
    for inputs, targets in zip(tape.inputs, tape.targets, strict=True):
        items = [inputs[4 * i + 1 : 4 * i + 4, :6] for i in range(4)]
        assert inputs[:, 6].nonzero()[:, 0].tolist() == [0, 4, 8, 12]
        assert inputs[:, 7].nonzero()[:, 0].tolist() == [16, 20]
        which = next(i for i in range(4) if torch.equal(items[i], inputs[17:20, :6]))
        asked_of.add(which)
        assert torch.equal(targets[tape.scored], items[which + 1])
        assert (inputs[21:] == 0).all()
    assert asked_of == {0, 1, 2}


def test_bits_of_a_source_come_as_often_as_it_says():
    data = NGramTapes(context=1, length=4_000)
    tape = data.tape(6, seeded(), length=4_000)
    rates = []
    for inputs, targets in zip(tape.inputs[..., 0], tape.targets[..., 0], strict=True):
        for context in (0.0, 1.0):
            after = targets[tape.scored & (inputs == context)]
            if len(after) > 200:
                rates.append((after[:100].mean() - after[100:].mean()).abs().item())
    assert len(rates) > 6
    assert max(rates) < 0.2
    assert torch.equal(
        tape.inputs[:, 1:, 0],
        tape.targets[:, :-1, 0].where(tape.scored[:-1], tape.inputs[:, 1:, 0]),
    )


def test_the_rates_of_sources_follow_beta_of_a_half():
    tape = NGramTapes(context=1, length=300).tape(3_000, seeded(), length=300)
    rate = tape.targets[:, 1:, 0].mean(dim=1)
    # Var of Beta(½, ½) is 1/8; of evenly drawn rates it were 1/12. A rate mixes two of them.
    after_one = [
        t[(i == 1) & tape.scored].mean().item()
        for i, t in zip(tape.inputs[..., 0], tape.targets[..., 0], strict=True)
        if ((i == 1) & tape.scored).sum() > 60
    ]
    assert rate.mean().item() == pytest.approx(0.5, abs=0.03)
    assert torch.tensor(after_one).var().item() > 0.1


def test_the_best_estimator_counts_and_nobody_betters_it_much():
    data = NGramTapes(context=1)
    tape = data.tape(1, seeded(), length=6)
    said = [*tape.inputs[0, :, 0].tolist(), tape.targets[0, -1, 0].item()]
    best, seen = data.best(tape)[0].tolist(), {0.0: [0.5, 0.5], 1.0: [0.5, 0.5]}
    for step in range(5):
        before, then = said[step], said[step + 1]
        if step >= 0 and tape.scored[step]:
            assert best[step] == pytest.approx(seen[before][1] / sum(seen[before]))
            seen[before][int(then)] += 1
    whole = NGramTapes()
    many = whole.tape(100, seeded(1), length=200)
    p = whole.best(many)[:, many.scored].double()
    cost = -(
        many.targets[:, many.scored, 0] * p.log2()
        + (1 - many.targets[:, many.scored, 0]) * (1 - p).log2()
    )
    assert 125 < cost.sum(dim=1).mean().item() < 145  # the paper's Figure 13 has about 133
    assert cost.sum(dim=1).mean().item() < -many.scored.sum().item() * math.log2(0.5)


def test_sort_wants_the_highest_priorities_first():
    tape = SortTapes().tape(5, seeded(), length=20)
    assert tape.scored.sum() == 16
    for inputs, targets in zip(tape.inputs, tape.targets, strict=True):
        priority = inputs[:20, 8].tolist()
        assert all(-1 <= each <= 1 for each in priority)
        order = sorted(range(20), key=lambda i: -priority[i])[:16]
        assert torch.equal(targets[tape.scored], inputs[order, :8])
        assert inputs[20].tolist() == [0.0] * 9 + [1.0]
        assert (inputs[21:] == 0).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CopyTapes(lengths=(0, 3)), r"lengths=\(0, 3\) is no range of sizes from 1 on"),
        (lambda: RepeatTapes(repeats=(4, 3)), r"repeats=\(4, 3\) is no range"),
        (lambda: RecallTapes(items=(1, 3)), "nothing comes after a single item"),
        (lambda: NGramTapes(length=5), "length=5 must exceed the context, 5"),
        (lambda: SortTapes(kept=21), "kept=21 must be from 1 to the length, 20"),
    ],
)
def test_sizes_that_make_no_task_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
