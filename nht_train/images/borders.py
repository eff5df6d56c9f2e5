"""Coloured borders: a shortcut of chosen strength painted around natural images.

The construction of arXiv 2603.07323: each class has its border colour; in training the right one
appears with probability rho, otherwise another class's, uniformly.
"""

from __future__ import annotations

import colorsys
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nht_theory.errors import InputError
from nht_train.images.arrays import Images, LabelledImages, Labels, TrainAndTest

LUMA = np.array([0.299, 0.587, 0.114])
"""Weights of red, green and blue in the brightness of a colour (ITU-R BT.601)."""


def border_colours(classes: int) -> Images:
    """A saturated colour per class, evenly spaced in hue: uint8, shape [classes, 3].

    Example:
        >>> border_colours(3)
        array([[255,   0,   0],
               [  0, 255,   0],
               [  0,   0, 255]], dtype=uint8)
    """
    wheel = [colorsys.hsv_to_rgb(number / classes, 1.0, 1.0) for number in range(classes)]
    return np.round(np.array(wheel) * 255).astype(np.uint8)


def assign_borders(
    labels: Labels, strength: float, classes: int, generator: np.random.Generator
) -> Labels:
    """Which class's colour each image gets, int64, shape [n].

    Args:
        labels: true classes, shape [n].
        strength: rho, the probability of the right colour; otherwise uniform over the others.
        classes: number of classes.
        generator: of the draw.

    Raises:
        InputError: rho is not a probability.

    Example:
        >>> labels = np.array([0, 1, 2])
        >>> assign_borders(labels, 1.0, 3, np.random.default_rng(0)).tolist()
        [0, 1, 2]
        >>> bool((assign_borders(labels, 0.0, 3, np.random.default_rng(0)) != labels).all())
        True
    """
    if not 0.0 <= strength <= 1.0:
        raise InputError(f"{strength} is not a probability", source="task.shortcut_strength")
    right = generator.random(len(labels)) < strength
    other = (labels + generator.integers(1, classes, len(labels))) % classes
    return np.where(right, labels, other)


def paint_borders(images: Images, borders: Labels, width: int, colours: Images) -> Images:
    """A copy of the images with a frame of ``width`` pixels in each image's colour.

    Args:
        images: uint8, shape [n, height, width, 3].
        borders: row of ``colours`` for each image, shape [n].
        width: of the frame, in pixels.
        colours: uint8, shape [classes, 3].

    Example:
        >>> grey = np.full((1, 4, 4, 3), 9, dtype=np.uint8)
        >>> paint_borders(grey, np.array([1]), 1, border_colours(3))[0, :, :, 1]
        array([[255, 255, 255, 255],
               [255,   9,   9, 255],
               [255,   9,   9, 255],
               [255, 255, 255, 255]], dtype=uint8)
    """
    painted = images.copy()
    paint = colours[borders][:, None, None, :]
    if width:
        painted[:, :width] = paint
        painted[:, -width:] = paint
        painted[:, :, :width] = paint
        painted[:, :, -width:] = paint
    return painted


def greyscale(images: Images) -> Images:
    """The brightness of each pixel in all three channels."""
    brightness = np.round(images.astype(np.float32) @ LUMA.astype(np.float32))
    return np.repeat(brightness.astype(np.uint8)[..., None], 3, axis=-1)


def shrink(images: Images, size: int) -> Images:
    """Images averaged over blocks to ``size`` x ``size``.

    Raises:
        InputError: the present size is no multiple of ``size``.
    """
    count, height, width, _ = images.shape
    if height % size or width % size:
        raise InputError(
            f"{height}x{width} images cannot be averaged to {size}x{size}",
            source="task.image_size",
            remedy="choose a divisor",
        )
    blocks = images.reshape(count, size, height // size, size, width // size, 3)
    return np.round(blocks.mean(axis=(2, 4), dtype=np.float32)).astype(np.uint8)


@dataclass(frozen=True, eq=False)
class ColouredSets:
    """A training set with coloured borders and the four sets that tell what was learned.

    Attributes:
        train: images with borders, true labels.
        train_borders: which class's colour each training image got, shape [n].
        coloured: test images with borders drawn as in training.
        clean: test images without a border.
        shortcut: greyscale test images with a border drawn independently of the image; the label
            is the border's class, so that the picture itself says nothing about it.
        conflict: test images with another class's border, true labels.
        conflict_borders: the classes of those borders: answering them is reliance on the
            shortcut, any other wrong answer is confusion.
        classes: number of classes.
    """

    train: LabelledImages
    train_borders: NDArray[np.int64]
    coloured: LabelledImages
    clean: LabelledImages
    shortcut: LabelledImages
    conflict: LabelledImages
    conflict_borders: NDArray[np.int64]
    classes: int


def colour_sets(
    source: TrainAndTest, *, strength: float, border_width: int, image_size: int | None, seed: int
) -> ColouredSets:
    """Draw the training set and the four test sets.

    Args:
        source: natural images.
        strength: rho in [0, 1].
        border_width: in pixels of the final image.
        image_size: the images are averaged to this size first; None keeps theirs.
        seed: of every draw.
    """
    train, test = source.train.images, source.test.images
    if image_size is not None and image_size != train.shape[1]:
        train, test = shrink(train, image_size), shrink(test, image_size)
    if not 0 <= border_width < min(train.shape[1:3]) / 2:
        raise InputError(f"{border_width} pixels leave no image", source="task.border_width")
    generator = np.random.default_rng(seed)
    colours = border_colours(source.classes)
    train_borders = assign_borders(source.train.labels, strength, source.classes, generator)
    test_borders = assign_borders(source.test.labels, strength, source.classes, generator)
    conflict_borders = assign_borders(source.test.labels, 0.0, source.classes, generator)
    free_borders = generator.integers(0, source.classes, len(test))

    def painted(images: Images, borders: Labels, labels: Labels) -> LabelledImages:
        return LabelledImages(paint_borders(images, borders, border_width, colours), labels)

    return ColouredSets(
        train=painted(train, train_borders, source.train.labels),
        train_borders=train_borders,
        coloured=painted(test, test_borders, source.test.labels),
        clean=LabelledImages(test, source.test.labels),
        shortcut=painted(greyscale(test), free_borders, free_borders),
        conflict=painted(test, conflict_borders, source.test.labels),
        conflict_borders=conflict_borders,
        classes=source.classes,
    )
