"""Weights on disk: ``model.safetensors`` (numbers only, nothing is ever unpickled).

Two kinds. *Shipped weights* lie beside a card and are loaded only if they are the very file that
the card describes. A *training state* is all that a run needs to go on to the same weights, bit
for bit, as if it had never stopped: parameters, Adam's moments, the state of torch's random
numbers, and in the file's header what has been seen so far.
"""

import json
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load as from_bytes
from safetensors.torch import save as to_bytes
from torch import Tensor, nn

from heed.experiments.cards import CardError
from heed.experiments.files import sha256, write_by_rename


def tensors(model: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Parameters and buffers by name, a tied one only once."""
    yield from model.named_parameters()
    yield from model.named_buffers()


def checksum(model: Any) -> str:
    """Another one for other numbers or other parts; meant for accidents, not for forgers."""
    crc = zlib.crc32(repr(model).encode())
    for _, tensor in tensors(model) if isinstance(model, nn.Module) else ():
        flat = tensor.detach().cpu().contiguous().flatten()
        crc = zlib.crc32(flat.view(torch.uint8).numpy().tobytes(), crc)
    return f"{crc:08x}"


def weights(model: nn.Module, *, half: bool) -> bytes:
    """The content of a weights file, as float16 if ``half``."""
    return to_bytes(
        {
            name: tensor.detach()
            .to(torch.float16 if half and tensor.is_floating_point() else tensor.dtype)
            .contiguous()
            for name, tensor in tensors(model)
        }
    )


def fill(model: nn.Module, found: Mapping[str, Tensor], *, where: object) -> None:
    """Copy tensors into the model, in its own precision; names and shapes must fit."""
    wanted = dict(tensors(model))
    for name in [*wanted, *found]:
        if name not in found or name not in wanted:
            lacks = "has no" if name not in found else "has a foreign"
            raise CardError(f"{where} {lacks} {name!r}: it belongs to another model")
        if wanted[name].shape != found[name].shape:
            raise CardError(
                f"{where}: {name!r} is {tuple(found[name].shape)}, "
                f"the model wants {tuple(wanted[name].shape)}"
            )
    with torch.no_grad():
        for name, tensor in wanted.items():
            tensor.copy_(found[name])


def checked(folder: Path, name: str, expected: Mapping[str, str]) -> bytes:
    """A file beside a card, if it is the one that the card describes."""
    path = folder / name
    if name not in expected:
        raise CardError(f"{folder / 'card.json'} says nothing of {name}")
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise CardError(f"{path} is missing, though its card lies there") from None
    if sha256(content) != expected[name]:
        raise CardError(
            f"{path} is not the file that its card describes (sha256 {sha256(content)[:12]}…, "
            f"not {expected[name][:12]}…): damaged, or swapped"
        )
    return content


def load_weights(model: nn.Module, content: bytes, *, where: object) -> None:
    """Fill the model from a weights file's content."""
    try:
        found = from_bytes(content)
    except SafetensorError as fault:
        raise CardError(f"{where} is damaged: {fault}") from None
    fill(model, found, where=where)


def save_state(
    path: Path,
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    *,
    progress: Mapping[str, Any],
    extra: Mapping[str, Tensor],
) -> None:
    """All that a run needs to go on, as one file, by rename: it is there whole or not at all.

    progress: whatever JSON can say; extra: further tensors to keep
    """
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    held = {f"model.{name}": tensor.detach().contiguous() for name, tensor in tensors(model)}
    for parameter, moments in optimiser.state.items():
        for key, value in moments.items():
            held[f"optimiser.{key}.{names[id(parameter)]}"] = torch.as_tensor(value).contiguous()
    held |= {f"extra.{name}": tensor.contiguous() for name, tensor in extra.items()}
    held["random"] = torch.get_rng_state()
    if any(parameter.is_cuda for parameter in model.parameters()):
        held["random_cuda"] = torch.cuda.get_rng_state()  # dropout draws there
    write_by_rename(path, to_bytes(held, metadata={"progress": json.dumps(dict(progress))}))


def read_state(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """What ``save_state`` wrote: the progress and all tensors, with nothing restored yet."""
    try:
        content = path.read_bytes()
        found = from_bytes(content)
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        return json.loads(header["__metadata__"]["progress"]), found
    except (SafetensorError, json.JSONDecodeError, UnicodeDecodeError, KeyError) as fault:
        raise CardError(f"{path} is damaged: {fault}") from None


def part(found: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The tensors whose name begins with the prefix, without it."""
    return {
        name.removeprefix(prefix): tensor
        for name, tensor in found.items()
        if name.startswith(prefix)
    }


def restore(
    found: Mapping[str, Tensor],
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    *,
    where: object,
) -> None:
    """Put parameters, Adam's moments and torch's random numbers back as they were."""
    fill(model, part(found, "model."), where=where)
    kept = part(found, "optimiser.")
    for name, parameter in model.named_parameters():
        moments = {
            key.removesuffix(f".{name}"): tensor
            for key, tensor in kept.items()
            if key.endswith(f".{name}") and "." not in key.removesuffix(f".{name}")
        }
        if moments:
            optimiser.state[parameter] = {
                k: tensor.to(parameter.device, copy=True) for k, tensor in moments.items()
            }
    torch.set_rng_state(found["random"])
    if "random_cuda" in found and torch.cuda.is_available():
        torch.cuda.set_rng_state(found["random_cuda"])
