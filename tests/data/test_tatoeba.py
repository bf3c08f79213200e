import io
import json
import os
import threading
import unicodedata
import zipfile
import zlib
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from heed.data import tatoeba
from heed.data.tatoeba import TatoebaError, clean, fetch, find, load

LINES = [
    "Run!\tCours\u202f!",
    "Run!\tCourez\xa0!",
    "Run.\tCours.\tCC-BY 2.0 (France) Attribution: tatoeba.org #906328",
    "It's the minister's.\tC’est à l'homme.",
    "no tab here",
    "",
    "\tempty English",
    "Empty French.\t ",
    "Run!\tCours !",
]


def zipped(text, name="fra.txt", compression=zipfile.ZIP_DEFLATED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        archive.writestr("_about.txt", "about")
        archive.writestr(name, text)
    return file.getvalue()


def everything(sentences):
    return sentences.train + sentences.valid + sentences.test


@pytest.fixture
def lines(tmp_path):
    def write(lines, name="fra.txt"):
        path = tmp_path / name
        text = "\n".join(lines)
        path.write_bytes(zipped(text) if name.endswith(".zip") else text.encode())
        return path

    return write


# ---------------------------------------------------------------------------- reading


@pytest.mark.parametrize("name", ["fra.txt", "fra-eng.zip"])
def test_lines_become_pairs_of_words(lines, name):
    pairs = load(lines(LINES, name), valid_share=0.0, test_share=0.0).train
    assert [(p.source, p.target) for p in pairs] == [
        (("run", "!"), ("cours", "!")),
        (("run", "!"), ("courez", "!")),
        (("run", "."), ("cours", ".")),
        (("it", "'s", "the", "minister", "'s", "."), ("c'", "est", "à", "l'", "homme", ".")),
    ]


def test_a_test_sentence_carries_every_translation_once(lines):
    found = load(lines(LINES), valid_share=0.0, test_share=0.9999)
    assert not found.train
    run = next(pair for pair in found.test if pair.source == ("run", "!"))
    assert run.references == run.accepted == (("cours", "!"), ("courez", "!"))
    assert run.target == ("cours", "!")


def test_windows_line_ends_and_a_byte_order_mark_are_no_words(tmp_path):
    path = tmp_path / "fra.txt"
    path.write_bytes("\ufeffRun!\tCours !\r\nGo.\tVa.\r\n".encode())
    pairs = load(path, valid_share=0.0, test_share=0.0).train
    assert [p.source for p in pairs] == [("run", "!"), ("go", ".")]
    assert pairs[1].target == ("va", ".")


def test_clean_leaves_plain_spaces_and_composed_letters():
    assert clean(" Ça\u202fva\xa0\u2009?\u200b ") == "Ça va ?"
    assert clean(unicodedata.normalize("NFD", "élève")) == "élève"
    assert clean("Voi\u00adci") == "Voici"


def test_long_pairs_are_dropped_on_either_side(lines):
    path = lines(["a b c d\tx y", "a b c\tw x y z", "a b c\tx y z", "a\tx"])
    pairs = load(path, longest_source=3, longest_target=3, valid_share=0.0, test_share=0.0).train
    assert [len(p.source) for p in pairs] == [3, 1]


def test_the_split_goes_by_english_sentence_and_never_changes(lines):
    numbered = [
        f"Sentence number {i}{mark}\tPhrase {i} {j}."
        for i in range(3000)
        for j in (1, 2)
        for mark in ".!"
    ]
    whole = load(lines(numbered))
    places = {}
    for name in ("train", "valid", "test"):
        for pair in getattr(whole, name):
            places.setdefault(pair.source[:-1], set()).add(name)
    assert all(len(names) == 1 for names in places.values())  # "stop !" goes with "stop ."
    assert len(whole.valid) == pytest.approx(0.02 * 6000, rel=0.3)
    assert len(whole.test) == pytest.approx(0.025 * 6000, rel=0.3)
    assert len(whole.train) == 2 * (6000 - len(whole.valid) - len(whole.test))
    half = load(lines(numbered[::-1][:6000], "half.txt"))
    assert {p.source for p in half.test} < {p.source for p in whole.test}
    assert {p.source for p in half.train} < {p.source for p in whole.train}
    assert tatoeba._place(("we", "try", ".")) == pytest.approx(0.24506, abs=1e-5)


def test_files_that_are_not_tatoeba_are_refused_by_name(tmp_path):
    def refused(content, match):
        path = tmp_path / "fra-eng.zip"
        path.write_bytes(content)
        with pytest.raises(TatoebaError, match=match) as caught:
            load(path)
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)

    good = zipped("Go.\tVa.\n" * 1000)
    refused(b"", "no line of English")
    refused(b"just text\n", "no line of English")
    refused(b"\xff\xfe\x00", "neither a zip nor UTF-8")
    refused(zipped("Go.\tVa.", name="deu.txt"), "zip without fra.txt")
    refused(good[:-40], "damaged zip")
    middle = len(good) // 2
    refused(good[:middle] + bytes([good[middle] ^ 255]) + good[middle + 1 :], "damaged zip")
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "missing.zip")


