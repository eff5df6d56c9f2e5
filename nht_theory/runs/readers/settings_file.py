"""Settings beside a log: JSON, YAML or pickled arguments, of which only plain data is believed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from nht_theory.checkpoints.directory_units import TRAINING_ARGUMENTS
from nht_theory.checkpoints.notes import LeftOut
from nht_theory.errors import InputError, UnsafeFileError
from nht_theory.runs.readers.text import read_json, read_text

LARGEST_YAML = 1 << 17
"""Bytes beyond which a YAML file of settings is refused: parsing so many takes half a second."""
MOST_ALIASES = 100


def read_all(paths: Iterable[Path]) -> tuple[dict[str, object], tuple[LeftOut, ...]]:
    """The settings of several files, and what in them was not read.

    Of a key that several state, the first file's value counts.
    """
    together: dict[str, object] = {}
    left_out = []
    for path in paths:
        try:
            found, tags = read(path)
        except InputError as error:
            left_out.append(LeftOut(path.name, f"settings not read: {error.problem}"))
            continue
        if tags:
            named = ", ".join(dict.fromkeys(tags))
            left_out.append(LeftOut(path.name, f"objects not built, only their data read: {named}"))
        together.update({key: value for key, value in found.items() if key not in together})
    return together, tuple(left_out)


def read(path: Path) -> tuple[Mapping[str, object], tuple[str, ...]]:
    """The settings of one file, and the YAML tags that asked for an object to be built.

    Raises:
        InputError: malformed, or not a mapping.
        UnsafeFileError: a YAML file that is too large or full of aliases.
    """
    if path.name == TRAINING_ARGUMENTS:
        from nht_theory.runs.readers import training_arguments

        return training_arguments.read(path), ()
    content: Any
    tags: tuple[str, ...] = ()
    if path.suffix.lower() == ".json":
        content = read_json(path)
    else:
        content, tags = _read_yaml(path)
    if content is None:
        return {}, tags
    if not isinstance(content, dict):
        raise InputError("settings are not a mapping", source=path)
    return {str(key): value for key, value in content.items()}, tags


def _read_yaml(path: Path) -> tuple[Any, tuple[str, ...]]:
    """Plain data of a YAML file: a tag that asks for an object is noted, and nothing is built."""
    import yaml

    tags: list[str] = []

    class PlainLoader(yaml.SafeLoader):
        """SafeLoader that reads the plain data below an unknown tag, and few aliases."""

        aliases = 0

        def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
            if self.check_event(yaml.AliasEvent):
                self.aliases += 1
                if self.aliases > MOST_ALIASES:
                    raise UnsafeFileError(f"more than {MOST_ALIASES} aliases", source=path)
            return super().compose_node(parent, index)

        def flatten_mapping(self, node: yaml.MappingNode) -> None:
            """Merge keys are not followed: nested, they grow without bound."""

    def plain(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> object:
        tags.append(suffix)
        if isinstance(node, yaml.MappingNode):
            return loader.construct_mapping(node, deep=True)
        if isinstance(node, yaml.SequenceNode):
            return loader.construct_sequence(node, deep=True)
        return node.value

    PlainLoader.add_multi_constructor("", plain)
    text = read_text(path)
    if len(text) > LARGEST_YAML:
        raise UnsafeFileError(f"{len(text) / 1e6:.1f} MB of settings", source=path)
    try:
        return yaml.load(text, Loader=PlainLoader), tuple(tags)
    except (yaml.YAMLError, RecursionError, ValueError, TypeError, OverflowError) as error:
        first = str(error).split("\n", 1)[0]
        raise InputError(f"not YAML ({first})", source=path) from None
