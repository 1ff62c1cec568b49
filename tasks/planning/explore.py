"""Explore what a day would be worth with other hexagons, slots and epsilons. Reads no value and spends nothing."""

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

from dpmath.core.currency import PURE, Concentrated
from tasks.account.ledger import read_entries
from tasks.account.screenings import full_charges
from tasks.account.user_keys import known_users
from tasks.base import warehouse
from tasks.base.config import Config
from tasks.base.config_privacy import DEFAULT_DELTA
from tasks.base.errors import HexveilError, contained
from tasks.base.progress import progress
from tasks.kinds.day import GridDay
from tasks.kinds.estimated.prospects import USUAL_DEVIATION, constant_error, deviation_of
from tasks.kinds.kind import Worth
from tasks.kinds.table import kind_of
from tasks.occupancy.other_grids import divided, other_occupancies
from tasks.planning.presence import Presence, known_of, presence_cautions, presence_of, wrong_users
from tasks.planning.released_spread import released_spread
from tasks.proposals.mechanisms import FORESEEING

RESOLUTIONS = (6, 7, 8, 9)
SLOTS = (15, 30, 60, 120, 180)
SHARES_OF_EPSILON = tuple(map(Decimal, ("0.25", "0.5", "1", "2", "4")))
"""What epsilon_per_day is multiplied by, unless other epsilons are asked for."""
_DAYS_OF_A_YEAR = 365


@dataclass(frozen=True)
class Choice:
    """One setting, and what it would be worth. Errors are in the value's unit.

    Attributes:
        h3_resolution: Resolution of the hexagons.
        slot_minutes: Length of a slot.
        epsilon: The most that a day may cost a user.
        cells: How many cells the day has.
        error_over_all_records: The error that is expected over all records; of a mechanism that promises, the promised
            one, where a withheld cell counts with half the range.
        share_within_target: Share of the records in cells that keep the target.
        constant_error: What the best single number for the whole day is expected to err over all records.
        worse_than_constant: Whether what is expected, or promised of what is published, is no better than that number,
            or nothing is published.
        is_screened: Whether a part of epsilon is taken by the count that screens the day.
        year_pure: What a year of such days costs a user at most, in pure epsilon.
        year_zcdp: The same in zCDP, of days that may each cost as much epsilon there.
    """

    h3_resolution: int
    slot_minutes: int
    epsilon: float
    cells: int
    error_over_all_records: float
    share_within_target: float
    constant_error: float
    worse_than_constant: bool
    is_screened: bool
    year_pure: float
    year_zcdp: float


@dataclass(frozen=True)
class Exploration:
    """What was explored.

    Attributes:
        choices: One for each setting: by resolution, slot and epsilon.
        target: The error that shares are about, in the value's unit: the configuration's, or a tenth of the range.
        spread: What a constant errs as earlier releases show, in the value's unit; None if there are none.
        error: Whether the errors are "promised" or "expected".
        cautions: What to look at in the day's users, in sentences.
    """

    choices: list[Choice]
    target: float
    spread: float | None
    error: str
    cautions: list[str]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The choices as rows of a table."""
        return [asdict(choice) for choice in self.choices]


@contained
def explore_day(
    date: dt.date,
    resolutions: Sequence[int],
    slots: Sequence[int],
    epsilons: Sequence[Decimal],
    config: Config,
    prepared: Config,
) -> Exploration:
    """Return what a prepared day would be worth with each resolution, slot and epsilon. Spends nothing.

    All settings are compared alike: as of a day that is not the first, of which nothing is known but how much values
    differ. That is what earlier releases show, or else what is usual. The owner's covariates are left out, because
    their file is for one resolution.

    Args:
        date: The local day; it must be prepared.
        resolutions: Of the hexagons.
        slots: Lengths of slots, in minutes; each divides a day.
        epsilons: The most that a day may cost a user.
        config: Gives mechanism, definition, value, target and ledger.
        prepared: The same with the warehouse that has the day's records: see ``prepared_here``.

    Raises:
        HexveilError: The mechanism promises and expects nothing before the draw, or all hexagons are smaller than the
            cells that records have as places.
    """
    if config.privacy.mechanism not in FORESEEING:
        raise HexveilError(f"mechanism {config.privacy.mechanism} promises no error, so there is nothing to explore")
    spread = released_spread(read_entries(config), config)
    deviation = USUAL_DEVIATION if spread is None else deviation_of(spread, _own_grid(date, prepared))
    target = (
        float(config.value.span) / 10 if config.privacy.target_error is None else float(config.privacy.target_error)
    )
    if config.columns.is_speed:  # which finer hexagon a record is in is as private as its speed
        resolutions = [config.grid.h3_resolution]
    resolutions = divided(date, resolutions, prepared)
    days = _days(date, resolutions, slots, prepared)
    choices: list[Choice] = []
    for _ in progress(range(len(resolutions) * len(slots)), "exploring hexagons and slots"):
        day = next(days)
        constant, worths = constant_error(day, deviation), kind_of(config).worths(day, epsilons, deviation, target)
        choices += [_choice(day, epsilon, worth, constant) for epsilon, worth in zip(epsilons, worths, strict=True)]
    presence = _presence(date, config, prepared)
    wrong = wrong_users(presence, config)
    cautions = [*([wrong] if wrong else []), *presence_cautions(presence, config, wrong)]
    return Exploration(choices, target, spread, kind_of(config).words.error, cautions)


def _presence(date: dt.date, config: Config, prepared: Config) -> Presence:
    """Return how the day's records are shared among its users, of whom the ledger knows some as it does in a plan."""
    entries = read_entries(config)
    with warehouse.connect(prepared) as connection:
        users = [user for (user,) in warehouse.rows(connection, "read/day_users", {"date": date})]
    hashes = known_users(config, entries).users(users) if entries else []
    return presence_of(date, prepared, hashes, known_of(date, entries, config))


def _days(date: dt.date, resolutions: Sequence[int], slots: Sequence[int], config: Config) -> Iterator[GridDay]:
    for resolution in resolutions:
        for grid, cells, occupancy in other_occupancies(date, resolution, slots, config):
            yield GridDay(date, cells, occupancy, config.model_copy(update={"grid": grid}))


def _own_grid(date: dt.date, config: Config) -> GridDay:
    return next(_days(date, [config.grid.h3_resolution], [config.grid.slot_minutes], config))


def _choice(day: GridDay, epsilon: Decimal, worth: Worth, constant: float) -> Choice:
    zcdp = Concentrated(day.config.privacy.delta or DEFAULT_DELTA)
    charges = full_charges(day.occupancy.n_users, day.with_epsilon(epsilon).config)
    year_pure, year_zcdp = (float(one.epsilon(_DAYS_OF_A_YEAR * one.within(epsilon))) for one in (PURE, zcdp))
    return Choice(
        h3_resolution=day.config.grid.h3_resolution,
        slot_minutes=day.config.grid.slot_minutes,
        epsilon=float(epsilon),
        cells=day.occupancy.n_cells,
        error_over_all_records=worth.error,
        share_within_target=worth.share,
        constant_error=constant,
        worse_than_constant=worth.of_published is None or worth.of_published >= constant,
        is_screened=bool(charges.any()),
        year_pure=year_pure,
        year_zcdp=year_zcdp,
    )
