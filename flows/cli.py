"""The command line: reads arguments, calls a flow or a task, and says in a few lines what came of it."""

import atexit
import datetime as dt
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from tasks.config import Config, load_config
from tasks.errors import HexveilError

if TYPE_CHECKING:
    from tasks.report import DayReport

_PROJECT = Path(__file__).resolve().parent.parent
_DEMO_CONFIG = _PROJECT / "deploy" / "config" / "demo.toml"
_DEMO_DATES = [dt.date(2026, 3, day) for day in (2, 3, 4)]

app = typer.Typer(
    name="hexveil",
    help="Publish noisy statistics per hexagon and hour, with an account of the privacy spent.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
ledger_app = typer.Typer(help="Look at, check or export the account of what was released.", no_args_is_help=True)
app.add_typer(ledger_app, name="ledger")

ConfigOption = Annotated[Path, typer.Option("--config", help="The dataset's TOML file.", show_default=False)]
DateOption = Annotated[
    dt.datetime,
    typer.Option("--date", formats=["%Y-%m-%d"], help="A local day of the dataset.", show_default=False),
]
VerboseOption = Annotated[bool, typer.Option("--verbose", help="Show every step as it happens.")]

out = Console(highlight=False, soft_wrap=True)


def main() -> None:
    """Run the command line; a failure is one message on standard error and exit code 1."""
    atexit.register(_drop_teardown_noise)
    try:
        app()
    except HexveilError as error:
        _say_error(str(error))
        sys.exit(1)
    except Exception as error:  # what fails outside our own steps is the scheduler, which holds nothing private
        _say_error(f"the scheduler failed with {type(error).__name__}: {error}; run it again, --verbose shows more")
        sys.exit(1)


@app.command()
def demo(verbose: VerboseOption = False) -> None:
    """Make a small synthetic city and publish three days of it."""
    _prepare_prefect(verbose)
    from tasks.synthetic import write_city

    config = load_config(_DEMO_CONFIG)
    n_rows = write_city(_PROJECT / "var" / "demo" / "raw", _DEMO_DATES)
    out.print(f"A synthetic city of {n_rows:,} rows in three days, in {_shown(_PROJECT / 'var' / 'demo' / 'raw')}.\n")
    for date in _DEMO_DATES:
        _show_day(_run_day(_DEMO_CONFIG, date, config), config)
    out.print("Next: hexveil ledger show --config deploy/config/demo.toml")


@app.command()
def run(config: ConfigOption, date: DateOption, verbose: VerboseOption = False) -> None:
    """Publish one day, or publish it again without drawing or spending anything anew."""
    _prepare_prefect(verbose)
    settings = load_config(config)
    _show_day(_run_day(config, date.date(), settings), settings)


@app.command()
def plan(
    config: ConfigOption,
    date: DateOption,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    compare: Annotated[bool, typer.Option("--compare", help="Show the day under every mechanism.")] = False,
    cells: Annotated[bool, typer.Option("--cells", help="Show every cell of the plan.")] = False,
) -> None:
    """Show what a day would publish, at which promised error and cost; spends nothing."""
    settings = load_config(config)
    _prepare_day(date.date(), settings)
    from tasks import preview

    if compare or cells:
        rows = (preview.compare_mechanisms if compare else preview.preview_cells)(date.date(), settings)
        _print_json(rows) if as_json else out.print(_table_of(rows))
    else:
        summary = preview.preview_plan(date.date(), settings)
        released = summary["release_id"]
        _print_json(summary) if as_json else out.print(_table_about(f"{settings.dataset.name} {date.date()}", summary))
        if released and not as_json:
            out.print(f"The day was released already, as {released}; running it again spends nothing.")
    if not as_json:
        out.print(f"Errors are in {settings.value.unit}. Nothing was spent.")


@ledger_app.command("show")
def ledger_show(config: ConfigOption) -> None:
    """List every release, what it cost its worst user, and what is left."""
    from tasks.ledger import list_entries

    settings = load_config(config)
    entries = list_entries(settings)
    table = Table("no", "release", "cells", "epsilon", "in all", box=SIMPLE)
    table.columns[1].no_wrap = True
    for entry in entries:
        losses = [f"{float(entry[key]):.6f}" for key in ("epsilon", "epsilon_total_after")]
        cells = f"{entry['cells']['published']:,} of {entry['cells']['total']:,}"
        table.add_row(str(entry["number"]), entry["release_id"], cells, *losses)
    out.print(table)
    spent = float(entries[-1]["epsilon_total_after"]) if entries else 0.0
    out.print(f"The worst user has lost {spent:.6f} of budget.epsilon_total = {settings.budget.epsilon_total}.")


@ledger_app.command("verify")
def ledger_verify(config: ConfigOption) -> None:
    """Recompute every hash, every loss from its stored plan, every sum, and compare the published files."""
    from tasks.verify import verify_ledger

    n_releases = verify_ledger(load_config(config))
    out.print(f"{n_releases} releases: chain, losses, sums and published files agree with the ledger.")


@ledger_app.command("export")
def ledger_export(config: ConfigOption) -> None:
    """Print the ledger as JSON Lines, after checking its chain."""
    from tasks.durable import canonical_json
    from tasks.ledger import list_entries

    for entry in list_entries(load_config(config)):
        sys.stdout.write(canonical_json(entry).decode() + "\n")


def _say_error(message: str) -> None:
    Console(stderr=True, highlight=False, soft_wrap=True, markup=False).print(f"hexveil: {message}")


def _drop_teardown_noise() -> None:
    """Close standard error last of all: DuckDB's bindings print pages about leaked types once all is done."""
    sys.stderr.flush()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def _prepare_prefect(verbose: bool) -> None:
    """Set what Prefect reads when it is imported; whatever the operator has set stays."""
    defaults = {
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
        "PREFECT_LOGGING_EXTRA_LOGGERS": "hexveil",
        "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "INFO" if verbose else "CRITICAL",
    }
    for name, value in defaults.items():
        os.environ.setdefault(name, value)


def _run_day(config_file: Path, date: dt.date, config: Config) -> "DayReport":
    from flows.daily import daily
    from tasks.report import report_day

    daily(config_file.resolve(), date)
    return report_day(date, config)


def _prepare_day(date: dt.date, config: Config) -> None:
    from tasks.ingest import ingest_records
    from tasks.occupancy import build_occupancy
    from tasks.validate import validate_records

    for step in (ingest_records, validate_records, build_occupancy):
        step.fn(date, config)


def _show_day(day: "DayReport", config: Config) -> None:
    unit = config.value.unit
    reasons = ", ".join(f"{n:,} {reason}" for reason, n in day.rows.items() if reason != "kept")
    out.print(day.release_id)
    quarantined = f"{day.n_rows - day.n_kept:,} quarantined" + (f" ({reasons})" if reasons else "")
    out.print(f"  rows       {day.n_rows:,} read = {day.n_kept:,} kept + {quarantined}")
    out.print(f"  cells      {day.n_published:,} published, {day.n_withheld:,} withheld at no cost")
    out.print(f"  promise    expected error at most {day.worst_error:.3g} {unit}, median {day.median_error:.3g} {unit}")
    out.print(f"  cost       epsilon {day.epsilon:.6f} for any one user at most; ", end="")
    out.print(f"{day.epsilon_total:.6f} of {config.budget.epsilon_total} in all")
    out.print(f"  files      {_shown(day.folder)}\n")


def _print_json(value: Any) -> None:
    out.print_json(json.dumps(value), highlight=False, indent=2)


def _table_about(title: str, summary: dict[str, Any]) -> Table:
    table = Table("", title, box=SIMPLE)
    table.columns[1].overflow = "fold"
    for name, value in summary.items():
        table.add_row(name, _readable(float(value) if name == "epsilon" else value))
    return table


def _table_of(rows: list[dict[str, Any]]) -> Table:
    table = Table(*(name.replace("_", " ") for name in rows[0]), box=SIMPLE)
    for row in rows:
        table.add_row(*(_readable(value) for value in row.values()))
    return table


def _readable(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.6g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _shown(path: Path) -> str:
    """Return a path as short as it can be said from here."""
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)


if __name__ == "__main__":
    main()
