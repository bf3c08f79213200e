"""Play a bandit beside a policy with the same luck, and see what it remembers of its pulls."""

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, ClassVar

import numpy as np
import torch
import traitlets
from jaxtyping import Float
from torch import Tensor

from heed.evaluation.bandits import PLAYERS
from heed.evaluation.decoding import answering, device_of
from heed.experiments.trained import Trained
from heed.labs import drawing
from heed.labs.base import Asked, Lab
from heed.labs.steering import mulberry32
from heed.models.snail import SNAILPolicy
from heed.trace import AttentionTrace

BESIDE = ("gittins", "greedy")
"""Players by rule that play the same bandit."""
MOST_ARMS, MOST_PULLS = 9, 100
CHOICE, TIES = 2**31, 2**30
"""What is added to a seed for the dice of a policy's choices, and for those between equal arms."""


class BanditLab(Lab):
    """Arms that pay 1 or nothing, each as often as it will: the reader pulls, a policy pulls, so do
    ``BESIDE``. All have the same luck: it is settled beforehand what each arm pays at each pull.

    player: a SNAIL that plays bandits, as ``heed.load`` gives it, or the name of a shipped one
    seed: of the bandit; see ``drawn_bandit``
    likeliest: whether the policy pulls its likeliest arm, or draws one as it says
    pulls: what the reader has pulled so far, arms from 0 on
    at: the pull of the policy that is looked at, from 1 on; 0 is the one that comes next
    block: the attention block whose look is shown; −1 is the last one

    The answer has ``p``, how often each arm pays; ``pays``, what each pays at each pull; for each
    of the ``players`` the ``arms`` that it pulls and what was ``paid``, to the end; and of the
    policy at each pull ``probabilities`` of the arms and ``looks``, for each block the weights of
    pull t over the beginning and the t − 1 pulls before, as bytes in base 64, one pull behind the
    other.
    """

    kind = "bandit"
    settings: ClassVar[tuple[str, ...]] = ("seed", "likeliest", "pulls", "at", "block")
    asks = ("seed", "likeliest")
    facts: ClassVar[tuple[str, ...]] = ("sizes",)
    player: Asked = Asked(SNAILPolicy, "plays beside")

    seed = traitlets.Int(0, min=0, max=2**32 - 1).tag(sync=True)
    likeliest = traitlets.Bool(False).tag(sync=True)
    pulls = traitlets.List().tag(sync=True)
    at = traitlets.Int(0, min=0, max=MOST_PULLS).tag(sync=True)
    block = traitlets.Int(-1, min=-1).tag(sync=True)
    sizes = traitlets.Dict().tag(sync=True)

    def __init__(self, player: Trained | str, **settings: Any) -> None:
        if "sizes" in settings:
            raise TypeError(f"the sizes of a {type(self).__name__} are those of its player")
        self.player = player
        super().__init__(sizes=self._sizes(), **settings)

    def _sizes(self) -> dict[str, int]:
        config = self.player.model.config
        if config.arms > MOST_ARMS or config.pulls > MOST_PULLS:
            raise ValueError(
                f"a {type(self).__name__} has {MOST_ARMS} arms and {MOST_PULLS} pulls at most, "
                f"not {config.arms} and {config.pulls}"
            )
        return {"arms": config.arms, "pulls": config.pulls}

    def recount(self) -> None:
        self.sizes = self._sizes()

    @traitlets.validate("pulls")
    def _pulls(self, proposal: Mapping[str, Any]) -> list[int]:
        pulls, sizes = proposal["value"], self._sizes()
        if len(pulls) > sizes["pulls"]:
            raise traitlets.TraitError(f"{len(pulls)} pulls, but there are {sizes['pulls']}")
        for arm in pulls:
            if type(arm) is not int or not 0 <= arm < sizes["arms"]:
                raise traitlets.TraitError(f"the arm {arm!r} is none of 0 to {sizes['arms'] - 1}")
        return list(pulls)

    def find(self) -> tuple[dict[str, Any], AttentionTrace | None]:
        bandit = drawn_bandit(self.seed, **self.sizes)
        game = played(self.player.model, bandit, likeliest=self.likeliest)
        players = {"snail": game.told()}
        players |= {name: by_rule(name, bandit).told() for name in BESIDE}
        answer = {
            "p": list(bandit.p),
            "pays": ["".join(map(str, row)) for row in bandit.pays],
            "players": players,
            "probabilities": packed(game.probabilities),
            "looks": {name: packed(*rows) for name, rows in game.looks.items()},
            "message": "",
        }
        if not game.looks:
            return answer, None
        pulls = len(game.arms)
        weights = torch.zeros(len(game.looks), pulls, pulls)
        for i, rows in enumerate(game.looks.values()):
            for t, row in enumerate(rows):
                weights[i, t, : t + 1] = row
        names = [f"{arm + 1}{'✓' if paid else '✗'}" for arm, paid in game.history()]
        return answer, AttentionTrace.of(
            "self",
            weights,
            query=[str(t) for t in range(1, pulls + 1)],
            key=("∅", *names[:-1]),
            heads=tuple(game.looks),
        )

    # ------------------------------------------------------------------ without JavaScript

    def drawn(self) -> str:
        say, tag = drawing.sayer(self.strings), drawing.tag
        snail = self.answer["players"]["snail"]
        heads = ("pull", "arm", "paid", "looks")
        lines = zip(snail["arms"], snail["paid"], strict=True)
        rows = (
            tag(
                "tr",
                tag("th", str(t + 1), scope="row"),
                tag("td", str(int(arm) + 1)),
                tag("td", "✓" if paid == "1" else "✗"),
                tag("td", escape(self._look(say, t))),
            )
            for t, (arm, paid) in enumerate(lines)
        )
        table = tag(
            "table",
            tag("caption", escape(say("bandit.table"))),
            tag(
                "thead",
                tag("tr", *(tag("th", escape(say(f"bandit.{h}")), scope="col") for h in heads)),
            ),
            tag("tbody", *rows),
            class_="heed-cells heed-bandit-table",
        )
        return drawing.sheet(
            tag("p", escape(ending(say, self.answer)), class_="heed-says"),
            tag("div", table, class_="heed-scroll", tabindex="0"),
            kind="bandit",
        )

    def _look(self, say: drawing.Say, t: int) -> str:
        """At which of its pulls it looked most, in the last block."""
        if self._trace is None:
            return ""
        row = self._trace.weights[-1, t, : t + 1]
        at = int(row.argmax())
        name = say("bandit.beginning") if at == 0 else say("bandit.pull.of", pull=at)
        return f"{name} {row[at]:.2f}"


