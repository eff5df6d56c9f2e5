"""A citation: the statistics of a validated study, each number traceable to what made it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from nht_theory.claims.cited_law import CitedLaw, cited_law, cited_rivals
from nht_theory.claims.cited_number import CitedNumber, verdict_identifier
from nht_theory.claims.registry import claim_named
from nht_theory.claims.rules import EQUIVALENCE
from nht_theory.claims.validate import Validation
from nht_theory.claims.verdict import Verdict
from nht_theory.conventions import CONFIDENCE, Thresholds, VerdictKind
from nht_theory.errors import InputError
from nht_theory.estimators.results import StudyEstimates
from nht_theory.inference.references import bibtex
from nht_theory.reporting import citation_latex, citation_text
from nht_theory.reporting.provenance import data_hash, origin, software_version
from nht_theory.runs.study import Study


@dataclass(frozen=True)
class StudyFacts:
    """What a citation says about the data.

    Attributes:
        source: the path that was read.
        records, runs: records found, and distinct runs with a trajectory among them.
        repeats: records that repeat another.
        without_trajectory: records that store events and no log.
        configurations, seeds: distinct settings (None where the runs do not say which of them
            share theirs), and distinct seeds.
        censored: runs that had not generalised at their last evaluation.
        unknown: runs that log no held-out accuracy, so that nobody can say whether they did.
        thresholds, confidence: levels used throughout.
        data_sha256: of every trajectory, whatever its path.
        version: of the software.
    """

    source: str
    records: int
    runs: int
    repeats: int
    without_trajectory: int
    configurations: int | None
    seeds: int
    censored: int
    unknown: int
    thresholds: Thresholds
    confidence: float
    data_sha256: str
    version: str


@dataclass(frozen=True, eq=False)
class Citation:
    """The statistics of a study, ready to paste.

    Attributes:
        facts: about the data.
        law: the delay law and its rivals.
        verdicts: on every claim.
        numbers: all numbers that are printed, by identifier.
        study: the runs, for tracing.
    """

    facts: StudyFacts
    law: CitedLaw
    verdicts: tuple[Verdict, ...]
    numbers: tuple[CitedNumber, ...]
    study: Study

    def number(self, identifier: str) -> CitedNumber:
        """The number of that identifier.

        Raises:
            InputError: there is none; the message names the nearest, or all.
        """
        for candidate in self.numbers:
            if candidate.identifier == identifier:
                return candidate
        known = [candidate.identifier for candidate in self.numbers]
        close = get_close_matches(identifier, known, n=3)
        raise InputError(
            f"no number has the identifier {identifier!r}",
            source="--explain",
            remedy=f"give one of {', '.join(close or known) or 'none: nothing was estimated'}",
        )

    def explain(self, identifier: str) -> str:
        """Formula, data (file, steps, runs) and options behind one number, as text."""
        number = self.number(identifier)
        origins = [origin(self.study, name) for name in number.runs]
        return citation_text.explained(number, origins, self.facts)

    def references(self) -> tuple[str, ...]:
        """Keys of the methods that made the numbers."""
        used = Counter(key for number in self.numbers for key in number.references)
        return tuple(sorted(used))

    def to_bibtex(self) -> str:
        """BibTeX of the software and of every method really used."""
        return citation_text.software_entry(self.facts) + "\n\n" + bibtex(self.references())

    def to_apa(self) -> str:
        """Sentences in the manner of the APA."""
        return citation_text.apa(self)

    def to_latex(self) -> str:
        r"""Tables in LaTeX; needs ``\usepackage{booktabs}``."""
        return citation_latex.latex(self)

    def to_dict(self) -> dict[str, Any]:
        """The documented object of ``nht cite --style json``."""
        return {
            "study": self.facts,
            "numbers": list(self.numbers),
            "verdicts": [
                {
                    "prediction": own.claim,
                    "verdict": own.verdict.value,
                    "rule": own.rule,
                    "stability": {at.setting: at.verdict.value for at in own.stability},
                    "units": own.units,
                    "unit": own.unit,
                }
                for own in self.verdicts
            ],
            "missing": list(self.law.missing),
            "references": list(self.references()),
        }


def cite(validation: Validation) -> Citation:
    """The citation of a validated study.

    Args:
        validation: what :func:`nht_theory.claims.validate.validate` returned.
    """
    study = validation.study
    thresholds = validation.thresholds
    options = (
        (
            "thresholds",
            f"train accuracy {thresholds.train_accuracy:g}, held-out accuracy "
            f"{thresholds.heldout_accuracy:g}, held for {thresholds.persistence} evaluations",
        ),
        ("confidence", f"{CONFIDENCE:g}"),
        ("equivalence margins", f"{EQUIVALENCE[0]:g} to {EQUIVALENCE[1]:g}"),
    )
    law = (
        cited_law(StudyEstimates(study, validation.estimates, thresholds), options)
        if study.configurations.known
        else CitedLaw((), (), (f"delay law: {study.configurations}",))
    )
    judged = [_of_verdict(own, options) for own in validation.verdicts]
    return Citation(
        facts=_facts(validation),
        law=law,
        verdicts=validation.verdicts,
        numbers=(
            *law.numbers,
            *cited_rivals(law, law.numbers),
            *(number for number in judged if number is not None),
        ),
        study=study,
    )


def _of_verdict(own: Verdict, options: tuple[tuple[str, str], ...]) -> CitedNumber | None:
    if own.statistic is None or own.verdict is VerdictKind.NOT_APPLICABLE:
        return None
    claim = claim_named(own.claim)
    known = tuple(key for key in claim.references)
    corrected = own.holm_p_value is not None
    return CitedNumber(
        identifier=verdict_identifier(own.claim),
        label=f"{own.claim}: {own.statistic_name}",
        value=own.statistic,
        unit="1",
        n=own.n,
        n_censored=own.n_censored,
        censoring="counted as right-censored" if own.n_censored else "no run censored",
        method=own.rule,
        formula=f"{own.statistic_name}; claim: {claim.statement}; rule: {claim.rule}",
        runs=own.runs,
        options=(
            *options,
            ("needs", claim.needs),
            ("correction", "Holm over all applicable claims" if corrected else "none: no p-value"),
        ),
        interval=own.interval,
        p_value=own.holm_p_value if corrected else own.p_value,
        note=own.verdict.value,
        units=own.units,
        units_are=own.unit,
        references=(*known, "holm1979") if corrected else known,
    )


def _facts(validation: Validation) -> StudyFacts:
    study = validation.study
    seeds = {run.hyperparameters.seed for run in study.runs} - {None}
    return StudyFacts(
        source=study.source.name,
        records=len(study.records),
        runs=len(study.runs),
        repeats=sum(len(merge.repeats) for merge in study.merges),
        without_trajectory=len(study.without_trajectory),
        configurations=len({run.hyperparameters.configuration() for run in study.runs})
        if study.configurations.known
        else None,
        seeds=len(seeds),
        censored=sum(own.censored for own in validation.estimates),
        unknown=sum(own.unknown for own in validation.estimates),
        thresholds=validation.thresholds,
        confidence=CONFIDENCE,
        data_sha256=data_hash(study.runs),
        version=software_version(),
    )
