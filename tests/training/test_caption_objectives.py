"""What captions are trained with: sums by hand, and REINFORCE against the exact gradient."""

import math
from dataclasses import replace
from itertools import product

import pytest
import torch
from shaken import shaken
from torch import Tensor
from torch.testing import assert_close

from heed.data.vocabulary import BOS, EOS, PAD
from heed.models.show_attend_tell import (
    Seen,
    ShowAttendTell,
    ShowAttendTellConfig,
    TellOutput,
)
from heed.training.captions import (
    advantages,
    caption_loss,
    doubly_stochastic,
    doubly_stochastic_floor,
    entropy,
    log_probabilities,
    reinforce,
)

L, VOCAB, SIDE = 4, 6, 16  # 16 pixels make 2 × 2 places
HARD = ShowAttendTellConfig(
    vocab=VOCAB,
    channels=(3, 3, 5),
    side=SIDE,
    d_embedding=2,
    d_state=3,
    d_align=2,
    attention="hard",
    coin=0.0,
)
CAPTION = torch.tensor([[BOS, 4, 5, EOS]])


# ------------------------------------------------------------------ the regulariser


def test_the_regulariser_by_hand():
    """Two places, three words of which the last is padding: the places get 0.5 and 1.5."""
    weights = torch.tensor([[[0.3, 0.7], [0.2, 0.8], [1.0, 0.0]]])
    keep = torch.tensor([[True, True, False]])
    assert doubly_stochastic(weights, keep).tolist() == pytest.approx([0.5])


def test_steps_that_are_padding_add_nothing():
    weights = torch.rand(2, 5, 7).softmax(-1)
    keep = torch.arange(5) < torch.tensor([[3], [5]])
    changed = weights.clone()
    changed[0, 3:] = torch.rand(2, 7)
    assert torch.equal(doubly_stochastic(weights, keep), doubly_stochastic(changed, keep))


@pytest.mark.parametrize(("places", "steps"), [(196, 12), (64, 12), (64, 17), (4, 4), (9, 20)])
def test_the_regulariser_never_goes_below_its_floor_and_reaches_it(places, steps):
    floor, keep = doubly_stochastic_floor(places, steps), torch.ones(50, steps, dtype=torch.bool)
    uniform = torch.full((1, steps, places), 1 / places, dtype=torch.float64)
    assert doubly_stochastic(uniform, keep[:1]).item() == pytest.approx(floor, abs=1e-9)
    for sharpness in (0.1, 1.0, 10.0):
        weights = (sharpness * torch.randn(50, steps, places).double()).softmax(-1)
        assert (doubly_stochastic(weights, keep) > floor).all()


def test_the_floor_of_the_papers_sizes():
    assert doubly_stochastic_floor(196, 12) == pytest.approx(172.7, abs=0.05)
    assert doubly_stochastic_floor(64, 12) == pytest.approx(42.25)
    assert doubly_stochastic_floor(64, 64) == 0


# ------------------------------------------------------------------ small sums


def test_entropy_by_hand():
    weights = torch.tensor([[0.25] * 4, [1.0, 0, 0, 0], [0.5, 0.5, 0, 0]])
    assert entropy(weights).tolist() == pytest.approx([math.log(4), 0.0, math.log(2)])


def test_log_probabilities_by_hand():
    logits = torch.tensor([[[0.0, 0.0, math.log(3), 0.0]] * 2])
    found = log_probabilities(logits, torch.tensor([[2, PAD]]))
    assert found.tolist() == [pytest.approx([math.log(0.5), 0.0])]


def test_advantages_by_hand():
    log_p = torch.tensor([[-1.0, -2.0, -4.0], [-3.0, -1.0, 0.0]])
    keep = torch.tensor([[True, True, True], [True, True, False]])
    whole = advantages(log_p, keep, torch.tensor(-5.0))
    assert whole.tolist() == [[-2, -2, -2], [1, 1, 0]]
    rest = advantages(log_p, keep, torch.tensor(-2.0), credit="to_go")
    assert rest.tolist() == [[1 + 0 - 2, 0 - 2, -2], [-1 + 1, 1, 0]]


