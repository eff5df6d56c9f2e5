"""``nht demo``: train, forecast each switch before it happens, validate, report."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nht_theory.cli import EXIT_DONE
from nht_theory.cli.output import console, print_json

if TYPE_CHECKING:
    from nht_theory.cli.demo_runs import DemoRun, Workers
    from nht_theory.forecasting.forecast import Forecast

RUNS, FORECASTS, REPORT = "runs", "forecasts", "report.html"
POLL_SECONDS = 0.25
HEARTBEAT_SECONDS = 10.0


def plan() -> tuple[DemoRun, ...]:
    """The runs in their order: the first two have no earlier run to learn from, and their
    forecasts are refused; the last decays too weakly to switch in its budget."""
    from nht_theory.cli.demo_runs import DemoRun

    chosen = (
        ("decay-1.0-seed-0", 1.0, 0, 1000),
        ("decay-0.7-seed-0", 0.7, 0, 1250),
        ("decay-1.0-seed-1", 1.0, 1, 1000),
        ("decay-0.5-seed-0", 0.5, 0, 1700),
        ("decay-0.7-seed-1", 0.7, 1, 1250),
        ("decay-0.01-seed-0", 0.01, 0, 500),
    )
    return tuple(
        DemoRun(
            name,
            (
                # Twice the paper's learning rate, so half the steps; all else as in the paper.
                "optimizer.learning_rate=2e-3",
                f"optimizer.weight_decay={decay}",
                f"seed={seed}",
                f"steps={steps}",
            ),
        )
        for name, decay, seed, steps in chosen
    )


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Directory for runs, forecasts and the report.")
    ] = Path("demo"),
    workers: Annotated[int, typer.Option(min=1, help="Runs trained at once, a core each.")] = 2,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> int:
    """Train a few small runs, forecast each switch before it happens, then judge the theory.

    The forecast of a run is written to disk when it memorises, long before it generalises.
    What has been trained already is not trained again.
    """
    from nht_theory.cli.demo_runs import demo_config, finished, training, watch

    started = time.monotonic()
    config, runs = demo_config(), output / RUNS
    (output / FORECASTS).mkdir(parents=True, exist_ok=True)
    waiting = [run for run in plan() if not finished(runs, run)]

    def say(text: str) -> None:
        if not json:
            print(f"[{time.monotonic() - started:4.0f} s] {text}", flush=True)

    if len(waiting) < len(plan()):
        say(f"{len(plan()) - len(waiting)} of {len(plan())} runs are in {runs} already")
    with training(config, runs, workers) as processes:
        heard = time.monotonic()
        for ended in watch(processes, waiting, POLL_SECONDS):
            _forecast_what_memorized(processes, output, say)
            for one in ended:
                say(f"{one.run.name} finished")
            if time.monotonic() - heard > HEARTBEAT_SECONDS:
                heard = time.monotonic()
                say(_where_they_are(processes))
    return _conclude(output, as_json=json)


def _forecast_what_memorized(workers: Workers, output: Path, say: Callable[[str], None]) -> None:
    """Write the forecast of every run in training that has memorised since the last look."""
    from nht_theory.cli import demo_forecasts

    for one in workers.training:
        path = output / FORECASTS / f"{one.run.name}.json"
        if path.exists():
            continue
        run = demo_forecasts.run_so_far(one.directory)
        if run is None:
            continue
        calibration = demo_forecasts.earlier_runs(_finished(output))
        record = demo_forecasts.write_forecast(run, calibration, path)
        if record is not None:
            say(
                f"{run.name} memorised at step {record.forecast.made_at:,}, held-out accuracy now "
                f"{record.heldout_accuracy_seen:.2f}: {in_words(record.forecast)}"
            )


def _finished(output: Path) -> list[Path]:
    """Directories of the runs that have been trained to their end."""
    from nht_theory.cli.demo_runs import finished

    return [output / RUNS / run.name for run in plan() if finished(output / RUNS, run)]


def in_words(forecast: Forecast) -> str:
    """A forecast in a sentence."""
    if forecast.median is None or forecast.interval is None:
        return f"forecast refused ({forecast.reason})"
    interval = forecast.interval
    return (
        f"forecast: it generalises at step {forecast.median:,.0f}, between {interval.low:,.0f} and "
        f"{interval.high:,.0f} with {interval.coverage:.0%} ({forecast.basis}, from "
        f"{len(forecast.calibration)} earlier runs)"
    )


def _where_they_are(workers: Workers) -> str:
    from nht_theory.cli import demo_forecasts
    from nht_theory.runs.run_format import read_run

    parts = []
    for one in workers.training:
        run = demo_forecasts.run_so_far(one.directory)
        if run is not None:
            budget = read_run(one.directory).config["steps"]
            parts.append(f"{run.name} at step {run.steps[-1]:,} of {budget:,}")
    return "; ".join(parts) or "starting"


def _conclude(output: Path, *, as_json: bool) -> int:
    """Validate what was trained, hold the forecasts against it, write the report."""
    from nht_theory.claims.validate import validate
    from nht_theory.cli import demo_forecasts
    from nht_theory.estimators.results import StudyEstimates
    from nht_theory.reporting.assemble import report_content
    from nht_theory.reporting.html import write_report
    from nht_theory.reporting.terminal import print_story
    from nht_theory.runs.load import load_study

    validation = validate(load_study(output / RUNS))
    estimated = StudyEstimates(validation.study, validation.estimates, validation.thresholds)
    records = [
        demo_forecasts.read_forecast(path) for path in sorted((output / FORECASTS).glob("*.json"))
    ]
    scored = demo_forecasts.score_forecasts(records, estimated)
    note = "Each forecast was written to disk when its run memorised, before the switch."
    content = report_content(validation, scored, note)
    report = output / REPORT
    write_report(content, report)
    if as_json:
        print_json({**validation.to_dict(), "forecasts": scored, "report": report})
        return EXIT_DONE
    print_story(content, console())
    print("Forecasts, each written before its switch:")
    for item in scored:
        happened = (
            f"it had not happened by step {item.last_seen:,}"
            if item.happened_at is None
            else f"it happened at step {item.happened_at:,}"
        )
        print(f"  {item.forecast.run}: {in_words(item.forecast)}; {happened}")
    print(f"Report: {report}")
    return EXIT_DONE
