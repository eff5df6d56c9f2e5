"""The page: figures reproduced or not, and the verdict on each claim, as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from claims import Claim
from published_figures import SETTINGS, Figure

from nht_theory.claims.validate import Validation
from nht_theory.reporting.citation import Citation

HEAD = """# The companion's runs, judged again

The public logs of arXiv 2603.13331 ({source}, revision {revision}), read by `nht`, with the
paper's own estimators (`nht_theory.estimators.published`) and with ours. Written by
`reanalyse.py`; do not edit.

{facts}

## Published figures, from the published logs

"""
CLAIMS = """
## Claims

What the paper's estimator gives is computed on the records it used, repeats included; ours on
distinct runs, with runs that never switched kept as right-censored.

"""


def page(
    figures: Sequence[Figure],
    judged: Sequence[Claim],
    separation: Sequence[dict[str, object]],
    citation: Citation,
    validation: Validation,
) -> str:
    """The whole page."""
    facts = citation.to_apa().splitlines()[0]
    head = HEAD.format(facts=facts, **{k: SETTINGS["data"][k] for k in ("source", "revision")})
    reproduced = _table(
        ("Figure", "Printed", "From the logs", "Agrees", "Remark"),
        (
            (f.name, f.printed, f.recomputed, "yes" if f.agrees else "**no**", f.comment)
            for f in figures
        ),
    )
    verdicts = _table(
        ("Claim", "Paper", "Its estimator", "Ours", "Verdict"),
        ((c.claim, c.paper, c.own, c.ours, f"**{c.verdict}**") for c in judged),
    )
    rules = "\n".join(f"- *{c.claim}* {c.verdict}: {c.why}." for c in judged)
    scores = _table(
        ("Configuration", "S", "95 % interval", "Runs", "W"),
        (
            (
                row["configuration"],
                row["undefined"] if row["S"] is None else f"{row['S']:.3f}",
                "" if row["interval"] is None else "[{:.3f}, {:.3f}]".format(*row["interval"]),
                row["runs"] or "",
                "" if row["W"] is None else f"{row['W']:.2f}",
            )
            for row in separation
        ),
    )
    stability = "\n".join(
        f"- {own.claim}: {'; '.join(f'{at.setting}: {at.verdict}' for at in own.stability)}"
        for own in validation.verdicts
        if own.stability
    )
    parts = [
        head + reproduced,
        CLAIMS + verdicts,
        "## Why\n\n" + rules,
        "## Separation score by configuration\n\nThe paper reports 1.0 for modular arithmetic, "
        "without a formula. Ours is Somers' D of V given shortcut reliance, from memorisation on; "
        "its interval is over runs.\n\n" + scores,
        "## Figures\n\n![delay against 1/lambda](lambda_sweep.svg)\n\n"
        "![delay against 1/eta](eta_sweep.svg)",
    ]
    if stability:
        parts.insert(3, "## At other thresholds\n\n" + stability)
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += [
        "| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in rows
    ]
    return "\n".join(lines)
