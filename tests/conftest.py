"""What every test shares. It must not import heed: the shape checks hook in at first import."""

import pytest
import torch
from hypothesis import settings

torch.set_num_threads(1)  # recurrent models are faster so, and two runs give the same bits

# The same examples on every run and no clock: a red test is red for everybody.
settings.register_profile("book", derandomize=True, deadline=None, database=None, max_examples=100)
settings.load_profile("book")


@pytest.fixture(autouse=True)
def _seed() -> None:
    """Each test starts from the same random numbers, whichever tests ran before it."""
    torch.manual_seed(0)
