"""Prints the results of commands: days, plans, the ledger, in a few lines or a table."""

import datetime as dt
import json
import sys
from importlib.metadata import version
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import typer
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from tasks.account.chain import releases
from tasks.account.in_words import in_days
from tasks.account.stopped import stops
from tasks.base.config import Config
from tasks.base.config_source import WHO
from tasks.base.storage import shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from flows.services import LocalServices
    from tasks.account.changes import Amendment
    from tasks.account.entry import Entry
    from tasks.base.config_sections import Budget
    from tasks.base.owner import Owner
    from tasks.reporting.budget_report import BudgetReport
    from tasks.reporting.day_report import DayReport
    from tasks.upkeep.forget import Forgotten

_HEADER_WIDTH = 9
_MOST_DAYS = 12
_IS_TERMINAL = sys.stdout is not None and sys.stdout.isatty()  # it is None where the caller closed it
out = Console(highlight=False, markup=False, emoji=False, soft_wrap=True, width=None if _IS_TERMINAL else 160)


def show_version(wanted: bool) -> None:
    """Print the version and end, if that is wanted."""
    if wanted:
        out.print(f"hexveil {version('hexveil')}")
        raise typer.Exit


def say_error(message: str) -> None:
    """Print a failure on standard error."""
    _on_error().print(f"hexveil: {message}")


def say_beside(note: str) -> None:
    """Print what must be said of an output on standard error, where the output is for programs."""
    _on_error().print(note)


def _on_error() -> Console:
    return Console(stderr=True, highlight=False, soft_wrap=True, markup=False, emoji=False)


def show_day(day: "DayReport", config: Config) -> None:
    """Print the report on a day's release."""
    unit = config.value.unit
    reasons = ", ".join(f"{n:,} {reason}" for reason, n in day.quarantined.items())
    if day.said_first:
        out.print(day.said_first)
    out.print(day.release_id)
    used = f"{day.n_kept:,} kept" + (f" + {day.n_left_out:,} left out" if day.n_left_out else "")
    quarantined = f"{sum(day.quarantined.values()):,} quarantined" + (f" ({reasons})" if reasons else "")
    out.print(f"  rows       {day.n_rows:,} read = {used} + {quarantined}")
    if day.n_users is not None:
        out.print(f"  users      {day.n_users:,} by {config.columns.user}")
    if day.is_promise:
        out.print(f"  cells      {day.n_published:,} published, {day.n_withheld:,} withheld at no cost")
        errors = f"at most {day.worst_error:.3g} {unit}, median {day.median_error:.3g} {unit}"
        out.print(f"  promise    expected error {errors}")
    else:
        out.print(f"  cells      {day.n_published:,} published, all that have records")
        errors = f"median {day.median_error:.3g} {unit}, largest {day.worst_error:.3g} {unit}"
        out.print(f"  estimate   expected error {errors}; each cell has its interval")
        if day.n_coarse:
            out.print(f"  coarse     {day.n_coarse:,} cells have the value of a larger area, as mean_area says")
    share = f"{day.n_covered / max(1, day.n_kept):.1%}"
    out.print(f"  covered    {day.n_covered:,} of {day.n_kept:,} records, {share}")
    out.print(f"  cost       epsilon {day.epsilon:.6f} for any one {WHO[config.columns.user_is]} at most")
    out.print(f"  budget     epsilon {config.budget.in_words} pays {in_days(day.n_more_like_it)} like this")
    out.print(f"  guarantee  {day.in_words}")
    out.print(f"  files      {shown(day.folder)}")
    _show_late(day)
    show_unread(day.unread)
    for line in rows_of_no_day(day.without_day):
        out.print(f"  no day     {line}")
    for caution in day.cautions:
        out.print(f"  caution    {caution}")
    out.print()


