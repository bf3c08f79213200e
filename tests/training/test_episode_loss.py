"""Learning to learn: each question counts, and the embedding may have to answer by itself."""

import pytest
import torch
from torch.testing import assert_close

from heed.data.episodes import NONE, Episodes
from heed.models.snail import Guess
from heed.training.episodes import EpisodeTrainConfig, episode_loss
from heed.training.loop import TrainConfig

PLAIN = TrainConfig(steps=1)


def episodes() -> Episodes:
    """Two ways, one drawing of each, two questions, and then one episode with a single one."""
    labels = torch.tensor([[1, 0, NONE, NONE], [0, 1, NONE, NONE]])
    return Episodes(
        pictures=torch.zeros(2, 4, 28, 28),
        labels=labels,
        lengths=torch.tensor([4, 3]),
        answers=torch.tensor([1, 0]),
        classes=torch.tensor([[1, 0, 0, 1], [0, 1, 0, 0]]),
        glyphs=torch.zeros(2, 2, dtype=torch.long),
        drawings=torch.zeros(2, 4, dtype=torch.long),
    )


def guess(embedded=True) -> Guess:
    torch.manual_seed(0)
    f = torch.randn(2, 4, 3)
    return Guess(torch.randn(2, 4, 2), {}, f if embedded else None)


def test_each_question_counts_once_and_nothing_else_does():
    said, asked = guess(), [(0, 2, 0), (0, 3, 1), (1, 2, 0)]
    log_p = said.logits.log_softmax(dim=-1)
    wanted = -sum(log_p[e, t, right] for e, t, right in asked) / 3
    assert_close(episode_loss(said, episodes(), PLAIN), wanted)


def test_the_embedding_answers_by_the_nearest_of_the_drawings_that_were_shown():
    said, config = guess(), EpisodeTrainConfig(steps=1, prototypes=0.5)
    f = said.embedded
    by_distance = 0.0
    for e, t, right, wrong in [(0, 2, 1, 0), (0, 3, 0, 1), (1, 2, 0, 1)]:
        near, far = ((f[e, t] - f[e, s]).square().sum() for s in (right, wrong))
        by_distance += torch.nn.functional.softplus(near - far) / 3
    alone = episode_loss(said, episodes(), PLAIN)
    assert_close(episode_loss(said, episodes(), config), alone + 0.5 * by_distance)


def test_without_a_weight_it_is_one_loss():
    said = guess(embedded=False)
    config = EpisodeTrainConfig(steps=1)
    assert_close(episode_loss(said, episodes(), config), episode_loss(said, episodes(), PLAIN))


def test_what_cannot_be_taught_so_is_refused():
    with pytest.raises(ValueError, match=r"^prototypes=-1.0: a loss"):
        EpisodeTrainConfig(steps=1, prototypes=-1.0)
    with pytest.raises(ValueError, match=r"^prototypes=1.0, but this network"):
        episode_loss(guess(embedded=False), episodes(), EpisodeTrainConfig(steps=1, prototypes=1.0))
