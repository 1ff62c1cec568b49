"""The command line: reads arguments, calls a flow or a task, and prints the result in a few lines."""

from flows import interrupts

interrupts.end_at_once({"run", "backfill", "demo"})  # before the other imports, which take a while

import datetime as dt
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows import (
    ask_cli,
    beginning,
    choosing,
    collect_cli,
    demonstrating,
    presence_cli,
    recording,
    serving,
    show,
    storing,
)
from flows.device_cli import device_app
from flows.ledger_cli import ledger_app
from flows.options import DAY, DEPLOY, HOME, ConfigOption, DateOption, JsonOption, UpOption, VerboseOption
from flows.owners import is_collection, is_presence, load_spender
from flows.show import out
from tasks.base.config import Config, load_config
from tasks.base.errors import HexveilError

if TYPE_CHECKING:
    from flows.start import Flows
    from tasks.base.owner import Owner

_SAID_FIRST = ("paid_in_part", "guess")
_SAID_APART = (*_SAID_FIRST, "refused", "cautions")
"""What of a plan is said in sentences, not in its table."""

app = typer.Typer(
    name="hexveil",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.add_typer(ledger_app, name="ledger")
app.add_typer(collect_cli.collect_app, name="collect")
app.add_typer(device_app, name="device")

FromOption = Annotated[
    dt.datetime, typer.Option("--from", formats=DAY, help="The first local day.", show_default=False)
]
ToOption = Annotated[dt.datetime, typer.Option("--to", formats=DAY, help="The last local day.", show_default=False)]


def main() -> None:
    """Run the command line; a failure is one message on standard error, with exit code 1."""
    try:
        app()
    except HexveilError as error:
        show.say_error(str(error))
        sys.exit(1)
    except Exception as error:
        show.say_error(_unexpected(error))
        sys.exit(1)


@app.callback()
def about(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=show.show_version, is_eager=True)
    ] = False,
) -> None:
    """Publish noisy statistics per hexagon and hour, with an account of the privacy spent."""


@app.command()
def run(
    config: ConfigOption,
    date: DateOption,
    revision: Annotated[
        str | None,
        typer.Option("--revision", help="Release a released day once more under this name, at a charge of its own."),
    ] = None,
    as_json: JsonOption = False,
    home: UpOption = HOME,
    verbose: VerboseOption = False,
) -> None:
    """Publish one day; a day that was released already is published again, without new noise and at no cost.

    The run is a flow run on the server of PREFECT_API_URL, or else on the server of `hexveil up` if that runs. Without
    either, it runs without a server. Prefect profiles are ignored.
    """
    settings = load_spender(config)
    flows = _find_flows(home, settings, verbose)
    day = flows.daily(config.resolve(), date.date(), revision)
    if as_json:
        show.print_json(day.as_json)
    elif isinstance(settings, Config):
        show.show_day(day, settings)
    else:
        presence_cli.show_day(day)


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
    skip_missing: Annotated[
        bool, typer.Option("--skip-missing", help="Days without a file or a record are no problems.")
    ] = False,
    as_json: JsonOption = False,
    home: UpOption = HOME,
    verbose: VerboseOption = False,
) -> None:
    """Publish every day of a range; after an interruption, run it again to go on. For where it runs, see `run`."""
    if spread and clip:
        raise HexveilError("give --spread or --clip, not both")
    if last < first:
        raise HexveilError(f"the range from {first.date()} to {last.date()} is empty; give --from before --to")
    shortage = "spread" if spread else "clip" if clip else "refuse"
    settings = load_spender(config)
    flows = _find_flows(home, settings, verbose)
    if not isinstance(settings, Config):
        presence_cli.backfill(flows, config, (first, last), shortage, skip_missing, as_json)
        return
    from tasks.reporting.day_report import report_range

    unread: list[str] = []
    try:
        unread = flows.backfill(config.resolve(), first.date(), last.date(), shortage, skip_missing)
    finally:
        days = report_range(first.date(), last.date(), settings)
        if as_json:
            show.print_json({str(date): day and day.as_json for date, day in days.items()})
        else:
            show.show_range(days, settings)
    show.show_unread(unread, aside=as_json)
    missing = [date for date, day in days.items() if day is None]
    if missing and not as_json:
        skipped = show.listed_days(missing)
        out.print(f"{len(missing):,} of {len(days):,} days have no records and were skipped: {skipped}.")


