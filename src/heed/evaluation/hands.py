"""Commands of a Neural Turing Machine that somebody else gives: what its heads are told in place of
what the controller says (``heed.models.ntm``).
"""

import math
from dataclasses import dataclass, fields, replace

from heed.layers.addressing import Aim
from heed.models.ntm import Commands


@dataclass(frozen=True, kw_only=True)
class Hand:
    """What the heads of a kind are told. ``None`` leaves a command to the controller.

    strength: β, from 0 on; gate: g, from 0 to 1; focus: γ, from 1 on
    shifts: s, an odd number of shares, s(−S) first, that add up to 1

    ``ValueError`` for what is beyond.
    """

    strength: float | None = None
    gate: float | None = None
    shifts: tuple[float, ...] | None = None
    focus: float | None = None

    def __post_init__(self) -> None:
        for name, least, most in (
            ("strength", 0.0, math.inf),
            ("gate", 0.0, 1.0),
            ("focus", 1.0, math.inf),
        ):
            value = getattr(self, name)
            if value is not None and not (least <= value <= most and math.isfinite(value)):
                rule = f"from {least:g} on" if most == math.inf else f"from {least:g} to {most:g}"
                raise ValueError(f"{name}={value:g} must be {rule}")
        if self.shifts is not None and (
            len(self.shifts) % 2 == 0
            or not all(share >= 0 for share in self.shifts)
            or not math.isclose(sum(self.shifts), 1.0, abs_tol=1e-6)
        ):
            raise ValueError(f"shifts={self.shifts} must be an odd number of shares of 1")

    def of(self, aim: Aim) -> Aim:
        """The same aim with the commands that were taken over."""
        taken = {}
        for field in fields(self):
            value, said = getattr(self, field.name), getattr(aim, field.name)
            if value is not None:
                taken[field.name] = said.new_tensor(value).expand_as(said)
        return replace(aim, **taken)


@dataclass(frozen=True, kw_only=True)
class Hands:
    """A ``hand`` for ``NTM.step``: one for all reading heads, one for all that write."""

    reading: Hand = Hand()
    writing: Hand = Hand()

    def __call__(self, commands: Commands) -> Commands:
        reading, writing = self.reading.of(commands.reading), self.writing.of(commands.writing)
        return replace(commands, reading=reading, writing=writing)
