import errno
import os
import shutil
import signal
from dataclasses import replace

import numpy as np
import pytest
import torch

from heed.experiments import files
from heed.experiments.cards import CardError, numbers
from heed.experiments.maps import moments
from heed.experiments.runner import (
    Interrupted,
    Record,
    Run,
    RunError,
    publish,
    train_one,
    with_steps,
)
from heed.models.seq2seq import Seq2Seq


def weights_of(run):
    return {name: p.detach().clone() for name, p in run.model.named_parameters()}


def same(a, b):
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def stop_after(run, step):
    """Train as far as ``step``, and leave as a kill would: without a word."""
    for reached in run.steps(show=False, save_every=1e9):
        if reached == step:
            return


# ------------------------------------------------------------------ going on


@pytest.mark.parametrize("step", [1, 17, 39])
def test_a_resumed_run_has_the_weights_of_an_unbroken_one_bit_for_bit(tiny, task, tmp_path, step):
    unbroken = Run(tiny, 3, task, runs=tmp_path / "unbroken")
    for _ in unbroken.steps(show=False):
        pass
    broken = Run(tiny, 3, task, runs=tmp_path / "broken")
    stop_after(broken, step)
    broken.save()
    torch.manual_seed(99)  # another process, other random numbers
    resumed = Run(tiny, 3, task, runs=tmp_path / "broken")
    resumed.load()
    for _ in resumed.steps(show=False):
        pass
    assert same(weights_of(resumed), weights_of(unbroken))
    assert resumed.progress.said == unbroken.progress.said
    assert resumed.maps.keys() == unbroken.maps.keys()
    assert all(
        np.array_equal(a, b)
        for step in unbroken.maps
        for a, b in zip(resumed.maps[step], unbroken.maps[step], strict=True)
    )
    curves = [
        [
            {k: v for k, v in entry.items() if k in ("step", "valid_loss", "lr")}
            for entry in run.progress.curve
        ]
        for run in (resumed, unbroken)
    ]
    assert curves[0] == curves[1]


def test_dropout_is_on_in_these_runs_so_random_numbers_matter(tiny, task, tmp_path):
    run = Run(tiny, 3, task, runs=tmp_path)
    stop_after(run, 5)
    run.save()
    again = Run(tiny, 3, task, runs=tmp_path)
    again.load()
    for _ in again.steps(show=False):
        pass
    unlucky = Run(tiny, 3, task, runs=tmp_path / "other")
    stop_after(unlucky, 5)
    torch.manual_seed(99)
    for _ in unlucky.steps(show=False):
        pass
    assert not same(weights_of(again), weights_of(unlucky))


def test_seeds_differ(runs, tiny):
    one, other = (Record.read(runs / tiny.name / f"seed-{seed}") for seed in (0, 1))
    assert one.files["model.safetensors"] != other.files["model.safetensors"]
    assert one.files["vocabulary.json"] == other.files["vocabulary.json"]


def test_ctrl_c_between_two_steps_saves_that_step(tiny, task, tmp_path):
    run = Run(tiny, 0, task, runs=tmp_path)
    before = signal.getsignal(signal.SIGINT)  # in a background job of the shell it is ignored

    def press_ctrl_c_at(step):
        for reached in run.steps(show=False, save_every=1e9):
            if reached == step:
                os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Interrupted, match="step 8 of 40") as stop:
        press_ctrl_c_at(7)
    assert stop.value.folder == run.folder
    again = Run(tiny, 0, task, runs=tmp_path)
    again.load()
    assert again.progress.step == 8
    assert same(weights_of(again), weights_of(run))
    assert signal.getsignal(signal.SIGINT) is before


def test_the_state_is_saved_as_time_goes_by(tiny, task, tmp_path):
    run = Run(tiny, 0, task, runs=tmp_path)
    for step in run.steps(show=False, save_every=0.0):
        if step == 6:
            break
    again = Run(tiny, 0, task, runs=tmp_path)
    again.load()
    assert again.progress.step == 6


def test_a_run_that_is_there_is_not_overwritten_unasked(tiny, task, runs, tmp_path):
    with pytest.raises(RunError, match="--resume"):
        train_one(tiny, 0, task, runs=runs, show=False)


def test_overwrite_begins_anew(tiny, task, tmp_path):
    short = with_steps(tiny, 4)
    train_one(short, 0, task, runs=tmp_path, show=False)
    record = train_one(tiny, 0, task, runs=tmp_path, show=False, overwrite=True)
    assert record.step == 40