# ---------------------------------------------------------------------------- the bandit


@dataclass(frozen=True, kw_only=True)
class Bandit:
    """One bandit: how often each arm pays, and what each would pay at each pull."""

    seed: int
    p: tuple[float, ...]
    pays: tuple[tuple[int, ...], ...]


def drawn_bandit(seed: int, arms: int, pulls: int) -> Bandit:
    """Chances and luck from one ``mulberry32(seed)``, the same in the page: a number for each arm,
    p, and then one for each arm at each pull; an arm pays where it is below p."""
    dice = mulberry32(seed)
    p = tuple(next(dice) for _ in range(arms))
    pays = tuple(tuple(int(next(dice) < each) for each in p) for _ in range(pulls))
    return Bandit(seed=seed, p=p, pays=pays)


# ---------------------------------------------------------------------------- who plays


@dataclass(frozen=True, kw_only=True)
class Game:
    """What was pulled and paid; of a policy its probabilities, and where each block looked."""

    arms: list[int]
    paid: list[int]
    probabilities: Float[Tensor, "pull arm"]
    looks: dict[str, list[Tensor]]

    def told(self) -> dict[str, str]:
        """A digit a pull."""
        return {"arms": "".join(map(str, self.arms)), "paid": "".join(map(str, self.paid))}

    def history(self) -> list[tuple[int, int]]:
        """Arm and payment of each pull."""
        return list(zip(self.arms, self.paid, strict=True))


def played(model: SNAILPolicy, bandit: Bandit, *, likeliest: bool) -> Game:
    """A policy plays to the end. Where it draws, that is the first arm up to which its
    probabilities, added up, are more than the number drawn."""
    dice = mulberry32(bandit.seed + CHOICE)
    device = device_of(model)
    arms: list[int] = []
    paid: list[int] = []
    probabilities, looks = [], {}
    with answering(model):
        kept = model.start(1)
        for pays in bandit.pays:
            last = (
                torch.tensor([each[-1] if arms else none]) for each, none in ((arms, -1), (paid, 0))
            )
            kept, policy = model.step(kept, *(each.to(device) for each in last))
            p = policy.logits[0, 0].float().softmax(dim=-1).cpu()
            arm = int(p.argmax()) if likeliest else drawn_arm(p.tolist(), next(dice))
            arms.append(arm)
            paid.append(pays[arm])
            probabilities.append(p)
            for name, weights in policy.weights.items():
                looks.setdefault(name, []).append(weights[0, 0].float().cpu())
    return Game(arms=arms, paid=paid, probabilities=torch.stack(probabilities), looks=looks)


def drawn_arm(p: Sequence[float], number: float) -> int:
    """The first one up to which all, added up, are more than the number."""
    sums = np.cumsum(p)
    above = np.flatnonzero(sums > number * sums[-1])
    return int(above[0]) if above.size else int(np.argmax(p))


def by_rule(name: str, bandit: Bandit) -> Game:
    """A player of ``heed.evaluation.bandits`` plays to the end; of equally good arms any."""
    player: Callable[..., Tensor] = PLAYERS[name]
    dice = mulberry32(bandit.seed + TIES)
    n = len(bandit.p)
    wins, losses = torch.zeros(1, n).long(), torch.zeros(1, n).long()
    arms, paid = [], []
    for t, pays in enumerate(bandit.pays):
        index = player(wins, losses, len(bandit.pays) - t, np.random.default_rng(0))[0]
        best = (index == index.max()).nonzero()[:, 0].tolist()
        arm = best[int(next(dice) * len(best))]
        arms.append(arm)
        paid.append(pays[arm])
        (wins if pays[arm] else losses)[0, arm] += 1
    return Game(arms=arms, paid=paid, probabilities=torch.zeros(0, n), looks={})


def packed(*numbers: Float[Tensor, "..."]) -> str:
    """Numbers from 0 to 1 as bytes in base 64, one tensor behind the other."""
    flat = torch.cat([each.flatten() for each in numbers]).nan_to_num(0.0)
    return b64encode(np.floor(255 * flat.numpy() + 0.5).astype(np.uint8).tobytes()).decode()


# ---------------------------------------------------------------------------- words


def ending(say: drawing.Say, answer: Mapping[str, Any]) -> str:
    """What everybody has at the end, and what they would have who knew the chances."""
    players = answer["players"]
    best = int(np.argmax(answer["p"]))
    return say(
        "bandit.ending",
        pulls=len(answer["pays"]),
        **{name: players[name]["paid"].count("1") for name in players},
        best=sum(row[best] == "1" for row in answer["pays"]),
    )
