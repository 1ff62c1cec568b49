"""Preview what a day would publish, and at which promised error and cost. Spends nothing."""

import datetime as dt
import time
from dataclasses import replace
from fractions import Fraction
from typing import Any

import h3
import numpy as np

from dpmath.core.cell_sums import user_losses
from dpmath.core.currency import LAPLACE, PURE, Concentrated, Currency
from dpmath.estimate.areas import HALF_WIDTH
from tasks.account.amendments import refusal
from tasks.account.budgets import Account
from tasks.account.chain import releases
from tasks.account.entry import Entry
from tasks.account.identity import release_id
from tasks.account.ledger import read_entries
from tasks.account.screenings import find_stop, why_stopped
from tasks.base.config import Config
from tasks.base.config_privacy import DEFAULT_DELTA
from tasks.base.errors import contained
from tasks.estimates.expected import expected_estimate
from tasks.mechanisms.proposals import Request
from tasks.mechanisms.table import propose
from tasks.planning.cautions import cautions
from tasks.planning.day_plan import EstimatePlan, Plan, cell_frame, mean_errors, n_asked, over_records, store_plan
from tasks.planning.plan import make_plan, read_day, summarise_plan

_DAYS_AHEAD = (1, 7, 28, 365)


@contained
def preview_plan(date: dt.date, config: Config) -> dict[str, Any]:
    """Return what the day would publish and cost, after storing the plan. Spends nothing.

    ``refused`` says why a run would be refused: its budget is looser than the one in force, or the day was stopped with
    the same settings. ``cautions`` are sentences on what to look at before a run.
    """
    start = time.perf_counter()
    plan = make_plan(date, config)
    plan_hash = store_plan(plan, config)
    identity = release_id(date, config)
    entries = read_entries(config)
    released = any(entry.release_id == identity for entry in releases(entries))
    over_the_map = _over_the_map(date, plan, config)
    return {
        **summarise_plan(plan),
        **over_the_map,
        "plan_hash": plan_hash,
        "release_id": identity if released else None,
        "refused": None if released else refusal(entries, config) or _stopped(date, entries, config),
        "cautions": cautions(plan.cells, _error_of_published(plan, over_the_map), entries, config, n_asked(plan)),
        "seconds": round(time.perf_counter() - start, 3),
    }


def _stopped(date: dt.date, entries: list[Entry], config: Config) -> str | None:
    stop = find_stop(date, None, entries, config.public_settings())
    return None if stop is None else str(why_stopped(stop))


def _error_of_published(plan: Plan, over_the_map: dict[str, float | None]) -> float | None:
    """Return what is promised or expected over the records that are published."""
    if isinstance(plan, EstimatePlan):
        return over_the_map["error_over_all_records"]
    records = plan.occupancy.cell_records[plan.published]
    return float(np.average([float(error) for error in plan.mean_errors], weights=records))


@contained
def preview_cells(date: dt.date, config: Config) -> list[dict[str, Any]]:
    """Return one row per cell of the day's plan: its size, and what it would promise and cost if published."""
    plan = make_plan(date, config)
    if isinstance(plan, EstimatePlan):
        return _expected_cells(date, plan, config)
    errors = mean_errors(plan.occupancy, plan.sums["mean"], Fraction(config.value.tick))
    rows = []
    for cell, error in zip(cell_frame(plan).iter_rows(named=True), errors, strict=True):
        published = {
            "mean_error_bound": None if error is None else float(error),
            "epsilon": float(plan.currency.epsilon(cell["epsilon_units"])),
        }
        place = {"h3_cell": h3.int_to_str(cell["h3_cell"]), "slot_start": cell["slot_start"].isoformat()}
        rows.append({**place, "n_records": cell["n_records"], "n_users": cell["n_users"], **published})
    return rows


