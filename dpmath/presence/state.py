"""What releases leave for the next day: three surfaces and the few scales about them, all of it public."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpmath.core import _check
from dpmath.core.accounting import LOSS_UNITS, ExactIntArray
from dpmath.presence.basis import Basis, Grid, basis_of
from dpmath.presence.counts import half_variance
from dpmath.presence.fields import Field, paced
from dpmath.presence.intervals import Number
from dpmath.presence.kinds import N_KINDS, WEEKDAY, OfKind, apart_of, taken_apart, together
from dpmath.presence.lengths import Lengths
from dpmath.presence.link import Link
from dpmath.presence.priors import RECORDS, USERS, VALUES, likelier, taken_as
from dpmath.presence.questions import USUAL_SPREAD, Totals
from dpmath.presence.residuals import Residuals

MODEL = 10
"""Number of the model. Raise it whenever an estimate from the same questions and answers changes: releases of another
are not learned from, and are not made again."""
SURFACES = ("users", "records", "values")
VALUES_OF_DAY = 0.04
"""That of a day's own part of a value, over the variance of the map."""
_OF_USER, _OF_RECORD = 0.35, 1.5
"""Residual variances of users and of records, over the variance of users' means, on a first day."""
_MAP_OVER_USERS = 0.8
"""The variance of the map over that of a user's means: a user sees a part of the city."""
_LEAST_USERS, _LEAST_SPREAD = 50.0, 0.2
_CITY = 0.1
"""How far the mean of records is from that of users, over the range."""
_SPREAD_OF_CENTRES = 0.3
"""Before anything is asked: the deviation of the mean value over the range."""
_FAR, _CLEAR = 1.0, 4.0
"""Of the log of all users, and deviations of the noise: a day so far from what was expected begins at its total. At 3
deviations noise alone did so once in some hundred days, and the day was lost."""
_KM_A_DAY = 300
"""As far as a taxi drives: were its cells cut off, all would be taken for fewer, and fewer still each day."""
_OVER_MEAN = 8
"""A user with so many times the mean of cells counts with all of them."""


@dataclass(frozen=True)
class Asked:
    """What is public before a day is asked.

    Attributes:
        grid: The public cells.
        basis: What surfaces over them are made of.
        cap: The most records of a user in a cell.
        value_range: Largest value of a record, in ticks.
        loss: What the day costs everybody, in units of 2^-101 of rho.
        counts_only: Whether numbers of users alone are asked for.
        kind: The kind of day; see ``kinds``.
    """

    grid: Grid
    basis: Basis
    cap: int
    value_range: int
    loss: int
    counts_only: bool = False
    kind: int = WEEKDAY

    def __post_init__(self) -> None:
        """Check the numbers."""
        _check.at_least(1, cap=self.cap, value_range=self.value_range, loss=self.loss)
        if not WEEKDAY <= self.kind < N_KINDS:
            raise ValueError(f"kind must be {WEEKDAY} to {N_KINDS - 1}")

    @property
    def surfaces(self) -> tuple[str, ...]:
        """The surfaces that are asked for."""
        return SURFACES[:1] if self.counts_only else SURFACES

    @property
    def most_cells(self) -> int:
        """So many cells of a user count in a first day's totals: where it is in each slot, and all that it passes."""
        return min(self.grid.n_slots + int(_KM_A_DAY / self.grid.spacing), self.grid.n_cells)

    @property
    def most_records(self) -> int:
        """So many records of a user count in totals: many in each slot, or two in each of the cells that count."""
        return max(min(20, self.cap) * self.grid.n_slots, min(2, self.cap) * self.most_cells)