def test_a_state_of_another_recipe_is_not_gone_on_with(tiny, task, tmp_path):
    run = Run(tiny, 0, task, runs=tmp_path)
    stop_after(run, 3)
    run.save()
    faster = replace(tiny, train=replace(tiny.train, lr=0.02))
    with pytest.raises(RunError, match=r"train\.lr was 0\.005, the table says 0\.02"):
        train_one(faster, 0, task, runs=tmp_path, resume=True, show=False)


@pytest.mark.parametrize("keep", [0, 4, 200, -1])
def test_a_truncated_state_is_named(tiny, task, tmp_path, keep):
    run = Run(tiny, 0, task, runs=tmp_path)
    run.save()
    run.state.write_bytes(run.state.read_bytes()[:keep])
    with pytest.raises(CardError, match=r"state\.safetensors is damaged"):
        Run(tiny, 0, task, runs=tmp_path).load()


# ------------------------------------------------------------------ what a run leaves


def test_about_thirty_moments_are_watched(tiny, runs):
    record = Record.read(runs / tiny.name / "seed-0")
    steps = [moment["step"] for moment in record.moments]
    assert steps == moments(40)
    assert len(steps) == 30
    assert steps[0] == 0
    assert steps[-1] == 40
    assert all(len(moment["said"]) == len(record.inputs) == 4 for moment in record.moments)


def test_the_curve_reaches_the_last_step(tiny, runs):
    curve = Record.read(runs / tiny.name / "seed-0").curve
    assert [entry["step"] for entry in curve] == [10, 20, 30, 40]
    assert curve[-1]["valid_loss"] < curve[0]["valid_loss"]
    assert curve[-1]["seconds"] > 0


def test_attention_gives_links_and_seq2seq_gives_none(
    tiny, without_attention, task, runs, tmp_path
):
    attends = Record.read(runs / tiny.name / "seed-0").metrics
    blind = train_one(without_attention, 0, task, runs=tmp_path, show=False)
    everywhere = {"valid_loss", "bleu", "bleu_by_length", "exact_match"}
    alignment = {"aer", "link_precision", "aer_by_phenomenon", "entropy", "bleu_copy"}
    assert set(attends) == everywhere | alignment
    assert set(blind.metrics) == everywhere
    assert "maps.npz" not in blind.files
    assert not (tmp_path / "tiny_seq2seq" / "seed-0" / "maps.npz").exists()
    assert all(moment["said"] for moment in blind.moments)
    assert isinstance(Run(without_attention, 0, task).model, Seq2Seq)


def test_the_record_says_how_it_was_measured(tiny, runs):
    settings = Record.read(runs / tiny.name / "seed-0").settings
    assert settings["search"] == "greedy"
    assert settings["sentences"] == {"reverse": 24}
    assert "version:" in settings["bleu_signature"]


# ------------------------------------------------------------------ publishing


def test_the_card_gathers_the_seeds(tiny, runs, tmp_path):
    card = publish(tiny, runs=runs, folder=tmp_path)
    each = [Record.read(runs / tiny.name / f"seed-{seed}") for seed in (0, 1)]
    values = [record.metrics["valid_loss"] for record in each]
    assert card.seeds == [0, 1]
    assert card.complete
    assert card.metrics["valid_loss"]["seeds"] == pytest.approx(values, abs=1e-6)
    assert card.number("valid_loss") == pytest.approx(np.mean(values), abs=1e-6)
    assert card.metrics["valid_loss"]["std"] == pytest.approx(np.std(values, ddof=1), abs=1e-6)
    assert set(card.metrics["bleu_by_length"]) == {"3-8"}
    assert set(card.curves) == {"0", "1"}
    shipped = (tmp_path / "model.safetensors").read_bytes()
    assert shipped == (runs / tiny.name / "seed-0" / "model.safetensors").read_bytes()


def test_one_finished_seed_makes_a_card_that_is_not_complete(tiny, task, tmp_path):
    train_one(tiny, 1, task, runs=tmp_path, show=False)
    card = publish(tiny, runs=tmp_path, folder=tmp_path / "trained")
    assert not card.complete
    assert card.seeds == [1]
    assert card.seed == 1
    assert card.metrics["bleu"]["std"] == 0.0


