"""Asking for captions, and the pointing game by hand."""

import numpy as np
import pytest
import torch
from torch import Tensor

from heed.data.captions import NOUN, Captions, pieces
from heed.data.scenes import SceneData
from heed.data.vocabulary import BOS, EOS, PAD
from heed.evaluation.captions import (
    Caption,
    Gallery,
    cells_in,
    describe,
    exact,
    forced,
    places,
    pointing,
)
from heed.evaluation.decoding import beam
from heed.models.show_attend_tell import ShowAttendTell, ShowAttendTellConfig
from heed.models.translator import Translator

WORDS = pieces("en").vocabulary
CONFIG = ShowAttendTellConfig(
    vocab=len(WORDS), channels=(4, 6, 8), d_embedding=8, d_state=12, d_align=6
)


def model_of(**options) -> ShowAttendTell:
    model = ShowAttendTell(ShowAttendTellConfig(**(vars(CONFIG) | options))).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if not name.startswith("see"):
                parameter.normal_(std=0.7)
        model.L_o.bias[EOS] = 1.0
    return model


def pictures(count: int = 5) -> Tensor:
    return torch.rand(count, 3, 64, 64)


# ------------------------------------------------------------------ captions


@pytest.mark.parametrize("attention", ["soft", "hard"])
def test_a_caption_is_what_step_after_step_writes(attention):
    model, seen = model_of(attention=attention), pictures()
    said = describe(model, seen, WORDS, batch_size=2)
    for picture, caption in zip(seen, said, strict=True):
        with torch.no_grad():
            encoded = model.encode(picture[None])
            state, token = model.start(encoded), torch.tensor([BOS])
            written, looked, glimpses, gates = [], [], [], []
            while len(written) < len(caption.log_probs):
                state, out = model.step(state, token, encoded)
                log_p = out.logits.log_softmax(-1)
                log_p[:, [PAD, BOS]] = float("-inf")
                token = log_p.argmax(-1)
                written.append(token.item())
                looked.append(out.weights[0].numpy())
                glimpses.append(out.glimpse.item())
                gates.append(out.gate.item())
        assert caption.finished is (written[-1] == EOS)
        body = written[:-1] if caption.finished else written
        assert list(caption.words) == WORDS.decode(body)
        np.testing.assert_allclose(caption.weights, np.stack(looked), atol=1e-5)
        assert caption.glimpses == glimpses
        assert caption.gates == pytest.approx(gates, abs=1e-5)


def test_a_beam_finds_nothing_less_likely_than_greedy_search():
    model, seen = model_of(), pictures(3)
    for one, other in zip(
        describe(model, seen, WORDS), describe(model, seen, WORDS, width=4), strict=True
    ):
        assert other.log_prob >= one.log_prob - 1e-5
        assert other.glimpses is None
        assert other.weights.shape[1] == 64


def test_a_gallery_is_a_translator_whose_sentences_are_pictures():
    model = model_of()
    with torch.no_grad():
        gallery = Gallery(model, model.encode(pictures(3)))
    assert isinstance(gallery, Translator)
    source, lengths = gallery.sentences()
    assert lengths.tolist() == [64] * 3
    (one, two) = (beam(gallery, source[[i]], lengths[[i]], width=1, max_steps=5)[0] for i in (0, 2))
    both = beam(gallery, source[[2, 0]], lengths[[2, 0]], width=1, max_steps=5)
    assert [two.tokens, one.tokens] == [hypothesis.tokens for hypothesis in both]


def test_looks_that_are_drawn_differ_and_are_kept():
    model, seen = model_of(attention="hard"), pictures(1)
    looked = {
        tuple(describe(model, seen, WORDS, look="sampled")[0].glimpses or ()) for _ in range(5)
    }
    assert len(looked) > 1
    assert -1 not in {place for glimpses in looked for place in glimpses}
    softly = describe(model, seen, WORDS, look="expected")[0]
    assert set(softly.glimpses or ()) == {-1}


def test_the_trace_names_words_and_places():
    (caption,) = describe(model_of(attention="hard"), pictures(1), WORDS)
    trace = caption.trace()
    assert trace.key.grid == (8, 8)
    assert trace.key.labels[:9:8] == ("1, 1", "2, 1")
    assert trace.query.labels[: len(caption.words)] == caption.words
    np.testing.assert_allclose(trace.weights[0].sum(axis=1), 1, atol=1e-5)
    one = caption.trace("glimpse").weights[0]
    assert one.argmax(axis=1).tolist() == caption.glimpses
    assert set(np.unique(one)) == {0.0, 1.0}


