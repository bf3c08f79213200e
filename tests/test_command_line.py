"""What a reader types: one clear line when it goes wrong, and nothing lost when it is cut off."""

import errno
import http.client
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from typer.testing import CliRunner

from heed.__main__ import app, as_typed, outlook, server
from heed.experiments import checkpoint, files, runner, table, trained

STEPS = 30
PATIENCE = 600
"""Seconds; each takes ten on an idle machine."""
TRAIN = ["train", "bahdanau_reverse", "--seed", "1", "--steps", str(STEPS), "--quiet"]


def heed(*arguments, **environment):
    """Run the command in this process."""
    return CliRunner().invoke(app, [str(a) for a in arguments], env=environment)


def one_line(result, *parts):
    """It ended with code 2 and one line of complaint on stderr, the last, with all these parts."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    lines = result.stderr.strip().splitlines()
    complaints = [line for line in lines if line.startswith("heed: ")]
    assert complaints == lines[-1:], result.stderr
    for part in parts:
        assert str(part) in complaints[0]


def start(*arguments, command=(sys.executable, "-m", "heed")):
    """Run the command in a process of its own."""
    return subprocess.Popen(
        [*command, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )


def end(process):
    """Wait for it, and leave nobody behind if it does not come to an end."""
    try:
        return process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.terminate()  # torchrun ends its children then
        process.communicate()
        raise


def finish(process):
    out, err = end(process)
    assert process.returncode == 0, err
    return out


def run_folder(runs: Path) -> Path:
    return runs / "bahdanau_reverse" / "seed-1"


def step_reached(folder: Path) -> int:
    path = folder / "state.safetensors"
    return checkpoint.read_state(path)[0]["step"] if path.exists() else -1


def wait_for_step(process, folder, step):
    patient_until = time.monotonic() + PATIENCE
    while step_reached(folder) < step:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < patient_until, f"step {step} was not reached"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    """The folder of a run that nobody disturbed."""
    runs = tmp_path_factory.mktemp("unbroken")
    finish(start(*TRAIN, "--runs", runs))
    return run_folder(runs)


def same_numbers(a: Path, b: Path) -> bool:
    """All parameters, Adam's moments and the random numbers are equal, bit for bit."""
    ours, theirs = load_file(a / "state.safetensors"), load_file(b / "state.safetensors")
    return ours.keys() == theirs.keys() and all(torch.equal(ours[k], theirs[k]) for k in ours)


# ------------------------------------------------------------------ cut off and going on


@pytest.mark.slow
def test_killed_and_resumed_is_the_same_bit_for_bit(unbroken, tmp_path):
    process = start(*TRAIN, "--runs", tmp_path, "--save-every", 0)
    wait_for_step(process, run_folder(tmp_path), 10)
    process.kill()  # -9
    process.communicate()
    assert step_reached(run_folder(tmp_path)) < STEPS
    assert not (run_folder(tmp_path) / "model.safetensors").exists()
    finish(start(*TRAIN, "--runs", tmp_path, "--resume"))
    assert same_numbers(run_folder(tmp_path), unbroken)
    shipped = "model.safetensors"
    assert (run_folder(tmp_path) / shipped).read_bytes() == (unbroken / shipped).read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_saves_and_says_how_to_go_on(unbroken, tmp_path, number):
    process = start(*TRAIN, "--runs", tmp_path, "--save-every", 0)
    wait_for_step(process, run_folder(tmp_path), 5)
    process.send_signal(number)
    _, err = end(process)
    assert process.returncode == 130
    assert "--resume" in err
    assert f"of {STEPS}" in err
    assert "Traceback" not in err
    finish(start(*TRAIN, "--runs", tmp_path, "--resume"))
    assert same_numbers(run_folder(tmp_path), unbroken)


