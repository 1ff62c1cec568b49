"""The command that begins: it looks at a feed, asks for what cannot be seen, and writes a configuration."""

import datetime as dt
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from flows import show
from flows.questions import Asker, asked_columns, asked_value, given_area, given_delimiter, given_format, given_only
from flows.show import out
from tasks.base.config import Config
from tasks.base.config_source import Format
from tasks.base.config_types import file_in_the_way
from tasks.base.errors import BadConfig, HexveilError, OtherDays
from tasks.base.names import NAME

if TYPE_CHECKING:
    from tasks.engines.trial import Held
    from tasks.records.init.proposal import Proposal

_PER_DAY = (
    "How much may one day tell of one user's values (epsilon)? At 1 it makes a guess about 2.7 times as likely at "
    "most, at 2, 7.4 times. Smaller protects more and shows less"
)
_IGNORED = ".gitignore"
_TOTAL = "And all days together? In zCDP, days of epsilon 2 add up to 10 in about 17 days, and to 73 in a year"


def init(
    files: Annotated[
        list[Path], typer.Argument(help="Files of the feed, all of one form.", show_default=False, readable=False)
    ],
    to: Annotated[
        Path | None, typer.Option("--to", help="The file to write, or its folder. Without it: NAME.toml here.")
    ] = None,
    name: Annotated[str | None, typer.Option("--name", help="Name of the dataset: a-z, 0-9, - and _.")] = None,
    purpose: Annotated[str | None, typer.Option("--purpose", help="What the publication is for; public.")] = None,
    timezone: Annotated[str | None, typer.Option("--timezone", help="IANA name. Without it: by the places.")] = None,
    time_zone: Annotated[
        str | None, typer.Option("--time-zone", help="IANA name, of times without an offset: UTC, for example.")
    ] = None,
    header: Annotated[
        str | None, typer.Option("--header", help="Names of the columns of a CSV file without a header: a,b,c.")
    ] = None,
    delimiter: Annotated[
        str | None, typer.Option("--delimiter", help='Between fields of CSV, if the header does not show it; or "tab".')
    ] = None,
    form: Annotated[
        str | None, typer.Option("--format", help=f"{', '.join(get_args(Format))}, if no name says it.")
    ] = None,
    records: Annotated[
        str | None, typer.Option("--records", help='Path to the list in JSON ("" for a bare list), or element of XML.')
    ] = None,
    user: Annotated[str | None, typer.Option("--user", help="Column of the user; or {file}; or {folder}.")] = None,
    time: Annotated[
        str | None, typer.Option("--time", help="Column of the time; two with a comma; or {date}T{hour}.")
    ] = None,
    time_format: Annotated[
        str | None, typer.Option("--time-format", help='Form of the times, such as "%d/%m/%Y %H:%M".')
    ] = None,
    latitude: Annotated[str | None, typer.Option("--latitude", help="Column of the latitude.")] = None,
    longitude: Annotated[str | None, typer.Option("--longitude", help="Column of the longitude.")] = None,
    h3: Annotated[str | None, typer.Option("--h3", help="Column of H3 cells, in place of both.")] = None,
    geometry: Annotated[str | None, typer.Option("--geometry", help="Column of points: WKB, WKT or GeoJSON.")] = None,
    per_degree: Annotated[int | None, typer.Option("--per-degree", help="10000000 for places in E7.")] = None,
    value: Annotated[str | None, typer.Option("--value", help="Column of the measured value.")] = None,
    only: Annotated[
        list[str] | None, typer.Option("--only", help="Texts of the rows that count: parameter=pm25,pm10; repeat it.")
    ] = None,
    quantity: Annotated[str | None, typer.Option("--quantity", help="What is measured, for example speed.")] = None,
    unit: Annotated[str | None, typer.Option("--unit", help="Unit of what is published.")] = None,
    lower: Annotated[str | None, typer.Option("--lower", help="Public lower bound of a value.")] = None,
    upper: Annotated[str | None, typer.Option("--upper", help="Public upper bound of a value.")] = None,
    factor: Annotated[str | None, typer.Option("--factor", help="What values are multiplied by.")] = None,
    missing: Annotated[
        list[str] | None, typer.Option("--missing", help='A value that means "not measured"; repeat it.')
    ] = None,
    area: Annotated[
        str | None, typer.Option("--area", help="SOUTH,NORTH,WEST,EAST in degrees. Without it: around all places.")
    ] = None,
    unusable: Annotated[
        str | None, typer.Option("--max-quarantined-share", help="How much of a day may be unusable; usually 0.05.")
    ] = None,
    epsilon: Annotated[str | None, typer.Option("--epsilon", help="The most that a day may cost a user.")] = None,
    total: Annotated[str | None, typer.Option("--total", help="The most that all days may cost a user.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask: take what is usual for what is not given.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
) -> None:
    """Look at a feed, ask for bounds and budget, and write a configuration; reads no value and spends nothing."""
    from tasks.records.init.proposal import propose_source, read_all_files
    from tasks.records.input_formats.input_format import Given

    ask = Asker(not yes and sys.stdin.isatty(), takes_usual=yes)
    columns = {"user": user, "time": time, "latitude": latitude, "longitude": longitude, "h3": h3, "geometry": geometry}
    given = Given(
        header=tuple(one.strip() for one in header.split(",")) if header else (),
        delimiter=given_delimiter(delimiter),
        format=given_format(form),
        records=records,
        columns={role: column for role, column in {**columns, "value": value}.items() if column is not None},
        time_format=time_format,
        timezone=timezone,
        time_zone=time_zone,
        per_degree=per_degree,
        only=given_only(only or []),
    )
    try:
        named_by = files[0] if to is None or _is_folder(to) else to
        name = ask.text(name, "A name for the dataset, of a-z, 0-9, - and _", _name_of(named_by), "--name")
        path = _place(name, to, force)
    except PermissionError:
        raise HexveilError(f"--to {to}: you may not enter its folder; give another place with --to") from None
    proposal = propose_source(files, path.parent, given)
    while proposal.missing:
        given.columns.update(asked_columns(proposal, ask, unit, lower, upper))
        proposal = propose_source(files, path.parent, given)
    ask.need_without_usual(
        {
            "--unit": (unit or proposal.unit, "in which unit is it published? Another one needs --factor"),
            "--lower": (lower, "the smallest value that can be; usually 0 for a speed"),
            "--upper": (upper, "the largest value that can be; usually 100 km/h for a speed"),
            "--epsilon": (epsilon, "what a day may cost a user; usually 2"),
            "--total": (total, "what all days may cost a user; usually 100"),
        }
    )
    purpose = ask.text(purpose, "What is the publication for? The answer is public", "not stated", "--purpose")
    out.print("What was recognised:")
    for reason in proposal.reasons:
        out.print(f"  - {reason}")
    limit = {"max_quarantined_share": ask.number(unusable, "", None, "--max-quarantined-share")} if unusable else {}
    settings = {
        "dataset": {"name": name, "purpose": purpose, **proposal.settings["dataset"]},
        "columns": proposal.settings["columns"],
        "value": asked_value(quantity, unit, lower, upper, factor, missing or [], proposal, ask),
        "grid": {"h3_resolution": 7, "slot_minutes": 60},
        "validation": {**limit, **given_area(area)},
        "privacy": {
            "epsilon_per_day": ask.number(epsilon, _PER_DAY, "2.0", "--epsilon", above=Decimal(0)),
            "definition": "zcdp",
            "mechanism": "estimated",
        },
        "budget": {"epsilon_total": ask.number(total, _TOTAL, "100.0", "--total", above=Decimal(0))},
        "storage": {"path": _store_of(name)},
    }
    try:
        _begin(path, settings, proposal)
    except OtherDays:
        out.print(f"  - {read_all_files(files, path.parent, proposal)}")
        settings["dataset"] |= proposal.settings["dataset"]
        _begin(path, settings, proposal)


def _place(name: str, to: Path | None, force: bool) -> Path:
    """Return the file to write, which replaces no other and shares its storage with no other, unless told to."""
    if not re.fullmatch(NAME, name):
        raise HexveilError(f"--name {name} must be of a-z, 0-9, - and _, and begin with a letter or a digit")
    path = (Path() if to is None else to).resolve()
    if to is None or _is_folder(to):
        path /= f"{name}.toml"
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


def _is_folder(to: Path) -> bool:
    """Return whether a path names a folder: one that is there, or a name without an ending."""
    return to.is_dir() or not (to.suffix or to.exists())


def _store_of(name: str) -> str:
    return f"{name}-store"


def _storage_of(path: Path) -> Path | None:
    """Return the storage of a configuration; None if it is not there, or cannot be used."""
    from tasks.base.config import load_config

    try:
        return load_config(path).storage_path
    except BadConfig:
        return None


def _name_of(file: Path) -> str:
    """Return a name for a dataset by a file's name: its letters, digits, - and _, without a date at its end."""
    stem = re.sub(r"[^a-z0-9_-]", "-", file.name.partition(".")[0].lower())
    return re.sub(r"[-_]*\d{4}[-_]?\d\d[-_]?\d\d([-_]?\d+)*$", "", stem).strip("-_") or stem.strip("-_") or "feed"


def _begin(path: Path, settings: dict[str, dict[str, Any]], proposal: "Proposal") -> None:
    """Try settings on a day, then write them and their schema. If they cannot be used, all stays as it was.

    Without an area that is given, the area is that of all records that the day reads.
    """
    from flows.schema import schema_text
    from tasks.base.config import config_of
    from tasks.base.config_schema import SCHEMA_FILE
    from tasks.base.config_text import config_text
    from tasks.base.durable import write_whole
    from tasks.engines.prepare import while_open
    from tasks.engines.trial import read_records, trial

    with _nothing_written(path):
        config = config_of(config_text(settings), path)
        if proposal.date is None:
            raise HexveilError("no time can be read, so no day can be tried: check --time, or say --time-format")
        with trial(config) as tried:
            with while_open(tried.config):  # not opened anew for each step
                held = read_records(proposal.date, tried.config)
                said = _found(held, proposal)
                if "south" not in settings["validation"]:
                    settings["validation"] |= held.area
                    n_places = held.n_places - held.n_swapped
                    said.append(f"The area is around {n_places:,} places, with a margin; --area gives another.")
                    if held.caution:
                        out.print(held.caution)  # also if the day is refused for them
                settings["grid"] = held.grid
                said += [held.reason] if held.reason else []
                text = config_text(settings)
                with_area = config_of(text, path).model_copy(update={"storage": tried.config.storage})
                said += _try(proposal.date, with_area)
            write_whole(path.with_name(SCHEMA_FILE), schema_text().encode(), mode=0o644)
            _keep_from_git(config.storage_path / "private", path.parent)
            write_whole(path, text.encode(), mode=0o644)
            tried.keep()
    for line in said:
        out.print(line)
    where = f"--config {show.shown(path)} --date {proposal.date}"
    out.print(f"\nWritten: {show.shown(path)}, {SCHEMA_FILE} for editors, and {_IGNORED} to keep private/ out of git.")
    out.print("Nothing was spent. Next:")
    out.print(f"  hexveil explore {where}     # what other cells and budgets would be worth")
    out.print(f"  hexveil run {where}         # publish the day")


def _keep_from_git(private: Path, folder: Path) -> None:
    """Let git ignore the private part of a storage."""
    from tasks.base.durable import write_whole

    path, line = folder / _IGNORED, f"/{private.relative_to(folder)}/\n"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    if line not in text.splitlines(keepends=True):
        write_whole(path, (text + "\n" * bool(text and not text.endswith("\n")) + line).encode(), mode=0o644)


def _found(held: "Held", proposal: "Proposal") -> list[str]:
    """Return in words which days the files hold."""
    days = sorted({*held.days, *proposal.dates})
    return [f"Days found: {show.listed_days(days)}" + (f" ({len(days):,} days)" if len(days) > 1 else "") + "."]


@contextmanager
def _nothing_written(path: Path) -> Iterator[None]:
    """Say what to do if a configuration cannot be used or written."""
    try:
        yield
    except BadConfig as error:
        raise HexveilError(f"{error}\nNothing was written: give other options.") from None
    except OtherDays:
        raise
    except HexveilError as error:
        raise HexveilError(f"{error}\nNothing was written: mend the files, or give other options.") from None
    except OSError as error:
        raise HexveilError(f"{show.shown(path)} cannot be written: {error.strerror}; mend it, or give --to") from None


def _try(date: dt.date, config: Config) -> list[str]:
    """Read and check the day that most of the first records are of, as every run does; return what to say of it."""
    from tasks.engines.prepare import by_itself, prepare_day
    from tasks.planning.preview import preview_plan
    from tasks.records.judge.count_outcomes import prepared_rows, rows_without_day

    prepare_day(date, config, by_itself)
    rows = prepared_rows(date, config)
    plan = preview_plan(date, config)
    others = ", ".join(f"{n:,} {reason}" for reason, n in rows.items() if reason != "kept")
    read = f"{date} was read: {rows['kept']:,} rows kept" + (f"; not used: {others}" if others else "")
    without = show.rows_of_no_day(rows_without_day(date, config))
    said = [f"A run would be refused: {plan['refused']}"] if plan["refused"] else []
    said += [f"Caution: {one}" for one in plan["cautions"]]
    n_users, n_cells = plan["users"], plan["cells_total"]
    return [read, *without, f"It has {n_users:,} users by {config.columns.user}, and {n_cells:,} cells.", *said]