@app.command()
def forget(
    config: ConfigOption,
    date: Annotated[dt.datetime | None, typer.Option("--date", formats=DAY, help="A local day of the dataset.")] = None,
    older_than: Annotated[
        int | None, typer.Option("--older-than", min=0, help="All days more than so many days before today.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Delete the raw records of days permanently; their releases stay, and can still be verified."""
    from tasks.upkeep.forget import days_older_than, forget_days, held_days

    settings = load_config(config)
    if (date is None) == (older_than is None):
        raise HexveilError("say which days: --date YYYY-MM-DD, or --older-than DAYS")
    held = held_days(settings)
    dates = [date.date()] if date else days_older_than(older_than or 0, held, settings)
    if not dates:
        out.print(f"There is nothing older than {older_than} days.")
        return
    days = f"{len(dates):,} days, {dates[0]} to {dates[-1]}" if len(dates) > 1 else str(dates[0])
    if not yes:
        typer.confirm(f"Delete the raw rows of {days} for good, and never read them again?", abort=True)
    show.show_forgotten(forget_days(dates, settings), settings)


@app.command()
def plan(
    config: ConfigOption,
    date: DateOption,
    as_json: JsonOption = False,
    compare: Annotated[
        bool, typer.Option("--compare", help="Show the day as an estimate and under every mechanism that promises.")
    ] = False,
    cells: Annotated[bool, typer.Option("--cells", help="Show every cell of the plan.")] = False,
    year: Annotated[
        bool, typer.Option("--year", help="Show what such days add up to in a year, in pure epsilon and in zCDP.")
    ] = False,
) -> None:
    """Show what a day would publish, with which promised error and cost; spends nothing."""
    if is_presence(config) and not (compare or cells or year):
        presence_cli.plan(config, date.date(), as_json)
        return
    settings = load_config(config)
    from tasks.engines.prepare import by_itself, prepare_day
    from tasks.planning import comparison, preview
    from tasks.release.zones import read_zones

    read_zones(settings)  # a file that cannot be read is refused here as by a run
    prepare_day(date.date(), settings, by_itself)
    views = {comparison.compare_mechanisms: compare, preview.preview_cells: cells, preview.preview_year: year}
    wanted = [view for view, is_wanted in views.items() if is_wanted]
    if len(wanted) > 1:
        raise HexveilError("give one of --compare, --cells and --year")
    if wanted:
        rows = wanted[0](date.date(), settings)
        show.print_json(rows) if as_json else out.print(show.table_of(rows))
    else:
        summary = preview.preview_plan(date.date(), settings)
        released = summary["release_id"]
        table = {name: value for name, value in summary.items() if name not in _SAID_APART}
        for sentence in [] if as_json else filter(None, map(summary.get, _SAID_FIRST)):
            out.print(sentence)
        show.print_json(summary) if as_json else out.print(
            show.table_about(f"{settings.dataset.name} {date.date()}", table)
        )
        if released and not as_json:
            out.print(f"The day was released already, as {released}; running it again spends nothing.")
        for caution in [] if as_json else summary["cautions"]:
            out.print(f"Caution: {caution}")
        if summary["refused"] and not as_json:
            out.print(f"A run would be refused: {summary['refused']}", markup=False)
    if not as_json:
        out.print(f"{show.about_the_errors(compare, year, settings)} Nothing was spent.")


@app.command()
def evaluate(
    config: ConfigOption,
    date: DateOption,
    revision: Annotated[str | None, typer.Option("--revision", help="Name of a further release of the day.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare a released day with its values, for the curator only: what it prints is private."""
    from tasks.upkeep.evaluate import evaluate_day

    settings = load_config(config)
    evaluation, path = evaluate_day(date.date(), revision, settings)
    if as_json:
        show.print_json(evaluation)
        return
    show.show_evaluation(evaluation, path, settings)


@app.command()
def backup(
    config: ConfigOption,
    to: Annotated[Path, typer.Option("--to", help="A folder on another disk; may hold an earlier copy.")],
) -> None:
    """Copy what cannot be made again: ledger, keys, plans, released files. The copy is as private as the storage."""
    from tasks.upkeep.backup import back_up

    for is_of, commands in ((is_collection, collect_cli), (is_presence, presence_cli)):
        if is_of(config):
            commands.back_up(to, config)
            return
    out.print(f"{back_up(to, load_config(config))} releases are backed up in {show.shown(to)}.")


for command in (
    demonstrating.demo,
    beginning.init,
    choosing.explore,
    recording.record,
    ask_cli.ask,
    storing.storage,
    serving.up,
    serving.resume,
    serving.deploy,
    serving.down,
):
    app.command()(command)


def _unexpected(error: Exception) -> str:
    """Return the message for an unexpected error. It quotes the scheduler's text only: other errors may be private."""
    kind = type(error).__name__
    if "prefect" in sys.modules:
        return f"the scheduler failed with {kind}: {error}; run it again, --verbose shows more"
    place = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{place.name} failed with {kind}, in {Path(place.filename).name}"
    return f"{where}; run it again, and report it if it happens again"


def _find_flows(home: Path, config: "Owner", verbose: bool) -> "Flows":
    from flows.start import find_flows

    return find_flows(home.resolve(), DEPLOY / "prefect.env", config, verbose=verbose)


if __name__ == "__main__":
    main()
