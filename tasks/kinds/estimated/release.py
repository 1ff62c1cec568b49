"""Estimates a day: asks its private questions, and makes the published tables from the noisy answers."""

import logging
from typing import Any

import numpy as np
import polars as pl

from dpmath.core.accounting import LOSS_UNITS
from dpmath.core.occupancy import Occupancy
from dpmath.estimate.asked import Asked
from dpmath.estimate.asking import ask, within
from dpmath.estimate.day import Day
from dpmath.estimate.departures import much_of
from dpmath.estimate.errors import loadings_of
from dpmath.estimate.posterior import Estimate
from dpmath.estimate.programme import programme
from dpmath.estimate.questions import PrivateDay
from dpmath.estimate.state import MODEL, POINTS
from dpmath.joint.loadings import Loadings
from tasks.account import private_files
from tasks.account.chain import releases
from tasks.account.said_first import WHOLE_DAY
from tasks.base.config import Config
from tasks.base.errors import HexveilError
from tasks.base.freed_memory import keep_freed_memory
from tasks.base.logs import say, warn
from tasks.kinds.estimated.asked_day import Known, asked_of
from tasks.kinds.estimated.hindsight import days_of_the_week, hindsight_tables
from tasks.kinds.estimated.laws import bin_counts, with_laws
from tasks.kinds.estimated.owner_covariates import covariate_names
from tasks.kinds.estimated.public_day import occupancy_of, public_day
from tasks.kinds.estimated.states import chain_before, known_before, remove_old_states, write_state
from tasks.kinds.estimated.stored_questions import QUESTIONS, write_questions
from tasks.kinds.estimated.tables import areas_of, estimate_frame, further_tables, target_of
from tasks.kinds.kind import Drawing, Drawn
from tasks.kinds.stored_plan import CELL
from tasks.output_formats.joint import AGAIN, JOINT, stated_day, stated_error

log = logging.getLogger("hexveil.estimate")


def estimate_day(drawing: Drawing) -> Drawn:
    """Ask a day's questions, each once, and return the estimate.

    Raises:
        HexveilError: The private totals are of other pairs than the plan's.
    """
    keep_freed_memory()
    date, plan, entries, config = drawing.date, drawing.plan, drawing.entries, drawing.config
    private = drawing.private("read/user_total")
    names = covariate_names(plan.cells)
    known = known_before(date, names, entries, config)
    if known.state is None and any("after" in entry.states for entry in releases(entries)):
        warn(log, "no earlier release has this grid, value, covariates and model; the estimate begins anew", date=date)
    remove_old_states(known, names, entries, config)
    is_first = not drawing.is_revision
    earlier = days_of_the_week(date, chain_before(date, names, entries, config), config) if is_first else []
    occupancy, users = occupancy_of(plan.cells, plan.pairs)
    day = public_day(date, plan.cells, occupancy, config)
    affordable = plan.question_losses
    losses = [affordable.get(user, 0) for user in users]
    asked = asked_of(day, losses, known, config)
    values = _private_day(drawing, occupancy, users, private)
    asking = within(programme(known.state, asked), np.array(losses, dtype=object), config.privacy.currency)
    estimate, questions = ask(asking, values, drawing.random_bytes)
    together = loadings_of(estimate, day)
    tables = further_tables(plan.cells, questions, asked, estimate, together, config)
    tables |= dict(hindsight_tables(earlier, estimate, config))
    if earlier:
        say(log, "the days of the week are estimated again, with what was learned since", earlier_days=len(earlier))
    before = {} if known.name is None else {"before": known.name}
    after = {} if drawing.is_revision else {"after": write_state(estimate.state, config)}
    stated = {
        "kept": {QUESTIONS: write_questions(private_files.releases(config), questions, estimate.read)},
        "states": before | after,
        **describe_questions(names, asked, known),
        **describe_joint(estimate, day, together, tables[JOINT], config),
    }
    areas = areas_of(estimate, asked, config)
    chosen = areas.chosen(target_of(config))
    epsilon = config.privacy.currency.epsilon(max(plan.losses.values()))
    table = estimate_frame(plan.cells, estimate, asked, areas, chosen, drawing.release_id, epsilon, config)
    return Drawn(
        statistics=with_laws(table, estimate, asked, together.day, config),
        tables=tables,
        stated=stated,
    )


def _private_day(drawing: Drawing, occupancy: Occupancy, users: list[str], private: pl.DataFrame) -> PrivateDay:
    """Return the values of each pair in the order of the occupancy array."""
    cells, config = drawing.plan.cells, drawing.config
    pairs = cells.select(CELL)[occupancy.cell].with_columns(
        user_hash=pl.Series(users).gather(pl.Series(occupancy.user))
    )
    joined = pairs.join(private, on=[*CELL, "user_hash"], how="left", maintain_order="left")
    totals, n_missing = (joined[name].cast(pl.Int64) for name in ("private_mean_total", "private_n_missing"))
    if totals.null_count():
        raise HexveilError("the pairs of the warehouse are not those of the plan; run the day again")
    totals -= n_missing * (config.value.n_ticks // 2)
    bins = None
    if config.statistics.of_laws:
        bins = bin_counts(occupancy, pairs, n_missing.to_numpy(), drawing.private("read/user_bin"))
    return PrivateDay(occupancy, totals.to_numpy(), n_missing.to_numpy(), bins=bins)


def describe_questions(covariates: list[str], asked: Asked, known: Known) -> dict[str, Any]:
    """Return what the ledger states of the questions: each one's sensitivity and scale, and what is learned from."""
    sums = {
        charge.name: {"sensitivity": charge.sensitivity, "scale": f"{LOSS_UNITS}/{charge.inverse_scale}"}
        for charge in asked.charges.values()
    }
    return {"model": MODEL, "sums": sums, "learned_from": known.n_releases, "covariates": covariates}


def describe_joint(
    estimate: Estimate, day: Day, found: Loadings, joint: pl.DataFrame, config: Config
) -> dict[str, dict[str, str]]:
    """Return what the ledger states of the whole day, and of how exact the joint table is."""
    much = much_of(estimate, day.occupancy.cell_records) * float(config.value.span) / POINTS
    return {
        "joint_error": stated_error(found.least, found.largest) | {AGAIN: f"{found.again:.2f}"},
        WHOLE_DAY: {**stated_day(joint), "unusual_beyond": f"{much:.3g}"},
    }
