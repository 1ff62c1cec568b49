"""Make the plan of one day: which cells it publishes, with which clipping and noise. It never reads a value."""

import datetime as dt
import logging
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import median
from typing import Any

import numpy as np
import polars as pl

from dpmath.core.accounting import ExactIntArray
from dpmath.core.bias import rounding_errors, variance_error
from dpmath.core.occupancy import Occupancy
from tasks.account.budgets import Account
from tasks.account.ledger import read_entries
from tasks.account.screenings import charges_within
from tasks.account.user_keys import known_users
from tasks.base import warehouse
from tasks.base.config import Config
from tasks.base.errors import BudgetExceeded, HexveilError, NothingToPublish
from tasks.base.logs import say
from tasks.base.steps import step
from tasks.estimates.owner_covariates import with_covariates
from tasks.formats.map.places import read_places
from tasks.mechanisms.proposals import Proposal, Request
from tasks.mechanisms.table import propose
from tasks.occupancy.user_cells import prepared_by
from tasks.planning.day_plan import DayPlan, EstimatePlan, Plan, store_plan
from tasks.planning.stored_plan import MOMENTS, plan_settings
from tasks.sums.kinds import kind_of

log = logging.getLogger("hexveil.plan")


@step("plan {config.dataset.name} {date}")
def plan_release(date: dt.date, config: Config) -> str:
    """Make and store the plan of a day, and return its hash.

    Raises:
        NothingToPublish: No cell can keep its promise.
        BudgetExceeded: No user of the day has budget left.
    """
    plan = make_plan(date, config)
    plan_hash = store_plan(plan, config)
    summary = summarise_plan(plan)
    shown = ("cells_total", "cells_published", "cells_withheld", "epsilon", "worst_error", "mechanism")
    say(log, "planned", date=date, **{name: summary[name] for name in shown if name in summary})
    return plan_hash


@dataclass(frozen=True)
class PlannedDay:
    """What a plan is made from: the cells with the owner's covariates, the users by keyed hash, and the request.

    ``charges`` are what it costs each user to screen the day.
    """

    cells: pl.DataFrame
    user_hashes: list[str]
    charges: ExactIntArray
    request: Request

    def with_budgets(self, budgets: ExactIntArray, config: Config) -> "PlannedDay":
        """Return the day if users may lose so much by it: the screening is paid first, the mechanism has the rest."""
        charges = charges_within(budgets, config)
        request = request_of(self.request.occupancy, budgets - charges, config)
        return replace(self, charges=charges, request=after_screening(request, charges, config))


def make_plan(date: dt.date, config: Config, account: Account | None = None) -> Plan:
    """Return the plan of a day from its occupancy, the public bounds and what each user has left.

    Args:
        date: The local day; it must be prepared.
        config: Says the bounds and the request.
        account: What each user has lost; None reads it from the ledger.

    Raises:
        NothingToPublish: No cell can keep its promise.
        BadInput: The file of the map's places cannot be read.
        BudgetExceeded: No user of the day has budget left.
    """
    day = read_day(date, config, account)
    return planned_day(date, day, propose(config.privacy.mechanism, day.request), config)


def planned_day(date: dt.date, day: PlannedDay, proposal: Proposal, config: Config) -> Plan:
    """Return the plan of a day from a mechanism's proposal; raises what ``make_plan`` does."""
    if config.publish.map:
        read_places(config)  # what is wrong with the map's file is said before anything is drawn
    if proposal.user_losses is not None:
        return _estimate_plan(date, day, proposal.user_losses, config)
    if not proposal.sums[0].published.any():
        raise _why_nothing(date, day.request, config)
    return DayPlan(
        cells=day.cells,
        user_hashes=day.user_hashes,
        occupancy=day.request.occupancy,
        sums=dict(zip(MOMENTS, proposal.sums, strict=False)),
        kind=kind_of(config),
        currency=config.privacy.currency,
        settings=plan_settings(date, config),
        charges=day.charges,
        epsilon_lower_bound=proposal.epsilon_lower_bound,
        gap=proposal.gap,
        upper_bound=proposal.upper_bound,
        error_lower_bound=_in_unit(proposal.error_lower_bound, config),
    )


def _estimate_plan(date: dt.date, day: PlannedDay, losses: ExactIntArray, config: Config) -> EstimatePlan:
    if not losses.any():
        raise BudgetExceeded(
            f"{date}: no user of the day has any of budget.epsilon_total = {config.budget.epsilon_total} left, so "
            "nothing is published. `hexveil ledger show` says what it was spent on."
        )
    occupancy, settings = day.request.occupancy, plan_settings(date, config)
    currency, charged = config.privacy.currency, losses + day.charges
    return EstimatePlan(day.cells, day.user_hashes, occupancy, charged, day.charges, currency, settings)


def read_day(date: dt.date, config: Config, account: Account | None = None) -> PlannedDay:
    """Return the request of a day to a mechanism; the arguments are those of ``make_plan``."""
    with warehouse.connect(config) as connection:
        if warehouse.rows(connection, "checks/prepared_otherwise", prepared_by(date, config)):
            raise HexveilError(f"{date} was last prepared with other settings; run the day again")
        cells = warehouse.frame(connection, "read/occupancy_cells", {"date": date})
        user_ids = warehouse.frame(connection, "read/day_users", {"date": date})["user_id"].to_list()
        pairs = warehouse.frame(connection, "read/occupancy_pairs", {"date": date})
    entries = read_entries(config)
    keys = known_users(config, entries)
    cell, user, n_records = (pairs[name].to_numpy() for name in ("cell", "user_number", "n_records"))
    occupancy = Occupancy(cell, user, n_records, cells.height, len(user_ids))
    user_hashes = keys.users(user_ids)
    budgets = (account or Account(entries, config)).may_lose(date, user_hashes)
    cells = with_covariates(cells, config)
    day = PlannedDay(cells, user_hashes, np.zeros_like(budgets), request_of(occupancy, None, config))
    return day.with_budgets(budgets, config)


