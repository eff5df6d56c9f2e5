"""Waterbirds and CelebA: which layout lies on the disk, what it says, and what it lacks.

Five layouts are known: Waterbirds' ``metadata.csv``; CelebA's original attribute and partition
texts; their CSV versions; ``metadata_celeba.csv``; and the ``metadata.csv`` that Deep Feature
Reweighting (arXiv 2204.02937) puts beside CelebA's images. Columns are read by name, so further
ones do no harm.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from pathlib import Path

import numpy as np

from nht_theory.errors import InputError
from nht_train.images.arrays import Labels

WATERBIRDS_FOLDER = "waterbird_complete95_forest2water2"
CELEBA_IMAGE_FOLDERS = ("img_align_celeba/img_align_celeba", "img_align_celeba", ".")
"""Where CelebA's pictures lie, the deepest first: one public copy nests the folder twice."""


class Layout(StrEnum):
    """The layouts that are recognised."""

    WATERBIRDS = "Waterbirds metadata.csv"
    CELEBA_TEXT = "CelebA list_attr_celeba.txt and list_eval_partition.txt"
    CELEBA_CSV = "CelebA list_attr_celeba.csv and list_eval_partition.csv"
    CELEBA_METADATA = "CelebA metadata_celeba.csv"
    CELEBA_DFR = "CelebA metadata.csv of Deep Feature Reweighting"


class Split(IntEnum):
    """How every layout numbers its splits."""

    TRAIN = 0
    VALIDATION = 1
    TEST = 2


@dataclass(frozen=True, eq=False)
class SpuriousTable:
    """One row per image.

    Attributes:
        layout: which layout was found.
        image_folder: to which ``filenames`` are relative.
        filenames: relative paths, in the file's order.
        target: y in {0, 1}, shape [n].
        attribute: the spurious attribute in {0, 1}, shape [n].
        split: as in :class:`Split`, shape [n].
        target_name, attribute_name: what y and the attribute are ("waterbird", "water").
    """

    layout: Layout
    image_folder: Path
    filenames: tuple[str, ...]
    target: Labels
    attribute: Labels
    split: Labels
    target_name: str
    attribute_name: str

    def __len__(self) -> int:
        return len(self.filenames)

    @property
    def group(self) -> Labels:
        """Group number 2 y + attribute, shape [n]."""
        return 2 * self.target + self.attribute

    def group_names(self) -> tuple[str, str, str, str]:
        """Names of the groups 0 to 3."""
        target, attribute = self.target_name, self.attribute_name
        return (
            f"not_{target}_not_{attribute}",
            f"not_{target}_{attribute}",
            f"{target}_not_{attribute}",
            f"{target}_{attribute}",
        )

    def counts(self, split: Split) -> tuple[int, int, int, int]:
        """Images of a split in each group."""
        return tuple(np.bincount(self.group[self.split == split], minlength=4).tolist())

    def paths(self, split: Split) -> list[Path]:
        """Image files of a split, in order."""
        return [
            self.image_folder / name
            for name, where in zip(self.filenames, self.split, strict=True)
            if where == split
        ]

    def missing_images(self) -> list[Path]:
        """Files that the table names and the disk lacks."""
        everywhere = (self.image_folder / name for name in self.filenames)
        return [path for path in everywhere if not path.is_file()]


def read_spurious_set(
    path: Path, *, target: str = "Smiling", attribute: str = "Blond_Hair"
) -> SpuriousTable:
    """Find the layout at ``path``, read it, and check that the images are there.

    Args:
        path: the folder of the set.
        target, attribute: CelebA's attributes to predict and to be misled by; used where the
            layout holds all forty.

    Raises:
        InputError: no layout, a missing column, a value that is not allowed, or missing images;
            the file, the line and the key are named.
    """
    table = _read_table(_find_folder(path), target, attribute)
    escaping = [name for name in table.filenames if Path(name).is_absolute() or ".." in name]
    if escaping:
        raise InputError(f"the table names {escaping[0]!r}, outside the folder", source=path)
    missing = table.missing_images()
    if missing:
        raise InputError(
            f"{len(missing)} of {len(table)} images are missing, the first is {missing[0].name}",
            source=missing[0].parent,
            remedy=f"{table.layout} was found; put its images there",
        )
    return table


def _find_folder(path: Path) -> Path:
    if not path.is_dir():
        raise InputError("no such folder", source=path)
    nested = path / WATERBIRDS_FOLDER
    return nested if nested.is_dir() else path


def _read_table(folder: Path, target: str, attribute: str) -> SpuriousTable:
    if (folder / "metadata_celeba.csv").is_file():
        return _read_columns(
            folder / "metadata_celeba.csv",
            Layout.CELEBA_METADATA,
            _celeba_images(folder),
            {"filename": "filename", "y": "y", "attribute": "a", "split": "split"},
            ("y", "a"),
        )
    if (folder / "metadata.csv").is_file():
        celeba = (folder / "img_align_celeba").is_dir()
        return _read_columns(
            folder / "metadata.csv",
            Layout.CELEBA_DFR if celeba else Layout.WATERBIRDS,
            _celeba_images(folder) if celeba else folder,
            {"filename": "img_filename", "y": "y", "attribute": "place", "split": "split"},
            ("y", "place") if celeba else ("waterbird", "water"),
        )
    for layout, suffix in ((Layout.CELEBA_TEXT, "txt"), (Layout.CELEBA_CSV, "csv")):
        attributes = folder / f"list_attr_celeba.{suffix}"
        partition = folder / f"list_eval_partition.{suffix}"
        if attributes.is_file() and partition.is_file():
            return _read_celeba_lists(attributes, partition, layout, target, attribute)
        for present, absent in ((attributes, partition), (partition, attributes)):
            if present.is_file():
                raise InputError(f"{absent.name} is missing beside it", source=present)
    raise InputError(
        "no Waterbirds or CelebA layout found",
        source=folder,
        remedy="it needs metadata.csv, metadata_celeba.csv, or list_attr_celeba and "
        "list_eval_partition as .txt or .csv",
    )