def test_reinforce_by_hand():
    alpha = torch.tensor([[[[0.25, 0.75], [0.5, 0.5], [0.1, 0.9]]]])
    out = TellOutput(torch.zeros(1, 3, 2), {"cross": alpha}, glimpses=torch.tensor([[1, -1, 0]]))
    keep = torch.ones(1, 3, dtype=torch.bool)
    found = reinforce(out, torch.tensor([[2.0, 5.0, -1.0]]), keep)
    assert found.tolist() == pytest.approx([2 * math.log(0.75) - math.log(0.1)])
    none = reinforce(out, torch.tensor([[2.0, 5.0, -1.0]]), ~keep)
    assert none.tolist() == [0.0]


# ------------------------------------------------------------------ the estimator


def prepared(rows: int, *, model: ShowAttendTell, picture: Tensor) -> tuple[Seen, list[Tensor]]:
    """A picture in so many rows, with leaves that get a gradient of their own in each row: the
    keys, through which the looks are chosen, and h_0, which the words depend on, too."""
    with torch.no_grad():
        seen = model.encode(picture)

    def leaf(tensor: Tensor) -> Tensor:
        return tensor.expand(rows, *tensor.shape[1:]).clone().requires_grad_()

    keys, h = leaf(seen.prepared), leaf(seen.first_h)
    annotations = seen.annotations.expand(rows, -1, -1)
    return Seen(annotations, keys, h, seen.first_c.expand(rows, -1)), [keys, h]


@pytest.fixture(scope="module")
def tiny() -> tuple[ShowAttendTell, Tensor]:
    torch.manual_seed(5)
    model = shaken(ShowAttendTell(HARD))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name in ("L_z.weight", "drive_z.weight"):
                parameter.mul_(3)  # where it looks must matter
        model.see[-2].bias.fill_(1.0)
    return model, torch.rand(1, 3, SIDE, SIDE).double()


def flat(gradients: tuple[Tensor, ...], rows: int) -> Tensor:
    return torch.cat([each.reshape(rows, -1) for each in gradients], dim=1)


def exact(tiny) -> tuple[Tensor, float]:
    """∂L_s with L_s = Σ_s p(s | a) log p(y | s, a) over all sequences of looks, by autograd; and
    L_s itself."""
    model, picture = tiny
    steps = CAPTION.shape[1] - 1
    every = torch.tensor(list(product(range(L), repeat=steps)))
    seen, leaves = prepared(len(every), model=model, picture=picture)
    out = model.tell(seen, CAPTION[:, :-1].expand(len(every), -1), glimpses=every)
    log_p = log_probabilities(out.logits, CAPTION[:, 1:].expand(len(every), -1)).sum(1)
    alpha = out.weights["cross"].squeeze(1)
    p_s = alpha.gather(-1, every[..., None]).squeeze(-1).prod(dim=1)
    assert p_s.sum().item() == pytest.approx(1.0)
    bound = (p_s * log_p).sum()
    gradient = flat(torch.autograd.grad(bound, leaves), len(every)).sum(dim=0)
    return gradient, bound.item()


def estimates(tiny, rows: int, *, baseline: float, credit: str = "caption") -> Tensor:
    """One estimate of the same gradient in each row, each from one sequence of looks (Eq. 12)."""
    model, picture = tiny
    seen, leaves = prepared(rows, model=model, picture=picture)
    torch.manual_seed(1)
    model.train()  # only then it draws
    target = CAPTION[:, 1:].expand(rows, -1)
    out = model.tell(seen, CAPTION[:, :-1].expand(rows, -1))
    model.eval()
    assert (out.glimpses >= 0).all()
    keep = target != PAD
    log_p = log_probabilities(out.logits, target)
    gain = advantages(
        log_p.detach(), keep, torch.tensor(baseline, dtype=torch.float64), credit=credit
    )
    total = log_p.sum() + reinforce(out, gain, keep).sum()
    return flat(torch.autograd.grad(total, leaves), rows)


