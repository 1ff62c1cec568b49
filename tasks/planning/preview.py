"""Preview what a day would publish, and at which promised error and cost. Spends nothing."""

import datetime as dt
import time
from dataclasses import replace
from typing import Any

from dpmath.core.currency import LAPLACE, PURE, Concentrated
from tasks.account.amendments import refusal
from tasks.account.budgets import Account
from tasks.account.chain import releases
from tasks.account.entry import Entry
from tasks.account.identity import find_entry, release_id
from tasks.account.ledger import read_entries
from tasks.account.screenings import find_stop, why_stopped
from tasks.account.witnesses import other_users
from tasks.base.config import Config
from tasks.base.config_privacy import DEFAULT_DELTA
from tasks.base.errors import HexveilError, contained
from tasks.kinds.plan import Outlook, Plan, store_plan
from tasks.kinds.table import kind_of
from tasks.planning.cautions import GUESSED, SHOWN, cautions, no_better, row_cautions
from tasks.planning.other_files import zone_cautions
from tasks.planning.plan import make_plan, read_day
from tasks.planning.presence import known_of, presence_cautions, presence_of, wrong_users
from tasks.planning.released_spread import released_spread
from tasks.records.judge.count_outcomes import prepared_rows

_DAYS_AHEAD = (1, 7, 28, 365)


@contained
def preview_plan(date: dt.date, config: Config) -> dict[str, Any]:
    """Return what the day would publish and cost, after storing the plan. Spends nothing.

    ``refused`` says why a run would be refused: the day was released with another grid, the ledger is of other users,
    its budget is looser than the one in force, the day was stopped with the same settings, or its users are none.
    ``guess`` says that one number for the day would do as well, and what would help. ``cautions`` are sentences on what
    to look at before a run.
    """
    start = time.perf_counter()
    plan = make_plan(date, config)
    plan_hash = store_plan(plan, config)
    identity = release_id(date, config)
    entries = read_entries(config)
    presence = presence_of(date, config, plan.user_hashes, known_of(date, entries, config))
    released = any(entry.release_id == identity for entry in releases(entries))
    wrong = None if released else wrong_users(presence, config)
    outlook = plan.outlook(date, config)
    return {
        "paid_in_part": plan.payment.in_words,
        "guess": _guess(plan, outlook, date, entries, config),
        **plan.summary(),
        **outlook.numbers,
        "users": presence.n_users,
        "plan_hash": plan_hash,
        "release_id": identity if released else None,
        "refused": None if released else _refused(date, entries, config) or wrong,
        "cautions": [
            *presence_cautions(presence, config, wrong),
            *row_cautions(prepared_rows(date, config), config),
            *zone_cautions(date, config),
            *cautions(plan.cells, entries, config, plan.n_asked),
        ],
        "seconds": round(time.perf_counter() - start, 3),
    }


def _guess(plan: Plan, outlook: Outlook, date: dt.date, entries: list[Entry], config: Config) -> str | None:
    error, shown = outlook.of_published, released_spread(entries, config)
    spread, by = (outlook.of_constant, GUESSED) if shown is None else (shown, SHOWN)
    if error is None or spread is None or error < spread:
        return None
    said = no_better(error, spread, by, plan.enough(date, shown, config), config)
    return said[0].upper() + said[1:]


def _refused(date: dt.date, entries: list[Entry], config: Config) -> str | None:
    try:
        find_entry(date, None, entries, config)
    except HexveilError as error:
        return str(error)
    return other_users(entries, config) or refusal(entries, config) or _stopped(date, entries, config)


def _stopped(date: dt.date, entries: list[Entry], config: Config) -> str | None:
    stop = find_stop(date, None, entries, config.public_settings())
    return None if stop is None else str(why_stopped(stop))


@contained
def preview_cells(date: dt.date, config: Config) -> list[dict[str, Any]]:
    """Return one row per cell of the day's plan: its size, and what it would promise and cost if published."""
    return make_plan(date, config).rows(date, config)


@contained
def preview_year(date: dt.date, config: Config) -> list[dict[str, Any]]:
    """Return what days like one add up to under both definitions, if nothing was spent before; spends nothing.

    One row per number of days. The day is planned once under each definition. ``at_most`` is for days that each cost a
    user all of epsilon_per_day, and ``as_planned`` for days that each cost one user what the plan costs the user with
    the largest loss. A number is None where no cell can be published.
    """
    privacy = config.privacy
    request = replace(read_day(date, config, Account([], config)).request, budgets=None)
    zcdp = Concentrated(privacy.delta or DEFAULT_DELTA)
    asked = {"pure": replace(request, currency=PURE, noise=LAPLACE), "zcdp": replace(request, currency=zcdp)}
    costs = {name: kind_of(config).cells_and_loss(one, config) for name, one in asked.items()}

    def row(n_days: int) -> dict[str, Any]:
        found: dict[str, Any] = {"days": n_days}
        for name, one in asked.items():
            (n_cells, worst), currency = costs[name], one.currency
            found |= {
                f"{name}_cells": n_cells,
                f"{name}_at_most": float(currency.epsilon(n_days * currency.within(privacy.epsilon_per_day))),
                f"{name}_as_planned": float(currency.epsilon(n_days * worst)) if n_cells else None,
            }
        return found

    return [row(n_days) for n_days in _DAYS_AHEAD]
