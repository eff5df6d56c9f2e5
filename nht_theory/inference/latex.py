"""Words and numbers as LaTeX: escaped, with the field's symbols set as mathematics."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

_GREEK = ("eta", "lambda", "gamma", "sigma", "rho", "phi")
_SYMBOL = re.compile(
    rf"\b(?:gamma_V|{'|'.join(_GREEK)})\b|\b[VNT]_(?:sc|st|mem|star|end|post|0)\b|\bR\^2"
)
_SPECIAL = str.maketrans(
    {
        "&": r"\&",
        "%": r"\%",
        "#": r"\#",
        "_": r"\_",
        "{": r"\{",
        "}": r"\}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"$<$",
        ">": r"$>$",
        "|": r"$|$",
        "$": r"\$",
        "\\": r"\textbackslash{}",
    }
)


def latex_text(text: str) -> str:
    r"""Plain text as LaTeX.

    Example:
        >>> print(latex_text("R^2 of ln(V_sc/V_st), 5 % of runs_a"))
        $R^2$ of ln($V_{\mathrm{sc}}$/$V_{\mathrm{st}}$), 5 \% of runs\_a
    """
    pieces: list[str] = []
    last = 0
    for found in _SYMBOL.finditer(text):
        pieces += [text[last : found.start()].translate(_SPECIAL), _symbol(found.group())]
        last = found.end()
    return "".join([*pieces, text[last:].translate(_SPECIAL)])


def _symbol(text: str) -> str:
    if text in _GREEK:
        return f"$\\{text}$"
    if text == "gamma_V":
        return r"$\gamma_V$"
    base, _, index = text.partition("_")
    if not index:
        return f"${text}$"
    return f"${base}_0$" if index == "0" else f"${base}_{{\\mathrm{{{index}}}}}$"


def significant(value: float, digits: int = 4) -> str:
    """A number with ``digits`` significant digits and no exponent between 1e-4 and 1e6.

    Example:
        >>> significant(1182.3777), significant(0.00141339), significant(2.5e-7)
        ('1182', '0.001413', '2.5e-07')
    """
    if value != 0 and not 1e-4 <= abs(value) < 1e6:
        return f"{value:.{digits - 1}g}"
    text = f"{value:.{digits}g}"
    if "e" in text:
        return f"{value:.0f}"
    return text


def latex_number(value: float) -> str:
    r"""A number with a true minus sign, and powers of ten.

    Example:
        >>> latex_number(-2.5e-7), latex_number(0.25)
        ('$-2.5\\times 10^{-7}$', '$0.25$')
    """
    mantissa, _, exponent = significant(value).partition("e")
    return f"${mantissa}\\times 10^{{{int(exponent)}}}$" if exponent else f"${mantissa}$"


def latex_limits(low: float, high: float) -> str:
    r"""An interval, or a dash where there is none (NaN).

    Example:
        >>> latex_limits(0.5, 1.5), latex_limits(float("nan"), 1.0)
        ('[$0.5$, $1.5$]', '--')
    """
    if math.isnan(low) or math.isnan(high):
        return "--"
    return f"[{latex_number(low)}, {latex_number(high)}]"


def table(
    columns: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    caption: str,
    label: str,
    comments: Sequence[str] = (),
) -> str:
    r"""A booktabs table; all text must be LaTeX already.

    Args:
        columns: column specification ("lrr").
        header, rows: cells.
        caption, label: of the float.
        comments: one for each row, written behind it as a LaTeX comment.

    Example:
        >>> print(table("lr", ["a", "b"], [["x", "1"]], caption="C.", label="tab:c"))
        \begin{table}
          \centering
          \caption{C.}
          \label{tab:c}
          \begin{tabular}{lr}
            \toprule
            a & b \\
            \midrule
            x & 1 \\
            \bottomrule
          \end{tabular}
        \end{table}
    """
    notes = list(comments) or [""] * len(rows)
    body = [
        f"    {' & '.join(row)} \\\\" + (f" % {note}" if note else "")
        for row, note in zip(rows, notes, strict=True)
    ]
    return "\n".join(
        [
            r"\begin{table}",
            r"  \centering",
            rf"  \caption{{{caption}}}",
            rf"  \label{{{label}}}",
            rf"  \begin{{tabular}}{{{columns}}}",
            r"    \toprule",
            f"    {' & '.join(header)} \\\\",
            r"    \midrule",
            *body,
            r"    \bottomrule",
            r"  \end{tabular}",
            r"\end{table}",
        ]
    )
