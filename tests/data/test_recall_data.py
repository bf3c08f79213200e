"""Key-value recall, as it is drawn."""

import pytest
import torch

from heed.data.recall import RecallData


def drawn(data: RecallData, seed: int = 0, questions: int = 500):
    return data.draw(questions, torch.Generator().manual_seed(seed))


def test_the_answer_is_the_value_of_the_pair_with_the_key_that_is_asked():
    found = drawn(RecallData())
    for keys, values, place, answer in zip(
        found.keys.tolist(),
        found.values.tolist(),
        found.places.tolist(),
        found.answers.tolist(),
        strict=True,
    ):
        assert len(keys) == len(values) == 9
        assert len(set(keys[:-1])) == 8
        assert keys[:-1].index(keys[-1]) == place
        assert values[place] == answer
        assert values[-1] == 20
        assert max(values[:-1]) < 20


def test_every_place_key_and_value_is_asked_for():
    found = drawn(RecallData())
    assert set(found.places.tolist()) == set(range(8))
    assert set(found.answers.tolist()) == set(range(20))
    assert set(found.keys[:, -1].tolist()) == set(range(26))


def test_a_generator_always_gives_the_same_questions():
    data = RecallData()
    assert torch.equal(drawn(data).values, drawn(data).values)
    assert not torch.equal(drawn(data).values, drawn(data, seed=1).values)


def test_validation_and_test_are_fixed_and_differ():
    data = RecallData()
    valid, test = data.held_out_questions(0), data.held_out_questions(1)
    assert len(test.answers) == data.held_out
    assert torch.equal(test.keys, data.held_out_questions(1).keys)
    assert not torch.equal(valid.keys, test.keys)


@pytest.mark.parametrize("sizes", [{"pairs": 0}, {"pairs": 9, "keys": 8}, {"keys": 27}])
def test_sizes_that_make_no_sense_are_refused(sizes):
    with pytest.raises(ValueError, match="at least one pair"):
        RecallData(**sizes)
