"""What is said of a score was found out by trying it; what is shown of seven is on their cards."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from heed.data.grammar import classic
from heed.data.pairs import Pair
from heed.data.vocabulary import Vocabulary
from heed.experiments.cards import Card
from heed.experiments.translation import TrainedTranslator
from heed.models.bahdanau import Bahdanau, BahdanauConfig
from heed.scores import Additive, Dot, Location, Score
from heed.viz.scores import (
    SURVEY,
    chosen,
    inside_and_longer,
    learning_curves,
    legend,
    loudness,
    prices,
    questions,
    same_questions,
    steps_to,
    survey_table,
    words_right,
)

PAIR = classic()


def untrained(score: str, max_keys: int = 31) -> TrainedTranslator:
    source, target = (Vocabulary(tuple(dict.fromkeys(side))) for side in (PAIR.source, PAIR.target))
    torch.manual_seed(0)
    config = BahdanauConfig(
        source_vocab=len(source), target_vocab=len(target), d_embedding=6, d_encoder=5, d_state=10,
        d_align=7, d_maxout=6, score=score, max_keys=max_keys,
    )  # fmt: skip
    return TrainedTranslator(
        model=Bahdanau(config).eval(), card=card(), folder=Path(), source_vocab=source,
        target_vocab=target,
    )  # fmt: skip


def card(name: str = "some", **metrics: list[float]) -> Card:
    spreads = {m: {"mean": sum(v) / len(v), "std": 1.0, "seeds": v} for m, v in metrics.items()}
    curves = {
        str(seed): [{"step": s, "valid_loss": 3.0 / s + seed} for s in (1, 2, 30)]
        for seed in (0, 1)
    }
    return Card(
        experiment=name, chapter="", title="", config={}, data={}, train={}, credits=[],
        licence="", metrics=spreads, settings={}, claims=[], seed=0, seeds=[0, 1], steps=30,
        seconds=1.0, complete=True, parameters=1, dtype="", precision="", threads=1, versions={},
        files={}, curves=curves,
    )  # fmt: skip


# ------------------------------------------------------------------------ the survey's table


def test_the_table_has_the_surveys_six_rows_in_its_order_and_content_base_without_a_strength():
    assert [row.name for row in survey_table().rows] == [
        "content-base", "the same, β = 1", "additive", "location-base", "general", "dot",
        "scaled dot",
    ]  # fmt: skip
    assert [row.name for row in survey_table(SURVEY).rows][1] == "additive"


def test_the_table_knows_what_each_score_needs_and_sees():
    rows = {row.name: row for row in survey_table(d=6, d_hidden=5, max_keys=9).rows}
    assert {name for name, row in rows.items() if row.equal_widths} == {
        "content-base", "the same, β = 1", "dot", "scaled dot",
    }  # fmt: skip
    assert [name for name, row in rows.items() if not row.sees_keys] == ["location-base"]
    counts = {name: row.parameters for name, row in rows.items()}
    assert counts["additive"] == 6 * 5 + 6 * 5 + 5
    assert counts["general"] == 36
    assert counts["location-base"] == 54
    assert counts["dot"] == counts["scaled dot"] == 0
    assert (counts["content-base"], counts["the same, β = 1"]) == (1, 0)


def test_the_table_quotes_the_classes():
    assert legend(Dot()) == ("sᵀh", "Luong et al. 2015, section 3.1")
    shown = survey_table(d=4)._repr_mimebundle_()
    assert (
        "| additive | `vᵀ tanh(W s + U h)` | Bahdanau et al. 2015, A.1.2 |"
        in shown["text/markdown"]
    )
    assert "| dot | `sᵀh` |" in shown["text/markdown"]
    assert "| content-base | `β cos(s, h)` |" in shown["text/markdown"]
    assert "| the same, β = 1 | `cos(s, h)` |" in shown["text/markdown"]
    assert str(survey_table(d=4)) == shown["text/plain"]


def test_a_class_without_its_equation_is_refused():
    class Silent(Dot):
        """Says nothing."""

    with pytest.raises(ValueError, match="Silent does not open with its equation"):
        legend(Silent())


def test_matrices_can_be_chosen_by_name():
    score = chosen(Additive(d_q=2, d_k=2, d_hidden=2), W=torch.eye(2), v=torch.tensor([3.0, 4.0]))
    assert isinstance(score, Additive)
    assert torch.equal(score.W.weight, torch.eye(2))
    assert score.v.weight.tolist() == [[3.0, 4.0]]
    with pytest.raises(ValueError, match="Dot has no 'W'"):
        chosen(Dot(), W=torch.eye(2))


# --------------------------------------------------------------- what a trained decoder asks


def test_questions_are_the_states_that_the_model_asks_with():
    net = untrained("dot")
    states, encoded = questions(net, PAIR)
    assert len(states) == len(PAIR.target) + 1
    look = net.model.attention.look(states[None], encoded.prepared, encoded.annotations)
    from heed.viz.alignment import gold_map

    torch.testing.assert_close(
        look.weights[0, :-1].numpy(), gold_map(net, PAIR).weights[0], atol=1e-6, rtol=1e-5
    )


@pytest.mark.parametrize("score", ["dot", "additive", "content_base", "general"])
def test_another_word_under_the_same_question_moves_weights(score):
    other = replace(PAIR, source=("1992", *PAIR.source[1:]))
    assert same_questions(untrained(score), PAIR, other) > 1e-6


def test_location_does_not_move():
    other = replace(PAIR, source=("1992", *PAIR.source[1:]))
    assert same_questions(untrained("location_base"), PAIR, other) == 0


def test_sources_of_two_lengths_cannot_be_exchanged():
    with pytest.raises(ValueError, match="not 13 and 14"):
        same_questions(untrained("dot"), PAIR, replace(PAIR, source=("the", *PAIR.source)))


def test_loudness_is_that_of_each_question_and_scaling_divides_it():
    plain, scaled = untrained("dot"), untrained("scaled_dot")
    scaled.model.load_state_dict(plain.model.state_dict())
    # Only the first question is the same: what is read afterwards differs.
    states, encoded = questions(plain, PAIR)
    first = states[:1] @ encoded.annotations[0].mT
    short = Pair(source=PAIR.source, target=(), sure=frozenset(), possible=frozenset())
    loud, divided = (loudness(each, [short]) for each in (plain, scaled))
    assert loud.spread == pytest.approx(float(first.std()), rel=1e-4)
    assert loud.top == pytest.approx(float(first.max()), rel=1e-4)
    assert loud.query == pytest.approx(float(states[0].norm()), rel=1e-4)
    assert loud.key == pytest.approx(float(encoded.annotations[0].norm(dim=-1).mean()), rel=1e-4)
    assert loud.spread / divided.spread == pytest.approx(10**0.5, rel=1e-4)
    assert loud.top / divided.top == pytest.approx(10**0.5, rel=1e-4)
    assert (loud.query, loud.key) == (divided.query, divided.key)


def test_a_location_score_beyond_its_places_has_a_finite_loudness():
    found = loudness(untrained("location_base", max_keys=4), [PAIR])
    assert found.spread < 10
    assert found.top < 10


def test_words_are_right_on_the_side_where_their_source_word_stands():
    net = untrained("dot")

    class Parrot(torch.nn.Module):
        """Right about the first five words and about no other."""

        def forward(self, source, lengths, target_in):
            wanted = torch.tensor(net.target_vocab.encode(PAIR.target))
            logits = torch.zeros(1, target_in.shape[1], len(net.target_vocab))
            for j, word in enumerate(wanted[:5]):
                logits[0, j, word] = 1.0
            return type("Out", (), {"logits": logits})

    found = words_right(replace(net, model=Parrot()), [PAIR], places=4)
    by_side = {"within": [], "beyond": []}
    for i, j in PAIR.sure:
        by_side["within" if i < 4 else "beyond"].append(j)
    for side, places in by_side.items():
        once = set(places)
        assert found[side]["words"] == len(once)
        assert found[side]["share"] == len([j for j in once if j < 5]) / len(once)


def test_words_that_are_linked_to_both_sides_do_not_count():
    net = untrained("dot")
    both = frozenset({(0, 0), (8, 0), (1, 1)})
    pair = Pair(source=PAIR.source, target=PAIR.target[:2], sure=both, possible=both)
    found = words_right(net, [pair], places=4)
    assert (found["within"]["words"], found["beyond"]["words"]) == (1, 0)


# ---------------------------------------------------------------------------------- pictures


def test_inside_and_longer_says_both_numbers_of_each_score():
    cards = {
        "mine": card(a=[90.0, 92.0], b=[40.0, 42.0]),
        "yours": card(a=[80.0, 80.0], b=[7.0, 9.0]),
    }
    drawn = inside_and_longer(cards, inside="a", longer="b")
    assert "mine 91.0 ± 1.0 inside, 41.0 ± 1.0 on longer ones" in drawn.alt
    assert "yours 80.0 ± 1.0 inside, 8.0 ± 1.0 on longer ones" in drawn.alt
    assert "half as long again" in drawn.svg


def test_learning_curves_say_where_each_seed_ends():
    drawn = learning_curves({"mine": card(), "yours": card(), "hers": card()}, columns=2)
    assert drawn.alt.count("ends at 0.10 and 1.10") == 3


def test_steps_to_a_loss_are_counted_a_seed():
    assert steps_to(card(), 1.6)["seeds"] == [2, 30]
    assert steps_to(card(), 1.0)["seeds"] == [30, None]


# -------------------------------------------------------------------------------------- cost


def test_prices_are_measured_for_both_with_a_gradient_for_queries_and_keys():
    scores: dict[str, Score] = {"dot": Dot(), "location": Location(d_q=8, max_keys=5)}
    asked = []

    def plain(q, k):
        asked.append(q.requires_grad and k.requires_grad)
        return q @ k.T

    found = prices({name: (each, plain) for name, each in scores.items()}, length=5, d=8, runs=2)
    assert set(found) == {"dot", "location"}
    assert all(0 < each.seconds < 10 and 0 < each.plain_seconds < 10 for each in found.values())
    assert len(asked) == 6
    assert all(asked)
