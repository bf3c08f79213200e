"""What decoding relies on, whichever model stands behind it."""

from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import pytest
import torch
from shaken import ENGLISH, FRENCH, SOURCE, STEPS, B, batch_of, shaken
from torch import Tensor
from torch.testing import assert_close

from heed.data.vocabulary import BOS, EOS, PAD
from heed.models.bahdanau import Bahdanau, BahdanauConfig
from heed.models.luong import Luong, LuongConfig
from heed.models.seq2seq import Seq2Seq, Seq2SeqConfig
from heed.models.transformer import Transformer, TransformerConfig
from heed.models.translator import select

BAHDANAU = BahdanauConfig(
    source_vocab=ENGLISH,
    target_vocab=FRENCH,
    d_embedding=5,
    d_encoder=7,
    d_state=11,
    d_align=13,
    d_maxout=3,
)
SEQ2SEQ = Seq2SeqConfig(
    source_vocab=ENGLISH, target_vocab=FRENCH, d_embedding=5, d_hidden=7, layers=2
)
LUONG = LuongConfig(
    source_vocab=ENGLISH,
    target_vocab=FRENCH,
    d_embedding=5,
    d_hidden=7,
    d_align=11,
    layers=2,
    D=2,
)
TRANSFORMER = TransformerConfig(
    source_vocab=ENGLISH,
    target_vocab=FRENCH,
    d_model=12,
    d_inner=17,
    heads=3,
    encoder_layers=2,
    decoder_layers=2,
    longest=13,
    dropout=0.0,
)
BUILDERS = {
    "seq2seq": lambda: Seq2Seq(SEQ2SEQ),
    "seq2seq, forward, tied": lambda: Seq2Seq(
        replace(SEQ2SEQ, reverse_source=False, tie_output=True)
    ),
    "bahdanau": lambda: Bahdanau(BAHDANAU),
    "bahdanau, current, tied": lambda: Bahdanau(
        replace(BAHDANAU, readout_state="current", tie_output=True, d_maxout=5)
    ),
    "luong, global": lambda: Luong(LUONG),
    "luong, local-m, reversed, tied": lambda: Luong(
        replace(LUONG, attention="local_m", reverse_source=True, tie_output=True)
    ),
    "luong, local-p": lambda: Luong(replace(LUONG, attention="local_p")),
    "transformer": lambda: Transformer(TRANSFORMER),
    "transformer, pre-norm, learned, not tied": lambda: Transformer(
        replace(TRANSFORMER, norm="pre", positions="learned", tie="none", bias=True)
    ),
}


@pytest.fixture(params=BUILDERS.values(), ids=BUILDERS)
def model(request) -> Any:
    """Each translator in double precision, every parameter random."""
    return shaken(request.param())


@pytest.fixture
def sentences() -> tuple[Tensor, Tensor, Tensor]:
    """Three source sentences with padding, and three targets to be fed."""
    return batch_of([SOURCE, 2, 4])


def tensors(record: Any) -> dict[str, Tensor]:
    assert is_dataclass(record)
    return {item.name: getattr(record, item.name) for item in fields(record)}


def test_feeding_a_known_target_at_once_or_word_by_word_is_the_same(model, sentences):
    source, lengths, target_in = sentences
    at_once = model(source, lengths, target_in)
    encoded = model.encode(source, lengths)
    state = model.start(encoded)
    for i in range(STEPS):
        state, out = model.step(state, target_in[:, i], encoded)
        assert_close(out.logits, at_once.logits[:, i], rtol=0, atol=1e-12)
        if out.weights is None:
            assert at_once.weights == {}
        else:
            assert_close(out.weights, at_once.weights["cross"][:, 0, i], rtol=0, atol=1e-12)


def test_a_whole_sentence_is_as_likely_as_its_steps_multiplied(model, sentences):
    source, lengths, target_in = sentences
    wanted = torch.cat([target_in[:, 1:], torch.full((B, 1), EOS)], dim=1)
    at_once = model(source, lengths, target_in).logits.log_softmax(dim=-1)
    expected = at_once.gather(2, wanted.unsqueeze(2)).sum(dim=(1, 2))
    encoded = model.encode(source, lengths)
    state, total = model.start(encoded), torch.zeros(B).double()
    for i in range(STEPS):
        state, out = model.step(state, target_in[:, i], encoded)
        total += out.logits.log_softmax(dim=-1).gather(1, wanted[:, i : i + 1]).squeeze(1)
    assert_close(total, expected, rtol=0, atol=1e-12)


def test_a_word_cannot_be_seen_before_it_is_fed(model, sentences):
    source, lengths, target_in = sentences
    before = model(source, lengths, target_in).logits
    for i in range(STEPS):
        changed = target_in.clone()
        changed[:, i] = 4 + (changed[:, i] + 3) % 25
        differs = (model(source, lengths, changed).logits - before).abs().amax(dim=(0, 2)) > 0
        assert differs.tolist() == [step >= i for step in range(STEPS)]


def test_no_sentence_of_a_batch_can_see_another(model, sentences):
    source, lengths, target_in = sentences
    before = model(source, lengths, target_in).logits
    changed, changed_in = source.clone(), target_in.clone()
    changed[1, 0], changed_in[1, 1:] = 4 + changed[1, 0] % 19, changed_in[1, 1:].flip(0)
    after = model(changed, lengths, changed_in).logits
    assert torch.equal(after[[0, 2]], before[[0, 2]])
    assert not torch.allclose(after[1], before[1])


