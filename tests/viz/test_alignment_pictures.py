"""Maps with gold links: what is drawn, what is said, what is counted."""

import numpy as np
import pytest

from heed.data.grammar import classic
from heed.data.pairs import Pair
from heed.evaluation.decoding import Translation
from heed.trace import AttentionTrace
from heed.viz import alignment as module
from heed.viz.alignment import (
    alignment,
    errors_by_phenomenon,
    first_looks,
    free_map,
    gold_map,
    wrong_looks,
)
from heed.viz.heatmap import in_a_cell

PAIR = Pair(
    source=("the", "old", "cat"),
    target=("le", "chat", "vieux"),
    sure=frozenset({(0, 0), (2, 1), (1, 2)}),
    possible=frozenset({(0, 0), (2, 1), (1, 2), (2, 0)}),
    phenomena={"mirrored": frozenset({(2, 1), (1, 2)})},
)


def trace(rows) -> AttentionTrace:
    return AttentionTrace.of("test", np.array(rows), query=PAIR.target, key=(*PAIR.source, "</s>"))


LOOKS = trace([[0.2, 0.1, 0.7, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.1, 0.1, 0.8]])


def owner(build, config):
    """A translator that was not trained, and whose card is blank but for the name."""
    from dataclasses import fields
    from pathlib import Path
    from typing import get_origin

    from heed.data.vocabulary import Vocabulary
    from heed.experiments.cards import Card
    from heed.experiments.translation import TrainedTranslator

    source, target = (Vocabulary(tuple(sorted(set(w)))) for w in (PAIR.source, PAIR.target))
    blank = {f.name: (get_origin(f.type) or f.type)() for f in fields(Card)}
    return TrainedTranslator(
        model=build(config(source_vocab=len(source), target_vocab=len(target))),
        card=Card(**blank | {"experiment": "test"}),
        source_vocab=source,
        target_vocab=target,
        folder=Path(),
    )


def test_each_word_with_what_it_looks_at_most_and_whether_gold_agrees():
    assert first_looks(LOOKS, PAIR) == [
        ("le", "cat", True),  # only possible, and that is enough
        ("chat", "cat", True),
        ("vieux", "</s>", False),
    ]


def test_the_description_counts_the_right_looks():
    drawn = alignment(LOOKS, PAIR, frame="mirrored")
    assert "2 of 3 French words" in drawn.alt
    assert "writing 'chat', looks at 'cat' 1.00" in drawn.alt
    assert "mirrored" in drawn.svg


def test_every_gold_link_gets_a_ring_and_the_frame_one_more_box():
    def boxes(pair, **options):
        return alignment(LOOKS, pair, **options).svg.count("stroke: #e8590c")

    bare = Pair(source=PAIR.source, target=PAIR.target)
    assert boxes(PAIR) - boxes(bare) == 4
    assert alignment(LOOKS, PAIR, frame="mirrored").svg.count("stroke: #ffffff") == 1


def test_a_dashed_ring_is_a_link_that_is_only_possible():
    def dashed(pair):
        return alignment(LOOKS, pair).svg.count("stroke-dasharray")

    sure = Pair(source=PAIR.source, target=PAIR.target, sure=PAIR.possible, possible=PAIR.possible)
    assert dashed(PAIR) == 1
    assert dashed(sure) == 0


def test_the_map_of_a_gold_pair_is_the_forced_one():
    import torch

    from heed.data.batches import encode_batch
    from heed.models.bahdanau import Bahdanau, BahdanauConfig

    made = owner(Bahdanau, BahdanauConfig)
    drawn = gold_map(made, PAIR)
    batch = encode_batch([PAIR], made.source_vocab, made.target_vocab)
    with torch.no_grad():
        out = made.model.eval()(batch.source, batch.source_lengths, batch.target[:, :-1])
    assert drawn.query.labels == PAIR.target
    assert drawn.key.labels == (*PAIR.source, "</s>")
    np.testing.assert_allclose(drawn.weights, out.weights["cross"][0, :, :3].numpy(), atol=1e-6)


def test_a_model_without_attention_has_no_map():
    from heed.models.seq2seq import Seq2Seq, Seq2SeqConfig

    with pytest.raises(ValueError, match="this model has none"):
        gold_map(owner(Seq2Seq, Seq2SeqConfig), PAIR)


@pytest.mark.parametrize(("finished", "last"), [(True, "</s>"), (False, "chat")])
def test_the_map_of_a_free_translation_has_a_row_for_the_end_if_it_came(finished, last):
    said = Translation(
        source=PAIR.source,
        words=("le", "chat"),
        log_prob=-1.0,
        weights=np.full((3 if finished else 2, 4), 0.25),
        finished=finished,
    )
    assert free_map(said).query.labels[-1] == last


def test_no_weights_no_map():
    said = Translation(source=(), words=(), log_prob=0.0, weights=None, finished=True)
    with pytest.raises(ValueError, match="there was none"):
        free_map(said)


def test_wrong_looks_are_those_that_no_link_covers():
    found = [{(2, 0), (0, 1), (1, 2)}, {(0, 1), (0, 2)}, {(1, 1)}]
    looks = wrong_looks(found, [PAIR, PAIR, PAIR])
    assert looks == {"chat": {"the": 2, "old": 1}, "vieux": {"the": 1}}
    assert list(looks) == ["chat", "vieux"], "most wrong looks first"


def test_the_worst_phenomenon_is_named_first():
    def spread(*seeds):
        return {"mean": sum(seeds) / len(seeds), "std": 0.0, "seeds": list(seeds)}

    metrics = {
        "aer": spread(0.2, 0.4),
        "aer_by_phenomenon": {"easy": spread(0.0, 0.1), "hard": spread(0.6, 0.8)},
    }
    drawn = errors_by_phenomenon(metrics)
    assert "worst first: hard 0.70; easy 0.05" in drawn.alt
    assert "All links together: 0.30" in drawn.alt
    assert drawn.svg.index("hard") < drawn.svg.index("easy")


def test_the_readme_gets_its_picture(monkeypatch, tmp_path, capsys):
    pair = classic()
    weights = np.eye(len(pair.target), len(pair.source) + 1)
    made = AttentionTrace.of("test", weights, query=pair.target, key=(*pair.source, "</s>"))
    monkeypatch.setattr(module, "load", lambda name: name)
    monkeypatch.setattr(module, "gold_map", lambda trained, pair: made)
    module.main([str(tmp_path)])
    assert (tmp_path / "alignment-1992.svg").read_text("utf-8").rstrip().endswith("</svg>")
    assert (tmp_path / "alignment-1992.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize(
    ("weight", "said"), [(0.714, ".71"), (0.1, ".10"), (0.994, ".99"), (0.997, "1"), (1.0, "1")]
)
def test_a_weight_in_a_cell_keeps_its_size(weight, said):
    assert in_a_cell(weight) == said
