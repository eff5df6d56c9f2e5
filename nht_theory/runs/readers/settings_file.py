"""Settings beside a log: JSON, or YAML of which only plain data is believed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from nht_theory.checkpoints.left_out import LeftOut
from nht_theory.errors import InputError
from nht_theory.runs.readers.text import read_json, read_text


def read_all(paths: Iterable[Path]) -> tuple[dict[str, object], tuple[LeftOut, ...]]:
    """The settings of several files, and the files that are malformed.

    Of a key that several state, the first file's value counts.
    """
    together: dict[str, object] = {}
    left_out = []
    for path in paths:
        try:
            found = read(path)
        except InputError as error:
            left_out.append(LeftOut(path.name, f"settings not read: {error.problem}"))
            continue
        together.update({key: value for key, value in found.items() if key not in together})
    return together, tuple(left_out)


def read(path: Path) -> Mapping[str, object]:
    """The settings of one file.

    Raises:
        InputError: malformed, or not a mapping.
    """
    content = read_json(path) if path.suffix.lower() == ".json" else _read_yaml(path)
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise InputError("settings are not a mapping", source=path)
    return {str(key): value for key, value in content.items()}


UNKNOWN_TAG = "unknown YAML tag "
"""What stands for an object that a YAML file wants built and that is not built."""


def _read_yaml(path: Path) -> Any:
    """Plain data of a YAML file; a tag that asks for an object becomes text, nothing is built."""
    import yaml

    class PlainLoader(yaml.SafeLoader):
        """SafeLoader that reads an unknown tag as the plain data below it."""

    def plain(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> object:
        if isinstance(node, yaml.MappingNode):
            return loader.construct_mapping(node, deep=True)
        if isinstance(node, yaml.SequenceNode):
            return loader.construct_sequence(node, deep=True)
        return f"{UNKNOWN_TAG}{node.tag}"

    PlainLoader.add_multi_constructor("", plain)
    try:
        return yaml.load(read_text(path), Loader=PlainLoader)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        first = str(error).split("\n", 1)[0]
        raise InputError(f"not YAML ({first})", source=path) from None
