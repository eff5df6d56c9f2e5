"""An optimiser and its schedule as the theory sees them: shrink factor, clock, floor."""

from nht_theory.dynamics.optimizer import OptimizerDynamics
from nht_theory.dynamics.schedules import (
    ArraySchedule,
    Constant,
    Cosine,
    LinearWarmup,
    Schedule,
    StepDecay,
    schedule_from_name,
)

__all__ = [
    "ArraySchedule",
    "Constant",
    "Cosine",
    "LinearWarmup",
    "OptimizerDynamics",
    "Schedule",
    "StepDecay",
    "schedule_from_name",
]