def request_of(occupancy: Occupancy, budgets: ExactIntArray | None, config: Config) -> Request:
    """Return what the configuration asks of its mechanism for an occupancy array.

    Args:
        occupancy: The occupancy array, L users.
        budgets: What each user may still lose, shape (L,); None is no limit.
        config: Says the bounds and the request.
    """
    n_ticks, privacy = config.value.n_ticks, config.privacy
    return Request(
        occupancy=occupancy,
        value_ranges=[n_ticks, n_ticks**2] if config.statistics.variance else [n_ticks],
        epsilon=Fraction(privacy.epsilon_per_day),
        target=promised_share(config),
        budgets=budgets,
        cell_epsilon=None if privacy.cell_epsilon is None else Fraction(privacy.cell_epsilon),
        currency=privacy.currency,
        noise=privacy.sum_noise,
        count=privacy.count or "records",
    )


def after_screening(request: Request, charges: ExactIntArray, config: Config) -> Request:
    """Return a request with what the screening leaves of a day's epsilon.

    Args:
        request: The request.
        charges: What the screening costs each user, shape (L,).
        config: Says what a day may cost.
    """
    if not charges.any():
        return request
    most = request.currency.within(config.privacy.epsilon_per_day) - max(charges)
    return replace(request, epsilon=Fraction(request.currency.epsilon_within(most)))


def _why_nothing(date: dt.date, request: Request, config: Config) -> HexveilError:
    """Return the reason for an empty plan: too little budget is left, or no promise can be kept at all."""
    unlimited = propose(config.privacy.mechanism, replace(request, budgets=None))
    if unlimited.sums[0].published.any():
        return BudgetExceeded(
            f"{date}: too little is left of budget.epsilon_total = {config.budget.epsilon_total} for any cell to "
            "keep its promise, so nothing is published. `hexveil ledger show` says what it was spent on."
        )
    advice = "Raise privacy.epsilon_per_day or privacy.target_error, or make the cells larger in [grid]."
    if not config.privacy.planned_by.promises:
        advice = "Raise privacy.cell_epsilon and privacy.epsilon_per_day, or make the cells larger in [grid]."
    elif request.target is None:
        advice = "Set privacy.target_error: then the cells that can keep it are published and the others withheld."
    return NothingToPublish(
        f"{date}: at epsilon {config.privacy.epsilon_per_day} the {request.occupancy.n_cells} cells cannot keep a "
        f"promise, so nothing is published and nothing was spent. {advice}"
    )


def summarise_plan(plan: Plan) -> dict[str, Any]:
    """Return what a plan would publish, promise and cost; numbers in the value's unit."""
    if isinstance(plan, EstimatePlan):
        return {
            "cells_total": plan.occupancy.n_cells,
            "cells_published": plan.occupancy.n_cells,
            "cells_withheld": 0,
            "records_covered": int(plan.occupancy.n_records.sum()),
            "epsilon": format(plan.currency.epsilon(max(plan.losses)), "f"),
            "users_short": int((plan.losses < max(plan.losses)).sum()),
            "mechanism": plan.settings["privacy"]["mechanism"],
        }
    n_published = int(plan.published.sum())
    return {
        "cells_total": plan.occupancy.n_cells,
        "cells_published": n_published,
        "cells_withheld": plan.occupancy.n_cells - n_published,
        "records_covered": int(plan.occupancy.cell_records[plan.published].sum()),
        f"{plan.counted}_upper_bound": plan.upper_bound,
        "epsilon": format(plan.currency.epsilon(max(plan.losses)), "f"),
        "epsilon_lower_bound": plan.epsilon_lower_bound,
        "gap": plan.gap,
        "worst_error": float(max(plan.mean_errors)),
        "error_lower_bound": None if plan.error_lower_bound is None else float(plan.error_lower_bound),
        "median_error": float(median(plan.mean_errors)),
        "mechanism": plan.settings["privacy"]["mechanism"],
    }


def _in_unit(share: Fraction | None, config: Config) -> Fraction | None:
    """Convert a promise for a mean from a share of the range to the value's unit, rounding to ticks included."""
    mean_rounding, _ = rounding_errors(config.value.n_ticks)
    return None if share is None else share * config.value.span + mean_rounding * Fraction(config.value.tick)


def promised_share(config: Config) -> Fraction | None:
    """Return the promised error of every published sum as a share of its range; None if nothing is promised."""
    privacy, span, tick = config.privacy, config.value.span, Fraction(config.value.tick)
    mean_rounding, variance_rounding = rounding_errors(config.value.n_ticks)
    shares = []
    if privacy.target_error is not None:
        shares.append((Fraction(privacy.target_error) - mean_rounding * tick) / span)
    if privacy.target_error_variance is not None:
        at_share_one = variance_error(span**2, span, span)
        shares.append((Fraction(privacy.target_error_variance) - variance_rounding * tick**2) / at_share_one)
    return min(shares, default=None)
