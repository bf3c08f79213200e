import pytest
import torch

from heed.experiments import parallel
from heed.experiments.parallel import NoDevice, device_here, processes


@pytest.fixture
def gpus(monkeypatch):
    """gpus(2): a machine with two GPUs, as far as anybody asks."""

    def there(count):
        monkeypatch.setattr(torch.cuda, "is_available", lambda: count > 0)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: count)

    monkeypatch.delenv("LOCAL_RANK", raising=False)
    return there


def test_without_a_gpu_it_is_the_cpu(gpus):
    gpus(0)
    assert device_here() == torch.device("cpu")


def test_each_process_has_a_gpu_of_its_own(gpus, monkeypatch):
    gpus(2)
    assert device_here() == torch.device("cuda", 0)
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert device_here() == torch.device("cuda", 1)


def test_more_processes_than_gpus_are_refused(gpus, monkeypatch):
    gpus(2)
    monkeypatch.setenv("LOCAL_RANK", "2")
    with pytest.raises(NoDevice, match=r"process 2 .* there are 2"):
        device_here()


def test_who_chooses_the_cpu_gets_it(gpus):
    gpus(2)
    assert device_here("cpu") == torch.device("cpu")


def test_a_gpu_that_is_asked_for_must_be_there(gpus):
    gpus(0)
    with pytest.raises(NoDevice, match="there are 0"):
        device_here("cuda")


@pytest.mark.parametrize(("count", "backend"), [(0, "gloo"), (2, "nccl")])
def test_processes_talk_through_what_their_devices_can(gpus, monkeypatch, count, backend):
    gpus(count)
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("LOCAL_RANK", "1")
    began, current = [], []
    monkeypatch.setattr(parallel.dist, "init_process_group", began.append)
    monkeypatch.setattr(parallel.dist, "destroy_process_group", lambda: began.append("over"))
    monkeypatch.setattr(parallel.dist, "get_rank", lambda: 1)
    monkeypatch.setattr(torch.cuda, "set_device", current.append)
    with processes() as together:
        assert (together.rank, together.world) == (1, 2)
        assert together.device == device_here()
    assert began == [backend, "over"]
    assert current == [torch.device("cuda", 1)] * (count > 0)
