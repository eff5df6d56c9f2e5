"""Squared norms of the parameters of a checkpoint, streamed from its files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from nht_theory.checkpoints.contents import open_checkpoint, stored_copies
from nht_theory.checkpoints.mapped_file import MappedFile
from nht_theory.checkpoints.notes import LeftOut, Note, NoteKind
from nht_theory.checkpoints.optimizer_state import OptimizerSettings
from nht_theory.checkpoints.pickle_machine import gc_disabled
from nht_theory.checkpoints.stored_tensor import StoredTensor
from nht_theory.checkpoints.summation import sums_of_squares
from nht_theory.checkpoints.tensor_names import LIVE

Shape = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class SquaredNorms(Mapping[str, float]):
    """Parameter name -> squared L2 norm, as a mapping, with what was noticed.

    Attributes:
        source: the checkpoint.
        format: how it is stored.
        values: the mapping itself, float64; NaN or infinity where a tensor holds any.
        shapes: parameter name -> shape.
        ties: further name of a parameter -> the name it is counted under.
        copies: those of ``ties`` that are no shared memory but the same bytes stored twice.
        not_finite: parameter name -> number of elements that are NaN or infinite, where any is.
        step: the training step stored inside, or None.
        optimizer: settings read from the optimiser state in or beside the file, or None.
        left_out: tensors and entries that are not counted, each with the reason.
        notes: what reading changed or noticed.
    """

    source: Path
    format: str
    values_by_name: Mapping[str, float]
    shapes: Mapping[str, Shape]
    ties: Mapping[str, str] = field(default_factory=dict)
    copies: Mapping[str, str] = field(default_factory=dict)
    not_finite: Mapping[str, int] = field(default_factory=dict)
    step: int | None = None
    optimizer: OptimizerSettings | None = None
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[Note, ...] = ()

    def __post_init__(self) -> None:
        for name in ("values_by_name", "shapes", "ties", "copies", "not_finite"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    def __getitem__(self, name: str) -> float:
        return self.values_by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_by_name)

    def __len__(self) -> int:
        return len(self.values_by_name)

    @property
    def total(self) -> float:
        """V, the squared norm of all parameters together."""
        return float(sum(self.values_by_name.values()))


def squared_norms(
    file: str | PathLike[str],
    *,
    exact: bool = False,
    weights: str = LIVE,
    read: Callable[[int], None] | None = None,
) -> SquaredNorms:
    """Squared L2 norm of each trained parameter in a checkpoint.

    The file is mapped and read once, a few megabytes at a time; nothing in it is executed, and
    torch is not needed. Buffers (running statistics, masks, tables of positions, integers) and
    optimiser state are not parameters; tied weights count once.

    Args:
        file: a ``.safetensors`` file, one written by ``torch.save`` (``.pt``, ``.pth``, ``.bin``,
            ``.ckpt``), the index of a sharded checkpoint, a directory written by
            torch.distributed.checkpoint, or a directory that holds one of these.
        exact: sum in float64 throughout (1e-12 relative instead of 1e-7, about three times slower).
        weights: ``live``, ``ema`` (exponential moving averages), or the key of the set to take.
        read: called with the number of bytes read, as they are.

    Returns:
        A mapping from name to squared norm (dimensionless), with shapes, ties and left_out.

    Raises:
        InputError: it cannot be read or holds no weights.
        UnsafeFileError: it was made to run code or to exhaust the machine.

    Example:
        >>> import tempfile, numpy as np
        >>> from safetensors.numpy import save_file
        >>> path = tempfile.mkdtemp() + "/model.safetensors"
        >>> save_file({"fc.weight": np.full((2, 3), 2.0, dtype=np.float32)}, path)
        >>> norms = squared_norms(path)
        >>> norms["fc.weight"], norms.total
        (24.0, 24.0)
    """
    with gc_disabled(), open_checkpoint(Path(file), weights) as contents:
        measured = _measured(contents.parameters, exact, read)
        values = {name: value for name, (value, _) in measured.items()}
        copies = stored_copies(contents.parameters, values)
    shapes = {tensor.name: tensor.shape for tensor in contents.parameters}
    not_finite = {name: bad for name, (_, bad) in measured.items() if bad}
    notes = [Note(NoteKind.STORED_TWICE, name=name, other=other) for name, other in copies.items()]
    notes += [
        Note(NoteKind.NOT_FINITE, count=count, name=name) for name, count in not_finite.items()
    ]
    return SquaredNorms(
        source=contents.source,
        format=contents.format,
        values_by_name={name: v for name, v in values.items() if name not in copies},
        shapes={name: shape for name, shape in shapes.items() if name not in copies},
        ties={**contents.ties, **copies},
        copies=copies,
        not_finite=not_finite,
        step=contents.step,
        optimizer=contents.optimizer,
        left_out=contents.left_out,
        notes=(*contents.notes, *notes),
    )


def _measured(
    tensors: Sequence[StoredTensor], exact: bool, read: Callable[[int], None] | None
) -> dict[str, tuple[float, int]]:
    """Name -> sum of squares and number of elements that are not finite, in the given order."""
    measured = {tensor.name: (0.0, 0) for tensor in tensors}
    owners: list[str] = []
    windows: list[NDArray[np.float32]] = []
    files: list[MappedFile] = []
    for tensor in tensors:
        views = tensor.float32_windows()
        if views is None:
            measured[tensor.name] = tensor.squared_norm(exact=exact, read=read)
        for file, window in views or ():
            owners.append(tensor.name)
            windows.append(window)
            files.append(file)
    done = 0

    def report(count: int) -> None:
        nonlocal done
        if read is not None and count > done:
            read(sum(window.nbytes for window in windows[done:count]))
            done = count

    def before(index: int) -> None:
        report(index)
        files[index].touching(windows[index].nbytes)

    found = sums_of_squares(windows, before, exact=exact)
    report(len(windows))
    for name, (value, bad) in zip(owners, found, strict=True):
        measured[name] = measured[name][0] + value, measured[name][1] + bad
    return measured
