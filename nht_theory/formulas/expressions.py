"""One expression, three readings: numpy for numbers, decimal for ties, sympy for proofs.

An expression is a string of Python arithmetic over the letters of a formula's symbols and the
functions below. Compiling the string is what ``sympy.lambdify`` does after printing one; keeping
the string itself spares the import of sympy where only a number is wanted, and lets the author
write the accurate form: ``log1p(-eta*lam)`` is log(1 - eta*lam) to sympy and stays right to the
last digit at eta*lam = 1e-10 in numpy.

| function | meaning |
|---|---|
| ``log1p(x)``, ``expm1(x)`` | log(1 + x), exp(x) - 1 |
| ``log_ratio(x, y)`` | log(x/y), accurate for x near y and for ratios beyond 1e308 |
| ``ceil(x)`` | the least integer >= x; only as the outermost function |
| ``log``, ``exp``, ``sqrt``, ``cos``, ``pi`` | as usual |
| ``diff(x, y)``, ``h(x)``, ``sin`` | derivative and arbitrary function; in derivations only |
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from decimal import Context, Decimal, localcontext
from functools import cache
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import sympy

Array = NDArray[np.float64]

NEAR, ROUNDING = 2.0**-16, 2.0**-48
"""A double this near an integer (absolutely; relatively) is recomputed in decimal before it is
rounded. The absolute part covers the digits that 1 - eta*lambda loses when eta*lambda is near 1."""
DECIMAL_DIGITS = 120
TIE = Decimal("1e-60")
"""Within this (relative) distance of an integer, a 120-digit result is that integer."""


def log_ratio(numerator: Array, denominator: Array) -> Array:
    """log(numerator/denominator) for positive arrays, to a few units in the last place.

    Near one the difference is divided, not the quotient rounded; where the quotient leaves the
    range of doubles the logarithms are subtracted.

    Example:
        >>> float(log_ratio(np.float64(1 + 1e-12), np.float64(1.0)) / np.log1p(1e-12))
        1.0000...
    """
    quotient = np.asarray(numerator / denominator)
    logarithm: Array = np.asarray(np.log(quotient))
    near = (quotient > 0.5) & (quotient < 2.0)
    if near.any():
        logarithm = np.where(near, np.log1p((numerator - denominator) / denominator), logarithm)
    extreme = (quotient > 1e300) | (quotient < 1e-300)
    if extreme.any():
        logarithm = np.where(extreme, np.log(numerator) - np.log(denominator), logarithm)
    return logarithm


_NUMPY: dict[str, object] = {
    "log": np.log,
    "log1p": np.log1p,
    "exp": np.exp,
    "expm1": np.expm1,
    "sqrt": np.sqrt,
    "cos": np.cos,
    "log_ratio": log_ratio,
    "pi": np.pi,
}

_DECIMAL: dict[str, object] = {
    "log": lambda x: x.ln(),
    "log1p": lambda x: (1 + x).ln(),
    "exp": lambda x: x.exp(),
    "expm1": lambda x: x.exp() - 1,
    "sqrt": lambda x: x.sqrt(),
    "log_ratio": lambda x, y: (x / y).ln(),
}


@cache
def _parsed(expression: str) -> tuple[CodeType, bool]:
    """Code of the expression without its outermost ``ceil``, and whether it had one."""
    tree = ast.parse(expression, mode="eval").body
    rounds = (
        isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id == "ceil"
    )
    inner = tree.args[0] if rounds and isinstance(tree, ast.Call) else tree
    return compile(ast.Expression(body=inner), f"<{expression}>", "eval"), rounds


@cache
def letters_in(expression: str) -> frozenset[str]:
    """Names an expression refers to, functions included.

    Example:
        >>> sorted(letters_in("eta*lam < 1"))
        ['eta', 'lam']
    """
    tree = ast.parse(expression, mode="eval")
    return frozenset(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))


def _run(code: CodeType, functions: Mapping[str, object], values: Mapping[str, Any]) -> Any:
    return eval(code, {"__builtins__": {}, **functions}, dict(values))


def evaluate(expression: str, values: Mapping[str, Array]) -> Array:
    """The number of an expression, vectorised: float64 of the broadcast shape of ``values``.

    ``ceil`` is exact: a result that doubles cannot tell from an integer is recomputed in 120
    decimal digits first. Domain checks are the caller's (:mod:`nht_theory.formulas.formula`).

    Example:
        >>> float(evaluate("-2*log1p(-eta*lam)", {"eta": np.array(1e-5), "lam": np.array(1e-5)}))
        2.00000000010000...e-10
    """
    code, rounds = _parsed(expression)
    with np.errstate(all="ignore"):
        shape = np.broadcast_shapes(*(np.shape(v) for v in values.values()))
        result = np.broadcast_to(np.asarray(_run(code, _NUMPY, values), dtype=np.float64), shape)
        return _ceiling(code, result, values) if rounds else result


def _ceiling(code: CodeType, unrounded: Array, values: Mapping[str, Array]) -> Array:
    nearest = np.rint(unrounded)
    rounded = np.array(np.ceil(unrounded) + 0.0)
    doubtful = np.abs(unrounded - nearest) <= NEAR + ROUNDING * np.abs(nearest)
    for index in np.argwhere(doubtful & np.isfinite(unrounded)):
        place = tuple(index)
        exact = {
            letter: Decimal(float(np.broadcast_to(value, unrounded.shape)[place]))
            for letter, value in values.items()
        }
        with localcontext(Context(prec=DECIMAL_DIGITS)):
            decimal = _run(code, _DECIMAL, exact)
            integer = decimal.to_integral_value()
            if abs(decimal - integer) <= TIE * max(abs(integer), Decimal(1)):
                rounded[place] = float(integer)
            else:
                rounded[place] = float(decimal.to_integral_value(rounding="ROUND_CEILING"))
    return rounded


def holds(condition: str, values: Mapping[str, Array]) -> NDArray[np.bool_]:
    """Where a condition such as ``"eta*lam < 1"`` is true, elementwise."""
    code, _ = _parsed(condition)
    with np.errstate(all="ignore"):
        return np.asarray(_run(code, _NUMPY, values), dtype=bool)


@cache
def sympy_functions() -> dict[str, Callable[..., Any]]:
    """The functions of the expressions as sympy understands them."""
    import sympy as sp

    return {
        "log": sp.log,
        "log1p": lambda x: sp.log(1 + x),
        "exp": sp.exp,
        "expm1": lambda x: sp.exp(x) - 1,
        "sqrt": sp.sqrt,
        "cos": sp.cos,
        "log_ratio": lambda x, y: sp.log(x / y),
        "ceil": sp.ceiling,
        "pi": sp.pi,
        "sin": sp.sin,
        "diff": sp.diff,
        "h": sp.Function("h"),
    }


def symbolic(expression: str, letters: Mapping[str, sympy.Expr]) -> sympy.Expr:
    """The sympy expression of the same string.

    Args:
        expression: as for :func:`evaluate`; a relation such as ``"eta*lam < 1"`` is allowed.
        letters: sympy symbol (with its assumptions) of each letter.

    Example:
        >>> import sympy
        >>> x = sympy.Symbol("x", positive=True)
        >>> symbolic("expm1(log1p(x)) - x", {"x": x})
        0
    """
    import sympy as sp

    return sp.sympify(expression, locals={**sympy_functions(), **letters})
