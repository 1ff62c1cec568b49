"""What each day says of each area: its records, its mean, and how sure that is. All of it from one published file."""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from zoneinfo import ZoneInfo

import h3
import numpy as np
import polars as pl
from scipy.sparse import csr_array, diags_array

from dpmath.core.occupancy import IntArray
from dpmath.joint.factors import Factors, entries
from dpmath.joint.products import FloatArray
from tasks.account.presence_release import PRESENCE
from tasks.answers.places import Areas
from tasks.base.errors import HexveilError
from tasks.output_formats.hindsight import MOVED
from tasks.output_formats.joint import AGAIN, factors_of, records_off

Label = tuple[str, int | None]
"""An area, and an hour if hours are answered apart."""
_SCREENED = frozenset(("screen", "typical", "spread"))
"""What may be said anew of the same value."""
_NO_SHARE = 1e-9
"""A share of 0 or 1 counts as if it were so far from it."""


@dataclass(frozen=True)
class Said:
    """What a day says of each cell.

    Attributes:
        cells: One row per cell: h3_cell, slot_start, and n_records where means over them are said.
        number: The cell's mean, share or number of users, shape (G,).
        day: How the errors of these go together.
        lasting: Their covariance with the errors of the same cells on any day before.
        records: How errors of the numbers of records go together; None if these are exact.
        are_users: Whether they are numbers of users, which add up, and no means.
        are_shares: Whether they are shares of the records, from 0 to 1.
        chain: Which chain the day's estimate is of: those of different chains learned nothing from each other.
        again: By what ``lasting`` is larger if users come again as they were; None if the day's manifest says it.
    """

    cells: pl.DataFrame
    number: FloatArray
    day: Factors
    lasting: Factors
    records: Factors | None = None
    are_users: bool = False
    are_shares: bool = False
    chain: int = 0
    again: float | None = None


def means_of(joint: pl.DataFrame, users: pl.DataFrame | None = None) -> Said:
    """Return the means that a day's joint table says; where numbers of records are noisy, that of users says how."""
    records = None if users is None else records_off(joint, users)
    return Said(joint, joint["cell_mean"].to_numpy(), *factors_of(joint), records, again=_again(joint))


def _again(joint: pl.DataFrame) -> float | None:
    return float(joint[AGAIN][0]) if AGAIN in joint.columns else None


def users_of(joint: pl.DataFrame) -> Said:
    """Return the numbers of users that a day's joint table of these says."""
    return Said(joint, joint["n_users"].to_numpy(), *factors_of(joint), are_users=True)


def shares_of(joint: pl.DataFrame, shares: pl.DataFrame, limit: float) -> Said:
    """Return the shares above a limit that a day's tables say: their errors are those of the means, and their own.

    Where means were learned of since, shares move with them.

    Raises:
        HexveilError: The day has no shares above it.
    """
    of_limit = shares.filter(pl.col("limit") == limit)
    if not of_limit.height:
        known = " and ".join(f"{one:g}" for one in shares["limit"].unique().sort())
        raise HexveilError(f"shares above {limit:g} were not published; ask about those above {known}")
    by_mean = of_limit["by_mean"].to_numpy()
    of_means, apart = factors_of(joint), factors_of(of_limit)
    day, lasting = (mean.scaled(by_mean).plus(own) for mean, own in zip(of_means, apart, strict=True))
    share = of_limit["share_above"].to_numpy()
    if MOVED in joint.columns:
        share = np.clip(share + by_mean * joint[MOVED].to_numpy(), 0.0, 1.0)
    cells = joint.select("h3_cell", "slot_start", "n_records")
    return Said(cells, share, day, lasting, are_shares=True, again=_again(joint))


@dataclass(frozen=True)
class Sums:
    """What a day says of an area and hour.

    Attributes:
        records: Records in it, where a hexagon counts by its share; 1 of users, so that each day counts alike.
        mean: Mean over them, in the value's unit; or of users, their number.
        variance: Variance of its error.
        lasting: Covariance of the error with that of the same area on any day before.
        present: How many hexagons and slots have records, where a hexagon counts by its share.
        n_cells: How many cells are at least partly in it.
        chain: Which chain the day's estimate is of.
        again: By what ``lasting`` is larger if users come again.
        is_share: Whether the mean is a share of the records, from 0 to 1.
    """

    records: float
    mean: float
    variance: float
    lasting: float
    present: float
    n_cells: int
    chain: int = 0
    again: float = 1.0
    is_share: bool = False