def rows_of_no_day(files: dict[str, tuple[int, int]]) -> list[str]:
    """Return in words how many rows of each file belong to no day, of numbers of malformed and of undated ones."""
    return [
        f"{n_malformed + n_undated:,} rows of {name} belong to no day: {n_malformed:,} malformed and {n_undated:,} "
        "without a readable time"
        for name, (n_malformed, n_undated) in files.items()
    ]


def listed_days(days: list[dt.date]) -> str:
    """Return some days in words; of many only the first and the last."""
    return ", ".join(map(str, days if len(days) <= _MOST_DAYS else [*days[: _MOST_DAYS - 2], "...", days[-1]]))


def show_range(days: dict[dt.date, "DayReport | None"], config: Config) -> None:
    """Print one line per day: what was released, and its cost."""
    for date, day in days.items():
        if day is not None and day.said_first:
            out.print(f"{date}: {day.said_first}")
    table = Table("day", "cells", f"worst error, {config.value.unit}", "epsilon", "in all", "more days", box=SIMPLE)
    for date, day in days.items():
        if day is None:
            table.add_row(str(date), "not released")
            continue
        cells = f"{day.n_published:,} of {day.n_published + day.n_withheld:,}"
        losses = [f"{day.epsilon:.6f}", f"{day.epsilon_total:.6f}", f"{day.n_more_like_it:,}"]
        table.add_row(str(date), cells, f"{day.worst_error:.3g}", *losses)
    out.print(table)
    for day in days.values():
        if day is not None:
            _show_late(day)
    n_released = sum(day is not None for day in days.values())
    out.print(f"{n_released} of {len(days)} days are released. The budget is {config.budget.in_words}.")


def show_ledger(
    entries: "list[Entry]",
    amendments: "list[tuple[Amendment, Budget, Budget]]",
    budget: "BudgetReport",
    config: Config,
) -> None:
    """Print the releases, the amendments of the budget, and what users have lost and have left.

    Args:
        entries: The entries of the ledger.
        amendments: The entries that are amendments, each with the budget before it and after it.
        budget: The report on the budgets.
        config: Gives the limit.
    """
    table = Table("no", "release", "cells", "epsilon", "in all", "more days", box=SIMPLE)
    table.columns[1].no_wrap = True
    rows = {entry.number: [f"the budget: {before.in_words} -> {after.in_words}"] for entry, before, after in amendments}
    for entry in releases(entries):
        losses = [f"{entry.epsilon:.6f}", f"{entry.epsilon_total_after:.6f}", f"{entry.n_more_like_it:,}"]
        rows[entry.number] = [entry.release_id, f"{entry.n_published:,} of {entry.n_cells:,}", *losses]
    for stop in stops(entries):
        losses = [f"{stop.epsilon:.6f}", f"{stop.epsilon_total_after:.6f}"]
        rows[stop.number] = [stop.release_id, "stopped", *losses]
    for number, row in sorted(rows.items()):
        table.add_row(str(number), *row)
    out.print(table)
    for entry, before, after in amendments:
        changed = f"{entry.number}: on {entry.committed_at:%Y-%m-%d} the budget was loosened"
        out.print(f"{changed} from {before.in_words} to {after.in_words}: {entry.reason}", markup=False)
    out.print(budget.statement)
    out.print(f"The budget, epsilon {config.budget.in_words}, {budget.pays_in_words}, ", end="")
    out.print(f'at {config.privacy.epsilon_per_day} a day; "more days" are days like that of the line.')
    if not budget.n_users:
        return
    deciles = ", ".join(budget.deciles_in_words[number] for number in (0, 1, 5, 9, 10))
    out.print(f"\n{budget.n_users:,} users: least, 10 %, median, 90 % and largest loss: {deciles}")
    widest = max(n_users for _, _, n_users in budget.bars)
    for low, high, n_users in budget.bars:
        out.print(f"  {low:9.3f} to {high:9.3f}  {'█' * round(40 * n_users / widest):40} {n_users:,}")


