"""Show, attend and tell against its equations, one number at a time, and hard against soft."""

import math
from dataclasses import replace

import pytest
import torch
from shaken import shaken
from torch import Tensor, nn
from torch.testing import assert_close

from heed.data.vocabulary import BOS, EOS, PAD
from heed.models.show_attend_tell import (
    Seen,
    ShowAttendTell,
    ShowAttendTellConfig,
    TellOutput,
)
from heed.models.translator import select

B, STEPS, VOCAB, SIDE = 3, 4, 17, 24  # 24 pixels make 3 × 3 places
L, D = 9, 7
SMALL = ShowAttendTellConfig(
    vocab=VOCAB, channels=(4, 5, D), side=SIDE, d_embedding=5, d_state=11, d_align=13
)
HARD = replace(SMALL, attention="hard")


def model_of(config: ShowAttendTellConfig = SMALL) -> ShowAttendTell:
    model = shaken(ShowAttendTell(config))
    for layer in model.see:  # no unit may be dead, or the picture would not matter
        if isinstance(layer, nn.BatchNorm2d):
            with torch.no_grad():
                layer.weight.abs_().add_(1.0)
                layer.bias.abs_()
    return model


def pictures(count: int = B) -> Tensor:
    return torch.rand(count, 3, SIDE, SIDE).double()


def captions(count: int = B) -> Tensor:
    words = torch.randint(EOS + 2, VOCAB, (count, STEPS))
    words[:, 0] = BOS
    return words


def tell(model: ShowAttendTell, seen: Seen, words: Tensor, **options) -> TellOutput:
    with torch.no_grad():
        return model.tell(seen, words, **options)


# ------------------------------------------------------------------ the equations


def slow(model: ShowAttendTell, a: list[list[float]], words: list[int], glimpses=None):
    """All equations for one picture, one number at a time; glimpses: a place for each step."""
    c = model.config
    W = {name: p.tolist() for name, p in model.named_parameters() if not name.startswith("see")}

    def times(rows, vector, bias=None):
        out = [sum(x * y for x, y in zip(row, vector, strict=True)) for row in rows]
        return out if bias is None else [x + b for x, b in zip(out, bias, strict=True)]

    def sigmoid(x):
        return 1 / (1 + math.exp(-x))

    mean = [sum(place[k] for place in a) / len(a) for k in range(len(a[0]))]
    h = [math.tanh(x) for x in times(W["f_h.weight"], mean, W["f_h.bias"])]
    m = [math.tanh(x) for x in times(W["f_c.weight"], mean, W["f_c.bias"])]
    U = [list(column) for column in zip(*W["cell.U"], strict=True)]
    n = len(h)
    said, looked, gates = [], [], []
    for t, word in enumerate(words):
        y = W["embed.weight"][word]
        if word == BOS and c.first_word == "zero":
            y = [0.0] * len(y)
        q = times(W["attention.score.W.weight"], h)
        scores = []
        for place in a:
            key = times(W["attention.score.U.weight"], place)
            v = W["attention.score.v.weight"][0]
            scores.append(sum(v[k] * math.tanh(q[k] + key[k]) for k in range(len(v))))
        total = sum(math.exp(e) for e in scores)
        alpha = [math.exp(e) / total for e in scores]
        beta = 1.0
        if c.gate:
            beta = sigmoid(times(W["f_beta.weight"], h, W["f_beta.bias"])[0])
        used = alpha
        if glimpses is not None and glimpses[t] >= 0:
            used = [float(i == glimpses[t]) for i in range(len(a))]
        z = [beta * sum(used[i] * a[i][k] for i in range(len(a))) for k in range(len(mean))]
        drive = times(W["drive_y.weight"], y, W["drive_y.bias"])
        drive = [
            p + q + r
            for p, q, r in zip(drive, times(W["drive_z.weight"], z), times(U, h), strict=True)
        ]
        i, f, g, o = (drive[k * n : (k + 1) * n] for k in range(4))
        m = [sigmoid(f[k]) * m[k] + sigmoid(i[k]) * math.tanh(g[k]) for k in range(n)]
        h = [sigmoid(o[k]) * math.tanh(m[k]) for k in range(n)]
        deep = [
            p + q + r
            for p, q, r in zip(y, times(W["L_h.weight"], h), times(W["L_z.weight"], z), strict=True)
        ]
        if c.readout == "tanh":
            deep = [math.tanh(x) for x in deep]
        said.append(times(W["L_o.weight"], deep, W["L_o.bias"]))
        looked.append(alpha)
        gates.append(beta)
    return said, looked, gates


