"""Every study: what it asks, what it answers, and what its page shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from nht_theory.errors import InputError
from nht_theory.estimators.results import StudyEstimates
from nht_train.images.spurious import Layout
from validation.studies.analyses import (
    causes,
    configurations,
    images,
    norms,
    optimizers,
    parity,
    slopes,
)
from validation.studies.results import Table
from validation.studies.synthetic_sets import SyntheticSet

Analysis = Callable[[StudyEstimates], list[Table]]

TOY_TRANSFORMER = (
    "steps=40",
    "evaluate_every=10",
    "batch_size=32",
    "task.p=7",
    "model.heads=1",
    "model.width=8",
    "model.feed_forward=16",
    'checkpoints.schedule="none"',
)
TOY_IMAGES = (
    "steps=4",
    "evaluate_every=2",
    "batch_size=16",
    "task.image_size=8",
    'checkpoints.schedule="none"',
)
LAW = ("law", "law_everywhere", "prefactor", "prefactor_pure_decay", "necessity", "rival_laws")
REGIMES = ("P1", "P2", "P3", "P4", "P5", "P6")
IMAGES = ("P1", "P2", "P3", "P4", "P5", "P6", "head_monitor")


@dataclass(frozen=True)
class StudyPlan:
    """One study.

    Attributes:
        name: of its TOML file, of its runs' directory and of its results'.
        title: of its page.
        domain: as the table of all claims calls it.
        question: what it asks, in a sentence or two.
        answers: the predictions that it was made to judge.
        analyses: tables beyond the runs and the verdicts.
        figures: of the report, by name; their panels stand side by side.
        toy: overrides of the smoke test.
        sets: image sets that it makes itself.
        forecasts: whether forecasts are written before the first run.
    """

    name: str
    title: str
    domain: str
    question: str
    answers: tuple[str, ...]
    analyses: tuple[Analysis, ...] = ()
    figures: tuple[str, ...] = ("trajectories",)
    toy: tuple[str, ...] = TOY_TRANSFORMER
    sets: tuple[SyntheticSet, ...] = ()
    forecasts: bool = False


def _variants(name: str, layout: Layout) -> tuple[SyntheticSet, ...]:
    levels = {"separated": 1.0, "partly": 0.5, "entangled": 0.0}
    return tuple(SyntheticSet(f"{name}/{word}", layout, level) for word, level in levels.items())


STUDIES: tuple[StudyPlan, ...] = (
    StudyPlan(
        name="weight_decay",
        title="Weight decay on modular addition",
        domain="modular addition, weight decay",
        question="Do three regimes appear over weight decay, where were their boundaries expected, "
        "and does the delay scale as 1/lambda?",
        answers=(*LAW, *REGIMES, "part_whole", "carrier", "head_monitor"),
        analyses=(configurations.by_configuration, norms.carriers),
        figures=("trajectories", "survival"),
        forecasts=True,
    ),
    StudyPlan(
        name="sparse_parity",
        title="Sparse parity",
        domain="sparse parity",
        question="Is there a delay, and which way does the norm go, where no memorising solution "
        "is left behind?",
        answers=("law", "necessity", "P5"),
        analyses=(configurations.by_configuration, parity.ratios),
        figures=("trajectories",),
        toy=(
            "steps=40",
            "evaluate_every=10",
            "batch_size=32",
            "task.train_size=64",
            "task.heldout_size=32",
            "model.width=16",
            'checkpoints.schedule="none"',
        ),
    ),
    StudyPlan(
        name="optimizers",
        title="Optimisers on modular addition",
        domain="modular addition, optimisers",
        question="How fast does each optimiser contract the norm, against its rate without a loss "
        "gradient, and is c = gamma_V/(2 eta lambda) at least one half?",
        answers=("prefactor", "prefactor_pure_decay", "necessity", "optimizer_dependence"),
        analyses=(configurations.by_configuration, optimizers.rates),
        figures=("trajectories", "terms"),
    ),
    StudyPlan(
        name="coloured_cifar",
        title="Coloured CIFAR-10 at 16x16",
        domain="coloured CIFAR-10, 16x16 subset",
        question="Do P1-P6 hold on images, does the head escape before the input, does a stronger "
        "shortcut cost clean accuracy, and do three regimes appear at all?",
        answers=(*IMAGES, "shortcut_strength", "failure_prediction"),
        analyses=(
            configurations.by_configuration,
            images.accuracies,
            images.separations,
            images.escapes,
        ),
        figures=("accuracy",),
        toy=TOY_IMAGES,
    ),
    StudyPlan(
        name="learning_rate",
        title="Learning rate on modular addition",
        domain="modular addition, learning rate",
        question="Does the delay scale as 1/eta, and where does the law stop?",
        answers=("law", "law_everywhere", "prefactor", "necessity", "P5"),
        analyses=(
            configurations.by_configuration,
            slopes.on_learning_rate,
            configurations.separation_table,
        ),
        figures=("trajectories", "survival"),
    ),
    StudyPlan(
        name="modulus_fraction",
        title="Modulus and data fraction on modular addition",
        domain="modular addition, modulus and data fraction",
        question="Does the logarithm of the norm ratio set the delay at fixed eta and lambda, and "
        "what else does?",
        answers=(
            "law",
            "law_everywhere",
            "rival_laws",
            "part_whole",
            "necessity",
            "one_kappa",
            "crossing_not_sufficient",
        ),
        analyses=(
            configurations.by_configuration,
            slopes.on_modulus_and_fraction,
        ),
        figures=("survival",),
        toy=(*TOY_TRANSFORMER, "task.train_fraction=0.5"),
    ),
    StudyPlan(
        name="normalization",
        title="Normalisation in the transformer",
        domain="modular addition, normalisation",
        question="Which group carries V with LayerNorm after, before or nowhere, and does V fall "
        "before the switch in each?",
        answers=("necessity", "carrier", "prefactor", "prefactor_pure_decay", "logit_scale"),
        analyses=(configurations.by_configuration, norms.carriers),
        figures=("groups",),
    ),
    StudyPlan(
        name="no_decay",
        title="No weight decay",
        domain="modular addition, no decay",
        question="Does a run generalise without weight decay, and what does its norm do?",
        answers=("necessity", "law"),
        analyses=(configurations.by_configuration,),
    ),
    StudyPlan(
        name="norm_clamp",
        title="The norm held from memorisation on",
        domain="modular addition, norm held",
        question="Causal: does keeping V where it was at memorisation, or part of the way down, "
        "delay the switch?",
        answers=("necessity", "clamped_norm"),
        analyses=(configurations.by_configuration, causes.norm_clamp),
        figures=("trajectories", "survival"),
    ),
    StudyPlan(
        name="decay_switch",
        title="Decay changed at memorisation",
        domain="modular addition, decay switched",
        question="Causal: does taking weight decay away once the run has memorised delay the "
        "switch?",
        answers=("necessity",),
        analyses=(configurations.by_configuration, causes.decay_switch),
        figures=("trajectories", "survival"),
    ),
    StudyPlan(
        name="width",
        title="Width of the transformer",
        domain="modular addition, width",
        question="Emergence: does V_sc/V_st fall with size, does stronger decay lower the critical "
        "size, does the norm turn before the jump, and is a clean separation sharper?",
        answers=("emergence_ratio", "emergence_decay", "emergence_events", "emergence_sharpness"),
        analyses=(configurations.by_configuration, slopes.on_width),
        figures=("survival",),
    ),
    StudyPlan(
        name="coloured_cifar_32",
        title="Coloured CIFAR-10 at 32x32",
        domain="coloured CIFAR-10, 32x32 subset",
        question="Does what the 16x16 study shows hold at the paper's resolution?",
        answers=(*IMAGES, "shortcut_strength"),
        analyses=(
            configurations.by_configuration,
            images.accuracies,
            images.separations,
            images.escapes,
        ),
        toy=TOY_IMAGES,
    ),
    StudyPlan(
        name="resnet18",
        title="ResNet18 with batch, group or no normalisation",
        domain="coloured CIFAR-10, ResNet18",
        question="Does the norm peak earlier with BatchNorm, and what does each kind of "
        "normalisation do to clean accuracy?",
        answers=("batch_norm", "head_monitor", "P4"),
        analyses=(configurations.by_configuration, images.accuracies, images.peaks),
        toy=(*TOY_IMAGES, "steps=2", "evaluate_every=1", "batch_size=4"),
    ),
    StudyPlan(
        name="waterbirds_like",
        title="A set laid out like Waterbirds, its separation controlled",
        domain="Waterbirds-like, made here",
        question="Does S predict where weight decay fails to help the worst group?",
        answers=("P1", "P2", "P3", "P5", "failure_prediction"),
        analyses=(configurations.by_configuration, images.accuracies, images.failure),
        toy=TOY_IMAGES,
        sets=_variants("waterbirds_like", Layout.WATERBIRDS),
    ),
    StudyPlan(
        name="celeba_like",
        title="A set laid out like CelebA, its separation controlled",
        domain="CelebA-like, made here",
        question="Does S predict where weight decay fails to help the worst group?",
        answers=("P1", "P2", "P3", "P5", "failure_prediction"),
        analyses=(configurations.by_configuration, images.accuracies, images.failure),
        toy=TOY_IMAGES,
        sets=_variants("celeba_like", Layout.CELEBA_CSV),
    ),
)


def study_plan(name: str) -> StudyPlan:
    """The study of that name.

    Raises:
        InputError: there is none; the message lists them.
    """
    for plan in STUDIES:
        if plan.name == name:
            return plan
    raise InputError(
        f"no study named {name!r}", remedy=f"studies: {', '.join(plan.name for plan in STUDIES)}"
    )
