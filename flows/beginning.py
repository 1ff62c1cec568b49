"""The command that begins: it looks at a feed, asks for what cannot be seen, and writes a configuration."""

import re
import sys
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows import show
from flows.show import out
from tasks.base.config_types import file_in_the_way
from tasks.base.device_rules import NAME
from tasks.base.errors import BadConfig, HexveilError

if TYPE_CHECKING:
    from tasks.records.proposal import Proposal

_UPPER = {"km/h": "100", "mph": "65", "m/s": "30"}
_FACTORS = {
    ("mph", "km/h"): "1.609344",
    ("m/s", "km/h"): "3.6",
    ("km/h", "mph"): "0.6213711922",
    ("m/s", "mph"): "2.2369362921",
    ("km/h", "m/s"): "0.2777777778",
    ("mph", "m/s"): "0.44704",
}
_BOUNDS = (
    "What is the {} value that can be? Say it from the law, the sensor or common sense, not from the data. A value "
    "outside counts as the nearer bound, and wider bounds need more noise"
)
_PER_DAY = (
    "How much may one day tell of one user's values (epsilon)? At 1 it makes a guess about 2.7 times as likely at "
    "most, at 2, 7.4 times. Smaller protects more and shows less"
)
_TOTAL = "And all days together? In zCDP, days of epsilon 2 add up to 10 in about 17 days, and to 73 in a year"


