"""Image sets as they lie on disks: layouts, coloured borders, and what is refused by name."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from nht_theory.errors import InputError, UnsafeFileError
from nht_train.images.arrays import LabelledImages, TrainAndTest
from nht_train.images.borders import (
    assign_borders,
    border_colours,
    colour_sets,
    greyscale,
    paint_borders,
    shrink,
)
from nht_train.images.classification import CIFAR_TEST, CIFAR_TRAIN, read_classification_set
from nht_train.images.spurious import WATERBIRDS_FOLDER, Layout, Split, read_spurious_set
from nht_train.images.synthetic import CELEBA_ATTRIBUTES, stripes_on_tint, write_spurious_set

CLASSES = 10


@pytest.fixture(scope="module")
def natural() -> TrainAndTest:
    generator = np.random.default_rng(0)

    def half(count: int) -> LabelledImages:
        images = generator.integers(0, 256, (count, 32, 32, 3), dtype=np.uint8)
        return LabelledImages(images, generator.integers(0, CLASSES, count))

    return TrainAndTest(half(4000), half(500), CLASSES, "noise")


def test_the_right_colour_appears_with_the_given_probability(natural: TrainAndTest) -> None:
    labels = natural.train.labels
    borders = assign_borders(labels, 0.8, CLASSES, np.random.default_rng(1))
    share = np.mean(borders == labels)
    assert abs(share - 0.8) < 4 * np.sqrt(0.8 * 0.2 / len(labels))
    # Wrong colours are uniform over the other nine: chi-squared on eight degrees of freedom.
    shift = ((borders - labels) % CLASSES)[borders != labels]
    counts = np.bincount(shift, minlength=CLASSES)[1:]
    expected = counts.sum() / (CLASSES - 1)
    assert ((counts - expected) ** 2 / expected).sum() < 26.1  # 0.999 quantile


def test_a_border_covers_its_width_and_nothing_else(natural: TrainAndTest) -> None:
    images = natural.train.images[:3]
    painted = paint_borders(images, np.array([0, 4, 9]), 3, border_colours(CLASSES))
    assert (painted[:, 3:-3, 3:-3] == images[:, 3:-3, 3:-3]).all()
    frame = np.ones((32, 32), dtype=bool)
    frame[3:-3, 3:-3] = False
    for image, colour in zip(painted, border_colours(CLASSES)[[0, 4, 9]], strict=True):
        assert (image[frame] == colour).all()


def test_border_colours_are_distinct() -> None:
    assert len({tuple(colour) for colour in border_colours(CLASSES).tolist()}) == CLASSES


def test_the_conflict_set_never_shows_the_right_colour(natural: TrainAndTest) -> None:
    sets = colour_sets(natural, strength=0.95, border_width=2, image_size=16, seed=3)
    assert (sets.conflict_borders != sets.conflict.labels).all()
    assert (sets.clean.images == shrink(natural.test.images, 16)).all()


def test_the_shortcut_set_is_grey_inside_and_independent_of_the_picture(
    natural: TrainAndTest,
) -> None:
    sets = colour_sets(natural, strength=0.95, border_width=2, image_size=None, seed=3)
    inside = sets.shortcut.images[:, 2:-2, 2:-2]
    assert (inside[..., 0] == inside[..., 1]).all()
    assert (inside[..., 0] == inside[..., 2]).all()
    assert len(np.unique(inside.reshape(len(inside), -1), axis=0)) == len(inside)
    agreement = np.mean(sets.shortcut.labels == natural.test.labels)
    assert abs(agreement - 1 / CLASSES) < 4 * np.sqrt(0.09 / len(inside))


def test_the_same_seed_gives_the_same_sets(natural: TrainAndTest) -> None:
    one, same, other = (
        colour_sets(natural, strength=0.5, border_width=2, image_size=16, seed=seed)
        for seed in (7, 7, 8)
    )
    assert (one.train.images == same.train.images).all()
    assert (one.train.images != other.train.images).any()


def test_grey_is_the_standard_brightness() -> None:
    pixel = np.array([[[[10, 200, 30]]]], dtype=np.uint8)
    expected = np.asarray(Image.fromarray(pixel[0]).convert("L"))
    assert greyscale(pixel)[0, ..., 0] == expected


def test_shrinking_averages_blocks(natural: TrainAndTest) -> None:
    image = natural.train.images[:1]
    expected = image[0, 0:2, 0:2].astype(float).mean(axis=(0, 1))
    assert np.abs(shrink(image, 16)[0, 0, 0] - expected).max() <= 0.5


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"strength": 1.5}, "probability"),
        ({"border_width": 16}, "no image"),
        ({"image_size": 20}, "averaged"),
    ],
)
def test_impossible_borders_are_refused(
    natural: TrainAndTest, arguments: dict[str, float], complaint: str
) -> None:
    usual = {"strength": 0.5, "border_width": 2, "image_size": None, "seed": 0}
    with pytest.raises(InputError, match=complaint):
        colour_sets(natural, **(usual | arguments))


def _write_cifar(folder: Path, natural: TrainAndTest) -> None:
    folder.mkdir(parents=True)
    parts = np.array_split(np.arange(len(natural.train)), len(CIFAR_TRAIN))
    halves = [(name, natural.train, part) for name, part in zip(CIFAR_TRAIN, parts, strict=True)]
    halves.append((CIFAR_TEST, natural.test, np.arange(len(natural.test))))
    for name, half, part in halves:
        data = half.images[part].transpose(0, 3, 1, 2).reshape(len(part), -1)
        content = {b"data": data, b"labels": half.labels[part].tolist()}
        (folder / name).write_bytes(pickle.dumps(content))


def test_one_set_in_three_layouts_reads_alike(natural: TrainAndTest, tmp_path: Path) -> None:
    few = TrainAndTest(
        LabelledImages(natural.train.images[:40], np.repeat(np.arange(10), 4)),
        LabelledImages(natural.test.images[:20], np.repeat(np.arange(10), 2)),
        CLASSES,
        "",
    )
    _write_cifar(tmp_path / "a" / "cifar-10-batches-py", few)
    np.savez(
        tmp_path / "set.npz",
        x_train=few.train.images,
        y_train=few.train.labels,
        x_test=few.test.images,
        y_test=few.test.labels,
    )
    for half, name in ((few.train, "train"), (few.test, "test")):
        for number, (image, label) in enumerate(zip(half.images, half.labels, strict=True)):
            file = tmp_path / "folders" / name / f"class{label}" / f"{number:04d}.png"
            file.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(image).save(file)
    for place in ("a", "a/cifar-10-batches-py", "set.npz", "folders"):
        read = read_classification_set(tmp_path / place)
        assert read.classes == CLASSES
        for got, wanted in ((read.train, few.train), (read.test, few.test)):
            assert (got.images == wanted.images).all()
            assert (got.labels == wanted.labels).all()


def test_a_cifar_batch_cannot_run_code(natural: TrainAndTest, tmp_path: Path) -> None:
    class Gadget:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.system, (f"touch {tmp_path / 'ran'}",)

    _write_cifar(tmp_path / "set", natural)
    (tmp_path / "set" / CIFAR_TRAIN[2]).write_bytes(pickle.dumps({b"data": Gadget()}))
    with pytest.raises(UnsafeFileError, match="system"):
        read_classification_set(tmp_path / "set")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("breakage", "complaint"),
    [
        (lambda folder: (folder / CIFAR_TRAIN[1]).unlink(), CIFAR_TRAIN[1]),
        (lambda folder: (folder / CIFAR_TEST).write_bytes(b"\x80\x04cut"), "not a CIFAR-10 batch"),
    ],
)
def test_a_damaged_cifar_folder_is_named(natural, tmp_path, breakage, complaint) -> None:
    _write_cifar(tmp_path / "set", natural)
    breakage(tmp_path / "set")
    with pytest.raises(InputError, match=complaint):
        read_classification_set(tmp_path / "set")


def test_an_npz_without_a_key_is_named(tmp_path: Path) -> None:
    np.savez(tmp_path / "set.npz", x_train=np.zeros(3))
    with pytest.raises(InputError, match=r"'y_train'.*x_train"):
        read_classification_set(tmp_path / "set.npz")


def test_the_attributes_stand_where_the_originals_have_them() -> None:
    places = [CELEBA_ATTRIBUTES.index(name) for name in ("Blond_Hair", "Male", "Smiling")]
    assert places == [9, 20, 31]
    assert len(CELEBA_ATTRIBUTES) == 40


@pytest.mark.parametrize("layout", list(Layout))
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_each_layout_reads_what_was_written(layout: Layout, line_end: str, tmp_path: Path) -> None:
    write_spurious_set(tmp_path, layout, counts=(60, 12, 30), seed=4, line_end=line_end)
    table = read_spurious_set(tmp_path)
    assert table.layout is layout
    assert np.bincount(table.split).tolist() == [60, 12, 30]
    generator = np.random.default_rng(4)
    expected = generator.integers(0, 2, 102)
    assert (table.target == expected).all()
    train = table.split == Split.TRAIN
    assert np.mean((table.target == table.attribute)[train]) > 0.85
    assert sum(table.counts(Split.TEST)) == 30
    assert all(path.is_file() for path in table.paths(Split.TEST))


def test_the_group_is_twice_the_target_plus_the_attribute(tmp_path: Path) -> None:
    write_spurious_set(tmp_path, Layout.WATERBIRDS)
    table = read_spurious_set(tmp_path / WATERBIRDS_FOLDER)
    waterbird_on_land = (table.target == 1) & (table.attribute == 0)
    assert (table.group[waterbird_on_land] == 2).all()
    assert table.group_names()[2] == "waterbird_not_water"


def _metadata(tmp_path: Path) -> Path:
    return tmp_path / WATERBIRDS_FOLDER / "metadata.csv"


def _rewrite(file: Path, old: str, new: str) -> None:
    file.write_text(file.read_text().replace(old, new, 1))


def test_a_wrong_column_is_named(tmp_path: Path) -> None:
    write_spurious_set(tmp_path, Layout.WATERBIRDS)
    _rewrite(_metadata(tmp_path), ",place,", ",background,")
    with pytest.raises(InputError, match=r"metadata.csv: no column 'place'; it holds img_id"):
        read_spurious_set(tmp_path)


def test_a_value_out_of_range_is_named_with_its_row(tmp_path: Path) -> None:
    write_spurious_set(tmp_path, Layout.WATERBIRDS)
    lines = _metadata(tmp_path).read_text().splitlines()
    cells = lines[3].split(",")
    cells[2] = "7"
    lines[3] = ",".join(cells)
    _metadata(tmp_path).write_text("\n".join(lines))
    with pytest.raises(InputError, match="y is '7' in data row 3"):
        read_spurious_set(tmp_path)


def test_a_missing_image_is_named(tmp_path: Path) -> None:
    write_spurious_set(tmp_path, Layout.CELEBA_METADATA)
    (tmp_path / "img_align_celeba" / "000007.png").unlink()
    with pytest.raises(InputError, match=r"1 of 160 images are missing.*000007\.png"):
        read_spurious_set(tmp_path)


def test_an_html_error_page_is_refused_by_name(tmp_path: Path) -> None:
    write_spurious_set(tmp_path, Layout.CELEBA_TEXT)
    (tmp_path / "list_attr_celeba.txt").write_text("<!DOCTYPE html>\n<html>")
    with pytest.raises(InputError, match=r"list_attr_celeba.txt: .*number of images.*DOCTYPE"):
        read_spurious_set(tmp_path)


def test_a_cut_attribute_list_is_refused(tmp_path: Path) -> None:
    write_spurious_set(tmp_path, Layout.CELEBA_TEXT)
    file = tmp_path / "list_attr_celeba.txt"
    file.write_text("\n".join(file.read_text().splitlines()[:-3]) + "\n")
    with pytest.raises(InputError, match="160 images announced, 157 listed"):
        read_spurious_set(tmp_path)


def test_half_a_layout_says_what_is_missing(tmp_path: Path) -> None:
    write_spurious_set(tmp_path, Layout.CELEBA_CSV)
    (tmp_path / "list_eval_partition.csv").unlink()
    with pytest.raises(InputError, match=r"list_eval_partition\.csv is missing"):
        read_spurious_set(tmp_path)


def test_a_table_cannot_point_outside_its_folder(tmp_path: Path) -> None:
    write_spurious_set(tmp_path, Layout.WATERBIRDS)
    _rewrite(_metadata(tmp_path), "000.Bird/000000.png", "../../secret.png")
    with pytest.raises(InputError, match="outside the folder"):
        read_spurious_set(tmp_path)


def test_extra_columns_do_no_harm(tmp_path: Path) -> None:
    write_spurious_set(tmp_path, Layout.WATERBIRDS)
    plain = read_spurious_set(tmp_path)
    file = _metadata(tmp_path)
    lines = file.read_text().splitlines()
    header, *rows = [f"class_id,{line}" if n == 0 else f"9,{line}" for n, line in enumerate(lines)]
    file.write_text("\n".join([header, *rows]))
    assert (read_spurious_set(tmp_path).group == plain.group).all()


def test_stripes_and_tint_are_independent_signals() -> None:
    generator = np.random.default_rng(0)
    target = np.array([0, 0, 1, 1])
    images = stripes_on_tint(
        target, np.array([0, 1, 0, 1]), size=16, contrast=60, tint=60, generator=generator
    ).astype(float)
    along_rows = np.abs(np.diff(images.mean(3), axis=1)).mean(axis=(1, 2))
    along_columns = np.abs(np.diff(images.mean(3), axis=2)).mean(axis=(1, 2))
    assert ((along_columns > along_rows) == (target == 1)).all()
    blue_minus_green = (images[..., 2] - images[..., 1]).mean(axis=(1, 2))
    assert ((blue_minus_green > 0) == [False, True, False, True]).all()


@pytest.mark.parametrize("separation", [1.0, 0.5, 0.0])
def test_separation_moves_the_colour_from_the_background_into_the_stripes(
    separation: float,
) -> None:
    count, tint = 400, 40.0
    labels = np.zeros(count, dtype=np.int64)
    images = stripes_on_tint(
        labels,
        labels,
        size=16,
        contrast=0.0,
        tint=tint,
        separation=separation,
        generator=np.random.default_rng(0),
    ).astype(float)
    even = images[..., 1].mean() - images[..., 0].mean()
    assert even == pytest.approx(separation * tint, abs=0.5)
    # The rest varies along the rows' direction only, with the same root mean square.
    rows = images[..., 1].mean(axis=2) - images[..., 1].mean(axis=(1, 2))[:, None]
    noise = 20.0**2 / 16
    assert rows.var() - noise == pytest.approx(((1 - separation) * tint) ** 2, abs=25)
    across = images[..., 1].mean(axis=1)
    assert across.var(axis=1).mean() < 2 * noise
