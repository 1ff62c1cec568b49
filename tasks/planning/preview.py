"""Preview what a day would publish, and at which promised error and cost. Spends nothing."""

import datetime as dt
import time
from fractions import Fraction
from statistics import median
from typing import Any

import h3

from dpmath.core.privacy_loss import PureLoss
from tasks.account.amendments import refusal
from tasks.account.chain import releases
from tasks.account.identity import release_id
from tasks.account.ledger import read_entries
from tasks.base.config import Config
from tasks.base.errors import contained
from tasks.base.progress import progress
from tasks.mechanisms.table import PROMISING, propose
from tasks.planning.day_plan import cell_frame, mean_errors, store_plan
from tasks.planning.plan import make_plan, read_day, summarise_plan


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
    return {
        **summarise_plan(plan),
        "plan_hash": plan_hash,
        "release_id": identity if released else None,
        "refused": None if released else refusal(entries, config),
        "seconds": round(time.perf_counter() - start, 3),
    }


@contained
def preview_cells(date: dt.date, config: Config) -> list[dict[str, Any]]:
    """Return one row per cell of the day's plan: its size, and what it would promise and cost if published."""
    plan = make_plan(date, config)
    errors = mean_errors(plan.occupancy, plan.sums["mean"], Fraction(config.value.tick))
    rows = []
    for cell, error in zip(cell_frame(plan).iter_rows(named=True), errors, strict=True):
        published = {
            "mean_error_bound": None if error is None else float(error),
            "epsilon": float(PureLoss(cell["epsilon_units"]).as_fraction()),
        }
        place = {"h3_cell": h3.int_to_str(cell["h3_cell"]), "slot_start": cell["slot_start"].isoformat()}
        rows.append({**place, "n_records": cell["n_records"], "n_users": cell["n_users"], **published})
    return rows


@contained
def compare_mechanisms(date: dt.date, config: Config) -> list[dict[str, Any]]:
    """Return the day under every mechanism that promises an error: cells, epsilon and promised errors."""
    request = read_day(date, config).request
    tick = Fraction(config.value.tick)
    rows = []
    for mechanism in progress(list(PROMISING), "planning by every mechanism"):
        proposal = propose(mechanism, request)
        errors = [error for error in mean_errors(request.occupancy, proposal.sums[0], tick) if error is not None]
        rows.append(
            {
                "mechanism": mechanism,
                "cells_published": len(errors),
                "epsilon": float(proposal.loss),
                "epsilon_lower_bound": proposal.epsilon_lower_bound,
                "worst_error": float(max(errors)) if errors else None,
                "median_error": float(median(errors)) if errors else None,
            }
        )
    return rows