def show_forgotten(forgotten: "Forgotten", config: Config) -> None:
    """Print what was deleted, and what the operator may still have."""
    if forgotten.n_held:
        out.print(f"The raw rows of {forgotten.n_held:,} local days are deleted, and their space is given back.")
    if n_other := len(forgotten.rows) - forgotten.n_held:
        out.print(f"Of {n_other:,} local days no raw rows were here; they will never be read.")
    if forgotten.files:
        named = ", ".join(forgotten.files[:5]) + (
            f" and {len(forgotten.files) - 5:,} more" if forgotten.files[5:] else ""
        )
        out.print(f"They came from {named}, relative to {shown(config.folder)}: these files are yours to delete.")
    out.print("Releases, the ledger and what each user lost stay; hexveil ledger verify checks them as before.")


def show_services(local: "LocalServices", flows: tuple[str, ...], config: "Owner") -> None:
    """Print the addresses of the services, and what is deployed: flows that run by themselves, and others."""
    name = config.name
    deployed = ", ".join(f"{flow}-{name}" for flow in (*flows, "backfill"))
    out.print(f"pages      {local.url}: {deployed} and verify-{name} are deployed")
    out.print(f"sign in    with {shown(local.password_file)}: who has it can run programs here, so keep it from others")
    out.print(f"maps       {local.files_url.format(dataset=name)}")
    out.print(f"logs       {shown(local.folder)}")
    out.print(f"Days are counted in {config.timezone}. `hexveil down` (or make down) stops all of it.")


def show_unread(problems: "Iterable[str]", *, aside: bool = False) -> None:
    """Print what is wrong with late files that cannot be read; if aside, on standard error."""
    to = _on_error() if aside else out
    for problem in problems:
        to.print(f"  late       records in a file that cannot be read were not counted: {problem}")


def _show_late(day: "DayReport") -> None:
    for date, n_records in day.late.items():
        out.print(f"  late       {n_records:,} records of {date} came after its release; they change nothing")


def show_evaluation(evaluation: dict[str, Any], path: Path, config: Config) -> None:
    """Print how far a released day is from its values, and that these numbers are private."""
    single = {name: value for name, value in evaluation.items() if not isinstance(value, list)}
    out.print(table_about(f"PRIVATE: errors in {config.value.unit}", single))
    for name, groups in evaluation.items():
        if isinstance(groups, list):
            out.print(f"{name.replace('_', ' ')}:")
            out.print(table_of(groups))
    out.print("These numbers come from values without noise. Do not publish them, and do not choose settings by them: ")
    out.print(f"that spends privacy which no account counts. They are in {shown(path)}.")


def about_the_errors(compare: bool, year: bool, config: Config) -> str:
    """Return what the numbers of a plan mean, in words."""
    if year:
        return "Losses are epsilon, of one user."
    if not compare:
        return f"Errors are in {config.value.unit}."
    return (
        f"Errors are in {config.value.unit}: of `estimated` what is expected, of the others what is promised whatever "
        "the values are. Over all records, a withheld cell counts with half the range."
    )


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    out.print_json(json.dumps(value, default=str), highlight=False, indent=2)


def table_about(title: str, summary: dict[str, Any]) -> Table:
    """Return a table of names and values."""
    table = Table("", title, box=SIMPLE)
    table.columns[1].overflow = "fold"
    for name, value in summary.items():
        table.add_row(name, _readable(float(value) if name == "epsilon" else value))
    return table


def table_of(rows: list[dict[str, Any]]) -> Table:
    """Return a narrow table of rows with the same names, without columns that are empty."""
    names = [name for name in rows[0] if any(row[name] is not None for row in rows)]
    headers = [fill(name.replace("_", " "), _HEADER_WIDTH) for name in names]
    table = Table(*headers, box=SIMPLE, pad_edge=False, collapse_padding=True)
    table.columns[0].no_wrap = True
    for row in rows:
        table.add_row(*(_readable(row[name]) for name in names))
    return table


def _readable(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.6g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
