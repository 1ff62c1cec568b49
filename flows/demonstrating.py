"""The command that shows hexveil at work on cities that do not exist."""

import datetime as dt
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from flows import presence_cli, show
from flows.options import DEPLOY, HOME, VAR, UpOption, VerboseOption, packaged_config
from flows.show import out
from tasks.base.config import load_config
from tasks.base.errors import HexveilError

if TYPE_CHECKING:
    from collections.abc import Callable

    from flows.start import Flows
    from tasks.base.owner import Owner

_BUSES, _PEOPLE = VAR / "demo", VAR / "demo-presence"
_DATES = [dt.date(2026, 3, day) for day in (2, 3, 4)]

ProtectsOption = Annotated[
    str, typer.Option("--protects", help="values (of buses), or presence (of people), as privacy.protects says.")
]


def demo(protects: ProtectsOption = "values", home: UpOption = HOME, verbose: VerboseOption = False) -> None:
    """Make a small synthetic city and publish three days of it."""
    from flows.start import find_flows

    demos = {"values": _buses, "presence": _people}
    if protects not in demos:
        raise HexveilError(f"--protects must be {' or '.join(demos)}")
    demos[protects](partial(find_flows, home.resolve(), DEPLOY / "prefect.env", verbose=verbose))


def _buses(flows_of: "Callable[[Owner], Flows]") -> None:
    from tasks.records.synthetic import write_city

    config_file = packaged_config("demo", _BUSES)
    config = load_config(config_file)
    flows = flows_of(config)
    folder = _BUSES / "raw"
    n_rows = write_city(folder, _DATES)
    out.print(f"A synthetic city of {n_rows:,} rows in three days, in {show.shown(folder)}.\n")
    for date in _DATES:
        show.show_day(flows.daily(config_file, date), config)
    out.print(f"Next: hexveil ledger show --config {show.shown(config_file)}")


def _people(flows_of: "Callable[[Owner], Flows]") -> None:
    from tasks.presence.config import load_presence
    from tasks.records.synthetic_people import write_people

    folder = _PEOPLE / "raw"
    rows = write_people(folder, _DATES)
    listed = ", ".join(f"{n:,} rows of {kind}" for kind, n in rows.items())
    out.print(f"A synthetic city of 20,000 people: {listed} in three days, in {show.shown(folder)}.\n")
    for kind in rows:
        config_file = packaged_config(kind, _PEOPLE)
        flows = flows_of(load_presence(config_file))
        for date in _DATES if kind == "phones" else _DATES[:1]:
            presence_cli.show_day(flows.daily(config_file, date))
    out.print(f"Next: hexveil ledger show --config {show.shown(packaged_config('phones', _PEOPLE))}")