def _celeba_images(folder: Path) -> Path:
    return next(
        folder / name for name in CELEBA_IMAGE_FOLDERS if (folder / name).is_dir()
    )  # "." always is


def _read_columns(
    file: Path,
    layout: Layout,
    image_folder: Path,
    column_of: Mapping[str, str],
    names: tuple[str, str],
) -> SpuriousTable:
    rows = list(_csv_rows(file, column_of.values()))
    numbers = {
        key: _integers(
            file, column, [row[column] for row in rows], (0, 1, 2) if key == "split" else (0, 1)
        )
        for key, column in column_of.items()
        if key != "filename"
    }
    return SpuriousTable(
        layout=layout,
        image_folder=image_folder,
        filenames=tuple(row[column_of["filename"]] for row in rows),
        target=numbers["y"],
        attribute=numbers["attribute"],
        split=numbers["split"],
        target_name=names[0],
        attribute_name=names[1],
    )


def _read_celeba_lists(
    attributes: Path, partition: Path, layout: Layout, target: str, attribute: str
) -> SpuriousTable:
    if layout is Layout.CELEBA_TEXT:
        values = _attribute_text(attributes, (target, attribute))
        splits = dict(_partition_text(partition))
    else:
        wanted = ("image_id", target, attribute)
        values = [
            (row["image_id"], row[target], row[attribute]) for row in _csv_rows(attributes, wanted)
        ]
        splits = {
            row["image_id"]: row["partition"]
            for row in _csv_rows(partition, ("image_id", "partition"))
        }
    without = [name for name, _, _ in values if name not in splits]
    if without:
        raise InputError(f"{without[0]} has no split", source=partition)
    signs = (-1, 1)
    return SpuriousTable(
        layout=layout,
        image_folder=_celeba_images(attributes.parent),
        filenames=tuple(name for name, _, _ in values),
        target=(_integers(attributes, target, [y for _, y, _ in values], signs) + 1) // 2,
        attribute=(_integers(attributes, attribute, [a for *_, a in values], signs) + 1) // 2,
        split=_integers(partition, "partition", [splits[name] for name, *_ in values], (0, 1, 2)),
        target_name=target,
        attribute_name=attribute,
    )


def _attribute_text(file: Path, wanted: tuple[str, str]) -> list[tuple[str, str, str]]:
    """Rows of CelebA's original attribute list, split on any white space."""
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    first = lines[0].strip() if lines else ""
    if not first.isdigit():
        raise InputError(
            f"the first line should be the number of images, but is {first[:40]!r}",
            source=file,
            remedy="public copies are sometimes an HTML error page: download it again",
        )
    names = lines[1].split() if len(lines) > 1 else []
    columns = [_position(file, names, name) for name in wanted]
    rows = []
    for number, line in enumerate(lines[2:], start=3):
        cells = line.split()
        if not cells:
            continue
        if len(cells) != len(names) + 1:
            raise InputError(
                f"line {number} has {len(cells) - 1} values for {len(names)} attributes",
                source=file,
            )
        rows.append((cells[0], cells[1 + columns[0]], cells[1 + columns[1]]))
    if len(rows) != int(first):
        raise InputError(f"{first} images announced, {len(rows)} listed", source=file)
    return rows


def _partition_text(file: Path) -> Iterable[tuple[str, str]]:
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    for number, line in enumerate(lines, start=1):
        cells = line.split()
        if not cells:
            continue
        if len(cells) != 2:
            raise InputError(f"line {number} is not 'file split'", source=file)
        yield cells[0], cells[1]


def _csv_rows(file: Path, wanted: Iterable[str]) -> Iterable[dict[str, str]]:
    with file.open(newline="", encoding="utf-8-sig", errors="replace") as stream:
        reader = csv.DictReader(stream)
        names = [name.strip() for name in reader.fieldnames or []]
        reader.fieldnames = names
        for column in wanted:
            _position(file, names, column)
        for row in reader:
            if any(value is None for value in row.values()):
                raise InputError(f"line {reader.line_num} is cut short", source=file)
            yield row


def _position(file: Path, names: list[str], wanted: str) -> int:
    if wanted not in names:
        found = ", ".join(names[:8]) or "nothing"
        raise InputError(f"no column {wanted!r}", source=file, remedy=f"it holds {found}")
    return names.index(wanted)


def _integers(file: Path, column: str, cells: list[str], allowed: tuple[int, ...]) -> Labels:
    permitted = {str(value): value for value in allowed}
    values = []
    for row, cell in enumerate(cells, start=1):
        value = permitted.get(cell.strip())
        if value is None:
            raise InputError(
                f"{column} is {cell!r} in data row {row}",
                source=file,
                remedy=f"it must be one of {', '.join(permitted)}",
            )
        values.append(value)
    return np.array(values, dtype=np.int64)