@dataclass(frozen=True)
class Known:
    """The day's totals, from noisy answers.

    Attributes:
        users: Number of users.
        cells: Their cells.
        cells_variance: The variance of the noise in that.
        records: Their records; where these are not asked, as many as cells.
        first: On a first day their records a record, mean value, the variance of that, and spread of values; else None.
    """

    users: float
    cells: float
    cells_variance: float
    records: float
    first: tuple[float, float, float, float] | None

    @classmethod
    def of(cls, question: Totals, answers: ExactIntArray, asked: Asked) -> "Known":
        """Return what noisy answers say, each put inside what is possible."""
        weights = np.array(question.weights, dtype=np.float64)
        told, noise = answers.astype(np.float64) / weights, LOSS_UNITS / question.ball.inverse_scale / weights
        users = max(float(told[0]), _LEAST_USERS)
        cells = min(max(float(told[1]) * question.most_cells, users), users * question.most_cells)
        variance = (float(noise[1]) * question.most_cells) ** 2
        if asked.counts_only:
            return cls(users, cells, variance, cells, (1.0, 0.0, 1.0, 1.0) if question.is_first else None)
        records = min(max(float(told[2]) * question.most_records, cells), cells * asked.cap)
        if not question.is_first:
            return cls(users, cells, variance, records, None)
        size = float(np.clip(told[3] * question.most_records / records * asked.cap, 1.0, asked.cap))
        bits = max(asked.value_range.bit_length(), 1)
        of_user, off = told[4:] / users, noise[4:] / users
        centre, unsure = _guessed(float(of_user[0]), float(off[0]), 0.5, _SPREAD_OF_CENTRES)
        spread, _ = _guessed(float(of_user[1]) * bits, float(off[1]) * bits, bits - USUAL_SPREAD, 1.0)
        middle, unknown = min(max(centre, 0.0), 1.0) * asked.value_range, unsure * asked.value_range**2
        return cls(users, cells, variance, records, (size, middle, unknown, 2.0 ** min(max(spread, 0.0), bits - 2.0)))


def _guessed(told: float, noise: float, guess: float, deviation: float) -> tuple[float, float]:
    """Return what a noisy number says where it was known to be near a guess, and the variance of that."""
    share = 1 / (1 + (noise / deviation) ** 2)
    return share * told + (1 - share) * guess, share * noise**2


