"""A sentence, its translation, and which word came from which."""

from collections.abc import Mapping
from dataclasses import dataclass, field

Link = tuple[int, int]
"""(source position, target position), both counted from 0."""


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two sentences with gold word links in the scheme of Och & Ney (2003).

    ``sure`` links S must be found; ``possible`` links P ⊇ S may be found without blame.
    ``phenomena`` says which links a phenomenon produced (``{"clitic": {(3, 1)}}``), and ``tags``
    which phenomena occur at all. ``references`` are all accepted translations; empty means that
    ``target`` is the only one.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    sure: frozenset[Link] = frozenset()
    possible: frozenset[Link] = frozenset()
    phenomena: Mapping[str, frozenset[Link]] = field(default_factory=dict)
    tags: frozenset[str] = frozenset()
    references: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        if not self.sure <= self.possible:
            raise ValueError(f"sure links {sorted(self.sure - self.possible)} are not possible")
        for i, j in self.possible:
            if not (0 <= i < len(self.source) and 0 <= j < len(self.target)):
                raise ValueError(
                    f"link ({i}, {j}) points outside a pair of "
                    f"{len(self.source)} and {len(self.target)} words"
                )

    @property
    def accepted(self) -> tuple[tuple[str, ...], ...]:
        """Every translation that counts as right."""
        return self.references or (self.target,)