VARIANTS = {
    "soft": SMALL,
    "no gate": replace(SMALL, gate=False),
    "Eq. 7 to the letter": replace(SMALL, readout="paper"),
    "a first word of its own": replace(SMALL, first_word="learned"),
    "places not named": replace(SMALL, places=False),
    "hard": HARD,
}


@pytest.mark.parametrize("config", VARIANTS.values(), ids=VARIANTS)
def test_it_agrees_with_a_loop_written_from_its_equations(config):
    model, words = model_of(config), captions()
    with torch.no_grad():
        seen = model.encode(pictures())
    out = tell(model, seen, words)
    for b in range(B):
        glimpses = out.glimpses[b].tolist()
        expected = slow(model, seen.annotations[b].tolist(), words[b].tolist(), glimpses)
        found = (out.logits[b], out.weights["cross"][b, 0], out.gates[b])
        for ours, loop in zip(found, expected, strict=True):
            assert_close(ours, torch.tensor(loop, dtype=torch.float64), rtol=0, atol=1e-9)


@pytest.mark.parametrize("config", VARIANTS.values(), ids=VARIANTS)
def test_word_by_word_or_all_at_once_is_the_same(config):
    model, words, seen_pictures = model_of(config), captions(), pictures()
    with torch.no_grad():
        out = model(seen_pictures, words)
        encoded = model.encode(seen_pictures)
        state = model.start(encoded)
        for t in range(STEPS):
            state, step = model.step(state, words[:, t], encoded)
            assert_close(step.logits, out.logits[:, t], rtol=0, atol=1e-12)
            assert_close(step.weights, out.weights["cross"][:, 0, t], rtol=0, atol=1e-12)
            assert torch.equal(step.glimpse, out.glimpses[:, t])
            assert_close(step.gate, out.gates[:, t], rtol=0, atol=1e-12)


def test_attention_by_hand():
    model = model_of(replace(SMALL, d_align=1))
    with torch.no_grad():
        model.attention.score.v.weight.fill_(2.0)
        model.attention.score.W.weight.zero_()
    # 2 tanh(key) is 0 and ln 3: weights 1/4 and 3/4
    keys = torch.tensor([[[0.0], [math.atanh(math.log(3) / 2)]]]).double()
    a = torch.zeros(1, 2, D).double()
    a[0, 0, 0], a[0, 1, 0] = 4.0, 8.0
    zeros = torch.zeros(1, 11).double()
    seen = Seen(annotations=a, prepared=keys, first_h=zeros, first_c=zeros)
    alpha, beta = model._weigh(zeros, seen)
    assert alpha[0].tolist() == pytest.approx([0.25, 0.75])
    z = model._context(alpha, torch.tensor([-1]), torch.ones(1).double(), seen)
    assert z[0, 0].item() == pytest.approx(7.0)
    assert model._context(alpha, torch.tensor([0]), beta, seen)[0, 0].item() == pytest.approx(
        4.0 * beta.item()
    )


# ------------------------------------------------------------------ the gate


def test_the_gate_is_one_number_between_0_and_1_that_scales_the_whole_context():
    model = model_of()
    with torch.no_grad():
        seen = model.encode(pictures())
        model.f_beta.weight.zero_()
        model.f_beta.bias.fill_(math.log(3))
        alpha, beta = model._weigh(seen.first_h, seen)
        open_, half = (
            model._context(alpha, torch.full((B,), -1), gate, seen)
            for gate in (torch.ones(B).double(), torch.full((B,), 0.5).double())
        )
    assert beta.tolist() == pytest.approx([0.75] * B)
    assert_close(half, open_ / 2)