ROWS = 20_000


@pytest.mark.parametrize(
    ("baseline", "credit"), [(0.0, "caption"), (-5.0, "caption"), (-1.5, "to_go")]
)
def test_reinforce_is_the_exact_gradient_give_or_take_three_standard_errors(tiny, baseline, credit):
    gradient, _ = exact(tiny)
    found = estimates(tiny, ROWS, baseline=baseline, credit=credit)
    error = found.std(dim=0) / ROWS**0.5
    assert gradient.abs().max() > 20 * error.min()  # there is something to be found
    assert ((found.mean(dim=0) - gradient).abs() <= 3 * error + 1e-12).all()


def test_the_second_term_is_needed(tiny):
    """Without it nothing would move where the model looks."""
    gradient, _ = exact(tiny)
    keys = slice(0, L * HARD.d_align)
    model, picture = tiny
    seen, leaves = prepared(100, model=model, picture=picture)
    out = model.tell(seen, CAPTION[:, :-1].expand(100, -1))
    first = log_probabilities(out.logits, CAPTION[:, 1:].expand(100, -1)).sum()
    moved = torch.autograd.grad(first, leaves, allow_unused=True)
    assert moved[0] is None or not moved[0].any()
    assert gradient[keys].abs().max() > 0.01


def test_a_baseline_at_least_halves_the_variance(tiny):
    _, bound = exact(tiny)
    plain, based = (estimates(tiny, ROWS, baseline=b) for b in (0.0, bound))
    keys = slice(0, L * HARD.d_align)  # the logits of the looks depend on these
    assert plain[:, keys].var(dim=0).sum() >= 2 * based[:, keys].var(dim=0).sum()


def test_credit_for_what_comes_after_alone_has_less_noise(tiny):
    whole, rest = (estimates(tiny, ROWS, baseline=0.0, credit=c) for c in ("caption", "to_go"))
    keys = slice(0, L * HARD.d_align)
    assert rest[:, keys].var(dim=0).sum() < whole[:, keys].var(dim=0).sum()


def test_a_reward_that_is_always_the_same_teaches_nothing(tiny):
    """Σ_s p(s) ∂log p(s) = 0: what a baseline may be taken off."""
    model, picture = tiny
    every = torch.tensor(list(product(range(L), repeat=3)))
    seen, leaves = prepared(len(every), model=model, picture=picture)
    out = model.tell(seen, CAPTION[:, :-1].expand(len(every), -1), glimpses=every)
    keep = torch.ones(len(every), 3, dtype=torch.bool)
    log_s = reinforce(out, torch.full((len(every), 3), 1.0).double(), keep)
    gradient = flat(torch.autograd.grad((log_s.exp().detach() * log_s).sum(), leaves), len(every))
    assert_close(gradient.sum(0), torch.zeros(gradient.shape[1]).double(), rtol=0, atol=1e-12)


# ------------------------------------------------------------------ the whole objective


def batch(count: int = 3) -> tuple[Tensor, Tensor]:
    words = torch.tensor([[BOS, 4, 5, EOS], [BOS, 5, EOS, PAD], [BOS, 3, 3, EOS]])[:count]
    return torch.rand(count, 3, SIDE, SIDE).double(), words


@pytest.mark.parametrize("strength", [0.0, 0.7])
def test_soft_attention_minimises_what_eq_14_says_per_word(strength):
    config = replace(HARD, attention="soft", doubly_stochastic=strength)
    model, (pictures, words) = shaken(ShowAttendTell(config)), batch()
    out, target = model(pictures, words[:, :-1]), words[:, 1:]
    total, kept = 0.0, 0
    for b in range(3):
        given = torch.zeros(L).double()
        for t in range(3):
            if target[b, t] == PAD:
                continue
            kept += 1
            total -= out.logits[b, t].log_softmax(-1)[target[b, t]].item()
            given += out.weights["cross"][b, 0, t]
        total += strength * sum((1 - x) ** 2 for x in given.tolist())
    assert kept == 8
    assert caption_loss(model, pictures, words).item() == pytest.approx(total / kept)


