"""What would change a verdict: the data that would decide an open one or overturn another."""

from __future__ import annotations

from nht_theory.claims.rules import ALPHA
from nht_theory.claims.verdict import Claim, Verdict
from nht_theory.conventions import VerdictKind


def what_would_change(own: Verdict, claim: Claim) -> str:
    """The observations that would give another verdict, and how far these data are from it.

    Example:
        >>> from nht_theory.claims.registry import claim_named
        >>> own = Verdict("P1", VerdictKind.SUPPORTED, 0.9, "share", None, 0.001, 50, 0, "rule",
        ...               holm_p_value=0.01)
        >>> what_would_change(own, claim_named("P1"))
        'configurations in which the stronger decay leaves the larger final norm; open once p after
        Holm exceeds 0.05 (now 0.01)'
    """
    if own.verdict is VerdictKind.NOT_APPLICABLE:
        return f"data with {claim.needs}"
    if own.verdict is VerdictKind.INCONCLUSIVE:
        return own.power or f"{claim.in_favour} (supported), or {claim.against} (refuted)"
    observed = claim.against if own.verdict is VerdictKind.SUPPORTED else claim.in_favour
    if own.holm_p_value is None:
        return observed
    return f"{observed}; open once p after Holm exceeds {ALPHA:.2g} (now {own.holm_p_value:.2g})"
