from types import SimpleNamespace

import pytest
import torch
from torch.nn.functional import cross_entropy

from heed.data.batches import encode_batch
from heed.data.pairs import Pair
from heed.data.vocabulary import Vocabulary
from heed.training.objectives import translation_loss

VOCABULARY = Vocabulary(tuple("abc"))
PAIRS = [Pair(source=("a",), target=("a", "b")), Pair(source=("b",), target=("c",))]
BATCH = encode_batch(PAIRS, VOCABULARY, VOCABULARY)


class Table(torch.nn.Module):
    """Gives the same logits to everybody who asks, and remembers what it was fed."""

    def __init__(self, logits):
        super().__init__()
        self.logits, self.fed = logits, None

    def forward(self, source, source_lengths, target_in):
        self.fed = target_in
        return SimpleNamespace(logits=self.logits)


def by_hand(logits, smoothing=0.0):
    """-1/N Σ log p, word by word, from the definition."""
    total, count = 0.0, 0
    for row, words in enumerate([(4, 5, 2), (6, 2)]):
        for step, word in enumerate(words):
            log_p = logits[row, step].log_softmax(0)
            aim = torch.full_like(log_p, smoothing / len(log_p))
            aim[word] += 1 - smoothing
            total -= (aim * log_p).sum()
            count += 1
    return total / count


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_it_is_the_mean_over_the_words_that_are_no_padding(smoothing):
    logits = torch.randn(2, 3, 7, generator=torch.Generator().manual_seed(0))
    loss = translation_loss(Table(logits), BATCH, label_smoothing=smoothing)
    assert loss.item() == pytest.approx(by_hand(logits.double(), smoothing).item(), rel=1e-6)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_loss_and_gradient_agree_with_pytorch(smoothing):
    ours = torch.randn(2, 3, 7, requires_grad=True)
    theirs = ours.detach().clone().requires_grad_()
    (3 * translation_loss(Table(ours), BATCH, label_smoothing=smoothing)).backward()
    aims = BATCH.target[:, 1:].flatten()
    loss = cross_entropy(theirs.flatten(0, 1), aims, ignore_index=0, label_smoothing=smoothing)
    (3 * loss).backward()
    torch.testing.assert_close(ours.grad, theirs.grad)


def test_what_is_said_of_padding_does_not_matter():
    logits = torch.randn(2, 3, 7)
    other = logits.clone()
    other[1, 2] = 100.0
    assert translation_loss(Table(logits), BATCH) == translation_loss(Table(other), BATCH)


def test_the_model_reads_everything_but_the_last_word():
    model = Table(torch.zeros(2, 3, 7))
    translation_loss(model, BATCH)
    assert model.fed.tolist() == [[1, 4, 5], [1, 6, 2]]
