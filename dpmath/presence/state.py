"""What releases leave for the next day: three surfaces and the few scales about them, all of it public."""

from dataclasses import dataclass, replace

import numpy as np

from dpmath.core import _check
from dpmath.core.accounting import ExactIntArray
from dpmath.presence.fields import Basis, Field, FloatArray, Grid, basis_of
from dpmath.presence.questions import Totals

USERS = {"city": 4.0, "hour": 0.5, "hexagon": 2.4, "course": 0.4}
USERS_OWN = 0.05
"""Prior variances of the logarithm of expected users."""
RECORDS = {"city": 0.1, "hour": 0.02, "hexagon": 0.03, "course": 0.01}
RECORDS_OWN = 0.01
"""Prior variances of records a user, over the square of their mean."""
VALUES = {"city": 0.2, "hour": 0.1, "hexagon": 0.4, "course": 0.15}
VALUES_OWN = 0.05
VALUES_OF_DAY = 0.03
"""Prior variances of values, over the variance of the map; that of the day's own part with them."""
_OF_USER, _OF_RECORD = 0.35, 0.7
"""Residual variances of users and of records, over the variance of users' means, on a first day."""
_STEP = {"users": 0.003, "records": 0.003, "values": 0.003}
"""How far a part moves in a day, over its prior variance."""
_STEP_OF_OWN = 3.0
"""How much faster moves what a cell has of its own."""
_MAP_OVER_USERS = 2.0
"""The variance of the map over that of a user's means: a user sees a part of the city."""
_LEAST_USERS = 50.0
_LEAST_SPREAD = 0.2


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
    """

    grid: Grid
    basis: Basis
    cap: int
    value_range: int
    loss: int
    counts_only: bool = False

    def __post_init__(self) -> None:
        """Check the numbers."""
        _check.at_least(1, cap=self.cap, value_range=self.value_range, loss=self.loss)

    @property
    def most_cells(self) -> int:
        """So many cells of a user count in totals."""
        return 2 * self.grid.n_slots

    @property
    def most_records(self) -> int:
        """So many records of a user count in totals."""
        return min(20, self.cap) * self.grid.n_slots


@dataclass(frozen=True)
class Known:
    """The day's totals, from noisy answers.

    Attributes:
        users: Number of users.
        cells: Their cells.
        records: Their records.
        first: On a first day their records a record, mean value and spread of values; else None.
    """

    users: float
    cells: float
    records: float
    first: tuple[float, float, float] | None

    @classmethod
    def of(cls, question: Totals, answers: ExactIntArray, asked: Asked) -> "Known":
        """Return what noisy answers say, each put inside what is possible."""
        told = answers.astype(np.float64) / question.weight
        users = max(float(told[0]), _LEAST_USERS)
        cells = min(max(float(told[1]) * question.most_cells, users), users * question.most_cells)
        records = min(max(float(told[2]) * question.most_records, cells), cells * asked.cap)
        if not question.is_first:
            return cls(users, cells, records, None)
        size = float(np.clip(told[3] * question.most_records / records * asked.cap, 1.0, asked.cap))
        centre = float(np.clip(told[4] / users, 0.0, 1.0)) * asked.value_range
        bits = max(asked.value_range.bit_length(), 1)
        spread = 2.0 ** float(np.clip(told[5] / users * bits, 0.0, bits - 2.0))
        return cls(users, cells, records, (size, centre, spread))


@dataclass(frozen=True)
class State:
    """What is known between days.

    Attributes:
        users: The surface of the logarithm of expected users.
        records: That of records a user.
        values: That of values, in ticks.
        overdispersion: How far a day's users are from what is expected; see ``counts.Users``.
        mean_records: Records a user and cell.
        records_variance: Their variance within a cell.
        scale: Variance of the map of values.
        of_user: Variance of a user's mean in a cell about the map's.
        of_record: Variance of a record about its user's mean.
        log_lengths: How much longer users' vectors were than meant, in the two balls; see ``weights``.
    """

    users: Field
    records: Field
    values: Field
    overdispersion: float
    mean_records: float
    records_variance: float
    scale: float
    of_user: float
    of_record: float
    log_lengths: tuple[float, float]

    def a_day_later(self, asked: Asked) -> "State":
        """Return what is known a day later, before anything is asked."""
        square = self.mean_records**2
        return replace(
            self,
            users=_walked(self.users, asked, USERS, USERS_OWN, _STEP["users"], 1.0),
            records=_walked(self.records, asked, RECORDS, RECORDS_OWN, _STEP["records"], square),
            values=_walked(self.values, asked, VALUES, VALUES_OWN, _STEP["values"], self.scale),
        )


def first_state(known: Known, asked: Asked) -> State:
    """Return what is known before a first day's cells are asked.

    Source:
        HV-E22, HV-E23.
    """
    if known.first is None:
        raise ValueError("known.first must be asked on a first day")
    size, centre, spread = known.first
    mean = known.records / known.cells
    variance = max((size - mean) * mean, _LEAST_SPREAD * mean**2)
    scale = _MAP_OVER_USERS * spread**2
    usual = np.log(known.cells / asked.grid.n_cells) - (USERS["hexagon"] + USERS["course"]) / 2
    return State(
        users=_first(asked, float(usual), USERS, USERS_OWN, 1.0),
        records=_first(asked, mean, RECORDS, RECORDS_OWN, mean**2),
        values=_first(asked, centre, VALUES, VALUES_OWN, scale),
        overdispersion=0.03,
        mean_records=mean,
        records_variance=variance,
        scale=scale,
        of_user=_OF_USER * spread**2,
        of_record=_OF_RECORD * spread**2,
        log_lengths=(0.0, 0.0),
    )


def asked_of(grid: Grid, cap: int, value_range: int, loss: int, counts_only: bool = False) -> Asked:
    """Return what is public before a day is asked.

    Source:
        HV-E20.
    """
    return Asked(grid, basis_of(grid), cap, value_range, loss, counts_only)


def _first(asked: Asked, level: float, variance: dict[str, float], own: float, unit: float) -> Field:
    mean: FloatArray = np.zeros(asked.basis.matrix.shape[1])
    mean[asked.basis.part["city"]] = level
    n_cells = asked.grid.n_cells
    covariance = asked.basis.covariance({name: unit * one for name, one in variance.items()})
    return Field(mean, covariance, np.zeros(n_cells), np.full(n_cells, unit * own))


def _walked(field: Field, asked: Asked, variance: dict[str, float], own: float, step: float, unit: float) -> Field:
    steps = {name: unit * step * one for name, one in variance.items()}
    return field.walked(asked.basis, steps, unit * step * _STEP_OF_OWN * own, unit * own)
