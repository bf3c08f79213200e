"""Every exercise: the starter is not right, the solution is, the usual mistakes get their hint."""

import pytest
import torch

from heed.exercises import ch05

# ---------------------------------------------------------------------------- 1


def test_memory():
    assert ch05.memory.check(0.5 * 0 + 0.25 * 8 + 0.25 * 4)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (..., "Replace the dots"),
        (6, "left the null slot out"),
        (8, "a mixture"),
        (0, "through the softmax first"),
        (4, "everywhere alike"),
        (1, "the three shares"),
    ],
)
def test_memory_hints(answer, hint):
    verdict = ch05.memory.check(answer)
    assert not verdict
    assert hint in verdict.message


# ---------------------------------------------------------------------------- 2


def look(x, h_tilde, H, C, W_h, W_x, W_s, v):
    s = (torch.tanh(H @ W_h.T + W_x @ x + W_s @ h_tilde) @ v).softmax(0)
    return s @ H, s @ C


def forgetful(x, h_tilde, H, C, W_h, W_x, W_s, v):
    s = (torch.tanh(H @ W_h.T + W_x @ x) @ v).softmax(0)
    return s @ H, s @ C


def two_looks(x, h_tilde, H, C, W_h, W_x, W_s, v):
    q = W_x @ x + W_s @ h_tilde
    s, z = (torch.tanh(tape @ W_h.T + q) @ v for tape in (H, C))
    return s.softmax(0) @ H, z.softmax(0) @ C


def test_look():
    assert ch05.look.check(look)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda *given: None, "None so far"),
        (forgetful, "left out W_s"),
        (two_looks, "serve both tapes"),
        (lambda *given: look(*given)[::-1], "h̃ comes first"),
        (lambda *given: look(*given)[0], "There are two tapes"),
        (lambda *given: (given[2][0], given[3][0]), "Three lines"),
    ],
)
def test_look_hints(answer, hint):
    verdict = ch05.look.check(answer)
    assert not verdict
    assert hint in verdict.message


def test_the_look_of_the_exercise_is_that_of_the_layer():
    from heed.models.lstmn import LSTMN, LSTMNState

    given = ch05._drawn()
    layer = LSTMN(d_input=3, d_state=5, d_align=6).double()
    with torch.no_grad():
        layer.score.U.weight.copy_(given["W_h"])
        layer.score.W.weight.copy_(torch.cat([given["W_x"], given["W_s"]], 1))
        layer.score.v.weight.copy_(given["v"][None])
        h, c, _ = layer.look(
            LSTMNState(
                tape=torch.cat([given["H"], given["C"]], 1)[None],
                prepared=layer.score.prepare(given["H"])[None],
                keep=torch.ones(1, 4, dtype=torch.bool),
                summary=given["h_tilde"][None],
            ),
            given["x"][None],
        )
    assert ch05.look.check(lambda *_: (h[0], c[0]))


# ---------------------------------------------------------------------------- 3


def test_comparisons():
    assert ch05.comparisons.check(sum(range(1, 21)))


@pytest.mark.parametrize(
    ("answer", "hint"),
    [(190, "forgot the null slot"), (400, "yet to come"), (20, "The tape grows"), (7, "Add up")],
)
def test_comparisons_hints(answer, hint):
    verdict = ch05.comparisons.check(answer)
    assert not verdict
    assert hint in verdict.message


# ---------------------------------------------------------------------------- 4


def test_ancestors():
    assert ch05.ancestors.check({1, 3, 5, 7})
    assert ch05.ancestors.check([7, 5, 3, 1])


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        ({5, 7}, "not only word 5"),
        ({1, 3, 5}, "word 7 itself"),
        (range(1, 8), "would be an LSTM"),
        ({2, 4, 6}, "slot 5"),
        ({7}, "From what was that"),
        (7, "From what was that"),
    ],
)
def test_ancestors_hints(answer, hint):
    verdict = ch05.ancestors.check(answer)
    assert not verdict
    assert hint in verdict.message


def test_an_lstmn_forced_two_slots_back_hears_of_every_other_word():
    from heed.models.lstmn import LSTMN

    class TwoBack(torch.nn.Module):
        def prepare(self, keys):
            return keys

        def compare(self, query, prepared):
            scores = torch.full((len(query), 1, prepared.shape[1]), -1e4)
            scores[..., max(prepared.shape[1] - 2, 0)] = 0.0
            return scores

    layer = LSTMN(d_input=2, d_state=3, d_align=4)
    layer.score = layer.attention.score = TwoBack()
    x = torch.randn(1, 7, 2, requires_grad=True)
    state = layer.blank(1)
    for word in x.unbind(1):
        state, out = layer.step(state, word)
    out.h.sum().backward()
    heard = {t + 1 for t in range(7) if x.grad[0, t].abs().max() > 0}
    assert ch05.ancestors.check(heard)


# ---------------------------------------------------------------------------- 5


def peeks(read):
    x = torch.randn(6, 4)
    whole = read(x)
    return not all(torch.allclose(read(x[:n]), whole[:n]) for n in range(1, 6))


def changes_one_word(read):
    x = torch.randn(6, 4)
    before = read(x)
    for t in range(1, 6):
        other = x.clone()
        other[t] += 1.0
        if not torch.allclose(read(other)[:t], before[:t]):
            return True
    return False


def only_the_neighbour(read):
    x = torch.randn(6, 4)
    other = x.clone()
    other[3] += 1.0
    return not torch.allclose(read(other)[:3], read(x)[:3])


def only_the_fourth_beginning(read):
    x = torch.randn(6, 4)
    return not torch.allclose(read(x[:4])[1:], read(x)[1:4])


def test_peeks():
    assert ch05.peeks.check(peeks)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda read: None, "None so far"),
        (changes_one_word, "knows how many"),
        (only_the_neighbour, "Two got away"),
        (only_the_fourth_beginning, "peeked only once"),
        (lambda read: True, "honest reader was convicted"),
        (lambda read: False, "Read a text"),
    ],
)
def test_peeks_hints(answer, hint):
    verdict = ch05.peeks.check(answer)
    assert not verdict
    assert hint in verdict.message


def test_our_lstmn_does_not_peek():
    from heed.models.lstmn import LSTMN

    layer = LSTMN(d_input=4, d_state=3, d_align=5)
    assert not peeks(lambda x: layer(x[None]).h[0].detach())
