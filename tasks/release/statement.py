"""Describes a release: makes the fields of its ledger entry and of the manifest beside the published files."""

import datetime as dt
from decimal import Decimal
from typing import Any

from dpmath.core.currency import GAUSSIAN, LAPLACE
from tasks.account.chain import FORMAT
from tasks.account.entry import guarantee_in_words
from tasks.account.identity import release_id
from tasks.base import randomness
from tasks.base.config import Config
from tasks.base.config_privacy import Privacy
from tasks.base.provenance import code_hash, now, versions
from tasks.planning.stored_plan import StoredPlan
from tasks.sums.kinds import kind_of

_GUARANTEE = {
    "unit_of_privacy": "one user: all of the user's values, in every cell of the day",
    "neighbours": "the values of one user's records change, any number of them, to anything; who was in which "
    "cell how often does not change",
    "not_protected": "which users were in which cell how often, and with it n_records and n_users, which cells "
    "are published, and every number in this file",
}
_OF_GAUSSIAN = {"CKS-A2": "CKS-A3", "HV-L1": "HV-L49", "HV-L3": "HV-L51"}
"""What takes the place of a result about Laplace noise."""
_IN_PURE = {
    "epsilon": "the most that any one user loses by this release; exact where only the mean is published and no "
    "interval is drawn, else at most",
    "composition": "a user's loss is the sum over cells and statistics of the most that the user can move the sum / "
    "noise scale, an exact rational, or of the cell's whole epsilon where an interval is drawn; losses of several "
    "releases add up",
}
_ESTIMATE_IN_PURE = {
    "epsilon": "the most that any one user loses by this release",
    "composition": "a user's loss is the sum over the day's questions of the most that the user can move the answers / "
    "noise scale, rounded up to the day's epsilon; losses of several releases add up",
}
_IN_ZCDP = {
    "epsilon": "the least epsilon at delta that follows from rho for any one user, rounded up; rho is what is counted, "
    "and epsilons of several releases must not be added",
    "composition": "a user's rho is the sum over cells and statistics of half the square of the most that the user can "
    "move the sum / noise scale, an exact rational; a drawn interval adds an eighth of the square of its epsilon; rho "
    "of several releases adds up",
}
_ESTIMATE_IN_ZCDP = {
    "epsilon": _IN_ZCDP["epsilon"],
    "composition": "a user's rho is the sum over the day's questions of half the square of the most that the user can "
    "move the answers / noise scale, rounded up to the day's rho; rho of several releases adds up",
}
_OF_SCREENING = "a user who is asked for the noisy count in screening loses in addition what that states"
_INSTEAD = {
    False: "bound, and one that is missing or cannot be read as the midpoint",
    True: "bound, and one that is missing or cannot be read as the mean of the user's other values in its cell, or as "
    "what is expected of the cell if there are none",
}
"""What counts in place of a value, in an estimate and elsewhere."""
_IN_FILES = (
    "in a file it is anything that UTF-8 and the "
    "format can hold in its place: in CSV a field of RFC 4180, in NDJSON a JSON value on the record's line, either "
    "in a record of at most 64 KiB, in Parquet a value of the column's type, a text of at most 64 KiB; that there "
    "is such a field, member or column, and its type, is structure"
)
_IN_SNAPSHOTS = (
    "; in a JSON document of at most 256 MiB it is any JSON value, in GTFS-Realtime any number of the field or none"
)


def guarantee(privacy: Privacy) -> dict[str, str]:
    """Return what is promised, in words."""
    in_pure, in_zcdp = (_ESTIMATE_IN_PURE, _ESTIMATE_IN_ZCDP) if privacy.planned_by.estimates else (_IN_PURE, _IN_ZCDP)
    in_currency = in_pure if privacy.currency.name == "pure" else in_zcdp
    return {"definition": privacy.currency.definition, **_GUARANTEE, **in_currency}


def describe_release(date: dt.date, revision: str | None, config: Config) -> dict[str, Any]:
    """Return the fields that describe a release's subject, its guarantee, and the code that made it."""
    start, end = config.day_bounds(date)
    settings, mechanism = config.public_settings(), config.privacy.planned_by
    promised = guarantee(config.privacy)
    if config.value.screen:
        promised |= {"composition": f"{promised['composition']}; {_OF_SCREENING}"}
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
        f"{_INSTEAD[mechanism.estimates]}; {_IN_FILES}{_IN_SNAPSHOTS if config.dataset.holds_snapshots else ''}",
        "guarantee": promised,
        "mechanism": config.privacy.mechanism,
        "theorems": theorems_of(config),
        "noise": {
            "distribution": f"{config.privacy.sum_noise} on integers, drawn exactly",
            "source": randomness.SOURCE,
            "draws": f"once, independent for each {'noisy sum' if mechanism.estimates else 'cell and moment'}",
            **({} if mechanism.interval is None else {"interval": mechanism.interval}),
        },
        "settings": settings,
        "code": code_hash(),
        "versions": versions(),
        "intended_at": now(),
    }