def test_shares_must_leave_something_to_train_on(lines):
    with pytest.raises(ValueError, match=r"valid_share=0\.5 and test_share=0\.5"):
        load(lines(LINES), valid_share=0.5, test_share=0.5)


# ---------------------------------------------------------------------------- where it lies


@pytest.fixture
def nowhere(monkeypatch, tmp_path):
    monkeypatch.delenv("HEED_TATOEBA", raising=False)
    monkeypatch.setenv("HEED_CACHE", str(tmp_path / "cache"))
    return tmp_path


def put(folder, name="fra-eng.zip"):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(zipped("Go.\tVa."))
    return folder / name


def test_an_option_goes_before_the_environment_and_that_before_the_cache(nowhere, monkeypatch):
    cached = put(nowhere / "cache")
    assert find() == cached
    told = put(nowhere / "told", "fra.txt")
    monkeypatch.setenv("HEED_TATOEBA", str(told.parent))
    assert find() == told
    monkeypatch.setenv("HEED_TATOEBA", str(told))
    assert find() == told
    given = put(nowhere / "given")
    assert find(given) == find(given.parent) == given


def test_a_missing_corpus_is_one_line_that_says_what_to_do(nowhere, monkeypatch):
    with pytest.raises(FileNotFoundError, match="python -m heed fetch tatoeba") as caught:
        find()
    assert str(nowhere / "cache") in str(caught.value)
    put(nowhere / "cache")
    monkeypatch.setenv("HEED_TATOEBA", str(nowhere / "wrong"))
    with pytest.raises(FileNotFoundError, match="HEED_TATOEBA"):
        find()  # named and not there: the cache is no answer
    with pytest.raises(FileNotFoundError, match="the path given"):
        find(nowhere / "typo.zip")


