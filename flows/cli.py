"""The command line: reads arguments, calls a flow or a task, and says in a few lines what came of it."""

import datetime as dt
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows import show
from flows.ledger_cli import ConfigOption, ledger_app
from flows.show import out
from tasks.config import Config, load_config
from tasks.errors import HexveilError

if TYPE_CHECKING:
    from tasks.report import DayReport

_PROJECT = Path(__file__).resolve().parent.parent
_DEPLOY = _PROJECT / "deploy"
_DEMO_CONFIG = _DEPLOY / "config" / "demo.toml"
_HOME = _PROJECT / "var" / "prefect"
_DAY = ["%Y-%m-%d"]
_DEMO_DATES = [dt.date(2026, 3, day) for day in (2, 3, 4)]

app = typer.Typer(
    name="hexveil",
    help="Publish noisy statistics per hexagon and hour, with an account of the privacy spent.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(ledger_app, name="ledger")

DateOption = Annotated[
    dt.datetime,
    typer.Option("--date", formats=_DAY, help="A local day of the dataset.", show_default=False),
]
FromOption = Annotated[
    dt.datetime, typer.Option("--from", formats=_DAY, help="The first local day.", show_default=False)
]
ToOption = Annotated[dt.datetime, typer.Option("--to", formats=_DAY, help="The last local day.", show_default=False)]
HomeOption = Annotated[Path, typer.Option("--home", help="Where logs and Prefect's own database lie.")]
VerboseOption = Annotated[bool, typer.Option("--verbose", help="Show every step as it happens.")]


def main() -> None:
    """Run the command line; a failure is one message on standard error and exit code 1."""
    try:
        app()
    except HexveilError as error:
        show.say_error(str(error))
        sys.exit(1)
    except Exception as error:  # what fails outside our own steps is the scheduler, which holds nothing private
        show.say_error(f"the scheduler failed with {type(error).__name__}: {error}; run it again, --verbose shows more")
        sys.exit(1)


@app.command()
def demo(verbose: VerboseOption = False) -> None:
    """Make a small synthetic city and publish three days of it."""
    show.quieten(verbose)
    from tasks.synthetic import write_city

    config = load_config(_DEMO_CONFIG)
    folder = _PROJECT / "var" / "demo" / "raw"
    n_rows = write_city(folder, _DEMO_DATES)
    out.print(f"A synthetic city of {n_rows:,} rows in three days, in {show.shown(folder)}.\n")
    for date in _DEMO_DATES:
        show.show_day(_run_day(_DEMO_CONFIG, date), config)
    out.print("Next: hexveil ledger show --config deploy/config/demo.toml")


@app.command()
def run(
    config: ConfigOption,
    date: DateOption,
    revision: Annotated[
        str | None,
        typer.Option("--revision", help="Release a released day once more under this name, at a charge of its own."),
    ] = None,
    verbose: VerboseOption = False,
) -> None:
    """Publish one day, or publish it again without drawing or spending anything anew."""
    show.quieten(verbose)
    settings = load_config(config)
    show.show_day(_run_day(config, date.date(), revision), settings)


@app.command()
def backfill(
    config: ConfigOption,
    first: FromOption,
    last: ToOption,
    spread: Annotated[
        bool, typer.Option("--spread", help="Spread what is left of the budget evenly over the range.")
    ] = False,
    clip: Annotated[
        bool, typer.Option("--clip", help="Go on where the budget is short, with users clipped to what they have left.")
    ] = False,
    verbose: VerboseOption = False,
) -> None:
    """Publish every day of a range; run it again to go on where it was interrupted."""
    if spread and clip:
        raise HexveilError("give --spread or --clip, not both")
    if last < first:
        raise HexveilError(f"the range from {first.date()} to {last.date()} is empty; give --from before --to")
    show.quieten(verbose)
    settings = load_config(config)
    from flows.backfill import backfill as fill
    from tasks.report import report_range

    try:
        fill(config.resolve(), first.date(), last.date(), "spread" if spread else "clip" if clip else "refuse")
    finally:
        show.show_range(report_range(first.date(), last.date(), settings), settings)


@app.command()
def forget(
    config: ConfigOption,
    date: Annotated[
        dt.datetime | None, typer.Option("--date", formats=_DAY, help="A local day of the dataset.")
    ] = None,
    older_than: Annotated[
        int | None, typer.Option("--older-than", min=0, help="All days more than so many days before today.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Delete the raw records of days for good; what was released of them stays, and stays verifiable."""
    from tasks.forget import days_older_than, forget_days, held_days

    settings = load_config(config)
    if (date is None) == (older_than is None):
        raise HexveilError("say which days: --date YYYY-MM-DD, or --older-than DAYS")
    held = held_days(settings)
    dates = [date.date()] if date else days_older_than(older_than or 0, held, settings)
    if not dates:
        out.print(f"There is nothing older than {older_than} days.")
        return
    if not held.keys() & set(dates):
        raise HexveilError(f"nothing of {dates[0]} is held, so there is nothing to forget")
    n_rows = sum(held.get(one, 0) for one in dates)
    days = f"{len(dates):,} days, {dates[0]} to {dates[-1]}" if len(dates) > 1 else str(dates[0])
    if not yes:
        typer.confirm(f"Delete the {n_rows:,} raw rows of {days} for good?", abort=True)
    show.show_forgotten(forget_days(dates, settings), settings)


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
    from tasks import preview
    from tasks.prepare import by_itself, prepare_day

    prepare_day(date.date(), settings, by_itself)
    if compare or cells:
        rows = (preview.compare_mechanisms if compare else preview.preview_cells)(date.date(), settings)
        show.print_json(rows) if as_json else out.print(show.table_of(rows))
    else:
        summary = preview.preview_plan(date.date(), settings)
        released = summary["release_id"]
        table = {name: value for name, value in summary.items() if name != "refused"}
        show.print_json(summary) if as_json else out.print(
            show.table_about(f"{settings.dataset.name} {date.date()}", table)
        )
        if released and not as_json:
            out.print(f"The day was released already, as {released}; running it again spends nothing.")
        if summary["refused"] and not as_json:
            out.print(f"A run would be refused: {summary['refused']}", markup=False)
    if not as_json:
        out.print(f"Errors are in {settings.value.unit}. Nothing was spent.")


@app.command()
def backup(
    config: ConfigOption,
    to: Annotated[Path, typer.Option("--to", help="A folder on another disk; may hold an earlier copy.")],
) -> None:
    """Copy what cannot be made anew: ledger, keys, plans, released files. The copy is as private as the storage."""
    from tasks.backup import back_up

    out.print(f"{back_up(to, load_config(config))} releases are backed up in {show.shown(to)}.")


@app.command()
def up(
    config: ConfigOption,
    port: Annotated[
        int | None, typer.Option("--port", min=1, max=65534, help="Of the pages, 4200 at first; files are on the next.")
    ] = None,
    home: HomeOption = _HOME,
) -> None:
    """Start Prefect's server and a worker on this machine, and deploy the dataset's flows there."""
    from flows import services

    settings = load_config(config)
    folder = home.resolve()
    with services.alone(folder):
        house = services.open_house(folder, port)
        environment = house.environment(_DEPLOY / "prefect.env")
        services.start_server(house, environment)
        os.environ.update(environment)
        _deploy(config, settings)
        services.serve_files(house, settings)
        if not services.is_running("worker", folder):
            resume()
            services.start_worker(house, environment)
    show.show_house(house, settings)


@app.command()
def resume() -> None:
    """Start again the runs that a worker left when it ended; before a worker is started, and only then."""
    from flows.deployments import resume_interrupted

    for name in resume_interrupted():
        out.print(f"{name} was interrupted and goes on.")


@app.command()
def deploy(config: ConfigOption) -> None:
    """Deploy the dataset's flows, pool, queue and automations to the server that PREFECT_API_URL names."""
    if "PREFECT_API_URL" not in os.environ:
        raise HexveilError("PREFECT_API_URL is not set; set it to the server's address, or start one with `hexveil up`")
    _deploy(config, load_config(config))


@app.command()
def down(home: HomeOption = _HOME) -> None:
    """Stop what `hexveil up` started; a run in progress goes on when it is started again."""
    from flows import services

    folder = home.resolve()
    with services.alone(folder):
        stopped = services.stop(folder)
    out.print(f"Stopped: {', '.join(stopped)}." if stopped else "Nothing was running.")


def _deploy(config_file: Path, config: Config) -> None:
    from flows import services
    from flows.deployments import arrange_server  # Prefect reads the environment when it is imported

    arrange_server(_DEPLOY / "automations.yaml", config)
    services.deploy(_DEPLOY / "prefect.yaml", config_file, config)


def _run_day(config_file: Path, date: dt.date, revision: str | None = None) -> "DayReport":
    from flows.daily import daily

    return daily(config_file.resolve(), date, revision)


if __name__ == "__main__":
    main()
