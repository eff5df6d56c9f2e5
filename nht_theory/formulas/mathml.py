"""Mathematics as MathML, which a browser draws by itself: no script, no font, no network."""

from __future__ import annotations

BARS = "&#x02016;"
"""‖, as the library writes it."""


def to_mathml(latex: str, *, display: bool = False) -> str:
    """A formula in LaTeX (without dollar signs) as one ``<math>`` element.

    Args:
        latex: what the formulas of this package and the documentation use of LaTeX.
        display: on a line of its own rather than in the text.

    Raises:
        ValueError: it holds a command that is not known, which would show as its name.

    Source: the library latex2mathml.

    Example:
        >>> to_mathml("V_0")
        '<math xmlns="http://www.w3.org/1998/Math/MathML"
        display="inline"><mrow><msub><mi>V</mi><mn>0</mn></msub></mrow></math>'
    """
    from latex2mathml.converter import convert

    made: str = convert(latex, display="block" if display else "inline")
    if "\\" in made:
        raise ValueError(f"no MathML for {latex!r}: {made}")
    # A bar that may stretch drops below the line beside an exponent.
    return made.replace(f"<mo>{BARS}</mo>", f'<mo stretchy="false">{BARS}</mo>')
