"""That the tests check shapes at all."""

import pytest
import torch
from jaxtyping import TypeCheckError

from heed.layers.lstm import memorise
from heed.masks import padding


def test_a_wrong_shape_is_refused():
    with pytest.raises(TypeCheckError, match="lengths"):
        padding(torch.ones(2, 2, dtype=torch.long), 3)


def test_shapes_that_do_not_fit_each_other_are_refused():
    with pytest.raises(TypeCheckError):
        memorise(torch.zeros(1, 12), torch.zeros(3, 3))  # PyTorch would stretch the first