def test_a_seed_on_its_way_can_be_measured_as_far_as_it_is(tiny, task, tmp_path):
    run = Run(tiny, 0, task, runs=tmp_path)
    stop_after(run, 20)
    run.save()
    with pytest.raises(RunError, match="seed 0 is not finished"):
        publish(tiny, runs=tmp_path, folder=tmp_path / "trained")
    card = publish(tiny, runs=tmp_path, folder=tmp_path / "trained", task=task)
    assert not card.complete
    assert card.steps == 20


def test_seeds_of_another_recipe_do_not_count(tiny, runs, tmp_path):
    faster = replace(tiny, train=replace(tiny.train, lr=0.02))
    with pytest.raises(RunError, match=r"another recipe \(train\.lr"):
        publish(faster, runs=runs, folder=tmp_path)


def test_a_seed_that_was_trained_elsewhere_joins_the_card(tiny, runs, tmp_path):
    whole = publish(tiny, runs=runs, folder=tmp_path / "whole")
    first, second = tmp_path / "first", tmp_path / "second"
    for place, seed in ((first, 0), (second, 1)):
        shutil.copytree(runs / tiny.name / f"seed-{seed}", place / tiny.name / f"seed-{seed}")
    folder = tmp_path / "trained"
    assert not publish(tiny, runs=first, folder=folder).complete
    joined = publish(tiny, runs=second, folder=folder, join=True)
    # A card keeps six digits of the first seed; means of these differ in the last one.
    assert replace(joined, metrics={}) == replace(whole, metrics={})
    assert joined.complete
    assert joined.seeds == [0, 1]
    for (name, ours), (same, theirs) in zip(
        numbers(joined.metrics), numbers(whole.metrics), strict=True
    ):
        assert name == same
        assert ours["seeds"] == theirs["seeds"]
        assert ours["mean"] == pytest.approx(theirs["mean"], abs=2e-6)
        assert ours["std"] == pytest.approx(theirs["std"], abs=2e-6)
    for file in whole.files:
        assert (folder / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()


def test_a_new_first_seed_brings_its_weights(tiny, runs, tmp_path):
    folder, later = tmp_path / "trained", tmp_path / "later"
    shutil.copytree(runs / tiny.name / "seed-1", later / tiny.name / "seed-1")
    publish(tiny, runs=later, folder=folder)
    joined = publish(tiny, runs=runs, folder=folder, join=True)
    assert joined == publish(tiny, runs=runs, folder=tmp_path / "whole")


def test_nothing_of_another_recipe_stays_on_a_card(tiny, runs, tmp_path):
    folder = tmp_path / "trained"
    publish(tiny, runs=runs, folder=folder)
    faster = replace(tiny, train=replace(tiny.train, lr=0.02))
    with pytest.raises(RunError, match=r"another recipe \(train\.lr"):
        publish(faster, runs=tmp_path / "none", folder=folder, join=True)
    with pytest.raises(CardError, match="nothing trained lies here"):
        publish(tiny, runs=runs, folder=tmp_path / "empty", join=True)


def test_damaged_work_is_not_published(tiny, task, tmp_path):
    train_one(tiny, 0, task, runs=tmp_path, show=False)
    weights = tmp_path / tiny.name / "seed-0" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x01")
    with pytest.raises(CardError, match="not the file"):
        publish(tiny, runs=tmp_path, folder=tmp_path / "trained")
    assert not (tmp_path / "trained").exists()


# ------------------------------------------------------------------ disks


def test_a_full_disk_leaves_what_was_there(tmp_path, monkeypatch):
    path = tmp_path / "state"
    files.write_by_rename(path, b"old")

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        files.write_by_rename(path, b"new")
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["state"]


def test_a_folder_that_cannot_be_made_is_found_out_before_the_first_step(tiny, task, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    run = Run(tiny, 0, task, runs=tmp_path / "file" / "runs")
    with pytest.raises(OSError, match="Not a directory"):
        next(run.steps(show=False))
    assert run.progress.step == 0


def test_two_at_once_in_one_folder_are_kept_apart(tiny, task, tmp_path):
    with (
        files.alone_in(tmp_path / tiny.name / "seed-0"),
        pytest.raises(files.InUse, match="another process is at work in"),
    ):
        train_one(tiny, 0, task, runs=tmp_path, show=False)
    assert train_one(with_steps(tiny, 2), 0, task, runs=tmp_path, show=False).step == 2


# ------------------------------------------------------------------ small things


def test_another_budget_shortens_the_warm_up_too(tiny):
    assert with_steps(tiny, 8).train.warmup == 2
    assert with_steps(tiny, 4000).train.warmup == 5
    assert with_steps(tiny, None) is tiny