def test_padding_in_source_and_target_changes_nothing_that_counts(model, sentences):
    source, lengths, target_in = sentences
    before = model(source, lengths, target_in).logits
    wide = torch.cat([source, torch.randint(4, ENGLISH, (B, 2))], dim=1)
    pads = torch.arange(SOURCE + 2) >= lengths[:, None]
    wide = torch.where(pads, torch.randint(4, ENGLISH, wide.shape), wide)
    longer = torch.cat([target_in, torch.full((B, 2), PAD)], dim=1)
    after = model(wide, lengths, longer).logits[:, :STEPS]
    assert_close(after, before, rtol=0, atol=1e-12)


def test_choosing_rows_of_the_state_chooses_rows_of_what_comes_next(model, sentences):
    """What a beam does: drop a row, double another, change their order, and go on."""
    source, lengths, target_in = sentences
    encoded = model.encode(source, lengths)
    state, _ = model.step(model.start(encoded), target_in[:, 0], encoded)
    rows = torch.tensor([2, 0, 0, 2])
    _, whole = model.step(state, target_in[:, 1], encoded)
    _, chosen = model.step(select(state, rows), target_in[rows, 1], select(encoded, rows))
    assert_close(chosen.logits, whole.logits[rows], rtol=0, atol=1e-12)
    if whole.weights is not None:
        assert_close(chosen.weights, whole.weights[rows], rtol=0, atol=1e-12)


def test_every_record_of_a_translator_has_the_batch_first(model, sentences):
    source, lengths, target_in = sentences
    encoded = model.encode(source, lengths)
    state = model.start(encoded)
    after, _ = model.step(state, target_in[:, 0], encoded)
    for record in (encoded, state, after):
        for name, value in tensors(record).items():
            assert value.shape[0] == B, name


def test_taking_a_step_leaves_the_state_before_it_as_it_was(model, sentences):
    source, lengths, target_in = sentences
    encoded = model.encode(source, lengths)
    state = model.start(encoded)
    before = {name: value.clone() for name, value in tensors(state).items()}
    _, first = model.step(state, target_in[:, 0], encoded)
    _, again = model.step(state, target_in[:, 0], encoded)
    assert torch.equal(first.logits, again.logits)
    for name, value in tensors(state).items():
        assert torch.equal(value, before[name])


def test_a_translator_keeps_nothing_of_what_it_read(model, sentences):
    model(*sentences)
    for module in model.modules():
        assert not any(isinstance(value, Tensor) for value in vars(module).values())
    assert list(model.buffers()) == []


def test_every_parameter_has_a_part_in_the_result(model, sentences):
    model(*sentences).logits.square().sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert (parameter.grad != 0.0).any(), name


@pytest.mark.parametrize("length", [1, 2])
def test_a_batch_of_one_and_a_sentence_of_nothing_work(model, length):
    source = torch.tensor([[7, EOS][-length:]])
    out = model(source, torch.tensor([length]), torch.tensor([[BOS]]))
    assert out.logits.shape == (1, 1, FRENCH)
    assert out.logits.isfinite().all()
    for weights in out.weights.values():
        assert weights.shape == (1, 1, 1, length)


def test_a_translator_that_is_saved_and_loaded_says_the_same(request, model, sentences):
    twin = BUILDERS[request.node.callspec.id]().double().eval()
    assert not torch.equal(twin(*sentences).logits, model(*sentences).logits)
    twin.load_state_dict(model.state_dict())
    assert torch.equal(twin(*sentences).logits, model(*sentences).logits)


# --- select ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Record:
    table: Tensor
    kept: Tensor
    name: str
    nothing: None = None


def test_select_picks_rows_in_the_order_given_and_as_often():
    record = Record(torch.arange(6).reshape(3, 2), torch.tensor([True, False, True]), "beam")
    picked = select(record, torch.tensor([2, 0, 2, 1]))
    assert picked.table.tolist() == [[4, 5], [0, 1], [4, 5], [2, 3]]
    assert picked.kept.tolist() == [True, True, True, False]
    assert picked.name == "beam"
    assert picked.nothing is None
    assert type(picked) is Record


def test_select_picks_the_same_rows_of_a_record_inside_a_record():
    inner = Record(torch.arange(6).reshape(3, 2), torch.tensor([True, False, True]), "inner")
    outer = Record(inner, torch.arange(3), "outer")  # type: ignore[arg-type]
    picked = select(outer, torch.tensor([2, 0]))
    assert picked.kept.tolist() == [2, 0]
    assert picked.table.table.tolist() == [[4, 5], [0, 1]]
    assert picked.table.kept.tolist() == [True, True]


def test_select_leaves_the_record_it_was_given_alone():
    record = Record(torch.arange(6).reshape(3, 2), torch.ones(3), "beam")
    picked = select(record, torch.tensor([0]))
    picked.table.zero_()
    assert record.table.tolist() == [[0, 1], [2, 3], [4, 5]]


def test_no_rows_make_an_empty_record():
    record = Record(torch.arange(6).reshape(3, 2), torch.ones(3), "beam")
    assert select(record, torch.tensor([], dtype=torch.long)).table.shape == (0, 2)
