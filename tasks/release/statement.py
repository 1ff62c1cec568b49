"""Describes a release: makes the fields of its ledger entry and of the manifest beside the published files."""

import datetime as dt
from decimal import Decimal, localcontext
from typing import Any

from dpmath.core.privacy_loss import PureLoss
from tasks.account.chain import FORMAT
from tasks.account.identity import release_id
from tasks.base import randomness
from tasks.base.config import Config
from tasks.base.provenance import code_hash, now, versions
from tasks.planning.stored_plan import StoredPlan
from tasks.sums.kinds import kind_of

GUARANTEE = {
    "definition": PureLoss.definition,
    "unit_of_privacy": "one user: all of the user's values, in every cell of the day",
    "neighbours": "the values of one user's records change, any number of them, to anything; who was in which "
    "cell how often does not change",
    "not_protected": "which users were in which cell how often, and with it n_records and n_users, which cells "
    "are published, and every number in this file",
    "epsilon": "the most that any one user loses by this release; exact where only the mean is published and no "
    "interval is drawn, else at most",
    "composition": "a user's loss is the sum over cells and statistics of the most that the user can move the sum / "
    "noise scale, an exact rational, or of the cell's whole epsilon where an interval is drawn; losses of several "
    "releases add up",
}


def describe_release(date: dt.date, revision: str | None, config: Config) -> dict[str, Any]:
    """Return the fields that describe a release's subject, its guarantee, and the code that made it."""
    start, end = config.day_bounds(date)
    settings, mechanism = config.public_settings(), config.privacy.planned_by
    return {
        "kind": "release",
        "format": FORMAT,
        "release_id": release_id(date, config, revision),
        "revision": revision,
        "dataset": config.dataset.name,
        "purpose": config.dataset.purpose,
        "date": date.isoformat(),
        "period": {"start": start.isoformat(), "end": end.isoformat(), "timezone": config.dataset.timezone},
        "grid": settings["grid"],
        "statistics": [name for name, wanted in settings["statistics"].items() if wanted],
        "value": settings["value"],
        "data_domain": "a record is (user, time, place, value); a value outside [lower, upper] counts as the nearer "
        "bound, and one that is missing or cannot be read as the midpoint; in a file it is anything that UTF-8 and the "
        "format can hold in its place: in CSV a field of RFC 4180, in NDJSON a JSON value on the record's line, either "
        "in a record of at most 64 KiB, in Parquet a value of the column's type, a text of at most 64 KiB; that there "
        "is such a field, member or column, and its type, is structure",
        "guarantee": GUARANTEE,
        "mechanism": config.privacy.mechanism,
        "theorems": list(mechanism.theorems),
        "noise": {
            "distribution": f"{kind_of(config).noise} on integers, drawn exactly",
            "source": randomness.SOURCE,
            "draws": "once, independent for each cell and moment",
            **({} if mechanism.interval is None else {"interval": mechanism.interval}),
        },
        "settings": settings,
        "code": code_hash(),
        "versions": versions(),
        "intended_at": now(),
    }


def describe_cost(
    worst: PureLoss, worst_total: PureLoss, worst_used: PureLoss, config: Config
) -> dict[str, str | None]:
    """Return the worst user's cost, of this release and in total, and what is left of the limit, as exact decimals."""
    limit = config.budget.epsilon_total
    with localcontext(prec=100):
        left = max(Decimal(0), limit - Decimal(str(worst_used)))
    return {
        "epsilon": str(worst),
        "epsilon_total_after": str(worst_total),
        "epsilon_window_after": str(worst_used) if config.budget.window_days else None,
        "epsilon_total_limit": str(limit),
        "epsilon_left": format(left, "f"),
    }


def describe_plan(plan: StoredPlan, config: Config) -> dict[str, Any]:
    """Return how much a stored plan publishes, withholds, suppresses and clips, and each sum's scales and sensitivity.

    Scales and sensitivities are in the sum's own unit: ticks for the mean, squared half ticks for the second moment. If
    arrays are averaged, the unit is divided by the length of an array.
    """
    kind, n_pairs = kind_of(config), plan.pairs.height
    n_suppressed, n_whole = kind.n_suppressed_and_whole(plan.pairs, config)
    n_cells, n_published = plan.cells.height, plan.published.height
    return {
        "cells": {"total": n_cells, "published": n_published, "withheld": n_cells - n_published},
        "pairs": {"total": n_pairs, "suppressed": n_suppressed, "clipped": n_pairs - n_suppressed - n_whole},
        "sums": {stored.moment: kind.described(stored) for stored in plan.sums(config)},
    }
