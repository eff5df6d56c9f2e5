"""Small image sets made here, in exactly the layouts of the originals.

They let every path be run without the originals, with the shortcut's strength, the visibility of
the true signal and the separation of the two under control. A picture is a noisy background whose
tint is the spurious attribute, and a pattern of stripes whose direction is the target.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from PIL import Image

from nht_train.images.arrays import Images, Labels
from nht_train.images.spurious import WATERBIRDS_FOLDER, Layout, Split

CELEBA_ATTRIBUTES = (
    "5_o_Clock_Shadow",
    "Arched_Eyebrows",
    "Attractive",
    "Bags_Under_Eyes",
    "Bald",
    "Bangs",
    "Big_Lips",
    "Big_Nose",
    "Black_Hair",
    "Blond_Hair",
    "Blurry",
    "Brown_Hair",
    "Bushy_Eyebrows",
    "Chubby",
    "Double_Chin",
    "Eyeglasses",
    "Goatee",
    "Gray_Hair",
    "Heavy_Makeup",
    "High_Cheekbones",
    "Male",
    "Mouth_Slightly_Open",
    "Mustache",
    "Narrow_Eyes",
    "No_Beard",
    "Oval_Face",
    "Pale_Skin",
    "Pointy_Nose",
    "Receding_Hairline",
    "Rosy_Cheeks",
    "Sideburns",
    "Smiling",
    "Straight_Hair",
    "Wavy_Hair",
    "Wearing_Earrings",
    "Wearing_Hat",
    "Wearing_Lipstick",
    "Wearing_Necklace",
    "Wearing_Necktie",
    "Young",
)
"""CelebA's forty attributes in its order: Blond_Hair is 9, Male 20, Smiling 31."""


def stripes_on_tint(
    target: Labels,
    attribute: Labels,
    *,
    size: int,
    contrast: float,
    tint: float,
    separation: float = 1.0,
    generator: np.random.Generator,
) -> Images:
    """Pictures whose stripes tell the target and whose tint tells the attribute.

    Args:
        target: 0 for horizontal stripes, 1 for vertical ones, shape [n].
        attribute: 0 for a green background, 1 for a blue one, shape [n].
        size: height and width in pixels.
        contrast: amplitude of the stripes beside noise of standard deviation 20; small values
            make the target hard to see.
        tint: amplitude of the attribute's colour; 0 hides the attribute.
        separation: share of the colour that lies evenly on the background; the rest colours the
            stripes, at the same root mean square. At 1 target and attribute are different
            patterns; at 0 the attribute is seen in nothing but the colour of the pattern that
            tells the target.
        generator: of phases and noise.

    Example:
        >>> labels = np.array([0, 1])
        >>> generator = np.random.default_rng(0)
        >>> images = stripes_on_tint(
        ...     labels, labels, size=8, contrast=40, tint=60, generator=generator
        ... )
        >>> images.shape
        (2, 8, 8, 3)
    """
    count = len(target)
    phase = generator.uniform(0, 2 * np.pi, count)[:, None]
    wave = np.sin(2 * np.pi * np.arange(size)[None, :] / 4 + phase)
    rows = np.broadcast_to(wave[:, :, None], (count, size, size))
    along = np.where(target[:, None, None] == 0, rows, rows.transpose(0, 2, 1))
    pictures = 110 + contrast * along[..., None] + generator.normal(0, 20, (count, size, size, 3))
    colour = tint * (separation + (1 - separation) * np.sqrt(2) * along)
    pictures[..., 1] += colour * (attribute == 0)[:, None, None]
    pictures[..., 2] += colour * (attribute == 1)[:, None, None]
    return np.clip(np.round(pictures), 0, 255).astype(np.uint8)