@pytest.mark.parametrize("credit", ["caption", "to_go"])
def test_hard_attention_minimises_its_learning_rule(credit):
    config = replace(HARD, credit=credit, reinforce=0.3, entropy=0.2, doubly_stochastic=0.1)
    model, (pictures, words) = shaken(ShowAttendTell(config)).train(), batch()
    model.baseline.fill_(-2.0)
    torch.manual_seed(3)
    out = model(pictures, words[:, :-1])
    keep = words[:, 1:] != PAD
    log_p, alpha = log_probabilities(out.logits, words[:, 1:]), out.weights["cross"].squeeze(1)
    gain = advantages(log_p.detach(), keep, model.baseline.clone(), credit=credit)
    expected = (
        log_p.sum()
        - 0.1 * doubly_stochastic(alpha, keep).sum()
        + 0.3 * reinforce(out, gain, keep).sum()
        + 0.2 * (entropy(alpha) * keep).sum()
    ) / -8
    torch.manual_seed(3)
    assert_close(caption_loss(model, pictures, words), expected)
    reward = log_p.sum(1) if credit == "caption" else log_p.sum(1) / keep.sum(1)
    assert model.baseline.item() == pytest.approx(0.9 * -2.0 + 0.1 * reward.mean().item())


def test_the_baseline_starts_at_the_first_reward():
    model, (pictures, words) = shaken(ShowAttendTell(HARD)).train(), batch()
    torch.manual_seed(3)
    out = model(pictures, words[:, :-1])
    mean = log_probabilities(out.logits, words[:, 1:]).sum(1).mean().item()
    torch.manual_seed(3)
    caption_loss(model, pictures, words)
    assert model.baseline.item() == pytest.approx(mean)


def test_pictures_that_the_coin_makes_soft_have_no_part_in_baseline_and_reward():
    soft_only = replace(HARD, coin=1.0, reinforce=5.0, entropy=5.0, doubly_stochastic=0.0)
    model, (pictures, words) = shaken(ShowAttendTell(soft_only)).train(), batch()
    with torch.no_grad():
        log_p = log_probabilities(model(pictures, words[:, :-1]).logits, words[:, 1:])
    assert caption_loss(model, pictures, words).item() == pytest.approx(-log_p.sum().item() / 8)
    assert model.baseline.item() == 0


def test_what_is_measured_has_no_reward_in_it_and_leaves_the_baseline_alone():
    model, (pictures, words) = shaken(ShowAttendTell(replace(HARD, doubly_stochastic=0.0))), batch()
    with torch.no_grad():
        loss = caption_loss(model, pictures, words)
        log_p = log_probabilities(model(pictures, words[:, :-1]).logits, words[:, 1:])
    assert loss.item() == pytest.approx(-log_p.sum().item() / 8)
    assert model.baseline.item() == 0


@pytest.mark.parametrize("attention", ["soft", "hard"])
def test_it_learns_a_batch_by_heart(attention):
    torch.manual_seed(0)
    config = replace(
        HARD,
        attention=attention,
        channels=(8, 8, 16),
        d_embedding=16,
        d_state=24,
        d_align=8,
        coin=0.5,
        doubly_stochastic=0.01,
    )
    model, (pictures, words) = ShowAttendTell(config), batch()
    pictures = pictures.float()
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(60):
        optimiser.zero_grad()
        caption_loss(model, pictures, words).backward()
        optimiser.step()
    model.eval()
    said = model(pictures, words[:, :-1]).logits.argmax(-1)
    keep = words[:, 1:] != PAD
    assert torch.equal(said[keep], words[:, 1:][keep])
