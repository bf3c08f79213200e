"""The page's searches against Python's, over made-up models in which much goes on: sentences that
end early and stay in the beam, beginnings that overtake each other.

A trained model is so sure of itself that its beam is mostly one sentence long before the end.
"""

from dataclasses import dataclass

import pytest
import torch
from playwright.sync_api import Page
from torch import Tensor, nn

from heed.evaluation.decoding import beam, greedy
from heed.models.translator import StepOutput

pytestmark = pytest.mark.browser

VOCAB, MOODS, KEYS, LIMIT = 9, 7, 3, 12

SEARCH = """async (cases) => {
    const { beam, greedy } = await import(new URL("labs/decoding.js", location.href).href);
    // The twin of Moody, below.
    const run = ({ logits, weights }, width) => {
        let moods = new Array(width).fill(0);
        return {
            size: logits[0][0].length,
            async step(tokens) {
                const rows = tokens.map((token, slot) => [moods[slot], token]);
                moods = rows.map(([mood, token]) => (3 * mood + token + 1) % logits.length);
                return {
                    logits: Float64Array.from(rows.flatMap(([m, t]) => logits[m][t])),
                    weights: Float32Array.from(rows.flatMap(([m, t]) => weights[m][t])),
                };
            },
            goOn: (parents) => (moods = parents.map((parent) => moods[parent])),
        };
    };
    const answers = [];
    for (const { width, limit, ...tables } of cases) {
        const found = await (width === 1
            ? greedy(run(tables, 1), limit)
            : beam(run(tables, width), limit, width));
        answers.push(found.map(({ token, gain, weights }) => [token, gain, [...weights]]));
    }
    return answers;
}"""


@dataclass(frozen=True)
class Mood:
    """What there is to remember of a beginning."""

    mood: Tensor


class Moody(nn.Module):
    """Scores by mood and last word, out of a table; each word leads to another mood."""

    def __init__(self, logits: Tensor, weights: Tensor) -> None:
        super().__init__()
        self.logits, self.weights = logits, weights

    def encode(self, source: Tensor, source_lengths: Tensor) -> Mood:
        return Mood(torch.zeros(len(source), dtype=torch.long))

    def start(self, encoded: Mood) -> Mood:
        return encoded

    def step(self, state: Mood, token: Tensor, encoded: Mood) -> tuple[Mood, StepOutput]:
        at = state.mood, token
        out = StepOutput(self.logits[at], self.weights[at])
        return Mood((3 * state.mood + token + 1) % MOODS), out


def moody(seed: int) -> Moody:
    """Half of them would rather end soon, half of them later."""
    draw = torch.Generator().manual_seed(seed)
    logits = 1.5 * torch.randn(MOODS, VOCAB, VOCAB, generator=draw, dtype=torch.float64)
    logits[..., 2] += 1.0 if seed % 2 else -0.5
    weights = torch.rand(MOODS, VOCAB, KEYS, generator=draw).softmax(-1)
    return Moody(logits, weights)


@pytest.mark.parametrize("width", [1, 2, 3, 5])
def test_the_searches_find_what_pythons_find(bench: Page, width: int) -> None:
    models = [moody(seed) for seed in range(60)]
    cases = [
        {
            "width": width,
            "limit": LIMIT,
            "logits": each.logits.tolist(),
            "weights": each.weights.tolist(),
        }
        for each in models
    ]
    source = torch.tensor([[4, 5, 2]]), torch.tensor([3])
    lengths = set()
    for model, answer in zip(models, bench.evaluate(SEARCH, cases), strict=True):
        if width == 1:
            wanted = greedy(model, *source, max_steps=LIMIT)[0]
        else:
            wanted = beam(model, *source, width=width, max_steps=LIMIT)[0]
        tokens, gains, weights = zip(*answer, strict=True)
        written = [token for token in tokens if token != 2]
        assert written == list(wanted.tokens)
        assert (2 in tokens) == wanted.finished
        assert list(gains) == pytest.approx(list(wanted.log_probs), abs=1e-9)
        assert wanted.weights is not None
        for row, other in zip(weights, wanted.weights, strict=True):
            assert list(row) == pytest.approx(other.tolist(), abs=1e-6)
        lengths.add(len(tokens))
    assert len(lengths) >= 4  # neither all at once nor all at the limit