def write_spurious_set(
    folder: Path,
    layout: Layout,
    *,
    counts: tuple[int, int, int] = (80, 40, 40),
    correlation: float = 0.95,
    size: int = 16,
    contrast: float = 40.0,
    tint: float = 60.0,
    separation: float = 1.0,
    seed: int = 0,
    line_end: str = "\n",
) -> None:
    """Write a set in one of the five layouts.

    Args:
        folder: made if absent.
        layout: which one.
        counts: images in the training, validation and test split.
        correlation: share of training images whose attribute equals the target; one half in the
            other splits, as in Waterbirds.
        size: of the square images, in pixels.
        contrast, tint, separation: as in :func:`stripes_on_tint`.
        seed: of every draw.
        line_end: of the text files (``\\r\\n`` occurs in public copies).
    """
    generator = np.random.default_rng(seed)
    split = np.repeat(np.arange(3), counts)
    target = generator.integers(0, 2, len(split))
    agree = generator.random(len(split)) < np.where(split == Split.TRAIN, correlation, 0.5)
    attribute = np.where(agree, target, 1 - target)
    images = stripes_on_tint(
        target,
        attribute,
        size=size,
        contrast=contrast,
        tint=tint,
        separation=separation,
        generator=generator,
    )
    if layout is Layout.WATERBIRDS:
        root = folder / WATERBIRDS_FOLDER
        names = [f"{number:03d}.Bird/{number:06d}.png" for number in range(len(split))]
        image_folder = root
    else:
        root = folder
        names = [f"{number + 1:06d}.png" for number in range(len(split))]
        image_folder = root / "img_align_celeba"
    for name, image in zip(names, images, strict=True):
        file = image_folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(file)
    rows = list(zip(names, target.tolist(), attribute.tolist(), split.tolist(), strict=True))
    _WRITERS[layout](root, rows, line_end)


Rows = list[tuple[str, int, int, int]]


def _write_csv(file: Path, header: list[str], rows: list[list[object]], line_end: str) -> None:
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator=line_end)
        writer.writerow(header)
        writer.writerows(rows)


def _write_metadata(root: Path, rows: Rows, line_end: str) -> None:
    _write_csv(
        root / "metadata.csv",
        ["img_id", "img_filename", "y", "split", "place", "place_filename"],
        [
            [number, name, y, split, place, f"/place/{place}/{number:08d}.jpg"]
            for number, (name, y, place, split) in enumerate(rows, start=1)
        ],
        line_end,
    )


def _write_metadata_celeba(root: Path, rows: Rows, line_end: str) -> None:
    _write_csv(
        root / "metadata_celeba.csv",
        ["id", "filename", "split", "y", "a"],
        [[number, name, split, y, a] for number, (name, y, a, split) in enumerate(rows)],
        line_end,
    )


def _signs(y: int, a: int) -> list[int]:
    values = dict.fromkeys(CELEBA_ATTRIBUTES, -1)
    values["Smiling"], values["Blond_Hair"] = 2 * y - 1, 2 * a - 1
    return list(values.values())


def _write_celeba_csv(root: Path, rows: Rows, line_end: str) -> None:
    _write_csv(
        root / "list_attr_celeba.csv",
        ["image_id", *CELEBA_ATTRIBUTES],
        [[name, *_signs(y, a)] for name, y, a, _ in rows],
        line_end,
    )
    _write_csv(
        root / "list_eval_partition.csv",
        ["image_id", "partition"],
        [[name, split] for name, _, _, split in rows],
        line_end,
    )


def _write_celeba_text(root: Path, rows: Rows, line_end: str) -> None:
    lines = [str(len(rows)), " ".join(CELEBA_ATTRIBUTES) + " "]
    lines += [name + "".join(f"{value:3d}" for value in _signs(y, a)) for name, y, a, _ in rows]
    attributes = line_end.join([*lines, ""])
    (root / "list_attr_celeba.txt").write_bytes(attributes.encode())
    partition = line_end.join([*(f"{name} {split}" for name, _, _, split in rows), ""])
    (root / "list_eval_partition.txt").write_bytes(partition.encode())


_WRITERS = {
    Layout.WATERBIRDS: _write_metadata,
    Layout.CELEBA_DFR: _write_metadata,
    Layout.CELEBA_METADATA: _write_metadata_celeba,
    Layout.CELEBA_CSV: _write_celeba_csv,
    Layout.CELEBA_TEXT: _write_celeba_text,
}
