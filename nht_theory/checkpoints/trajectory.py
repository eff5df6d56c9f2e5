"""The squared norms of a series of checkpoints, as a trajectory over steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from nht_theory.checkpoints.discovery import CheckpointSeries
from nht_theory.checkpoints.groups import ParameterGroup, parameter_groups
from nht_theory.checkpoints.norms import Shape, SquaredNorms
from nht_theory.checkpoints.notes import LeftOut, Note, NoteKind, refused
from nht_theory.checkpoints.optimizer_state import OptimizerSettings
from nht_theory.checkpoints.reading import ScanCallback, read_all
from nht_theory.checkpoints.tensor_names import LIVE
from nht_theory.errors import InputError

Series = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NormTrajectory:
    """Squared norms of a run's parameters at each of its checkpoints.

    Attributes:
        name: of the series.
        directory: of the run.
        steps: int64, shape [n], strictly increasing, in ``unit``.
        unit: ``step``, ``epoch`` or ``number``.
        squared_norm: V, all parameters together, float64, shape [n]; NaN where a tensor holds
            NaN or infinity.
        group_squared_norms: group name -> its V, float64, shape [n].
        groups: the groups, in the order of :func:`nht_theory.checkpoints.parameter_groups`.
        parameter_squared_norms: parameter name -> float64, shape [n].
        shapes: parameter name -> shape.
        files: the checkpoint of each step.
        optimizer: settings read from the optimiser state of the last checkpoint that has one, or
            None; offered as the run's hyper-parameters.
        learning_rates: float64, shape [n], from the optimiser state; NaN where it is not stored.
        left_out: checkpoints, tensors and entries that are not counted, each with the reason.
        notes: what reading changed or noticed.
    """

    name: str
    directory: Path
    steps: NDArray[np.int64]
    unit: str
    squared_norm: Series
    group_squared_norms: Mapping[str, Series]
    groups: tuple[ParameterGroup, ...]
    parameter_squared_norms: Mapping[str, Series]
    shapes: Mapping[str, Shape]
    files: tuple[Path, ...]
    optimizer: OptimizerSettings | None
    learning_rates: Series
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[Note, ...] = ()

    def __post_init__(self) -> None:
        for name in ("group_squared_norms", "parameter_squared_norms", "shapes"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    @property
    def parameter_count(self) -> int:
        """Number of trained scalars, d in the noise floor."""
        return sum(group.parameter_count for group in self.groups if group.partition == "decay")


def norm_trajectory(
    series: CheckpointSeries,
    *,
    exact: bool = False,
    weights: str = LIVE,
    decayed: Collection[str] | None = None,
    cache: bool = True,
    workers: int | None = None,
    progress: ScanCallback | None = None,
) -> NormTrajectory:
    """Squared norms, total and by group, at every checkpoint of a run.

    A checkpoint that cannot be read, or whose parameters are not those of the others, is left
    out with the reason; the others are read.

    Args:
        series: as :func:`nht_theory.checkpoints.discover` finds it.
        exact: float64 throughout.
        weights: ``live``, ``ema`` or the key of the set to take.
        decayed: names of the parameters that weight decay acts on; None takes them from the
            optimiser state where it is stored, else those of two dimensions or more.
        cache: remember the norms, and use remembered ones of unchanged files.
        workers: threads; None takes one for each core, four at most, or one for small files.
        progress: called as reading goes on, with bytes per second and time left.

    Raises:
        InputError: not one checkpoint of the series can be read.

    Example:
        >>> import tempfile, numpy as np
        >>> from safetensors.numpy import save_file
        >>> from nht_theory.checkpoints import discover
        >>> folder = tempfile.mkdtemp()
        >>> for step in (0, 100):
        ...     weights = {"head.weight": np.full((2, 2), step + 1.0)}
        ...     save_file(weights, f"{folder}/step_{step}.safetensors")
        >>> trajectory = norm_trajectory(discover(folder)[0])
        >>> trajectory.steps.tolist(), trajectory.squared_norm.tolist()
        ([0, 100], [4.0, 40804.0])
    """
    left_out = list(series.left_out)
    found = read_all(
        [checkpoint.path for checkpoint in series.checkpoints],
        exact=exact,
        weights=weights,
        cache=cache,
        workers=workers,
        progress=progress,
    )
    read: list[tuple[int, SquaredNorms]] = []
    for checkpoint, norms in zip(series.checkpoints, found, strict=True):
        if isinstance(norms, InputError):
            shown = _shown(checkpoint.path, series)
            left_out.append(refused(shown, checkpoint.path, norms))
        else:
            read.append((checkpoint.step, norms))
    read = _with_separate_copies(read)
    kept = _of_one_model(read, series, left_out)
    if not kept:
        reasons = "; ".join(entry.reason for entry in left_out[:2])
        raise InputError(f"no checkpoint can be read ({reasons})", source=series.directory)
    return _assembled(series, kept, left_out, decayed)


def _shown(path: Path, series: CheckpointSeries) -> str:
    inside = path.is_relative_to(series.directory) and path != series.directory
    return str(path.relative_to(series.directory)) if inside else str(path)


def _with_separate_copies(
    read: list[tuple[int, SquaredNorms]],
) -> list[tuple[int, SquaredNorms]]:
    """A tie that is read off equal bytes must hold at every checkpoint: weights that only start
    equal are two parameters, and counted as two throughout."""
    always = set.intersection(*(set(norms.copies) for _, norms in read)) if read else set()
    separated = []
    for step, norms in read:
        apart = {name: other for name, other in norms.copies.items() if name not in always}
        if apart:
            norms = replace(  # noqa: PLW2901
                norms,
                values_by_name={**norms, **{name: norms[o] for name, o in apart.items()}},
                shapes={**norms.shapes, **{name: norms.shapes[o] for name, o in apart.items()}},
                ties={name: other for name, other in norms.ties.items() if name not in apart},
                copies={name: other for name, other in norms.copies.items() if name not in apart},
                notes=(
                    *(
                        note
                        for note in norms.notes
                        if not (note.kind is NoteKind.STORED_TWICE and note.values["name"] in apart)
                    ),
                    *(
                        Note(NoteKind.EQUAL_ONCE, name=n, other=o, file=norms.source.name)
                        for n, o in apart.items()
                    ),
                ),
            )
        separated.append((step, norms))
    return separated


def _of_one_model(
    read: list[tuple[int, SquaredNorms]], series: CheckpointSeries, left_out: list[LeftOut]
) -> list[tuple[int, SquaredNorms]]:
    """Checkpoints of the most frequent names and shapes."""
    kinds = Counter(frozenset(norms.shapes.items()) for _, norms in read)
    if len(kinds) <= 1:
        return read
    common = kinds.most_common(1)[0][0]
    kept = []
    for step, norms in read:
        mine = frozenset(norms.shapes.items())
        if mine == common:
            kept.append((step, norms))
            continue
        name = min((n for n, _ in mine ^ common))
        reason = f"another model than the {kinds[common]} others: parameter {name} differs"
        left_out.append(LeftOut(_shown(norms.source, series), reason))
    return kept


def _assembled(
    series: CheckpointSeries,
    kept: list[tuple[int, SquaredNorms]],
    left_out: list[LeftOut],
    decayed: Collection[str] | None,
) -> NormTrajectory:
    shapes = dict(kept[0][1].shapes)
    table = np.array([[norms[name] for name in shapes] for _, norms in kept], dtype=np.float64)
    table[~np.isfinite(table)] = np.nan
    column = {name: i for i, name in enumerate(shapes)}
    settings = next((n.optimizer for _, n in reversed(kept) if n.optimizer is not None), None)
    if decayed is None and settings is not None:
        decayed = settings.decayed
    groups = parameter_groups(shapes, decayed)
    rates = [n.optimizer.learning_rate if n.optimizer is not None else None for _, n in kept]
    by_group = {
        g.name: table[:, [column[n] for n in g.parameter_names]].sum(axis=1) for g in groups
    }
    notes = list(series.notes)
    seen: set[LeftOut] = set()
    for step, norms in kept:
        for name, count in norms.not_finite.items():
            notes.append(
                Note(NoteKind.NOT_FINITE_AT, unit=series.unit, number=step, count=count, name=name)
            )
        for note in norms.notes:
            # Those of not finite elements are said above, with the checkpoint.
            if note.kind is not NoteKind.NOT_FINITE and note not in notes:
                notes.append(note)
        for entry in norms.left_out:
            if entry not in seen:
                seen.add(entry)
                left_out.append(LeftOut(f"{norms.source.name}: {entry.file}", entry.reason))
    return NormTrajectory(
        name=series.name,
        directory=series.directory,
        steps=np.array([step for step, _ in kept], dtype=np.int64),
        unit=series.unit,
        squared_norm=table.sum(axis=1),
        group_squared_norms=by_group,
        groups=groups,
        parameter_squared_norms={name: table[:, i].copy() for name, i in column.items()},
        shapes=shapes,
        files=tuple(norms.source for _, norms in kept),
        optimizer=settings,
        learning_rates=np.array([np.nan if rate is None else rate for rate in rates]),
        left_out=tuple(left_out),
        notes=tuple(notes),
    )