def init(
    files: Annotated[list[Path], typer.Argument(help="Files of the feed, all of one form.", show_default=False)],
    to: Annotated[Path | None, typer.Option("--to", help="The file to write. Without it: NAME.toml here.")] = None,
    name: Annotated[str | None, typer.Option("--name", help="Name of the dataset: a-z, 0-9, - and _.")] = None,
    purpose: Annotated[str | None, typer.Option("--purpose", help="What the publication is for; public.")] = None,
    timezone: Annotated[str | None, typer.Option("--timezone", help="IANA name. Without it: by the places.")] = None,
    header: Annotated[
        str | None, typer.Option("--header", help="Names of the columns of a CSV file without a header: a,b,c.")
    ] = None,
    form: Annotated[
        str | None, typer.Option("--format", help="csv, parquet, ndjson, json or gtfs-rt, if it is not recognised.")
    ] = None,
    user: Annotated[str | None, typer.Option("--user", help="Column of the user; {file} for the file's name.")] = None,
    time: Annotated[str | None, typer.Option("--time", help="Column of the time.")] = None,
    latitude: Annotated[str | None, typer.Option("--latitude", help="Column of the latitude.")] = None,
    longitude: Annotated[str | None, typer.Option("--longitude", help="Column of the longitude.")] = None,
    value: Annotated[str | None, typer.Option("--value", help="Column of the measured value.")] = None,
    quantity: Annotated[str | None, typer.Option("--quantity", help="What is measured, for example speed.")] = None,
    unit: Annotated[str | None, typer.Option("--unit", help="Unit of what is published.")] = None,
    lower: Annotated[str | None, typer.Option("--lower", help="Public lower bound of a value.")] = None,
    upper: Annotated[str | None, typer.Option("--upper", help="Public upper bound of a value.")] = None,
    factor: Annotated[str | None, typer.Option("--factor", help="What values are multiplied by.")] = None,
    missing: Annotated[
        list[str] | None, typer.Option("--missing", help='A value that means "not measured"; repeat it.')
    ] = None,
    epsilon: Annotated[str | None, typer.Option("--epsilon", help="The most that a day may cost a user.")] = None,
    total: Annotated[str | None, typer.Option("--total", help="The most that all days may cost a user.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask: take what is usual for what is not given.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
) -> None:
    """Look at a feed, ask for bounds and budget, and write a configuration; reads no value and spends nothing."""
    from tasks.base.config_text import config_text
    from tasks.records.proposal import Given, propose_source

    asking = not yes and sys.stdin.isatty()
    columns = {"user": user, "time": time, "latitude": latitude, "longitude": longitude, "value": value}
    given = Given(
        header=tuple(one.strip() for one in header.split(",")) if header else (),
        format=_format(form),
        columns={role: column for role, column in columns.items() if column is not None},
        timezone=timezone,
    )
    ask = _Asker(asking)
    named_by = files[0] if to is None or to.is_dir() else to
    name = ask.text(name, "A name for the dataset, of a-z, 0-9, - and _", _name_of(named_by), "--name")
    path = _place(name, to, force)
    proposal = propose_source(files, path.parent, given)
    while proposal.missing:
        given.columns.update(_asked_columns(proposal, ask))
        proposal = propose_source(files, path.parent, given)
    out.print("What was recognised:")
    for reason in proposal.reasons:
        out.print(f"  - {reason}")
    settings = {
        "dataset": {"name": name, "purpose": purpose or "not stated", **proposal.settings["dataset"]},
        "columns": proposal.settings["columns"],
        "value": _value(quantity, unit, lower, upper, factor, missing or [], proposal, ask),
        "grid": {"h3_resolution": 7, "slot_minutes": 60},
        "validation": proposal.settings["validation"],
        "privacy": {
            "epsilon_per_day": ask.number(epsilon, _PER_DAY, "2.0", "--epsilon"),
            "definition": "zcdp",
            "mechanism": "estimated",
        },
        "budget": {"epsilon_total": ask.number(total, _TOTAL, "100.0", "--total")},
        "storage": {"path": _store_of(name)},
    }
    _write(path, config_text(settings))
    _try(path, proposal)


class _Asker:
    """Asks for what is not given; without a person it takes what is usual, or says which option is missing."""

    def __init__(self, asking: bool) -> None:
        self._asking = asking

    def text(self, given: str | None, question: str, usual: str | None, option: str) -> str:
        if given is not None:
            return given
        if self._asking:
            return str(typer.prompt(question, default=usual))
        if usual is None:
            raise HexveilError(f"{option} is missing: {question[0].lower()}{question[1:]}")
        return usual

    def number(self, given: str | None, question: str, usual: str | None, option: str) -> Decimal:
        text = self.text(given, question, usual, option)
        try:
            number = Decimal(text)
        except InvalidOperation:
            number = Decimal("NaN")
        if not number.is_finite():
            raise HexveilError(f"{option} {text} must be a number, with a decimal point")
        return number


def _place(name: str, to: Path | None, force: bool) -> Path:
    """Return the file to write, which replaces no other and shares its storage with no other, unless told to."""
    if not re.fullmatch(NAME, name):
        raise HexveilError(f"--name {name} must be of a-z, 0-9, - and _, and begin with a letter or a digit")
    path = (to or Path(f"{name}.toml")).resolve()
    if path.is_dir():
        raise HexveilError(f"{to} is a folder; name the file to write in it: --to {show.shown(path / f'{name}.toml')}")
    if in_the_way := file_in_the_way(path.parent):
        raise HexveilError(f"--to {to}: {in_the_way} is a file and no folder; give another name with --to")
    if path.exists() and not force:
        raise HexveilError(f"{show.shown(path)} is there already; give another name with --to, or --force")
    store = path.with_name(_store_of(name))
    if store.exists() and _storage_of(path) != store:
        raise HexveilError(
            f"{show.shown(store)} is there already, and two datasets must not share a storage; give another --name. If "
            "it is of a dataset that you gave up, look into its ledger.jsonl, then remove it"
        )
    return path


def _store_of(name: str) -> str:
    return f"{name}-store"


def _storage_of(path: Path) -> Path | None:
    """Return the storage of a configuration; None if it is not there, or cannot be used."""
    from tasks.base.config import load_config

    try:
        return load_config(path).storage_path
    except BadConfig:
        return None


def _format(form: str | None) -> Any:
    formats = ("csv", "parquet", "ndjson", "json", "gtfs-rt")
    if form is not None and form not in formats:
        raise HexveilError(f"--format {form} must be one of {', '.join(formats)}")
    return form


def _name_of(file: Path) -> str:
    """Return a name for a dataset by a file's name: its letters, digits, - and _, without a date at its end."""
    stem = re.sub(r"[^a-z0-9_-]", "-", file.name.partition(".")[0].lower())
    return re.sub(r"[-_]*\d{4}[-_]?\d\d[-_]?\d\d([-_]?\d+)*$", "", stem).strip("-_") or stem.strip("-_") or "feed"


def _asked_columns(proposal: "Proposal", ask: _Asker) -> dict[str, str]:
    """Return the column of the first role that was not recognised."""
    role = proposal.missing[0]
    found = ", ".join(proposal.names)
    return {role: ask.text(None, f"Which column has the {role}? There are: {found}", None, f"--{role}")}


def _value(
    quantity: str | None,
    unit: str | None,
    lower: str | None,
    upper: str | None,
    factor: str | None,
    missing: list[str],
    proposal: "Proposal",
    ask: _Asker,
) -> dict[str, Any]:
    column = proposal.settings["columns"]["value"].rpartition(".")[2].lower()
    is_speed = proposal.unit is not None or "speed" in column
    named = ask.text(quantity, "What is measured?", "speed" if is_speed else column, "--quantity")
    said = ask.text(unit, "In which unit will it be published?", proposal.unit, "--unit")
    least = ask.number(lower, _BOUNDS.format("smallest"), "0.0" if is_speed else None, "--lower")
    most = ask.number(upper, _BOUNDS.format("largest"), _UPPER.get(said) if is_speed else None, "--upper")
    number = ask.number
    return {
        "name": named,
        "unit": said,
        "lower": least,
        "upper": most,
        "tick": _tick(least, most),
        **({"factor": number(factor, "", None, "--factor")} if factor else _known_factor(said, proposal)),
        **({"missing": [number(one, "", None, "--missing") for one in missing]} if missing else {}),
        "screen": True,
    }


def _known_factor(unit: str, proposal: "Proposal") -> dict[str, Decimal]:
    """Return the factor from the unit that the column's name says; a preset fills it in itself."""
    source = proposal.unit
    if source in (None, unit) or "preset" in proposal.settings["dataset"]:
        return {}
    factor = _FACTORS.get((source, unit))
    if factor is None:
        raise HexveilError(f"--factor is missing: the column is named like {source}, and {unit} is to be published")
    return {"factor": Decimal(factor)}


def _tick(lower: Decimal, upper: Decimal) -> Decimal:
    """Return about a ten-thousandth of the range that divides it."""
    span = upper - lower
    if span <= 0:
        raise HexveilError(f"--upper {upper} must be above --lower {lower}")
    tick = Decimal(10) ** (span.adjusted() - 4)
    return tick if span % tick == 0 else span / 10_000


def _write(path: Path, text: str) -> None:
    """Write a configuration and its schema, if it can be used; otherwise what is there stays."""
    from tasks.base.config import config_of
    from tasks.base.config_schema import SCHEMA_FILE, schema_text
    from tasks.base.durable import write_whole

    try:
        config_of(text, path)
        write_whole(path.with_name(SCHEMA_FILE), schema_text().encode(), mode=0o644)
        write_whole(path, text.encode(), mode=0o644)
    except BadConfig as error:
        raise HexveilError(f"{error}\nNothing was written: give other options.") from None
    except OSError as error:
        raise HexveilError(f"{show.shown(path)} cannot be written: {error.strerror}; mend it, or give --to") from None
    out.print(f"\nWritten: {show.shown(path)}, and {SCHEMA_FILE} for editors.")


def _try(path: Path, proposal: "Proposal") -> None:
    """Read and check the day that most of the first records are of, and say what to run."""
    from tasks.base.config import load_config
    from tasks.engines.prepare import by_itself, prepare_day
    from tasks.planning.preview import preview_plan
    from tasks.records.outcomes import prepared_rows

    config = load_config(path)
    where = f"--config {show.shown(path)} --date"
    if proposal.date is None:
        raise HexveilError(f"no time can be read, so no day was tried; check {show.shown(path)}, then hexveil plan")
    prepare_day(proposal.date, config, by_itself)
    rows = prepared_rows(proposal.date, config)
    plan = preview_plan(proposal.date, config)
    others = ", ".join(f"{n:,} {reason}" for reason, n in rows.items() if reason != "kept")
    out.print(f"{proposal.date} was read: {rows['kept']:,} rows kept" + (f"; not used: {others}" if others else ""))
    out.print(f"It has {plan['cells_total']:,} cells.")
    for caution in plan["cautions"]:
        out.print(f"Caution: {caution}")
    out.print("Nothing was spent. Next:")
    out.print(f"  hexveil explore {where} {proposal.date}     # what other cells and budgets would be worth")
    out.print(f"  hexveil run {where} {proposal.date}         # publish the day")
