"""Writes the markdown for the scheduler's pages: on a day, on a range of days, and on the budget."""

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import Any

from tasks.account.amendments import amendments
from tasks.account.chain import releases
from tasks.account.entry import Entry, Release
from tasks.account.in_words import in_days
from tasks.account.stopped import stops
from tasks.base.config import Config
from tasks.base.markdown import table, text
from tasks.reporting.budget_report import BudgetReport
from tasks.reporting.day_report import DayReport

_N_LAST = 31


def day_page(
    date: dt.date, day: DayReport, links: Mapping[str, str], seconds: Mapping[str, float], config: Config
) -> str:
    """Return the page on a day: its results, links to its files, and how long each step of the run took."""
    unit, kind = config.value.unit, "promised" if day.is_promise else "expected"
    records = [("read", day.n_rows), ("kept", day.n_kept)]
    records += [("left out, by columns.only", day.n_left_out)] if day.n_left_out else []
    records += [("quarantined", sum(day.quarantined.values()))]
    records += [(f"quarantined: {reason}", n) for reason, n in sorted(day.quarantined.items())]
    for name, numbers in day.without_day.items():
        records += zip(
            (f"malformed, of no day, in {name}", f"without a readable time, in {name}"), numbers, strict=True
        )
    records += [(f"late, of {late}, not used", n) for late, n in sorted(day.late.items())]
    cells = [
        ("published", day.n_published),
        ("withheld at no cost", day.n_withheld),
        ("records covered", day.n_covered),
        (f"worst {kind} error, {unit}", day.worst_error),
        (f"median {kind} error, {unit}", day.median_error),
    ]
    privacy = [
        ("of this day, worst user", day.epsilon),
        ("of all releases so far, worst user", day.epsilon_total),
        (f"{config.budget.in_words} pays, like this", in_days(day.n_more_like_it)),
    ]
    steps = [(name.replace("_", " "), round(took)) for name, took in seconds.items()]
    return "\n\n".join(
        [
            f"# {text(config.dataset.name)} {date}",
            *([f"**{day.said_first}**"] if day.said_first else []),
            " · ".join(f"[{name}]({link})" for name, link in links.items()),
            *(f"**Late, in a file that cannot be read**: {text(problem)}" for problem in day.unread),
            *(f"**Caution**: {text(caution)}" for caution in day.cautions),
            table(("records", "rows"), records),
            table(("cells", ""), cells),
            table(("epsilon", ""), privacy),
            table(("step of this run", "seconds"), steps),
            f"{day.in_words[0].upper()}{day.in_words[1:]}.",
            f"Release `{day.release_id}`. Losses are those of the one user who lost most.",
        ]
    )


def range_page(days: Mapping[dt.date, DayReport | None], problems: Mapping[dt.date, str], config: Config) -> str:
    """Return the page on a backfill: one line for each day, and the problems."""
    n_released = sum(day is not None for day in days.values())
    names = ("day", "cells", f"worst error, {config.value.unit}", "epsilon", "in all", "more days like it")
    parts = [
        f"# {text(config.dataset.name)}: {n_released} of {len(days)} days released",
        *(f"**{date}: {day.said_first}**" for date, day in days.items() if day is not None and day.said_first),
        table(names, _day_rows(days)),
    ]
    if problems:
        parts.append(table(("day", "problem"), sorted(problems.items())))
    return "\n\n".join(parts)


def budget_page(entries: list[Entry], budget: BudgetReport, picture: str, config: Config) -> str:
    """Return the page on the budget: what users have left, the burn-down, and the releases, newest first.

    Args:
        entries: The entries of the ledger.
        budget: The report on the budgets.
        picture: The address of the burn-down's picture.
        config: Gives the limit.
    """
    released = releases(entries)
    rows = [_release_row(entry) for entry in reversed(released[-_N_LAST:])]
    names = ("release", "day", "cells", "epsilon", "in all", "more days like it", "made at, UTC")
    more = f"\n\nThe {len(released) - _N_LAST:,} before are in the ledger." if len(released) > _N_LAST else ""
    return "\n\n".join(
        [
            f"# The budget of {text(config.dataset.name)}",
            f"The budget, epsilon {config.budget.in_words}, **{budget.pays_in_words}**, at "
            f"{config.privacy.epsilon_per_day} a day.",
            budget.statement,
            f"![what the worst user had left after each release]({picture})",
            _spread(budget),
            *_amendments(entries),
            *_stops(entries),
            f"## Releases: {len(released):,}",
            table(names, rows) + more,
        ]
    )


def _amendments(entries: list[Entry]) -> Iterable[str]:
    """Return when the budget was loosened, and why; newest first."""
    lines = [
        f"- {entry.committed_at:%Y-%m-%d}: from {before.in_words} to {after.in_words}. {text(entry.reason)}"
        for entry, before, after in amendments(entries)
    ]
    return ["## The budget was loosened", "\n".join(reversed(lines))] if lines else []


def _stops(entries: list[Entry]) -> Iterable[str]:
    """Return which days were stopped, and by what count; newest first."""
    lines = [
        f"- {stop.date}: about {stop.n_unreadable:,} of {stop.n_asked:,} users, for epsilon {float(stop.epsilon):.6g}"
        for stop in stops(entries)
    ]
    return ["## Days stopped because most values could not be read", "\n".join(reversed(lines))] if lines else []


def is_low(budget: BudgetReport, config: Config) -> bool:
    """Return whether the budget pays too few more days in full; with a window of days, whether it does not pay one."""
    return budget.n_days_left < (1 if config.budget.window_days else config.monitoring.budget_low_days)


def _spread(budget: BudgetReport) -> str:
    if not budget.n_users:
        return "No user has lost anything."
    least, median, ninth, largest = (budget.deciles_in_words[number] for number in (0, 5, 9, 10))
    return (
        f"{budget.n_users:,} users have lost something in all: the least {least}, half of them up to {median}, "
        f"nine in ten up to {ninth}, the most {largest}."
    )


def _day_rows(days: Mapping[dt.date, DayReport | None]) -> Iterable[tuple[Any, ...]]:
    for date, day in days.items():
        if day is None:
            yield (date, "not released", "", "", "", "")
        else:
            cells = f"{day.n_published:,} of {day.n_published + day.n_withheld:,}"
            yield (date, cells, day.worst_error, day.epsilon, day.epsilon_total, day.n_more_like_it)


def _release_row(entry: Release) -> tuple[Any, ...]:
    cells = f"{entry.n_published:,} of {entry.n_cells:,}"
    losses = [entry.epsilon, entry.epsilon_total_after, entry.n_more_like_it]
    day = f"{entry.date}" + (f", revision {entry.revision}" if entry.revision else "")
    made_at = f"{entry.committed_at:%Y-%m-%d %H:%M}"
    return (entry.number, day, cells, *losses, made_at)
