"""The checkpoints below a path, told apart by run and put in order of their steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

from nht_theory.checkpoints.contents import open_checkpoint
from nht_theory.checkpoints.directory_units import Unit, find_units, unit_of_file
from nht_theory.checkpoints.file_names import EPOCH, NUMBER, STEP, NameNumber, read_name
from nht_theory.checkpoints.notes import LeftOut, Note, NoteKind, refused
from nht_theory.errors import InputError

STORED = "stored inside"
NAMED = "in the name"


@dataclass(frozen=True)
class Checkpoint:
    """One checkpoint of a series.

    Attributes:
        path: a file, an index of shards, or a distributed checkpoint's directory.
        step: its place in training, in the unit of the series.
        origin: where the step is from: ``stored inside`` or ``in the name``.
    """

    path: Path
    step: int
    origin: str


@dataclass(frozen=True)
class CheckpointSeries:
    """The checkpoints of one run, steps strictly increasing.

    Attributes:
        name: unique among the series found together.
        directory: of the run.
        checkpoints: in order of step.
        unit: ``step``, ``epoch``, or ``number`` where neither is known.
        left_out: files that look like checkpoints and are not read, named from ``directory``,
            each with the reason.
        notes: conflicts between names and contents, and how they were settled.
    """

    name: str
    directory: Path
    checkpoints: tuple[Checkpoint, ...]
    unit: str = STEP
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True)
class _Candidate:
    unit: Unit
    named: NameNumber
    stored: int | None


def discover(path: str | PathLike[str]) -> tuple[CheckpointSeries, ...]:
    """Find the checkpoints of every run below a path.

    A step stored inside a checkpoint wins over the number in its name, and numbers are compared
    as numbers. Directories such as ``checkpoint-500/`` and ``version_3/checkpoints/`` belong to
    the run above them; files whose names differ in more than their number are different runs.
    Every file is opened (its header, not its tensors), so that broken ones are known now.

    Args:
        path: a directory, or one checkpoint.

    Raises:
        InputError: the path is absent, or holds no checkpoint at all; what was left out is named.

    Example:
        >>> import tempfile, numpy as np
        >>> from safetensors.numpy import save_file
        >>> folder = tempfile.mkdtemp()
        >>> for step in (1000, 200):
        ...     save_file({"w": np.ones((2, 2))}, f"{folder}/step_{step}.safetensors")
        >>> [checkpoint.step for checkpoint in discover(folder)[0].checkpoints]
        [200, 1000]
    """
    found, left_out = find_series(path)
    if not found:
        raise InputError(
            "no readable checkpoint" + _first_reasons(left_out),
            source=path,
            remedy="give a directory of .safetensors, .pt, .pth, .bin or .ckpt files",
        )
    first = replace(found[0], left_out=(*found[0].left_out, *left_out))
    return (first, *found[1:])


def find_series(
    path: str | PathLike[str],
) -> tuple[tuple[CheckpointSeries, ...], tuple[LeftOut, ...]]:
    """What :func:`discover` finds, none included, and apart from it what belongs to no run.

    Returns:
        the series, and files left out that are in the directory of none of them, named from
        ``path``.

    Raises:
        InputError: the path is absent.
    """
    root = Path(path)
    if root.is_dir() and not (root / ".metadata").is_file():
        units, left_out = find_units(root)
    elif root.exists():
        units, left_out = [unit_of_file(root)], []
    else:
        raise InputError("no such file or directory", source=root, remedy="check the path")
    groups: dict[tuple[Path, str], list[_Candidate]] = {}
    for unit in units:
        try:
            with open_checkpoint(unit.path) as contents:
                stored = contents.step
        except InputError as error:
            left_out.append(refused(_name(unit.path, root), unit.path, error))
            continue
        named = read_name(unit.label)
        groups.setdefault((unit.run, named.pattern), []).append(_Candidate(unit, named, stored))
    _join_timeless(groups)
    shown = {key: _series_name(key, root, groups) for key in groups}
    found = [
        _ordered(shown[key], key[0], candidates, root, left_out)
        for key, candidates in sorted(groups.items(), key=lambda item: shown[item[0]])
    ]
    return _with_left_out([series for series in found if series.checkpoints], left_out, root)


def _name(path: Path, root: Path) -> str:
    return str(path.relative_to(root)) if path != root and path.is_relative_to(root) else str(path)


def _first_reasons(left_out: Sequence[LeftOut]) -> str:
    shown = "; ".join(f"{entry.file}: {entry.reason}" for entry in left_out[:3])
    return f" (left out: {shown})" if shown else ""


def _join_timeless(groups: dict[tuple[Path, str], list[_Candidate]]) -> None:
    """``last.ckpt`` and ``model_3.pt`` of a directory belong to the one run that is in it."""
    for run in {key[0] for key in groups}:
        patterns = [key for key in groups if key[0] == run and key[1]]
        if (run, "") in groups and len(patterns) == 1:
            timeless = groups[run, ""]
            if all(candidate.named.value is None for candidate in timeless):
                groups[patterns[0]].extend(groups.pop((run, "")))


def _series_name(key: tuple[Path, str], root: Path, groups: Iterable[tuple[Path, str]]) -> str:
    run, pattern = key
    relative = "" if run == root or not run.is_relative_to(root) else str(run.relative_to(root))
    alone = sum(other[0] == run for other in groups) == 1
    parts = [relative] if alone and relative else [relative, pattern]
    return "/".join(part for part in parts if part) or run.name or "run"


def _ordered(
    name: str, directory: Path, candidates: list[_Candidate], root: Path, left_out: list[LeftOut]
) -> CheckpointSeries:
    unit, notes = _unit(candidates)
    placed: list[tuple[int, bool, _Candidate]] = []
    for candidate in candidates:
        step = _step(candidate, unit)
        if step is None and len(candidates) == 1:
            step = 0
            notes.append(Note(NoteKind.STEP_UNKNOWN))
        if step is None:
            reason = f"no {unit} is stored inside or in its name, as the others have"
            left_out.append(LeftOut(_name(candidate.unit.path, root), reason))
            continue
        named = candidate.named
        if unit == STEP and named.kind == STEP and named.value not in (None, step):
            notes.append(
                Note(
                    NoteKind.STEP_DISAGREES,
                    file=candidate.unit.path.name,
                    named=named.value,
                    step=step,
                )
            )
        placed.append((step, named.value is None, candidate))
    placed.sort(key=lambda entry: (entry[0], entry[1], str(entry[2].unit.path)))
    checkpoints: list[Checkpoint] = []
    for step, _, candidate in placed:
        if checkpoints and checkpoints[-1].step == step:
            reason = f"{unit} {step} again, already read from {checkpoints[-1].path.name}"
            left_out.append(LeftOut(_name(candidate.unit.path, root), reason))
            continue
        origin = STORED if unit == STEP and candidate.stored is not None else NAMED
        checkpoints.append(Checkpoint(candidate.unit.path, step, origin))
    return CheckpointSeries(name, directory, tuple(checkpoints), unit, (), tuple(notes))


_ORDERED_BY = {EPOCH: NoteKind.ORDERED_BY_EPOCH, NUMBER: NoteKind.ORDERED_BY_NUMBER}


def _unit(candidates: list[_Candidate]) -> tuple[str, list[Note]]:
    """The unit that places most of the checkpoints."""
    stepped = sum(c.stored is not None or c.named.kind == STEP for c in candidates)
    for kind in (EPOCH, NUMBER):
        counted = sum(c.named.kind == kind and c.named.value is not None for c in candidates)
        if counted > stepped:
            return kind, [Note(_ORDERED_BY[kind])]
    return STEP, []


def _step(candidate: _Candidate, unit: str) -> int | None:
    if unit == STEP and candidate.stored is not None:
        return candidate.stored
    return candidate.named.value if candidate.named.kind == unit else None


def _with_left_out(
    found: list[CheckpointSeries], left_out: list[LeftOut], root: Path
) -> tuple[tuple[CheckpointSeries, ...], tuple[LeftOut, ...]]:
    """Each entry to the run whose directory it is in, and those that are in none."""
    shares: list[list[LeftOut]] = [[] for _ in found]
    ownerless = []
    for entry in left_out:
        path = root / entry.file
        owners = [i for i, series in enumerate(found) if path.is_relative_to(series.directory)]
        best = max(owners, key=lambda i: len(found[i].directory.parts), default=None)
        if best is None:
            ownerless.append(entry)
        else:
            inside = path.relative_to(found[best].directory)
            shares[best].append(replace(entry, file=inside.as_posix()))
    return (
        tuple(
            replace(series, left_out=tuple(share))
            for series, share in zip(found, shares, strict=True)
        ),
        tuple(ownerless),
    )
