"""``nht forecast``: when a run will generalise, from what is known now; and how well it can say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from nht_theory.cli.forecast_text import (
    describe,
    describe_advice,
    one_line,
    print_score,
)
from nht_theory.cli.output import console, print_json, progress, to_jsonable
from nht_theory.cli.reading import read_earlier, read_study
from nht_theory.cli.study_options import ColumnMap, Pattern, Settings, read_options
from nht_theory.errors import InputError
from nht_theory.forecasting.forecast import Forecast
from nht_theory.forecasting.forecast_run import forecast_known
from nht_theory.runs.options import ReadOptions
from nht_theory.runs.run import Run
from nht_theory.runs.study import Study


def forecast(
    run: Annotated[Path | None, typer.Argument(help="A run, finished or still training.")] = None,
    earlier: Annotated[
        Path | None,
        typer.Option("--from", help="Earlier runs to learn from: any file or directory."),
    ] = None,
    at: Annotated[
        int | None,
        typer.Option(
            help="Use nothing after this step (default: all there is; for a run that has "
            "generalised, its memorisation)."
        ),
    ] = None,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow",
            help="Forecast anew at each evaluation, until it ends: a live panel on a "
            "terminal, a line each when piped.",
        ),
    ] = False,
    every: Annotated[
        float, typer.Option(help="With --follow: seconds between two looks.", min=0.1)
    ] = 5.0,
    score: Annotated[
        Path | None,
        typer.Option(
            help="Score forecasts of this study's runs, each configuration from the others (or "
            "from the runs of --from)."
        ),
    ] = None,
    advice: Annotated[
        bool,
        typer.Option(
            "--advice",
            help="Also: is going on worth it, and would stronger weight decay help? With --score: "
            "how often such advice is right.",
        ),
    ] = False,
    column_map: ColumnMap = None,
    pattern: Pattern = None,
    setting: Settings = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """When a run will generalise, from what is known now.

    --map and --pattern hold for RUN (or the STUDY to score) and for the earlier runs, --set for
    the former alone.
    """
    options = read_options(column_map, pattern, setting, exact=False, weights=None)
    if score is not None:
        _score(score, earlier, options, advice=advice, json=json)
        return
    if run is None or earlier is None:
        raise InputError(
            f"{'RUN' if run is None else '--from STUDY'} is missing",
            remedy="give a run and where to learn from: nht forecast RUN --from STUDY, or "
            "nht forecast --score STUDY",
        )
    calibration, options = read_earlier(earlier, options, quiet=json)
    if follow:
        _follow(run, calibration, options, every, json=json)
        return
    found = read_study(run, options, quiet=json).runs
    if not found:
        raise InputError("no run found", source=run, remedy="give a run directory or a log")
    if advice:
        _advise(found, calibration, at, json=json)
    else:
        _show([forecast_known(one, calibration, at=at) for one in found], json=json)


def _show(made: list[Forecast], *, json: bool) -> None:
    if json:
        print_json(made[0] if len(made) == 1 else made)
        return
    for one in made:
        print(describe(one))


def _follow(
    run: Path, calibration: Study, options: ReadOptions, every: float, *, json: bool
) -> None:
    import json as encoding

    from nht_theory.cli import follow

    out = console()
    if out.is_terminal and not json:
        from nht_theory.cli.follow_panel import show_panel

        show_panel(follow.watch(run, calibration, options, every=every), out, str(run))
        return
    for made in follow.follow(run, calibration, options, every=every):
        print(encoding.dumps(to_jsonable(made)) if json else one_line(made), flush=True)


def _advise(found: Sequence[Run], calibration: Study, at: int | None, *, json: bool) -> None:
    from nht_theory.forecasting.advice import advise_run

    made = [advise_run(one, calibration, at=at) for one in found]
    if json:
        print_json(made[0] if len(made) == 1 else made)
        return
    for one in made:
        print(describe(one.forecast))
        print(describe_advice(one))


def _score(
    study: Path, earlier: Path | None, options: ReadOptions, *, advice: bool, json: bool
) -> None:
    from nht_theory.forecasting.score_study import score_study

    learn = None
    if earlier is not None:
        learn, options = read_earlier(earlier, options, quiet=json)
    runs = read_study(study, options, quiet=json)
    with progress() as say:
        scored = score_study(runs, learn, progress=say)
    if advice:
        from nht_theory.forecasting.decay_advice import score_decay_advice
        from nht_theory.forecasting.early_stop import score_stop_advice

        scored = replace(
            scored, decay_advice=score_decay_advice(runs), early_stop=score_stop_advice(runs)
        )
    if json:
        print_json(scored)
    else:
        print_score(scored)