@pytest.mark.slow
def test_two_processes_learn_what_one_does(unbroken, tmp_path):
    torchrun = (sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2")
    torchrun += ("--standalone", "-m", "heed")
    finish(start(*TRAIN, "--runs", tmp_path, command=torchrun))
    one, two = (
        load_file(unbroken / "state.safetensors"),
        load_file(run_folder(tmp_path) / "state.safetensors"),
    )
    for name in one:
        if name.startswith("model."):
            torch.testing.assert_close(two[name], one[name], atol=1e-3, rtol=1e-3, msg=name)
    assert runner.Record.read(run_folder(tmp_path)).processes == 2


def test_what_it_prints_is_what_the_record_says(unbroken):
    record = runner.Record.read(unbroken)
    assert record.complete
    assert record.threads == 1
    assert sorted(path.name for path in unbroken.iterdir()) == [
        "maps.npz",
        "model.safetensors",
        "record.json",
        "state.safetensors",
        "vocabulary.json",
    ]


def test_a_finished_run_is_not_overwritten_unasked(unbroken):
    before = (unbroken / "state.safetensors").read_bytes()
    result = heed(*TRAIN, "--runs", unbroken.parents[1])
    one_line(result, "--resume", "--overwrite")
    assert (unbroken / "state.safetensors").read_bytes() == before


def test_a_run_that_is_there_is_found_before_another_seed_takes_its_hours(unbroken):
    runs = unbroken.parents[1]
    result = heed("train", "bahdanau_reverse", "--seed", 5, "--seed", 1, "--runs", runs)
    one_line(result, unbroken, "--resume", "--overwrite")
    assert not (unbroken.parent / "seed-5").exists()


def test_train_says_which_seed_of_how_many_and_how_long_all_will_take(tmp_path):
    two = ("--seed", 4, "--seed", 7, "--steps", 10, "--runs", tmp_path)
    result = heed("train", "bahdanau_reverse", *two)
    assert result.exit_code == 0, result.output
    first = result.stderr.splitlines()[0]
    assert "2 seeds, 10 steps each" in first
    assert result.stderr.index(first) < result.stderr.index("bahdanau_reverse seed 4 (1 of 2)")
    assert re.search(r"all seeds=\d+ s left", result.stderr)
    assert "bahdanau_reverse seed 7 (2 of 2)" in result.stderr


def test_train_says_how_long_the_shipped_ones_took():
    card = trained.load("bahdanau_grammar").card
    row = table.find("bahdanau_grammar")
    line = outlook(row, [0, 1, 2], Path("runs"), "cpu")
    assert f"about {runner.in_words(card.seconds)} a seed" in line
    assert f"{runner.in_words(3 * card.seconds)} in all" in line
    half = outlook(runner.with_steps(row, card.steps // 2), [0], Path("runs"), "cpu")
    assert f"about {runner.in_words(card.seconds / 2)} at" in half


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.4, "0 s"), (99.0, "99 s"), (99.5, "2 min"), (1310.1, "22 min"), (9000.0, "2.5 h")],
)
def test_a_duration_is_said_in_its_own_unit(seconds, words):
    assert runner.in_words(seconds) == words


def test_under_make_advice_is_given_as_make_wants_it_typed(unbroken, monkeypatch):
    monkeypatch.setenv("HEED_MAKE", "1")
    result = heed(*TRAIN, "--runs", unbroken.parents[1])
    one_line(result, "ARGS=--resume", "ARGS=--overwrite")
    assert as_typed("publish", "ntm_copy") == "make publish NAME=ntm_copy"
    monkeypatch.delenv("HEED_MAKE")
    assert "ARGS" not in heed(*TRAIN, "--runs", unbroken.parents[1]).stderr
    assert as_typed("publish", "ntm_copy") == "python -m heed publish ntm_copy"


def test_a_device_that_is_not_there_is_said(tmp_path):
    one_line(heed(*TRAIN, "--runs", tmp_path, "--device", "tpu"), "'tpu'", "cpu", "cuda")
    if not torch.cuda.is_available():
        one_line(heed(*TRAIN, "--runs", tmp_path, "--device", "cuda"), "there are 0", "cpu")