@dataclass(frozen=True)
class State:
    """What is known between days.

    Attributes:
        users: The surface of the logarithm of expected users, on working days.
        records: That of records a user.
        values: That of values, in ticks.
        overdispersion: How far a day's users are from what is expected; see ``counts.Users``.
        mean_cells: Cells a user, at most, as the days so far tell.
        mean_records: Records a user and cell.
        records_variance: Their variance within a cell.
        residuals: How far users and records are from the map.
        lengths: How long users' vectors are.
        link: How values go with records.
        apart: What users have apart from those of working days, by the kinds of day that were seen.
    """

    users: Field
    records: Field
    values: Field
    overdispersion: float
    mean_cells: float
    mean_records: float
    records_variance: float
    residuals: Residuals
    lengths: Lengths
    link: Link
    apart: Mapping[int, Field]

    @property
    def scale(self) -> float:
        """The variance of the map of values."""
        return self.values.prior.total

    @property
    def of_a_pair(self) -> Number:
        """The records of a user in a cell, shape (1,)."""
        return Number(np.array([self.mean_records]), np.array([self.records_variance]))

    def a_day_later(self, asked: Asked) -> "State":
        """Return what is known a day later, before anything is asked."""
        moved: dict[str, Any] = {name: getattr(self, name).a_day_later(asked.basis) for name in asked.surfaces}
        moved |= {name: getattr(self, name).a_day_later() for name in ("residuals", "lengths", "link")}
        return replace(self, **moved)

    def most_cells(self, asked: Asked) -> int:
        """Return how many cells of a user count in totals: many times the mean, or users with many would be missed."""
        return min(asked.most_cells, max(asked.grid.n_slots, int(_OVER_MEAN * self.mean_cells)))

    def after(self, known: Known) -> "State":
        """Return the state with the cells a user that a day's totals tell of."""
        most = (known.cells + 2 * known.cells_variance**0.5) / known.users
        return replace(self, mean_cells=max(self.mean_cells, most))

    def at_level(self, known: Known, asked: Asked) -> "State":
        """Return the state with users at the level of a day's totals, if they are clearly far from what was expected.

        Else a surface that once fell far below all users would be asked about in vain.
        """
        return replace(self, users=self.users.raised(*self.off_level(known, asked), asked.basis))

    def of_kind(self, known: Known, asked: Asked) -> list[OfKind]:
        """Return the surface of users on a day of a kind, as it may be; what its totals are clearly off by is apart."""
        basis, common = asked.basis, self.users
        apart = apart_of(asked.kind, self.apart, common, basis)
        off, variance = replace(self, users=together(common, apart[0])).off_level(known, asked)
        return [together(common, one.raised(off, variance, basis)) for one in apart]

    def taken_apart(self, before: Field, asked: Asked) -> "State":
        """Return the state after a day of a kind: what was learned of users goes in part to what that kind has apart.

        Args:
            before: What was known of the day's users.
            asked: What is public.
        """
        if asked.kind == WEEKDAY:
            return self
        users, apart = taken_apart(before, self.users, asked.basis)
        return replace(self, users=users, apart={**self.apart, asked.kind: apart})

    def off_level(self, known: Known, asked: Asked) -> tuple[float, float]:
        """Return how far a day's totals are from what was expected, on the scale of logarithms, and its variance.

        Both are 0 unless they are clearly far.
        """
        basis, field = asked.basis, self.users
        levels = field.level(basis) + half_variance(field.variance(basis))
        off = float(np.log(known.cells) - np.logaddexp.reduce(levels))
        if abs(off) < _FAR or known.cells**2 * np.expm1(-off) ** 2 < _CLEAR**2 * known.cells_variance:
            return 0.0, 0.0
        return off, known.cells_variance / known.cells**2

    def paced(self, asked: Asked, later: "State") -> dict[str, list[Field]]:
        """Return what is known a day later of each surface, if it moves as it did, slower or faster.

        Args:
            asked: What is public.
            later: What is known a day later, if all move as they did.
        """

        def moved(name: str, one: Field) -> Field:
            is_same = one.moves == getattr(self, name).moves  # what was derived of the same one is used again
            return getattr(later, name) if is_same else one.a_day_later(asked.basis)

        return {name: [moved(name, one) for one in paced(getattr(self, name))] for name in asked.surfaces}

    def learned(self, asked: Asked) -> "State":
        """Return what is known if the surfaces had been taken to be as variable as they are now known to be.

        Source:
            HV-E26.
        """
        basis = asked.basis

        def again(field: Field) -> Field:
            return taken_as(field, likelier(field, basis), basis)

        apart = {kind: again(one) if kind == asked.kind else one for kind, one in self.apart.items()}
        return replace(self, **{name: again(getattr(self, name)) for name in asked.surfaces}, apart=apart)


def first_state(known: Known, asked: Asked) -> State:
    """Return what is known before a first day's cells are asked.

    Source:
        HV-E22, HV-E23.
    """
    if known.first is None:
        raise ValueError("known.first must be asked on a first day")
    size, centre, unknown, spread = known.first
    mean = known.records / known.cells
    variance = max((size - mean) * mean, _LEAST_SPREAD * mean**2)
    scale = _MAP_OVER_USERS * spread**2
    usual = float(np.log(known.cells / asked.grid.n_cells)) - USERS.total / 2
    values = VALUES.times(scale)
    of_city = values.variance | {"city": (_CITY * asked.value_range) ** 2 + unknown}
    levels = {
        "users": replace(USERS, level=usual),
        "records": replace(RECORDS.times(mean**2), level=mean),
        "values": replace(values, level=centre, variance=of_city),
    }
    fields = {name: prior.field(asked.basis) for name, prior in levels.items()}
    return State(
        **fields,
        overdispersion=0.01,
        mean_cells=0.0,
        mean_records=mean,
        records_variance=variance,
        residuals=Residuals.guessed(_OF_USER * spread**2, _OF_RECORD * spread**2),
        lengths=Lengths.guessed(),
        link=Link.guessed(),
        apart={},
    )


def asked_of(
    grid: Grid, cap: int, value_range: int, loss: int, counts_only: bool = False, kind: int = WEEKDAY
) -> Asked:
    """Return what is public before a day is asked.

    Source:
        HV-E20.
    """
    return Asked(grid, basis_of(grid), cap, value_range, loss, counts_only, kind)