def _over_the_map(date: dt.date, plan: Plan, config: Config) -> dict[str, float | None]:
    """Return the error that is expected over all records; of an estimate, also of its cells, and the day's share.

    Both are means over records. ``cells_too_wide`` is how many cells of an estimate are expected to have an interval
    wider than the target, and the value of a larger area. All are None for an estimate before the first release,
    because the values' scale is not known then.
    """
    if not isinstance(plan, EstimatePlan):
        errors = mean_errors(plan.occupancy, plan.sums["mean"], Fraction(config.value.tick))
        return {"error_over_all_records": over_records(errors, plan.occupancy, config)}
    expected = expected_estimate(date, plan.cells, plan.occupancy, plan.question_losses, config)
    if expected is None:
        return dict.fromkeys(("worst_error", "median_error", "error_over_all_records", "day_share", "cells_too_wide"))
    target = config.privacy.target_error
    return {
        "worst_error": float(expected.error.max()),
        "median_error": float(np.median(expected.error)),
        "error_over_all_records": over_records(expected.error.tolist(), plan.occupancy, config),
        "day_share": over_records(expected.day_share.tolist(), plan.occupancy, config),
        "cells_too_wide": 0 if target is None else int((HALF_WIDTH * expected.deviation > float(target)).sum()),
    }


def _expected_cells(date: dt.date, plan: EstimatePlan, config: Config) -> list[dict[str, Any]]:
    """Return one row per cell of an estimate: its size, the standard deviation expected, and the day's share in it."""
    expected = expected_estimate(date, plan.cells, plan.occupancy, plan.question_losses, config)
    unknown = [None] * plan.cells.height
    deviations, shares = (
        (unknown, unknown) if expected is None else (expected.deviation.tolist(), expected.day_share.tolist())
    )
    return [
        {
            "h3_cell": h3.int_to_str(cell["h3_cell"]),
            "slot_start": cell["slot_start"].isoformat(),
            "n_records": cell["n_records"],
            "n_users": cell["n_users"],
            "expected_sd": deviation,
            "day_share": share,
        }
        for cell, deviation, share in zip(plan.cells.iter_rows(named=True), deviations, shares, strict=True)
    ]


@contained
def preview_year(date: dt.date, config: Config) -> list[dict[str, Any]]:
    """Return what days like one add up to under both definitions, if nothing was spent before; spends nothing.

    One row per number of days. The day is planned once under each definition. ``at_most`` is for days that each cost a
    user all of epsilon_per_day, and ``as_planned`` for days that each cost one user what the plan costs the user with
    the largest loss. ``pure_plan_in_zcdp`` is what a conversion would make of such days in pure epsilon. A number is
    None where no cell can be published.
    """
    privacy = config.privacy
    request = replace(read_day(date, config, Account([], config)).request, budgets=None)
    zcdp = privacy.currency if isinstance(privacy.currency, Concentrated) else Concentrated(DEFAULT_DELTA)
    asked: dict[Currency, Request] = {
        PURE: replace(request, currency=PURE, noise=LAPLACE),
        zcdp: replace(request, currency=zcdp),
    }
    planned_and_counted_in: list[tuple[Currency, Currency]] = [(PURE, PURE), (PURE, zcdp), (zcdp, zcdp)]
    if privacy.planned_by.estimates:  # every cell, and all that a day may cost
        n_cells = {currency.name: request.occupancy.n_cells for currency in asked}
        pure_in_zcdp = zcdp.of_noise(LAPLACE, 1, PURE.within(privacy.epsilon_per_day))
        most_of_a_day = (PURE.within(privacy.epsilon_per_day), pure_in_zcdp, zcdp.within(privacy.epsilon_per_day))
        worst = dict(zip(planned_and_counted_in, most_of_a_day, strict=True))
    else:
        sums = {currency: propose(privacy.mechanism, one).sums for currency, one in asked.items()}
        n_cells = {currency.name: int(one[0].published.sum()) for currency, one in sums.items()}
        worst = {both: max(user_losses(request.occupancy, sums[both[0]], both[1])) for both in planned_and_counted_in}

    def cost(of: Currency, counted_in: Currency, n_days: int) -> float | None:
        return float(counted_in.epsilon(n_days * worst[of, counted_in])) if n_cells[of.name] else None

    def most(currency: Currency, n_days: int) -> float:
        return float(currency.epsilon(n_days * currency.within(privacy.epsilon_per_day)))

    return [
        {
            "days": n_days,
            "pure_cells": n_cells["pure"],
            "pure_at_most": most(PURE, n_days),
            "pure_as_planned": cost(PURE, PURE, n_days),
            "pure_plan_in_zcdp": cost(PURE, zcdp, n_days),
            "zcdp_cells": n_cells["zcdp"],
            "zcdp_at_most": most(zcdp, n_days),
            "zcdp_as_planned": cost(zcdp, zcdp, n_days),
        }
        for n_days in _DAYS_AHEAD
    ]