@dataclass
class Reader:
    """Reads days.

    Attributes:
        areas: The areas.
        hours: The local hours that are asked about.
        zone: The time zone of the days.
        by_hour: Whether each hour is answered apart.
        seen: The hexagons that have records, so far.
        cut: Those of them that an area's edge cuts.
    """

    areas: Areas
    hours: frozenset[int]
    zone: ZoneInfo
    by_hour: bool
    seen: set[str] = field(default_factory=set)
    cut: set[str] = field(default_factory=set)

    def of_day(self, said: Said) -> dict[Label, Sums]:
        """Return what a day says of each area and hour in which it has records."""
        table, number = said.cells, said.number
        cells = table["h3_cell"].to_arrow().dictionary_encode()
        hexagons = cells.dictionary.to_pylist()
        names, share = self.areas.shares(hexagons)
        self.seen.update(hexagons)
        row, _, part = entries(share)
        self.cut.update(hexagons[number] for number in np.unique(row[part < 1]))
        hours, number_of_hour = self._hours(table["slot_start"])
        row, area, part = entries(share[cells.indices.to_numpy()])
        hour = number_of_hour[row]
        some = hour >= 0
        labels = [(name, one) for name in names for one in hours]
        where = row[some], area[some] * len(hours) + hour[some]
        inside = csr_array((part[some], where), shape=(table.height, len(labels)))
        if said.are_users:
            used = np.flatnonzero(inside.sum(axis=0))
            total, shares, unsure = np.ones(len(labels)), inside[:, used], 0.0
        else:
            weights = csr_array(diags_array(table["n_records"].to_numpy().astype(float)) @ inside)
            total = weights.sum(axis=0)
            used = np.flatnonzero(total)
            shares = csr_array(weights @ diags_array(1 / np.where(total > 0, total, 1.0)))[:, used]
            unsure = _of_weights(said, inside[:, used], total[used], shares.T @ number)
        numbers = (
            total[used],
            shares.T @ number,
            said.day.variances(shares) + unsure,
            said.lasting.variances(shares),
            inside.sum(axis=0)[used],
            np.bincount(where[1], minlength=len(labels))[used],
        )
        link = {"chain": said.chain, "again": 1.0 if said.again is None else said.again, "is_share": said.are_shares}
        return {labels[at]: Sums(*row, **link) for at, row in zip(used, zip(*numbers, strict=True), strict=True)}

    def n_seen(self) -> Counter[int]:
        """Return how many hexagons of each resolution have records, so far."""
        return Counter(map(h3.get_resolution, self.seen))

    def _hours(self, slots: pl.Series) -> tuple[list[int | None], IntArray]:
        """Return the hours that are answered apart, and which of them each cell is in; -1 for one not asked about."""
        begins = slots.to_arrow().dictionary_encode()
        of_slot = [begin.astimezone(self.zone).hour for begin in begins.dictionary.to_pylist()]
        hours: list[int | None] = [*sorted(self.hours)] if self.by_hour else [None]
        number = {hour: number if self.by_hour else 0 for number, hour in enumerate(sorted(self.hours))}
        return hours, np.array([number.get(hour, -1) for hour in of_slot])[begins.indices.to_numpy()]


def _of_weights(said: Said, inside: csr_array, total: FloatArray, mean: FloatArray) -> FloatArray | float:
    """Return what noise in the numbers of records adds to the variance of means over them; 0 if they are exact."""
    if said.records is None:
        return 0.0
    row, area, part = entries(inside)
    far = part * (said.number[row] - mean[area]) / total[area]
    return said.records.variances(csr_array((far, (row, area)), shape=inside.shape))


def shares_of_days(days: Sequence[Sums], which: Sequence[bool] | bool = True) -> FloatArray:
    """Return the share that each day has in the mean over some of them, or all, by records; 0 of the others."""
    records = np.array([day.records for day in days]) * np.array(which)
    return np.asarray(records / max(records.sum(), 1e-300))