def theorems_of(config: Config) -> list[str]:
    """Return the results that a release relies on: the mechanism's, those of its noise, and those of its account."""
    privacy = config.privacy
    theorems = list(privacy.planned_by.theorems)
    if privacy.sum_noise == GAUSSIAN:
        theorems = [_OF_GAUSSIAN.get(name, name) for name in theorems]
    if privacy.currency.name == "zcdp":
        theorems += ["CKS-P12"] + (["HV-L48"] if privacy.sum_noise == LAPLACE else [])
        theorems += ["HV-L50"] if privacy.planned_by.n_interval_draws else []
    theorems += ["HV-L54"] if config.value.screen else []
    return theorems


def describe_cost(
    worst: int, worst_of_day: int, worst_total: int, worst_used: int, config: Config
) -> dict[str, str | None]:
    """Return the worst user's cost, of this release, of its day and in total, and what is left of the limit.

    The losses are whole numbers in the unit of the account. The epsilons beside them are exact in pure epsilon, and
    rounded up in zCDP; what is left is rounded down.

    Args:
        worst: What the release cost the user with the largest loss.
        worst_of_day: What all that was released of its day cost the user with the largest such loss: an earlier
            stop or release of the day counts too.
        worst_total: What all releases cost the user with the largest total.
        worst_used: The most that counts against the limit.
        config: Says definition and limit.
    """
    currency = config.privacy.currency
    return {
        **describe_account(worst_total, worst_used, config),
        "loss": str(worst),
        "epsilon": _text(currency.epsilon(worst)),
        "in_words": guarantee_in_words(currency, worst_of_day, worst_total),
    }


def describe_account(worst_total: int, worst_used: int, config: Config) -> dict[str, str | None]:
    """Return how losses are counted, what all releases cost the worst user, and what is left of the limit."""
    currency, budget = config.privacy.currency, config.budget
    limit, in_window = currency.within(budget.epsilon_total), budget.window_days is not None
    return {
        "definition": currency.name,
        "delta": None if currency.delta is None else format(currency.delta, "f"),
        "loss_unit": f"2^-{currency.unit_bits}",
        "loss_total_after": str(worst_total),
        "loss_window_after": str(worst_used) if in_window else None,
        "loss_total_limit": str(limit),
        "loss_left": str(max(0, limit - worst_used)),
        "epsilon_total_after": _text(currency.epsilon(worst_total)),
        "epsilon_window_after": _text(currency.epsilon(worst_used)) if in_window else None,
        "epsilon_total_limit": str(budget.epsilon_total),
        "epsilon_left": _text(currency.epsilon_left(budget.epsilon_total, worst_used)),
    }


def _text(number: Decimal) -> str:
    return format(number, "f")


def describe_plan(plan: StoredPlan, config: Config) -> dict[str, Any]:
    """Return how much a stored plan publishes, withholds, suppresses and clips, and each sum's scales and sensitivity.

    Scales and sensitivities are in the sum's own unit: ticks for the mean, squared half ticks for the second moment. If
    arrays are averaged, the unit is divided by the length of an array.
    """
    if plan.is_estimate:
        return _describe_estimate(plan)
    kind, n_pairs = kind_of(config), plan.pairs.height
    n_suppressed, n_whole = kind.n_suppressed_and_whole(plan.pairs, config)
    n_cells, n_published = plan.cells.height, plan.published.height
    return {
        "cells": {"total": n_cells, "published": n_published, "withheld": n_cells - n_published},
        "pairs": {"total": n_pairs, "suppressed": n_suppressed, "clipped": n_pairs - n_suppressed - n_whole},
        "sums": {stored.moment: kind.described(stored) for stored in plan.sums(config)},
    }


def _describe_estimate(plan: StoredPlan) -> dict[str, Any]:
    """Return how many cells an estimate publishes, and how many pairs are of users who have nothing left."""
    n_cells, users = plan.cells.height, plan.question_losses.keys()
    n_left_out = int((~plan.pairs["user_hash"].is_in(list(users))).sum())
    return {
        "cells": {"total": n_cells, "published": n_cells, "withheld": 0},
        "pairs": {"total": plan.pairs.height, "suppressed": n_left_out, "clipped": 0},
    }