def test_the_cache_is_where_caches_are(monkeypatch, tmp_path):
    monkeypatch.delenv("HEED_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert tatoeba.cache_folder() == tmp_path / "attention-book"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert tatoeba.cache_folder() == Path.home() / ".cache" / "attention-book"
    monkeypatch.setenv("HEED_CACHE", "~/here")
    assert tatoeba.cache_folder() == Path.home() / "here"


# ---------------------------------------------------------------------------- fetching


class Site(BaseHTTPRequestHandler):
    """A site that refuses urllib's own name, as the real one does."""

    def __init__(self, content, announced, *args):
        self.content, self.announced = content, announced
        super().__init__(*args)

    def do_GET(self):
        if self.path != "/fra-eng.zip":
            return self.send_error(404)
        if "urllib" in self.headers["User-Agent"]:
            return self.send_error(406)
        self.send_response(200)
        if self.announced is not None:
            self.send_header("Content-Length", str(self.announced))
        self.end_headers()
        self.wfile.write(self.content)

    def log_message(self, *args):
        pass


@pytest.fixture
def site(monkeypatch):
    """Serve some bytes on 127.0.0.1; the address of the file."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    running = []

    def serve(content, announced=-1):
        announced = len(content) if announced == -1 else announced
        server = HTTPServer(("127.0.0.1", 0), partial(Site, content, announced))
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        running.append((server, thread))
        return f"http://127.0.0.1:{server.server_port}/fra-eng.zip"

    yield serve
    for server, thread in running:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(scope="module")
def good():
    return zipped("".join(f"Number {i}.\tLe numéro {i}.\n" for i in range(100_000)))


def test_a_good_file_is_fetched_found_and_loaded(site, nowhere, good, capsys):
    path = fetch(url=site(good))
    assert path == nowhere / "cache" / "fra-eng.zip" == find()
    assert path.read_bytes() == good
    record = json.loads(path.with_suffix(".json").read_text())
    assert record["pairs"] == 100_000
    assert record["bytes"] == len(good)
    assert record["credit"] == tatoeba.CREDIT
    said = capsys.readouterr().err
    assert "100,000 pairs" in said
    assert "numbers may differ" in said  # it is not the file of the cards, and that is said
    assert sorted(os.listdir(path.parent)) == ["fra-eng.json", "fra-eng.zip"]
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_newer_file_replaces_an_older_one(site, tmp_path, good):
    (tmp_path / "fra-eng.zip").write_bytes(b"old")
    assert fetch(tmp_path, url=site(good, announced=None), show=False).read_bytes() == good


def test_the_file_of_the_cards_is_not_fetched_twice(tmp_path, monkeypatch, capsys):
    (tmp_path / "fra-eng.zip").write_bytes(b"the very file")
    fingerprint = "80284514436c6daf22424da4bea77cc250f631132a3b321ac2d705bc2276addc"
    monkeypatch.setattr(tatoeba, "SHA256", fingerprint)
    assert fetch(tmp_path, url="http://127.0.0.1:9/no-one-is-there") == tmp_path / "fra-eng.zip"
    assert "there already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "announced", "match"),
    [
        (lambda good: good[:5000], len, r"broke off after 5,000 of [\d,]+ bytes"),
        (lambda good: good[:5000], None, "damaged zip"),
        (lambda good: b"<html>please log in</html>", None, "sends no zip file"),
        (lambda good: b"", None, "sends no zip file"),
        (lambda good: zipped("a\tb\n" * 99_999), None, "99,999 sentence pairs where 100,000"),
        (lambda good: zipped(b"a\t\xff\n"), None, "not UTF-8"),
        (lambda good: zipped("Go.\tVa.", name="deu.txt"), None, "without fra.txt"),
    ],
)
def test_a_bad_file_is_refused_and_nothing_is_written(
    site, tmp_path, good, content, announced, match
):
    url = site(content(good), announced(good) if announced else None)
    with pytest.raises(TatoebaError, match=match) as caught:
        fetch(tmp_path / "new", url=url, show=False)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "new").exists()


def test_a_bad_file_does_not_harm_the_one_that_is_there(site, tmp_path):
    (tmp_path / "fra-eng.zip").write_bytes(b"old")
    with pytest.raises(TatoebaError):
        fetch(tmp_path, url=site(b"PK nonsense"), show=False)
    assert (tmp_path / "fra-eng.zip").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["fra-eng.zip"]


def test_a_missing_page_and_no_network_are_one_line_each(site, tmp_path):
    url = site(b"")
    with pytest.raises(TatoebaError, match=r"404 Not Found; put fra-eng\.zip into"):
        fetch(tmp_path / "new", url=url.replace("fra-eng", "gone"), show=False)
    with pytest.raises(TatoebaError, match=r"cannot reach .*; put fra-eng\.zip into"):
        fetch(tmp_path / "new", url="http://127.0.0.1:9/fra-eng.zip", show=False)
    assert not (tmp_path / "new").exists()


def test_a_download_without_end_is_stopped(site, tmp_path, monkeypatch, good):
    monkeypatch.setattr(tatoeba, "_MOST_BYTES", 100_000)
    with pytest.raises(TatoebaError, match="more than 100,000 bytes"):
        fetch(tmp_path, url=site(good), show=False)
    with pytest.raises(TatoebaError, match="larger than 100,000 bytes"):
        fetch(tmp_path, url=site(zipped("Go.\tVa.\n" * 20_000)), show=False)
    assert os.listdir(tmp_path) == []


def test_a_full_disk_leaves_the_old_file(site, tmp_path, monkeypatch, good):
    (tmp_path / "fra-eng.zip").write_bytes(b"old")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tatoeba.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        fetch(tmp_path, url=site(good), show=False)
    assert os.listdir(tmp_path) == ["fra-eng.zip"]
    assert (tmp_path / "fra-eng.zip").read_bytes() == b"old"


# ---------------------------------------------------------------------------- the real text


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """A sixth of the English sentences, with all their translations: the whole takes long."""
    beside = Path(__file__).parents[3] / "shared" / "corpora" / "tatoeba"
    try:
        path = find() if os.environ.get("HEED_TATOEBA") or not beside.exists() else find(beside)
    except FileNotFoundError as fault:
        pytest.skip(f"Tatoeba's text is not committed, and not here: {fault}")
    content = path.read_bytes()
    text = (tatoeba._unpack(content, path) if content[:2] == b"PK" else content).decode()
    lines = text.splitlines(keepends=True)
    assert len(lines) > 100_000
    sample = tmp_path_factory.mktemp("tatoeba") / "fra.txt"
    kept = (line for line in lines if zlib.crc32(line.split("\t")[0].encode()) % 6 == 0)
    sample.write_text("".join(kept), encoding="utf-8")
    return load(sample)


def test_the_real_sentences_are_read_and_split_by_english_sentence(real):
    sources = {name: {p.source for p in getattr(real, name)} for name in ("train", "valid", "test")}
    assert len(real.train) > 15_000
    assert 0.015 < len(real.test) / len(set.union(*sources.values())) < 0.035
    assert not sources["train"] & (sources["test"] | sources["valid"])
    assert not sources["valid"] & sources["test"]
    assert sum(len(p.references) > 1 for p in real.test) > 60


def test_the_real_sentences_hold_only_words(real):
    for pair in everything(real):
        assert 1 <= len(pair.source) <= 30
        for translation in pair.accepted:
            assert 1 <= len(translation) <= 40
        for word in pair.source + pair.target:
            assert word == word.lower().strip() != ""
            assert not set(word) & set("\u202f\xa0\u200b\xad\u2009’")