def together(days: Sequence[Sums], share: FloatArray) -> tuple[float, float]:
    """Return the sum of what days say of an area, each times its share, and the variance of its error.

    How much of what a user has in all its cells comes again is not known. So days that are added count as if
    all of it did, also if they learned nothing from each other, and days that are compared as if nothing did.
    Shares above a limit that are compared go together as those of one sample above two points: little, if nearly all
    records are above it on one day, and few on the other.

    Args:
        days: What each day says, in the order of the days.
        share: The share of each day: in a mean, or in one mean less that in another.

    Source:
        HV-E8.
    """
    mean, variance, lasting, chain, again = (
        np.array([getattr(day, name) for day in days]) for name in ("mean", "variance", "lasting", "chain", "again")
    )
    lasting = np.clip(lasting, 0.0, variance)
    later = np.maximum.outer(np.arange(len(days)), np.arange(len(days)))
    are_added = np.multiply.outer(share, share) > 0
    of_users = np.where(are_added, ((again - 1) * lasting)[later], 0.0)
    shared = np.where(np.equal.outer(chain, chain), lasting[later], 0.0) + of_users
    shared *= np.where(are_added, 1.0, _of_levels(days, later))
    covariance = np.minimum(shared, np.minimum.outer(variance, variance))
    np.fill_diagonal(covariance, variance)
    alone = share**2 @ (variance - lasting)  # what no two days have in common is left in any case
    return float(share @ mean), float(max(share @ covariance @ share, alone))


def _of_levels(days: Sequence[Sums], later: IntArray) -> FloatArray:
    """Return what the error of the earlier of two days moves by with that of the later, where both are alike else.

    Of shares s and s' above two points in one sample it is min(s, s') (1 - max(s, s')) / (s' (1 - s')); of others, 1.
    """
    level = np.array([min(max(day.mean, _NO_SHARE), 1 - _NO_SHARE) if day.is_share else 0.5 for day in days])
    earlier = np.minimum.outer(np.arange(len(days)), np.arange(len(days)))
    before, after = level[earlier], level[later]
    return np.asarray(np.minimum(before / after, (1 - before) / (1 - after)))


def with_link(said: Said, chain: int, stated: Mapping[str, Any]) -> Said:
    """Return what a day says, with how its errors go with those of other days.

    Args:
        said: What the day says.
        chain: Which chain the day's estimate is of.
        stated: What is published of it.

    Raises:
        HexveilError: That says no number of at least 1.
    """
    error = stated.get("joint_error", {})
    try:
        again = float(error.get(AGAIN, 1)) if said.again is None else said.again
    except (AttributeError, TypeError, ValueError):
        again = math.nan
    if not 1 <= again < math.inf:
        raise HexveilError(f"a manifest says {error!r} of joint_error, where {AGAIN} must be a number of at least 1")
    return replace(said, chain=chain, again=again)


def chains_of(stated: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return which chain the estimate of each day is of, from what is published of it, in the order of the days.

    A day goes on with the chain of the days before whose estimates it may learn from, whatever is between them and
    whichever of them are asked about. It begins one if it has learned from none.
    """
    chains: list[int] = []
    last: dict[str, int] = {}
    for day in stated:
        of = json.dumps(_of_its_chain(day), sort_keys=True)
        if of not in last or day.get("learned_from") == 0:
            last[of] = max(chains, default=-1) + 1
        chains.append(last[of])
    return chains


def _of_its_chain(day: Mapping[str, Any]) -> list[Any]:
    """Return what is the same of all days of a chain: what the estimates of both kinds ask for to learn from a day."""
    settings, is_presence = day["settings"], day.get("kind") == PRESENCE
    value = {name: one for name, one in settings.get("value", {}).items() if name not in _SCREENED}
    return [
        day.get("model"),
        day.get("covariates") or [],
        settings.get("grid"),
        value,
        settings.get("estimate"),
        settings.get("statistics") if is_presence else None,
        settings.get("privacy", {}).get("cap"),
        settings.get("dataset", {}).get("timezone"),
        settings.get("columns", {}).get("only"),
    ]
