"""Preview what a day would publish, and at which promised error and cost. Spends nothing."""

import datetime as dt
import math
import time
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from statistics import median
from typing import Any

import h3
import numpy as np

from dpmath.core.cell_sums import user_losses
from dpmath.core.currency import LAPLACE, PURE, Concentrated, Currency
from tasks.account.amendments import refusal
from tasks.account.budgets import Account
from tasks.account.chain import releases
from tasks.account.identity import release_id
from tasks.account.ledger import read_entries
from tasks.base.config import Config
from tasks.base.config_privacy import DEFAULT_DELTA, estimated_privacy
from tasks.base.errors import contained
from tasks.base.progress import progress
from tasks.estimates.expected import expected_deviations
from tasks.mechanisms.proposals import Request
from tasks.mechanisms.table import PROMISING, propose
from tasks.planning.day_plan import EstimatePlan, cell_frame, mean_errors, store_plan
from tasks.planning.plan import PlannedDay, make_plan, read_day, summarise_plan

_DAYS_AHEAD = (1, 7, 28, 365)


@contained
def preview_plan(date: dt.date, config: Config) -> dict[str, Any]:
    """Return what the day would publish and cost, after storing the plan. Spends nothing.

    ``refused`` says why a run would be refused: its budget is looser than the one in force.
    """
    start = time.perf_counter()
    plan = make_plan(date, config)
    plan_hash = store_plan(plan, config)
    identity = release_id(date, config)
    entries = read_entries(config)
    released = any(entry.release_id == identity for entry in releases(entries))
    expected = _expected_map(date, plan, config) if isinstance(plan, EstimatePlan) else {}
    return {
        **summarise_plan(plan),
        **expected,
        "plan_hash": plan_hash,
        "release_id": identity if released else None,
        "refused": None if released else refusal(entries, config),
        "seconds": round(time.perf_counter() - start, 3),
    }


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


def _expected_map(date: dt.date, plan: EstimatePlan, config: Config) -> dict[str, float | None]:
    """Return how exact an estimate is expected to be; None on the first day, whose scale is not known before it."""
    deviations = expected_deviations(date, plan.cells, plan.occupancy, plan.losses, config)
    if deviations is None:
        return {"median_expected_sd": None, "expected_sd_of_a_record": None}
    of_records = float((deviations * plan.occupancy.cell_records).sum() / plan.occupancy.cell_records.sum())
    return {"median_expected_sd": median(deviations.tolist()), "expected_sd_of_a_record": of_records}


def _expected_cells(date: dt.date, plan: EstimatePlan, config: Config) -> list[dict[str, Any]]:
    """Return one row per cell of an estimate: its size, and the standard deviation that it is expected to have."""
    deviations = expected_deviations(date, plan.cells, plan.occupancy, plan.losses, config)
    shown = [None] * plan.cells.height if deviations is None else deviations.tolist()
    return [
        {
            "h3_cell": h3.int_to_str(cell["h3_cell"]),
            "slot_start": cell["slot_start"].isoformat(),
            "n_records": cell["n_records"],
            "n_users": cell["n_users"],
            "expected_sd": deviation,
        }
        for cell, deviation in zip(plan.cells.iter_rows(named=True), shown, strict=True)
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


@contained
def compare_mechanisms(date: dt.date, config: Config) -> list[dict[str, Any]]:
    """Return the day under every mechanism that promises an error, and as an estimate: cells, epsilon and errors.

    ``error_of_a_record`` is the mean over all records of the promised error of their cell, or of the error that an
    estimate expects. A withheld cell counts with half the range, which the middle of the range keeps whatever the
    values are. It is None for an estimate before the first release, because the values' scale is not known then.
    """
    day = read_day(date, config)
    request, tick = day.request, Fraction(config.value.tick)
    rows = [_as_estimate(date, day, config)]
    for mechanism in progress(list(PROMISING), "planning by every mechanism"):
        proposal = propose(mechanism, request)
        errors = [error for error in mean_errors(request.occupancy, proposal.sums[0], tick) if error is not None]
        rows.append(
            {
                "mechanism": mechanism,
                "cells_published": len(errors),
                "epsilon": float(request.currency.epsilon(proposal.loss)),
                "epsilon_lower_bound": proposal.epsilon_lower_bound,
                "worst_error": float(max(errors)) if errors else None,
                "median_error": float(median(errors)) if errors else None,
                "error_of_a_record": _over_records(mean_errors(request.occupancy, proposal.sums[0], tick), day, config),
            }
        )
    return rows


def _over_records(errors: Sequence[Fraction | None], day: PlannedDay, config: Config) -> float:
    """Return the mean over records of the cells' errors; a cell without one counts with half the range."""
    half = float(config.value.span) / 2
    each = [half if error is None else float(error) for error in errors]
    records = day.request.occupancy.cell_records
    return float(np.average(each, weights=records))


def _as_estimate(date: dt.date, day: PlannedDay, config: Config) -> dict[str, Any]:
    """Return what the day would be as an estimate."""
    of_estimate = config.model_copy(update={"privacy": estimated_privacy(config.privacy)})
    losses = propose("estimated", day.request).user_losses
    if losses is None:
        raise ValueError("an estimate says what each user loses")
    deviations = expected_deviations(date, day.cells, day.request.occupancy, losses, of_estimate)
    errors = None if deviations is None else deviations * math.sqrt(2 / math.pi)
    return {
        "mechanism": "estimated",
        "cells_published": day.request.occupancy.n_cells,
        "epsilon": float(config.privacy.currency.epsilon(max(losses))),
        "epsilon_lower_bound": None,
        "worst_error": None if errors is None else float(errors.max()),
        "median_error": None if errors is None else float(np.median(errors)),
        "error_of_a_record": None
        if errors is None
        else float(np.average(errors, weights=day.request.occupancy.cell_records)),
    }
