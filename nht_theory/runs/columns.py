"""Canonical column names of a run's log: the one place where they are spelled."""

from __future__ import annotations

from collections.abc import Iterable

STEP = "step"
TRAIN_LOSS = "train_loss"
TRAIN_ACCURACY = "train_accuracy"
HELDOUT_LOSS = "heldout_loss"
HELDOUT_ACCURACY = "heldout_accuracy"
SHORTCUT_ACCURACY = "shortcut_accuracy"
COLOURED_ACCURACY = "coloured_accuracy"
"""On images whose shortcut is as in training."""
CONFLICT_ACCURACY = "conflict_accuracy"
"""Share of true answers where the shortcut points elsewhere."""
CONFLICT_SHORTCUT_RATE = "conflict_shortcut_rate"
"""Share of the shortcut's answers there: reliance, as opposed to confusion."""
TRAIN_CONFLICT_ACCURACY = "train_conflict_accuracy"
"""On the training images whose shortcut points elsewhere: reached by memorising them."""
WORST_GROUP_ACCURACY = "worst_group_accuracy"
GROUP_ACCURACY = "group_accuracy"
"""Only with a group: ``group_accuracy/landbird_on_water``."""
GROUP_COUNT = "group_count"
"""Examples behind a group's accuracy: ``group_count/landbird_on_water``."""
LOGIT_SCALE = "logit_scale"
"""Root mean square, over the evaluated training examples and the classes, of the logits less their
mean over the classes: sqrt(mean_i mean_c (z_ic - mean_c z_ic)^2). The mean is taken off because
adding one number to all logits of an example changes no probability. Of a learned temperature,
which some logs call by this name, it says nothing."""
SQUARED_NORM = "squared_norm"
DECAY = "decay"
"""First term of the one-step identity: 1 - a^2 weighted by the decayed share of V."""
ALIGNMENT = "alignment"
"""Second term of the one-step identity: 2 eta a <theta, u> / V."""
UPDATE_SQUARED_NORM = "update_squared_norm"
"""||u||^2, from which the third term, -eta^2 ||u||^2 / V, follows."""
DIFFUSION = "diffusion"
"""Third term of the one-step identity, as logged: -eta^2 ||u||^2 / V."""
CONTRACTION = "contraction"
"""1 - V'/V of the step that the three terms describe: V' is the squared norm after it."""
GRADIENT_SQUARED_NORM = "gradient_squared_norm"
"""||grad L||^2 of the training loss, the regulariser left out."""
SMOOTHNESS = "smoothness"
"""||grad L(theta') - grad L(theta)|| / ||theta' - theta|| between neighbouring steps."""
FORECAST_STEP = "forecast_step"
"""Step of generalisation expected at that evaluation (median), logged while a run trains."""
FORECAST_LOW = "forecast_low"
FORECAST_HIGH = "forecast_high"
"""Ends of its 90 % interval; not logged where there is no bound."""
FORECAST_PROBABILITY = "forecast_probability"
"""That the switch comes before training ends, where the budget is known."""
LEARNING_RATE = "learning_rate"
WEIGHT_DECAY = "weight_decay"

GROUP_SEPARATOR = "/"
"""``squared_norm/head`` is the squared norm of the parameter group ``head``."""


def of_group(column: str, group: str) -> str:
    """Name of a column restricted to one parameter group.

    Example:
        >>> of_group(SQUARED_NORM, "head")
        'squared_norm/head'
    """
    return f"{column}{GROUP_SEPARATOR}{group}"


def groups_of(column: str, names: Iterable[str]) -> tuple[str, ...]:
    """Groups for which ``names`` holds ``column``, in their order.

    Example:
        >>> groups_of(SQUARED_NORM, ["step", "squared_norm", "squared_norm/head"])
        ('head',)
    """
    prefix = column + GROUP_SEPARATOR
    return tuple(name[len(prefix) :] for name in names if name.startswith(prefix))