def test_with_the_gate_shut_the_picture_is_seen_only_at_the_start():
    model, words = model_of(), captions()
    with torch.no_grad():
        model.f_beta.weight.zero_()
        model.f_beta.bias.fill_(-1_000.0)
        seen, other = model.encode(pictures()), model.encode(pictures())
    other = replace(other, first_h=seen.first_h, first_c=seen.first_c)
    assert torch.equal(tell(model, seen, words).logits, tell(model, other, words).logits)
    with torch.no_grad():
        model.f_beta.bias.fill_(0.0)
    assert not torch.equal(tell(model, seen, words).logits, tell(model, other, words).logits)


def test_a_model_without_a_gate_has_it_open():
    model = model_of(replace(SMALL, gate=False))
    assert not any("beta" in name for name, _ in model.named_parameters())
    assert (model(pictures(), captions()).gates == 1).all()


# ------------------------------------------------------------------ hard attention


def test_hard_attention_that_is_sure_of_its_place_is_soft_attention():
    soft, hard = model_of(), model_of(HARD)
    hard.load_state_dict(soft.state_dict())
    with torch.no_grad():
        for model in (soft, hard):  # scores so far apart that every weight is 0 or 1
            model.attention.score.U.weight.mul_(1e-2)  # where tanh is steep, no two are equal
            model.attention.score.v.weight.mul_(1e7)
        seen = soft.encode(pictures())
    words = captions()
    one, other = (tell(model, seen, words) for model in (soft, hard))
    assert set(one.weights["cross"].unique().tolist()) == {0.0, 1.0}
    assert torch.equal(one.weights["cross"][:, 0].argmax(-1), other.glimpses)
    assert_close(one.logits, other.logits, rtol=0, atol=1e-12)


def test_places_that_are_drawn_come_as_often_as_their_weights_say():
    model, many = model_of(replace(HARD, coin=0.0)), 20_000
    model.train()
    with torch.no_grad():
        seen = select(one_seen(model), rows(many))
        out = model.tell(seen, captions(1)[:, :1].expand(many, -1))
    share = torch.bincount(out.glimpses[:, 0], minlength=L) / many
    alpha = out.weights["cross"][0, 0, 0]
    error = (alpha * (1 - alpha) / many).sqrt()
    assert ((share - alpha).abs() <= 4 * error).all()
    assert alpha.max() < 0.9


def one_seen(model: ShowAttendTell) -> Seen:
    was = model.training
    seen = model.eval().encode(pictures(1))
    model.train(was)
    return seen


def rows(many: int) -> Tensor:
    return torch.zeros(many, dtype=torch.long)


def test_no_gradient_goes_through_a_place_that_is_drawn():
    model = model_of(replace(HARD, coin=0.0)).train()
    out = model.tell(one_seen(model), captions(1))
    out.logits.sum().backward()
    assert model.attention.score.v.weight.grad is None or not (
        model.attention.score.v.weight.grad.any()
    )
    out = model.tell(one_seen(model), captions(1), glimpses=torch.full((1, STEPS), -1))
    out.logits.sum().backward()
    assert model.attention.score.v.weight.grad.any()


def test_the_coin_makes_whole_captions_soft():
    many, words = 400, captions(1)
    for share, per in ((0.0, "picture"), (0.25, "picture"), (1.0, "picture"), (0.5, "batch")):
        model = model_of(replace(HARD, coin=share, coin_per=per)).train()
        with torch.no_grad():
            seen = select(one_seen(model), rows(many))
            soft = model.tell(seen, words.expand(many, -1)).glimpses == -1
        assert (soft.all(dim=1) == soft.any(dim=1)).all()
        if per == "batch":
            assert soft.all() or not soft.any()
        else:
            assert soft[:, 0].double().mean().item() == pytest.approx(share, abs=0.08)


def test_a_coin_that_always_says_soft_trains_soft_attention():
    soft, hard = model_of(), model_of(replace(HARD, coin=1.0))
    hard.load_state_dict(soft.state_dict())
    seen, words = one_seen(soft), captions(1)
    assert torch.equal(soft.tell(seen, words).logits, hard.train().tell(seen, words).logits)


