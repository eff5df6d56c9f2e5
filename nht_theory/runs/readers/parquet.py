"""Parquet tables (extra ``parquet``)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from nht_theory.errors import InputError, UnsafeFileError
from nht_theory.runs.readers.text import LARGEST_TEXT
from nht_theory.runs.record import Record
from nht_theory.runs.settings import split


def read(path: Path, name: str, beside: Mapping[str, object] | None = None) -> Record:
    """Read one table.

    Raises:
        InputError: pyarrow is not installed, or the file is no Parquet table.
        UnsafeFileError: its columns would take more than ``LARGEST_TEXT`` bytes.
    """
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ImportError:
        raise InputError("Parquet needs pyarrow: pip install 'nht[parquet]'", source=path) from None
    try:
        with parquet.ParquetFile(path) as file:
            size = _unpacked(file.metadata)
            if size > LARGEST_TEXT:
                raise UnsafeFileError(f"{size / 1e9:.1f} GB unpacked", source=path)
            table = file.read()
    except (arrow.ArrowException, OSError, ValueError) as error:
        first = str(error).split("\n", 1)[0]
        raise InputError(f"not a Parquet table ({first})", source=path) from None
    if table.num_rows == 0:
        raise InputError("no rows", source=path)
    cells = {column: table.column(column).to_pylist() for column in table.column_names}
    settings, results = split(beside or {})
    return Record(name=name, source=path, cells=cells, settings=settings, results=results)


def _unpacked(metadata: object) -> int:
    """Bytes of the columns in memory, as the file states them, at eight bytes a cell at least."""
    groups = range(metadata.num_row_groups)  # type: ignore[attr-defined]
    stated = sum(metadata.row_group(i).total_byte_size for i in groups)  # type: ignore[attr-defined]
    cells = metadata.num_rows * metadata.num_columns  # type: ignore[attr-defined]
    return max(int(stated), 8 * int(cells))
