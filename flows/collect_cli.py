"""The commands of a collector that nobody needs to trust: `hexveil collect ...`, and what others do for it."""

import csv
import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows import show
from flows.options import DAY, DEPLOY, VAR
from flows.show import out
from tasks.base.errors import HexveilError

if TYPE_CHECKING:
    from flows.collect import Step
    from tasks.collect.config import CollectionConfig
    from tasks.collect.late import Late
    from tasks.collect.verify import Verified as VerifiedCollection

collect_app = typer.Typer(help="Collect from devices that trust nobody.", no_args_is_help=True)

CollectionOption = Annotated[Path, typer.Option("--config", help="The collection's TOML file.", show_default=False)]
PeriodOption = Annotated[
    dt.datetime, typer.Option("--date", formats=DAY, help="A date in the period.", show_default=False)
]

_SHOWN = ("area", "mean", "mean_ci95_low", "mean_ci95_high", "n_round_1", "n_round_2", "one_device_moves")
"""The columns of the published table that the terminal shows."""
_DEMO = VAR / "demo-collection"
_DEMO_DATE = dt.date(2026, 3, 2)
_DEMO_DEVICES = 50_000


@collect_app.command("plan")
def collect_plan(
    config: CollectionOption,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Show the error to expect for so many devices in an area, before anything is collected."""
    from tasks.collect.config import load_collection
    from tasks.collect.known import plan_collection

    settings = load_collection(config)
    rows = plan_collection(settings)
    if as_json:
        show.print_json(rows)
        return
    out.print(show.table_of(rows))
    out.print(
        f"Errors are expected absolute errors in {settings.value.unit}, in one area, at alpha "
        f"{settings.collection.alpha} a {settings.collection.period}. Nothing was collected."
    )
    out.print(
        "They are for devices that are alike. Where devices differ so much that some are clipped, the error is larger, "
        "and the interval says so."
    )
    out.print(_periods_answered(settings))
    _show_one_bin(settings)


@collect_app.command("open")
def collect_open(config: CollectionOption, date: PeriodOption) -> None:
    """Publish the parameters of round 1; a period that is open is published again."""
    _done("open", config, date)


@collect_app.command("localise")
def collect_localise(config: CollectionOption, date: PeriodOption) -> None:
    """Find the bin of each area from the reports of round 1, and publish the parameters of round 2.

    Once found, the bins stay: reports of round 1 that come later count no more.
    """
    _done("localise", config, date)


@collect_app.command("estimate")
def collect_estimate(config: CollectionOption, date: PeriodOption) -> None:
    """Publish the mean of each area from the reports of round 2, with an interval.

    Once published, the means stay: reports that come later count no more.
    """
    _show_means(_done("estimate", config, date))


@collect_app.command("backfill")
def collect_backfill(
    config: CollectionOption,
    first: Annotated[dt.datetime, typer.Option("--from", formats=DAY, help="A date in the first period.")],
    last: Annotated[dt.datetime, typer.Option("--to", formats=DAY, help="A date in the last period.")],
) -> None:
    """Do what can be done of every period of a range that was opened, from the reports that lie there."""
    from flows.collect import collect_backfill as flow
    from tasks.base import steps
    from tasks.base.logs import show_lines

    if last < first:
        raise HexveilError(f"the range from {first.date()} to {last.date()} is empty; give --from before --to")
    show_lines(verbose=False, warnings=True)
    with steps.run():
        _show_late(flow(config.resolve(), first.date(), last.date()))
    out.print(f"The periods from {first.date()} to {last.date()} that were opened are published.")


@collect_app.command("demo")
def collect_demo() -> None:
    """Simulate 50,000 devices in seven areas of a city, and publish their means by both rounds."""
    from tasks.collect.config import load_collection
    from tasks.collect.simulated import write_reports
    from tasks.device.parameters import read_parameters

    _DEMO.mkdir(parents=True, exist_ok=True)
    config = _DEMO / "collection.toml"
    config.write_bytes((DEPLOY / "config" / "collection.toml").read_bytes())
    settings = load_collection(config)
    steps: list[Step] = ["open", "localise"]
    _show_one_bin(settings)
    for number, step in enumerate(steps, start=1):
        folder = _run(step, config, _DEMO_DATE)
        asked = read_parameters(folder / f"round-{number}.json")
        n = write_reports(_DEMO_DEVICES, asked, settings)
        out.print(f"Round {number}: {n:,} devices reported.")
    folder = _run("estimate", config, _DEMO_DATE)
    _show_means(folder)
    out.print(f"Each device lost {settings.collection.alpha} at most, and trusted nobody.")
    out.print(f"The map: {show.shown(folder / 'map.html')}")
    out.print(f"Next: hexveil collect plan --config {show.shown(config)}")


def show_ledger(config: Path, as_json: bool) -> None:
    """Print what was done in each period."""
    from tasks.collect.config import load_collection
    from tasks.collect.verify import ledger_rows

    settings = load_collection(config)
    rows = ledger_rows(settings)
    if as_json:
        show.print_json(rows)
        return
    if not rows:
        out.print("No period was opened yet.")
        return
    out.print(show.table_of(rows))
    collection = settings.collection
    out.print(
        f"Each device loses epsilon {collection.alpha} at most in a {collection.period} in which it answers. Losses of "
        "periods add up: each device keeps its own account, and its own limit."
    )


def verified_ledger(config: Path) -> "VerifiedCollection":
    """Verify the ledger of a collection, and return the result."""
    from tasks.collect.config import load_collection
    from tasks.collect.verify import verify_collection

    return verify_collection(load_collection(config))


def back_up(to: Path, config: Path) -> None:
    """Copy the files of a collection that cannot be made again, and print how many periods they are of."""
    from tasks.collect.backup import back_up_collection
    from tasks.collect.config import load_collection

    out.print(f"{back_up_collection(to, load_collection(config))} periods are backed up in {show.shown(to)}.")


def _run(step: "Step", config: Path, date: dt.date) -> Path:
    from flows.collect import collect
    from tasks.base import steps
    from tasks.base.logs import show_lines

    show_lines(verbose=False, warnings=True)
    with steps.run():
        done = collect(config.resolve(), step, date)
    _show_late(done.late)
    return done.folder


def _show_late(late: "list[Late]") -> None:
    for one in late:
        which = f"round {one.round} of {one.period}"
        out.print(f"{one.n_reports:,} reports of {which} came after it was closed; they change nothing")


def _periods_answered(config: "CollectionConfig") -> str:
    """Return the line that says for how many periods a device answers, whose owner left its limits as they are."""
    from tasks.device.account import DEFAULT_DAY_LIMIT, DEFAULT_LIMIT

    if config.alpha > DEFAULT_DAY_LIMIT:
        return f"A device does not answer: its usual limit for a day is {DEFAULT_DAY_LIMIT}. Its owner may raise it."
    n = DEFAULT_LIMIT // config.alpha
    spent = f"then its usual total limit of {DEFAULT_LIMIT} is spent. Its owner may raise it."
    return f"A device answers {n:,} periods; {spent}"


def _show_one_bin(config: "CollectionConfig") -> None:
    if config.protocol.n_bins == 1:
        out.print("Devices have too few values for bins: there is one, and the devices of round 1 do not help.")


def _done(step: "Step", config: Path, date: dt.datetime) -> Path:
    folder = _run(step, config, date.date())
    out.print(f"Published in {show.shown(folder)}: {', '.join(sorted(file.name for file in folder.iterdir()))}")
    return folder


def _show_means(folder: Path) -> None:
    with (folder / "means.csv").open(encoding="utf-8") as file:
        rows = [{name: _number(row[name]) for name in _SHOWN} for row in csv.DictReader(file)]
    out.print(show.table_of(rows))


def _number(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
