"""Decoding of image files, with errors that name the file."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from PIL import Image, UnidentifiedImageError

from nht_theory.errors import InputError
from nht_train.images.arrays import Images, check_memory

DECODING_THREADS = 2


def read_image(path: Path, size: int | None) -> Images:
    """One image as uint8 RGB, shape [height, width, 3].

    Args:
        path: any format that Pillow knows.
        size: resized to size x size (bilinear, antialiased); None keeps the file's own.

    Raises:
        InputError: no such file, or it is not a whole image.
    """
    try:
        with Image.open(path) as image:
            rgb = image.convert("RGB")
    except FileNotFoundError:
        raise InputError("image is missing", source=path) from None
    except (UnidentifiedImageError, OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise InputError(
            f"not a whole image ({error})", source=path, remedy="fetch this file again"
        ) from None
    if size is not None and rgb.size != (size, size):
        rgb = rgb.resize((size, size), Image.Resampling.BILINEAR)
    return np.asarray(rgb, dtype=np.uint8)


def read_images(paths: Sequence[Path], size: int) -> Images:
    """Many images, resized alike: uint8, shape [n, size, size, 3], in the order given.

    Raises:
        InputError: as :func:`read_image`, or too many to hold in memory.
    """
    check_memory(len(paths), size, size, paths[0].parent if paths else "images")
    images = np.empty((len(paths), size, size, 3), dtype=np.uint8)

    def decode(index: int) -> None:
        images[index] = read_image(paths[index], size)

    with ThreadPoolExecutor(DECODING_THREADS) as pool:
        for _ in pool.map(decode, range(len(paths))):
            pass
    return images
