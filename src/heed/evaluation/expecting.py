"""What a language model expects after a verb: food after *eat*, a colour after *eat a*, and so on.

The survey (Weng 2018) opens with one sentence, *She is eating a green apple*. Who reads *eating*
expects a food word soon; the colour word describes the food, and has less to do with *eating*. Here
is how to ask a model. A verb is put into frames (*she is …*, *tom wants to …*), and the probability
of all the food words, or colour words, is summed in each.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from heed.data.vocabulary import BOS, PAD, Vocabulary
from heed.evaluation.decoding import answering, device_of

_FOODS = """
apple apples bacon banana bananas bean beans beef biscuit biscuits bread breakfast butter cabbage
cake cakes candy carrot carrots cereal cheese cherries chicken chocolate chocolates cookie cookies
corn cream dessert dinner egg eggs fish food fruit fruits garlic grapes ham hamburger hamburgers
honey jam lemon lemons lettuce lobster lunch meal meals meat melon melons mushroom mushrooms
noodles nut nuts onion onions oranges oyster oysters pancake pancakes pasta peach peaches pear
pears pie pies pineapple pizza popcorn pork potato potatoes rice salad salt sandwich sandwiches
sausage sausages shrimp snack soup spaghetti spinach steak strawberries strawberry sugar supper
sushi sweets toast tomato tomatoes vegetable vegetables watermelon yogurt
"""
FOODS = tuple(_FOODS.split())
"""What is eaten, and meals. *Orange* is a colour, too, and *turkey* a country: neither is here."""

COLOURS = (
    "black",
    "blue",
    "brown",
    "gray",
    "green",
    "pink",
    "purple",
    "red",
    "white",
    "yellow",
)

FORMS = {
    "eat": ("eating", "ate", "eat"),
    "buy": ("buying", "bought", "buy"),
    "find": ("finding", "found", "find"),
    "have": ("having", "had", "have"),
    "read": ("reading", "read", "read"),
    "see": ("seeing", "saw", "see"),
    "wear": ("wearing", "wore", "wear"),
}
"""A verb's -ing form, its past, and itself."""

OTHERS = tuple(verb for verb in FORMS if verb != "eat")

SUBJECTS = ("she", "he", "tom", "mary", "my brother", "the girl")
FRAMES = ("is {ing}", "was {ing}", "{past}", "wants to {base}", "will {base}")


def frames(verb: str, tail: str = "") -> list[list[str]]:
    """A verb in every frame, with some words behind it: ``she is eating a``."""
    ing, past, base = FORMS[verb]
    endings = [frame.format(ing=ing, past=past, base=base) for frame in FRAMES]
    return [f"{subject} {end} {tail}".split() for subject in SUBJECTS for end in endings]


def probability(
    model: Any, vocabulary: Vocabulary, beginnings: Sequence[Sequence[str]], words: Iterable[str]
) -> Float[Tensor, " beginning"]:
    """How likely the next word is one of ``words``, after each beginning. Words that the model
    does not know are left out."""
    rows = [[BOS, *vocabulary.encode(each)] for each in beginnings]
    longest = max(map(len, rows))
    device = device_of(model)
    tokens = torch.tensor([row + [PAD] * (longest - len(row)) for row in rows], device=device)
    ends = torch.tensor([len(row) - 1 for row in rows], device=device)
    wanted = vocabulary.encode([word for word in words if word in vocabulary])
    with answering(model):
        logits = model(tokens).logits[torch.arange(len(rows), device=device), ends].float()
        return logits.softmax(dim=-1)[:, wanted].sum(dim=-1).cpu()


def after(
    model: Any,
    vocabulary: Vocabulary,
    verb: str,
    words: Iterable[str],
    *,
    tails: Sequence[str] = ("",),
) -> Float[Tensor, " frame"]:
    """``probability`` after a verb in every frame: the mean over ``tails``, the words behind it."""
    wanted = tuple(words)
    each = [probability(model, vocabulary, frames(verb, tail), wanted) for tail in tails]
    return torch.stack(each).mean(dim=0)


PLACES = {
    "food": (FOODS, ("",)),
    "food_after_a": (FOODS, ("a",)),
    "food_after_a_colour": (FOODS, tuple(f"a {colour}" for colour in COLOURS)),
    "colour_after_a": (COLOURS, ("a",)),
}
"""What is asked for, and what stands between it and the verb."""


def expectations(model: Any, vocabulary: Vocabulary) -> dict[str, dict[str, float]]:
    """For each of ``PLACES``, the probability after each verb: means over the frames.

    others: the mean over all verbs but *eat*
    """
    found = {}
    for name, (words, tails) in PLACES.items():
        each = {
            verb: after(model, vocabulary, verb, words, tails=tails).mean().item() for verb in FORMS
        }
        found[name] = each | {"others": sum(each[verb] for verb in OTHERS) / len(OTHERS)}
    return found
