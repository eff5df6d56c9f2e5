"""Names and options in a configuration: looked up in a table, checked against a signature.

Tasks, models, optimisers and schedules are plain functions (or classes). A section of the
configuration names one and gives its keyword arguments; the signature is the schema, so a
new task needs no second description of its options.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, get_type_hints

from pydantic import ConfigDict, ValidationError, create_model

from nht_theory.errors import InputError


def nearest(name: str, known: Iterable[str]) -> str:
    """A remedy that names the closest known name, or all of them.

    Example:
        >>> nearest("weight_decy", ["weight_decay", "learning_rate"])
        'did you mean weight_decay?'
        >>> nearest("zzz", ["a", "b"])
        'known: a, b'
    """
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    return f"did you mean {close[0]}?" if close else f"known: {', '.join(names) or 'none'}"


def look_up(name: str, table: Mapping[str, str], kind: str) -> Callable[..., Any]:
    """The function that ``name`` stands for.

    Args:
        name: a key of ``table``, or ``package.module:function`` for one of the user's own.
        table: name -> ``package.module:function``.
        kind: what it is, for the error ("task").

    Raises:
        InputError: no such name, or its module or function cannot be imported.

    Example:
        >>> look_up("square root", {"square root": "math:sqrt"}, "function")(9.0)
        3.0
    """
    path = table.get(name, name)
    module, separator, attribute = path.partition(":")
    if not separator:
        raise InputError(f"no {kind} {name!r}", source=f"{kind}.name", remedy=nearest(name, table))
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise InputError(
            f"{kind} {name!r} cannot be imported ({error})", source=f"{kind}.name"
        ) from error


def check_options(
    function: Callable[..., Any],
    options: Mapping[str, Any],
    *,
    section: str,
    supplied: Collection[str] = (),
) -> dict[str, Any]:
    """Options as ``function`` will receive them: checked, converted, defaults filled in.

    Args:
        function: its keyword parameters and their annotations are the schema.
        options: what the user chose.
        section: where it stands in the configuration, for the error.
        supplied: parameters that the caller passes itself; the user may not set them.

    Raises:
        InputError: an unknown key (the nearest known one is named), a missing one, or a value of
            the wrong kind.

    Example:
        >>> def parity(n: int, k: int = 3, *, seed: int): ...
        >>> check_options(parity, {"n": 40}, section="task", supplied={"seed"})
        {'n': 40, 'k': 3}
    """
    signature = inspect.signature(function)
    annotated = function.__init__ if inspect.isclass(function) else function
    hints = get_type_hints(annotated, include_extras=True)
    parameters = {
        name: parameter
        for name, parameter in signature.parameters.items()
        if name not in supplied and parameter.kind is not parameter.VAR_KEYWORD
    }
    for key in options:
        if key not in parameters:
            raise InputError(
                f"unknown key {key!r}", source=section, remedy=nearest(key, parameters)
            )
    fields: dict[str, Any] = {
        name: (
            hints.get(name, Any),
            ... if parameter.default is parameter.empty else parameter.default,
        )
        for name, parameter in parameters.items()
    }
    schema = create_model("Options", __config__=ConfigDict(extra="forbid"), **fields)
    try:
        return dict(schema(**options))
    except ValidationError as error:
        raise InputError(describe(error), source=section) from None


def describe(error: ValidationError) -> str:
    """The first complaint of pydantic as one clause.

    Example:
        >>> try:
        ...     create_model("M", p=(int, ...))(p="many")
        ... except ValidationError as error:
        ...     describe(error)
        "p: Input should be a valid integer, unable to parse string as an integer (got 'many')"
    """
    first = error.errors(include_url=False)[0]
    key = ".".join(str(part) for part in first["loc"])
    found = "" if first["type"] == "missing" else f" (got {first['input']!r})"
    return f"{key}: {first['msg']}{found}"