def test_a_soft_caption_has_no_glimpses_to_show():
    (caption,) = describe(model_of(), pictures(1), WORDS)
    with pytest.raises(ValueError, match="not written by looking at one place"):
        caption.trace("glimpse")


def test_forced_is_the_model_itself_in_parts():
    model, scenes = model_of(), SceneData().draw(5, torch.Generator().manual_seed(0))
    seen = scenes.pictures.float() / 255
    parts = forced(model, seen, scenes.captions.words, batch_size=2)
    with torch.no_grad():
        whole = model(seen, scenes.captions.words[:, :-1])
    torch.testing.assert_close(parts.logits, whole.logits)
    torch.testing.assert_close(parts.weights["cross"], whole.weights["cross"])


# ------------------------------------------------------------------ scores


def caption_of(words: tuple[str, ...], *, finished: bool = True) -> Caption:
    return Caption(
        words=words,
        log_prob=0.0,
        log_probs=[],
        weights=np.zeros((1, 1), np.float32),
        grid=(1, 1),
        glimpses=None,
        gates=None,
        finished=finished,
    )


def test_a_caption_is_exact_if_every_word_is():
    rows = [
        [BOS, *WORDS.encode(["a", "cat"]), EOS, PAD],
        [BOS, *WORDS.encode(["a"]), EOS, PAD, PAD],
    ]
    none = torch.zeros(2, 5, dtype=torch.long)
    captions = Captions(torch.tensor(rows), torch.tensor([4, 3]), none, none)
    assert exact([caption_of(("a", "cat")), caption_of(("a",))], captions, WORDS) == [True, True]
    wrong = [caption_of(("a", "dog")), caption_of(("a", "cat"))]
    assert exact(wrong, captions, WORDS) == [False, False]
    cut = [caption_of(("a", "cat"), finished=False), caption_of(())]
    assert exact(cut, captions, WORDS) == [False, False]


def test_which_places_share_a_pixel_with_a_box():
    """Four places of 8 × 8 pixels."""
    boxes = torch.tensor([[0, 0, 8, 8], [7, 7, 9, 9], [8, 0, 16, 9], [0, 8, 1, 9], [0, 0, 0, 0]])
    found = cells_in(boxes, (2, 2), 16).int().tolist()
    assert found == [[1, 0, 0, 0], [1, 1, 1, 1], [0, 0, 1, 1], [0, 1, 0, 0], [0, 0, 0, 0]]


def test_the_pointing_game_by_hand():
    """Two nouns: the first one is looked at, the second one is not."""
    words = torch.tensor([[BOS, 4, 5, 6, EOS]])
    captions = Captions(
        words,
        torch.tensor([5]),
        about=torch.tensor([[-1, 0, -1, 1, -1]]),
        role=torch.tensor([[0, NOUN, 0, NOUN, 0]]),
    )
    boxes = torch.tensor([[[0, 0, 8, 8], [8, 0, 16, 16], [0, 0, 0, 0]]])
    weights = torch.tensor(
        [[[0.7, 0.1, 0.1, 0.1], [0.0, 0.0, 0.0, 1.0], [0.4, 0.2, 0.3, 0.1], [1.0, 0, 0, 0]]]
    )
    found = pointing(weights, captions, boxes, role=NOUN, grid=(2, 2), side=16)
    assert (found.hits, found.words) == (0.5, 2)
    assert found.chance == pytest.approx((1 / 4 + 2 / 4) / 2)


def test_who_looks_at_the_middle_of_every_animal_always_points():
    scenes = SceneData().draw(50, torch.Generator().manual_seed(0))
    captions = scenes.captions
    weights = torch.zeros(50, captions.words.shape[1] - 1, 64)
    middle = (scenes.boxes[..., :2] + scenes.boxes[..., 2:]) // 2 // 8
    place = middle[..., 0] * 8 + middle[..., 1]
    for scene, word in (captions.role == NOUN).nonzero().tolist():
        weights[scene, word - 1, place[scene, captions.about[scene, word]]] = 1
    found = pointing(weights, captions, scenes.boxes, role=NOUN, grid=(8, 8), side=64)
    assert found.hits == 1
    assert 0.05 < found.chance < 0.3


def test_places_are_named_by_row_and_column():
    assert places((2, 3)).labels == ("1, 1", "1, 2", "1, 3", "2, 1", "2, 2", "2, 3")
