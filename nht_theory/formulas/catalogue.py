"""Every formula by name, loaded topic by topic."""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from importlib import import_module

from nht_theory.errors import InputError
from nht_theory.formulas.formula import Formula

TOPICS = (
    "premises",
    "identity",
    "rates",
    "momentum",
    "schedules",
    "floors",
    "times",
    "theorems",
    "bounds",
    "regimes",
    "layers",
    "invariance",
    "emergence",
    "later_results",
)
"""Topic modules of this package, in reading order; each holds TITLE and FORMULAS."""


def topic_title(topic: str) -> str:
    """The heading of a topic.

    Example:
        >>> topic_title("times")
        'Hitting times'
    """
    title: str = import_module(f"nht_theory.formulas.{topic}").TITLE
    return title


def topic_summary(topic: str) -> str:
    """What a topic is about: the docstring of its module."""
    return import_module(f"nht_theory.formulas.{topic}").__doc__ or ""


def formulas_of(topic: str) -> tuple[Formula, ...]:
    """The formulas of one topic, in reading order.

    Raises:
        InputError: there is no such topic.
    """
    if topic not in TOPICS:
        raise InputError(f"no topic {topic!r}", remedy=f"topics are {', '.join(TOPICS)}")
    formulas: tuple[Formula, ...] = import_module(f"nht_theory.formulas.{topic}").FORMULAS
    return formulas


@cache
def _by_name() -> dict[str, Formula]:
    return {formula.name: formula for topic in TOPICS for formula in formulas_of(topic)}


def names() -> tuple[str, ...]:
    """Names of all formulas, in reading order.

    Example:
        >>> "exact_hitting_time" in names()
        True
    """
    return tuple(_by_name())


def find(name: str) -> Formula:
    """The formula of that name.

    Raises:
        InputError: there is none; the message proposes the nearest names.

    Example:
        >>> find("noise_floor").gives.unit
        'V'
    """
    try:
        return _by_name()[name]
    except KeyError:
        near = get_close_matches(name, names(), n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else "nht derive lists them"
        raise InputError(f"no formula {name!r}", remedy=hint) from None
