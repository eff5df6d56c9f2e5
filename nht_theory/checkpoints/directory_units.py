"""Which files of a directory are one checkpoint each, and which are none."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from nht_theory.checkpoints import mapped_file
from nht_theory.checkpoints.mapped_file import why_not_followed
from nht_theory.checkpoints.notes import LeftOut
from nht_theory.errors import InputError

SUFFIXES = (".safetensors", ".pt", ".pth", ".bin", ".ckpt")
DISTRIBUTED_METADATA = ".metadata"
INDEX_SUFFIXES = (".safetensors.index.json", ".bin.index.json")
TRAINING_ARGUMENTS = "training_args.bin"
"""Settings that Transformers' Trainer pickles beside its weights: no checkpoint."""
RESUME_DIRECTORY = "latest"
"""Of our run directories: what resuming needs, a copy of the last step."""

_SHARD = re.compile(r"(?P<base>.+)-\d{5}-of-\d{5}(?P<suffix>\.safetensors|\.bin)$")
_COMPANION = re.compile(
    r"^(optimizer\w*|scheduler\w*|rng_state\w*|random_states\w*|scaler\w*"
    r"|trainer_state|.*optim_states|lr_scheduler\w*|optim|opt)\.(pt|pth|bin|ckpt|safetensors)$"
)
_CARRIER = re.compile(r"^(checkpoints?|ckpts?|weights|models?|snapshots?|saved_models?)$", re.I)
_STEP_DIRECTORY = re.compile(
    r"^(.*[_-])?(checkpoint|ckpt|step|global_?step|epoch|ep|iter|iteration|update)s?[=_-]?\d+.*$",
    re.I,
)


@dataclass(frozen=True)
class Unit:
    """One checkpoint as it lies on the disk.

    Attributes:
        path: a file, an index of shards, or a directory written by torch.distributed.checkpoint.
        label: the name that carries its number (of the file, or of the directory it is in).
        run: the directory of the run it belongs to.
    """

    path: Path
    label: str
    run: Path


def find_units(root: Path) -> tuple[list[Unit], list[LeftOut]]:
    """Every checkpoint below a directory, and the files that look like one and are none.

    Links are not followed: a loop cannot form and the directory cannot be left.

    Raises:
        InputError: more entries than :mod:`nht_theory.checkpoints.mapped_file` allows.
    """
    units: list[Unit] = []
    left_out: list[LeftOut] = []
    for folder, names in _walk(root, left_out):
        units.extend(_units_of(folder, names, root, left_out))
    return units, left_out


def units_in(directory: Path) -> tuple[list[Unit], list[LeftOut]]:
    """The checkpoints that lie in one directory itself, not below it.

    Raises:
        InputError: it cannot be listed.
    """
    left_out: list[LeftOut] = []
    try:
        names = sorted(entry.name for entry in os.scandir(directory) if entry.is_file())
    except OSError as error:
        reason = (error.strerror or "cannot be listed").lower()
        raise InputError(reason, source=directory, remedy="check its permissions") from error
    return list(_units_of(directory, names, directory, left_out)), left_out


def unit_of_file(path: Path) -> Unit:
    """The unit of one file or directory that was named itself."""
    label = path.name
    for suffix in (*INDEX_SUFFIXES, *SUFFIXES):
        if label.endswith(suffix):
            label = label[: -len(suffix)]
            break
    folder = path.parent
    if _STEP_DIRECTORY.match(folder.name) and not re.search(r"\d", label):
        label, folder = folder.name, folder.parent
    while _CARRIER.match(folder.name) and folder != folder.parent:
        folder = folder.parent
    return Unit(path, label, folder)


def _walk(root: Path, left_out: list[LeftOut]) -> Iterator[tuple[Path, list[str]]]:
    pending: list[tuple[Path, int]] = [(root, 0)]
    entries = 0
    while pending:
        folder, depth = pending.pop()
        files: list[str] = []
        folders: list[Path] = []
        try:
            with os.scandir(folder) as found:
                listed = sorted(found, key=lambda entry: entry.name)
        except OSError as error:
            left_out.append(
                LeftOut(_relative(folder, root), (error.strerror or str(error)).lower())
            )
            continue
        entries += len(listed)
        if entries > mapped_file.DIRECTORY_ENTRIES:
            raise InputError(
                f"more than {mapped_file.DIRECTORY_ENTRIES} files and directories",
                source=root,
                remedy="give the directory of fewer runs",
            )
        for entry in listed:
            path = Path(entry.path)
            if entry.is_symlink():
                left_out.append(LeftOut(_relative(path, root), why_not_followed(path, root)))
            elif entry.is_dir(follow_symlinks=False):
                folders.append(path)
            elif entry.is_file(follow_symlinks=False):
                files.append(entry.name)
            elif _looks_like_one(entry.name):
                left_out.append(LeftOut(_relative(path, root), "not a regular file"))
        yield folder, files
        if depth + 1 > mapped_file.DIRECTORY_DEPTH and folders:
            reason = f"more than {mapped_file.DIRECTORY_DEPTH} levels down, not searched"
            left_out.extend(LeftOut(_relative(path, root), reason) for path in folders)
            continue
        pending.extend((path, depth + 1) for path in reversed(folders))


def _relative(path: Path, root: Path) -> str:
    return str(path.relative_to(root)) if path != root else str(root)


def _looks_like_one(name: str) -> bool:
    return name.endswith(SUFFIXES) and name != TRAINING_ARGUMENTS


def _units_of(
    folder: Path, names: list[str], root: Path, left_out: list[LeftOut]
) -> Iterator[Unit]:
    def leave(name: str, reason: str) -> None:
        left_out.append(LeftOut(_relative(folder / name, root), reason))

    if folder.name == RESUME_DIRECTORY and folder != root:
        for name in filter(_looks_like_one, names):
            leave(name, "kept for resuming: a copy of the last step")
        return
    if DISTRIBUTED_METADATA in names and any(name.endswith(".distcp") for name in names):
        yield unit_of_file(folder)
        names = [name for name in names if not name.endswith(".distcp")]
    elif any(name.endswith(".distcp") for name in names):
        leave("*.distcp", "shards without their .metadata: the checkpoint is not whole")
    indices = [name for name in names if name.endswith(INDEX_SUFFIXES)]
    indexed = {name.partition(".")[0] for name in indices}
    candidates: list[str] = []
    for name in names:
        shard = _SHARD.match(name)
        stem = name.partition(".")[0]
        if not _looks_like_one(name):
            continue
        if shard and shard["base"] in indexed:
            continue  # read through its index
        if shard:
            leave(name, "a shard without its index: the checkpoint is not whole")
        elif _COMPANION.match(name):
            leave(name, "state of the optimiser, scheduler or generators, no weights")
        elif stem in indexed:
            leave(name, f"stands beside the shards that {stem}.*.index.json names: not read")
        else:
            candidates.append(name)
    for name in _one_format(candidates, leave) + indices:
        yield unit_of_file(folder / name)


def _one_format(candidates: list[str], leave: Callable[[str, str], None]) -> list[str]:
    """Transformers may write the same weights twice: model.safetensors is taken."""
    if "model.safetensors" in candidates and "pytorch_model.bin" in candidates:
        leave("pytorch_model.bin", "the same weights as model.safetensors, which is read")
        return [name for name in candidates if name != "pytorch_model.bin"]
    return candidates