def test_a_damaged_state_is_named(unbroken, tmp_path):
    folder = run_folder(tmp_path)
    folder.mkdir(parents=True)
    content = (unbroken / "state.safetensors").read_bytes()
    (folder / "state.safetensors").write_bytes(content[: len(content) // 2])
    one_line(heed(*TRAIN, "--runs", tmp_path, "--resume"), folder / "state.safetensors", "damaged")


# ------------------------------------------------------------------ one clear line


@pytest.mark.parametrize("command", ["train", "evaluate", "publish"])
def test_an_unknown_name_is_answered_with_the_nearest(command):
    one_line(heed(command, "bahdanau_gramar"), "'bahdanau_gramar'", "bahdanau_grammar")


def test_a_missing_corpus_says_how_to_get_it(tmp_path):
    result = heed("train", "bahdanau_everyday", "--tatoeba", tmp_path, "--runs", tmp_path)
    one_line(result, tmp_path, "python -m heed fetch tatoeba")
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_corpus_cannot_be_fetched():
    one_line(heed("fetch", "wikipedia"), "'wikipedia'", "tatoeba")


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")  # below a file there is no folder, not even for root
    result = heed(*TRAIN, "--runs", tmp_path / "file" / "runs")
    one_line(result, tmp_path / "file", "Not a directory")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_a_disk_that_refuses_is_named(tmp_path, monkeypatch, number):
    def refuse(descriptor):
        raise OSError(number, os.strerror(number), str(tmp_path))

    monkeypatch.setattr(files.os, "fsync", refuse)
    one_line(heed(*TRAIN, "--runs", tmp_path), os.strerror(number), tmp_path)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_nothing_trained_yet_is_said(tmp_path):
    result = heed("evaluate", "bahdanau_grammar", HEED_TRAINED=str(tmp_path))
    one_line(result, tmp_path / "bahdanau_grammar" / "card.json", "missing")


def test_nothing_to_publish_is_said(tmp_path):
    result = heed("publish", "bahdanau_grammar", "--runs", tmp_path)
    one_line(result, "nothing to publish", "seed 0 is not finished")


def test_no_folder_for_the_book_is_said(tmp_path):
    one_line(heed("serve", "--folder", tmp_path), tmp_path, "make book")


# ------------------------------------------------------------------ list, publish, evaluate


def test_compare_prints_the_cards_and_what_they_allow_to_say():
    pair = ("seq2seq_grammar", "seq2seq_forward_grammar")
    result = heed("compare", *pair, "--metric", "bleu", "--against", pair[1])
    assert result.exit_code == 0, result.output
    assert re.search(r"^seq2seq_grammar +1,511,341 +3 +13\.9 ± 0\.4$", result.stdout, re.M)
    assert f"bleu, against {pair[1]}:\n  {pair[0]:34} higher" in result.stdout
    one_line(heed("compare", "nothing"), "there is no experiment 'nothing'")
    one_line(heed("compare", pair[0], "--against", "nobody"), "'nobody' is not among the rows")


def test_compare_has_one_table_of_all_years():
    result = heed("compare", "--years")
    assert result.exit_code == 0, result.output
    assert re.search(r"^2014 one vector +13\.9 ± 0\.4 +– +1,511,341 +25 +3$", result.stdout, re.M)
    one_line(heed("compare", "--years", "seq2seq_grammar"), "--years has its own rows")
    one_line(heed("compare"), "give some rows, or --years")


def test_faithfulness_has_nothing_to_change_without_attention():
    result = heed("faithfulness", "seq2seq_grammar")
    assert result.exit_code == 0, result.output
    assert "has no attention that could be changed" in result.stderr


def test_compare_times_a_step_beside_the_cards(monkeypatch):
    import heed.experiments.compare as module

    pair = ("seq2seq_grammar", "seq2seq_forward_grammar")
    asked = {}

    def short(names, **how):
        asked.update(how)
        return real(names, rows=2, words=3, repeats=2, **how)

    real = module.step_times
    monkeypatch.setattr(module, "step_times", short)
    result = heed("compare", *pair, "--metric", "bleu", "--time", "--against", pair[1])
    assert result.exit_code == 0, result.output
    assert asked == {"to": pair[1]}
    assert re.search(rf"^{pair[1]} .+ 1\.00 ± 0\.00$", result.stdout, re.M)
    assert f"× that of {pair[1]}; median of 2 turns" in result.stdout
    one_line(heed("compare", "lstm_recall", "--time"), "lstm_recall is no translator")


def test_list_shows_every_experiment_and_what_is_not_trained_here(tmp_path):
    result = heed("list", HEED_TRAINED=str(tmp_path))
    assert result.exit_code == 0
    lines = listed(result)
    assert lines.keys() == table.EXPERIMENTS.keys()
    assert "not shipped" in lines["bahdanau_paper"]
    assert "none yet" in lines["bahdanau_grammar"]


def listed(result) -> dict[str, str]:
    """The row of each experiment."""
    rows = [line for line in result.stdout.splitlines() if re.match("  [a-z]", line)]
    return {row.split()[0]: row for row in rows}


def test_list_is_by_chapter_under_a_heading_and_fits_80_columns(tmp_path):
    for result in (heed("list"), heed("list", HEED_TRAINED=str(tmp_path))):
        lines = result.stdout.splitlines()
        assert lines[0].split() == ["experiment", "main", "number", "on", "weights"]
        chapters = [line for line in lines if re.match(r"\d\d_", line)]
        assert chapters == sorted({row.chapter for row in table.EXPERIMENTS.values()})
        assert [line for line in lines if len(line) > 80] == []


def test_list_says_on_which_data_a_number_is_and_how_many_seeds_it_has():
    rows = listed(heed("list"))
    assert re.search(r"BLEU [\d.]+ +grammar +3 seeds$", rows["bahdanau_grammar"])
    assert re.search(r"BLEU [\d.]+ +everyday +1 seed$", rows["bahdanau_everyday"])


@pytest.fixture
def small(unbroken, monkeypatch, tmp_path):
    """The run of this file as a row of the table, published."""
    row = runner.with_steps(table.find("bahdanau_reverse"), STEPS)
    row = runner.replace(row, trained=True, seeds=(1,), claims=())
    monkeypatch.setitem(table.EXPERIMENTS, row.name, row)
    monkeypatch.setenv("HEED_TRAINED", str(tmp_path))
    result = heed("publish", row.name, "--runs", unbroken.parents[1])
    assert result.exit_code == 0, result.output
    assert "bleu_by_length.3-8" in result.stdout
    assert "not complete" not in result.stdout
    return tmp_path / row.name


def test_evaluate_finds_the_numbers_of_the_card(small):
    result = heed("evaluate", "bahdanau_reverse")
    assert result.exit_code == 0, result.output
    assert "seed 1" in result.stderr  # something is said before the numbers are there
    heading, *lines = [line.split() for line in result.stdout.splitlines()]
    assert heading == ["bahdanau_reverse,", "seed", "1", "now", "card"]
    assert {line[0] for line in lines} >= {"bleu", "aer", "exact_match", "valid_loss"}
    for name, now, before in lines:
        assert float(now) == pytest.approx(float(before), abs=2e-3), name


def test_list_shows_the_main_number(small):
    assert "BLEU" in listed(heed("list"))["bahdanau_reverse"]


def test_damaged_weights_are_named(small):
    weights = small / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[len(content) // 2] ^= 1
    weights.write_bytes(content)
    one_line(heed("evaluate", "bahdanau_reverse"), weights, "not the file that its card describes")


def test_a_truncated_card_is_named_by_evaluate_and_does_not_break_list(small):
    card = small / "card.json"
    card.write_text(card.read_text()[:500])
    one_line(heed("evaluate", "bahdanau_reverse"), card, "damaged")
    result = heed("list")
    assert result.exit_code == 0
    assert "damaged" in result.stdout


def test_what_is_published_can_be_asked(small):
    answer = trained.load("bahdanau_reverse").translate("a b c")
    assert answer.source == ("a", "b", "c")
    assert answer.weights.shape[1] == 4


# ------------------------------------------------------------------ serve


@pytest.fixture
def site(tmp_path):
    (tmp_path / "index.html").write_text("<h1>the book</h1>")
    for name in ("lab.mjs", "ort.wasm", "view.js", "style.css", "words.json"):
        (tmp_path / name).write_bytes(b"x")
    web = server(tmp_path, host="127.0.0.1", port=0)
    thread = threading.Thread(target=web.serve_forever, daemon=True)
    thread.start()
    yield web
    web.shutdown()
    web.server_close()
    thread.join()


def ask(web, path):
    connection = http.client.HTTPConnection("127.0.0.1", web.server_address[1], timeout=10)
    connection.request("GET", path)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "text/html"),
        ("/lab.mjs", "text/javascript"),
        ("/view.js", "text/javascript"),
        ("/ort.wasm", "application/wasm"),
        ("/words.json", "application/json"),
        ("/style.css", "text/css"),
    ],
)
def test_a_file_is_served_as_what_it_is(site, path, kind):
    answer, _ = ask(site, path)
    assert answer.status == 200
    assert answer.headers["Content-Type"].split(";")[0] == kind


def test_nothing_outside_the_book_is_served(site, tmp_path, capfd):
    for path in ("/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/nothing"):
        answer, body = ask(site, path)
        assert answer.status == 404
        assert b"root:" not in body


def test_a_port_in_use_is_said(site, tmp_path):
    port = site.server_address[1]
    serve = ("serve", "--folder", tmp_path, "--port", port)
    one_line(heed(*serve), port, "in use", f"--port {port + 1}")
    one_line(heed(*serve, HEED_MAKE="1"), port, "in use", f"PORT={port + 1}")
