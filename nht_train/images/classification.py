"""Classification sets on disk: CIFAR-10 as torchvision leaves it, an ``.npz``, class folders."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np

from nht_theory.errors import InputError, UnsafeFileError
from nht_train.images.arrays import LabelledImages, TrainAndTest, check_memory
from nht_train.images.files import read_image, read_images

CIFAR_FOLDER = "cifar-10-batches-py"
CIFAR_TRAIN = tuple(f"data_batch_{number}" for number in range(1, 6))
CIFAR_TEST = "test_batch"
NPZ_KEYS = ("x_train", "y_train", "x_test", "y_test")
IMAGE_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".ppm", ".webp"})


def read_classification_set(path: Path, *, download: bool = False) -> TrainAndTest:
    """Read whichever known layout lies at ``path``.

    Args:
        path: an ``.npz``; ``cifar-10-batches-py`` or the folder that holds it; or a folder with
            ``train`` and ``test``, each with a folder per class (alphabetical order = label).
        download: fetch CIFAR-10 with torchvision when it is not there.

    Raises:
        InputError: none of these layouts, or one with something missing; it is named.
    """
    if path.suffix == ".npz":
        return _read_npz(path)
    for folder in (path, path / CIFAR_FOLDER):
        if (folder / CIFAR_TRAIN[0]).is_file() or (folder / CIFAR_TEST).is_file():
            return _read_cifar_batches(folder)
    if (path / "train").is_dir() and (path / "test").is_dir():
        return _read_class_folders(path)
    if download:
        from torchvision.datasets import CIFAR10

        CIFAR10(str(path), download=True)
        return _read_cifar_batches(path / CIFAR_FOLDER)
    raise InputError(
        "no image set found" if path.exists() else "no such file or folder",
        source=path,
        remedy=f"give an .npz with {', '.join(NPZ_KEYS)}, a folder with {CIFAR_FOLDER}, a folder "
        "with train/CLASS/ and test/CLASS/, or set download = true",
    )


def _read_npz(path: Path) -> TrainAndTest:
    try:
        with np.load(path, allow_pickle=False) as content:
            missing = [key for key in NPZ_KEYS if key not in content]
            if missing:
                raise InputError(
                    f"no array {missing[0]!r}",
                    source=path,
                    remedy=f"it holds {', '.join(content.files)}",
                )
            x_train, y_train, x_test, y_test = (content[key] for key in NPZ_KEYS)
    except (OSError, ValueError) as error:
        raise InputError(f"not a readable .npz ({error})", source=path) from None
    return _assemble(x_train, y_train, x_test, y_test, "npz")


def _read_cifar_batches(folder: Path) -> TrainAndTest:
    missing = [name for name in (*CIFAR_TRAIN, CIFAR_TEST) if not (folder / name).is_file()]
    if missing:
        raise InputError(f"{missing[0]} is missing", source=folder)
    train = [_read_cifar_batch(folder / name) for name in CIFAR_TRAIN]
    x_test, y_test = _read_cifar_batch(folder / CIFAR_TEST)
    return _assemble(
        np.concatenate([images for images, _ in train]),
        np.concatenate([labels for _, labels in train]),
        x_test,
        y_test,
        CIFAR_FOLDER,
    )


def _read_cifar_batch(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """One pickle of {data: uint8 [n, 3072] channel-first, labels}."""
    with path.open("rb") as file:
        try:
            content = _ArrayUnpickler(file, encoding="bytes").load()
            data = np.asarray(content[b"data" if b"data" in content else "data"])
            labels = np.asarray(content[b"labels" if b"labels" in content else "labels"])
            images = data.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        except UnsafeFileError:
            raise
        except Exception as error:  # a damaged pickle raises nearly anything
            raise InputError(f"not a CIFAR-10 batch ({error!r})", source=path) from None
    return np.ascontiguousarray(images), labels


class _ArrayUnpickler(pickle.Unpickler):
    """Knows how NumPy writes an array and nothing else, so a batch file cannot run code."""

    _ALLOWED = frozenset(
        (module, name)
        for package in ("numpy.core", "numpy._core")
        for module, name in (
            (f"{package}.multiarray", "_reconstruct"),
            (f"{package}.multiarray", "scalar"),
            (f"{package}.numeric", "_frombuffer"),
            ("numpy", "ndarray"),
            ("numpy", "dtype"),
            ("_codecs", "encode"),
        )
    )

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self._ALLOWED:
            raise UnsafeFileError(f"the pickle asks for {module}.{name}, which is refused")
        return super().find_class(module, name)


def _read_class_folders(path: Path) -> TrainAndTest:
    classes = sorted(entry.name for entry in (path / "train").iterdir() if entry.is_dir())
    if not classes:
        raise InputError("no class folder", source=path / "train")
    found = sorted(entry.name for entry in (path / "test").iterdir() if entry.is_dir())
    if found != classes:
        odd = sorted(set(found) ^ set(classes))
        raise InputError(f"class {odd[0]} is in only one of train and test", source=path)
    size = _common_size(path / "train" / classes[0])
    halves = []
    for half in ("train", "test"):
        files = [
            (file, label)
            for label, name in enumerate(classes)
            for file in sorted((path / half / name).iterdir())
            if file.suffix.lower() in IMAGE_SUFFIXES
        ]
        images = read_images([file for file, _ in files], size)
        halves.extend((images, np.array([label for _, label in files], dtype=np.int64)))
    return _assemble(halves[0], halves[1], halves[2], halves[3], "class folders")


def _common_size(folder: Path) -> int:
    for file in sorted(folder.iterdir()):
        if file.suffix.lower() in IMAGE_SUFFIXES:
            return int(max(read_image(file, None).shape[:2]))
    raise InputError("no image", source=folder)


def _assemble(
    x_train: np.ndarray, y_train: np.ndarray, x_test: np.ndarray, y_test: np.ndarray, layout: str
) -> TrainAndTest:
    check_memory(len(x_train) + len(x_test), *x_train.shape[1:3], layout)
    y_train = np.asarray(y_train, dtype=np.int64).ravel()
    y_test = np.asarray(y_test, dtype=np.int64).ravel()
    return TrainAndTest(
        LabelledImages(x_train, y_train),
        LabelledImages(x_test, y_test),
        classes=int(y_train.max()) + 1,
        layout=layout,
    )
