"""Transition steps that a source stored itself, under whatever name and marker it used."""

from __future__ import annotations

import math
from collections.abc import Mapping

from nht_theory.runs.notes import Note, RunNoteKind
from nht_theory.runs.run import RecordedEvents

MEMORIZATION = ("T_mem", "t_mem", "memorize_step", "memorization_step", "mem_step")
GENERALIZATION = ("T_grok", "t_grok", "T_gen", "grok_step", "generalization_step", "gen_step")
SQUARED_AT_MEMORIZATION = ("V_at_mem", "V_mem")
SQUARED_AT_GENERALIZATION = ("V_at_grok", "V_grok", "V_star", "V_at_gen")
SQUARED_FINAL = ("V_final", "V_post")
PLAIN_FINAL = ("final_wn_total", "final_weight_norm")


def recorded_events(
    stored: Mapping[str, object], total_steps: int | None
) -> tuple[RecordedEvents | None, tuple[Note, ...]]:
    """The events among the stored values, and what was noticed.

    A step that never came is written in many ways: null, -1, NaN, infinity, or the budget itself.
    All of them become None (censored).

    Args:
        stored: the values of a record.
        total_steps: the training budget, when known.

    Returns:
        None when the record names no event, and notes on what was taken for "never".

    Example:
        >>> recorded_events({"T_mem": 800, "T_grok": 15000}, total_steps=15000)
        (RecordedEvents(memorization_step=800, generalization_step=None, ...),
         ('T_grok is 15000, the budget: read as not reached',))
    """
    notes: list[Note] = []

    def step(names: tuple[str, ...]) -> int | None:
        for name in names:
            value = _finite(stored.get(name))
            if value is None:
                continue
            if value < 0:
                notes.append(Note(RunNoteKind.NEVER, name=name, value=stored[name]))
                return None
            if total_steps is not None and value >= total_steps:
                notes.append(Note(RunNoteKind.AT_BUDGET, name=name, value=stored[name]))
                return None
            return int(value)
        return None

    def first(names: tuple[str, ...]) -> float | None:
        found = (_finite(stored.get(name)) for name in names)
        return next((value for value in found if value is not None), None)

    named = {*MEMORIZATION, *GENERALIZATION} & stored.keys()
    if not named:
        return None, ()
    final = first(SQUARED_FINAL)
    if final is None and (plain := first(PLAIN_FINAL)) is not None:
        final = plain**2
    events = RecordedEvents(
        memorization_step=step(MEMORIZATION),
        generalization_step=step(GENERALIZATION),
        squared_norm_memorization=first(SQUARED_AT_MEMORIZATION),
        squared_norm_generalization=first(SQUARED_AT_GENERALIZATION),
        squared_norm_final=final,
    )
    return events, tuple(notes)


def _finite(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