def test_at_rest_nothing_is_left_to_chance():
    model = model_of(HARD)
    seen, words = pictures(), captions()
    before = torch.get_rng_state()
    with torch.no_grad():
        one, other = model(seen, words), model(seen, words)
    assert torch.equal(before, torch.get_rng_state())
    assert torch.equal(one.logits, other.logits)
    assert torch.equal(one.glimpses, one.weights["cross"][:, 0].argmax(-1))


def test_a_reader_may_draw_again_or_look_softly():
    model = model_of(HARD)
    with torch.no_grad():
        seen = select(model.encode(pictures(1)), rows(50))
        state, token = model.start(seen), torch.full((50,), BOS)
        drawn = {look: model.step(state, token, seen, look=look)[1] for look in LOOKS}
    assert len(set(drawn["sampled"].glimpse.tolist())) > 1
    assert (drawn["expected"].glimpse == -1).all()
    assert len(set(drawn["likeliest"].glimpse.tolist())) == 1
    soft = model_of()
    soft.load_state_dict(model.state_dict())
    with torch.no_grad():
        assert_close(soft.step(state, token, seen)[1].logits, drawn["expected"].logits)


LOOKS = ("expected", "likeliest", "sampled")


# ------------------------------------------------------------------ what holds of all


@pytest.mark.parametrize("config", [SMALL, HARD], ids=["soft", "hard"])
def test_a_word_changes_nothing_before_it(config):
    model, words, seen = model_of(config), captions(), pictures()
    other = words.clone()
    other[:, 2] = PAD
    with torch.no_grad():
        one, two = model(seen, words).logits, model(seen, other).logits
    assert torch.equal(one[:, :2], two[:, :2])
    assert not torch.equal(one[:, 2:], two[:, 2:])


def test_every_row_of_weights_sums_to_one_over_all_places():
    out = model_of()(pictures(), captions())
    assert out.weights["cross"].shape == (B, 1, STEPS, L)
    assert_close(out.weights["cross"].sum(-1), torch.ones(B, 1, STEPS).double())


@pytest.mark.parametrize(("first_word", "matters"), [("zero", False), ("learned", True)])
def test_the_word_before_the_first_is_nothing_or_a_vector(first_word, matters):
    model, seen, words = model_of(replace(SMALL, first_word=first_word)), pictures(), captions()
    with torch.no_grad():
        before = model(seen, words).logits
        model.embed.weight[BOS] += 1.0
        assert torch.equal(before, model(seen, words).logits) is not matters


def test_dropout_wears_the_memory_too_on_its_way_to_the_words():
    model = model_of(replace(SMALL, dropout=1.0))
    h, z = torch.randn(2, SMALL.d_state).double(), torch.randn(2, D).double()
    y = torch.zeros(2, SMALL.d_embedding).double()
    seen = []
    model.L_h.register_forward_pre_hook(lambda _, given: seen.append(given[0].abs().max().item()))
    for training in (True, False):
        model.train(training)._readout(y, h, z)
    trained, asked = seen
    assert trained == 0.0
    assert asked > 0


def test_the_grid_has_a_place_for_every_eight_pixels():
    assert SMALL.grid == (3, 3)
    assert ShowAttendTellConfig(vocab=5).grid == (8, 8)


def test_under_autocast_it_says_about_the_same():
    model = ShowAttendTell(replace(SMALL, channels=(16, 16, 16), d_state=32)).eval()
    seen, words = pictures().float(), captions()
    with torch.no_grad():
        plain = model(seen, words)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            low = model(seen, words)
    assert low.weights["cross"].dtype == torch.float32
    assert_close(low.logits.float(), plain.logits, rtol=0, atol=0.1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"coin": 1.5}, "coin=1.5 is no share"),
        ({"decay": -0.1}, "decay=-0.1 is no share"),
        ({"side": 60}, "side=60 cannot be halved 3 times"),
    ],
)
def test_what_makes_no_sense_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        replace(SMALL, **options)


def test_a_picture_of_another_size_is_refused():
    with pytest.raises(ValueError, match="32 × 24 pixels: this model reads 24 × 24"):
        model_of().encode(torch.rand(1, 3, 32, 24).double())
