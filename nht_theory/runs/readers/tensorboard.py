"""TensorBoard event files (extra ``tensorboard``): the scalars of one directory are one run."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from nht_theory.errors import InputError
from nht_theory.runs.readers.json_lines import columns_of_rows
from nht_theory.runs.record import Record
from nht_theory.runs.settings import split

MARK = "events.out.tfevents"
"""Part of the name of every event file."""

_HPARAMS = "hparams"
_START = "_hparams_/session_start_info"


def read(paths: Sequence[Path], name: str, beside: Mapping[str, object] | None = None) -> Record:
    """Read one run.

    Args:
        paths: its event files in order of time; a later file continues an earlier one.
        name: name of the run.
        beside: settings from a file beside them; those inside the events go first.

    Raises:
        InputError: tensorboard is not installed, or no scalar is logged.
    """
    rows: list[dict[str, object]] = []
    stored: dict[str, object] = {}
    for path in paths:
        for event in _events(path):
            for value in event.summary.value:
                if value.metadata.plugin_data.plugin_name == _HPARAMS:
                    stored.update(_hparams(value))
                elif (number := _scalar(value)) is not None:
                    if not rows or rows[-1]["step"] != event.step or value.tag in rows[-1]:
                        rows.append({"step": event.step})
                    rows[-1][value.tag] = number
    if not rows:
        raise InputError("no scalar among the events", source=paths[0])
    settings, results = split(beside or {})
    return Record(
        name=name,
        source=paths[0].parent,
        cells=columns_of_rows(rows),
        settings={**settings, **stored},
        results=results,
    )


def _events(path: Path) -> Iterator[Any]:
    try:
        from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
        from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
        from tensorboard.compat.tensorflow_stub import errors
    except ImportError:
        raise InputError(
            "TensorBoard events need: pip install 'nht[tensorboard]'", source=path
        ) from None
    logging.getLogger("tensorboard").setLevel(logging.ERROR)
    try:
        yield from EventFileLoader(str(path)).Load()
    except (errors.OpError, DecodeError, OSError, ValueError) as error:
        first = str(error).split("\n", 1)[0]
        raise InputError(f"broken event file ({first})", source=path) from None


def _scalar(value: Any) -> float | None:
    """The number of a scalar summary in its several encodings; None for anything else."""
    if value.HasField("simple_value"):
        return float(value.simple_value)
    if not value.HasField("tensor") or value.metadata.plugin_data.plugin_name != "scalars":
        return None
    from tensorboard.util import tensor_util

    array = tensor_util.make_ndarray(value.tensor)
    return float(array) if array.ndim == 0 and array.dtype.kind in "fiub" else None


def _hparams(value: Any) -> Iterable[tuple[str, object]]:
    if value.tag != _START:
        return ()
    from tensorboard.plugins.hparams import plugin_data_pb2

    data = plugin_data_pb2.HParamsPluginData.FromString(value.metadata.plugin_data.content)
    found = data.session_start_info.hparams
    return [(key, getattr(item, item.WhichOneof("kind"))) for key, item in found.items()]
