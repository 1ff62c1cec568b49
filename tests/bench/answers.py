"""How often the intervals of answers hold: of areas over days, weeks and months, of changes and of shares."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import h3
import numpy as np
import polars as pl
from scipy.sparse import csr_array
from scipy.special import ndtr
from shapely.geometry.base import BaseGeometry

from dpmath.estimate.areas import HALF_WIDTH
from tasks.answers.places import EachHexagon
from tasks.answers.rows import with_discoveries
from tasks.answers.sums import Reader, Sums, shares_of_days, together
from tests.bench.made_days import CITIES, N_LONG, City, MadeDay, made_days

EPSILONS = (1, 2, 5)
HOURS = (frozenset(range(24)), frozenset((7, 8, 9)), frozenset((17,)))
_SIZES = (1, 2, 4, 8, 13)
_EACH = 6
_CELLS = (2, 200)
_LARGE = 40
_WEEK = 7

Row = dict[str, Any]


@dataclass(frozen=True)
class Drawn:
    """Areas of hexagons near each other, drawn anywhere among those of the first day; see ``Areas``."""

    areas: tuple[frozenset[str], ...]

    def shares(self, cells: Sequence[str]) -> tuple[list[str], csr_array]:
        """Return a whole for each hexagon in an area."""
        inside = [[cell in area for area in self.areas] for cell in cells]
        return [str(number) for number in range(len(self.areas))], csr_array(np.array(inside, dtype=float))

    def n_hexagons(self, name: str, _resolution: int) -> float:
        """Return how many an area has."""
        return float(len(self.areas[int(name)]))

    def outlines(self, cells: Sequence[str]) -> dict[str, BaseGeometry]:
        """Return those of the hexagons."""
        return EachHexagon().outlines(cells)


@dataclass(frozen=True)
class Known:
    """What is said of an area on some days, and what it was: one of each a day on which it has records.

    Attributes:
        day: The number of the day.
        said: What is said of it.
        truth: What it was.
    """

    day: list[int]
    said: list[Sums]
    truth: list[float]

    def error(self, these: Iterable[int], before: Iterable[int] = ()) -> tuple[float, float] | None:
        """Return how far the mean of some days is off, or its change, and its deviation; None without records."""
        of_these, of_before = ([day in days for day in self.day] for days in map(set, (these, before)))
        if not any(of_these) or (before and not any(of_before)):
            return None
        share = shares_of_days(self.said, of_these)
        if before:
            share = share - shares_of_days(self.said, of_before)
        found, variance = together(self.said, share)
        return found - float(share @ self.truth), float(np.sqrt(variance))


def measure_answers(epsilons: Iterable[float], n_draws: int, n_days: int = N_LONG) -> Iterator[Row]:
    """Yield one row for each city, epsilon, draw, question and size of areas: how many intervals hold of how many.

    Args:
        epsilons: Of a day.
        n_draws: How often each city is drawn.
        n_days: Of how many days at most.
    """
    for draw in range(n_draws):
        for city in CITIES:
            if not city.is_here:
                continue
            for epsilon in epsilons:
                about = {"city": city.name, "epsilon": epsilon, "draw": draw}
                yield from (about | row for row in of_city(replace(city, dates=city.dates[:n_days]), epsilon, draw))


def of_city(city: City, epsilon: float, draw: int) -> list[Row]:
    """Return the rows of one draw of a city."""
    known: list[dict[tuple[str, int], Known]] = []
    areas: Drawn | None = None
    for number, day in enumerate(made_days(city, epsilon, draw)):
        areas = areas or drawn(sorted(set(day.said[0].cells["h3_cell"])), draw)
        known += [{} for _ in day.said[len(known) :]]
        for of_number, here in zip(known, _of_day(day, areas, city), strict=True):
            for label, (said, truth) in here.items():
                found = of_number.setdefault(label, Known([], [], []))
                found.day.append(number)
                found.said.append(said)
                found.truth.append(truth)
    n_days = len(city.dates)
    rows = _rows("mean", known[0], n_days)
    return rows + [row for of_limit in known[1:] for row in _rows("share", of_limit, n_days)]


def drawn(cells: Sequence[str], seed: int) -> Drawn:
    """Return areas of several sizes among some hexagons."""
    rng = np.random.default_rng([seed, 5])
    position = np.array([h3.cell_to_latlng(cell) for cell in cells])
    position[:, 1] *= np.cos(np.radians(position[0, 0]))
    areas = []
    for size in _SIZES:
        for centre in position[rng.choice(len(cells), _EACH)]:
            near = np.argsort(((position - centre) ** 2).sum(axis=1), kind="stable")[:size]
            areas.append(frozenset(cells[one] for one in near))
    return Drawn(tuple(areas))


def _of_day(day: MadeDay, areas: Drawn, city: City) -> Iterator[dict[tuple[str, int], tuple[Sums, float]]]:
    """Yield what a day says of areas and hours, and what they were, for the mean and each share."""
    for said, truth in zip(day.said, day.truth, strict=True):
        found = {}
        for number, hours in enumerate(HOURS):
            here, there = (
                Reader(areas, hours, city.zone, by_hour=False).of_day(one)
                for one in (said, replace(said, number=truth))
            )
            found |= {(name, number): (sums, there[name, None].mean) for (name, _), sums in here.items()}
        yield found


def _questions(n_days: int) -> dict[str, list[tuple[range, range]]]:
    """Return the days that each kind of question is about, and those that it compares them with."""
    days, weeks, months = (
        [range(first, first + size) for first in range(0, n_days - size + 1, size)] for size in (1, _WEEK, N_LONG)
    )
    if not weeks:
        weeks = [range(first, first + 2) for first in range(0, n_days - 1, 2)]
    none = range(0)
    return {
        "a day": [(one, none) for one in days],
        "a week": [(one, none) for one in weeks],
        "four weeks": [(one, none) for one in months],
        "a day, change": [(later, earlier) for earlier, later in pairwise(days)],
        "a week, change": [(later, earlier) for earlier, later in pairwise(weeks)],
    }


def _rows(of: str, known: dict[tuple[str, int], Known], n_days: int) -> list[Row]:
    rows = []
    for question, periods in _questions(n_days).items():
        held: dict[str, list[bool]] = {"small": [], "large": []}
        n_listed, n_lists = 0, 0
        for these, before in periods:
            p_values = []
            for one in known.values():
                n_cells = float(np.mean([said.n_cells for said in one.said]))
                found = one.error(these, before) if _CELLS[0] <= n_cells <= _CELLS[1] else None
                if found is not None:
                    held["large" if n_cells >= _LARGE else "small"].append(abs(found[0]) <= HALF_WIDTH * found[1])
                    p_values.append(p_value(*found))
            if before and p_values:
                # of errors alone: nothing has changed but what is said, so each one listed is false
                n_listed += bool(with_discoveries(pl.DataFrame({"p_value": p_values}))["changed"].any())
                n_lists += 1
        sizes = [(name, some) for name, some in held.items() if some]
        rows += [
            {"of": of, "question": question, "areas": name, "n": len(some), "held": sum(some)} for name, some in sizes
        ]
        if n_lists:
            rows.append({"of": of, "question": question, "areas": "lists", "n": n_lists, "held": n_lists - n_listed})
    return rows


def p_value(error: float, deviation: float) -> float:
    """Return how likely a normal number is as far off."""
    return float(2 * ndtr(-abs(error) / max(deviation, 1e-12)))


def caption(rows: pl.DataFrame) -> str:
    """Return what the table shows."""
    return (
        "Per cent of 95 % intervals that hold, of all areas (of those of 40 to 200 cells). Of changes, too: "
        "per cent of the lists at a false discovery rate of 10 % that name an area where nothing changed. "
        f"Draws: {rows['draw'].n_unique()}"
    )


def table(rows: pl.DataFrame) -> pl.DataFrame:
    """Return one row for each city and question."""
    keys = ["city", "of", "question"]

    def share(*names: str) -> pl.Expr:
        some = pl.col("areas").is_in(names)
        return 100 * pl.col("held").filter(some).sum() / pl.col("n").filter(some).sum()

    def whole(number: pl.Expr) -> pl.Expr:
        return number.round(0).cast(pl.Int64, strict=False).cast(pl.String).fill_null("-")

    found = rows.group_by(*keys, "epsilon", maintain_order=True).agg(
        every=whole(share("small", "large").fill_nan(None)),
        large=whole(share("large").fill_nan(None)),
        false=whole((100 - share("lists")).fill_nan(None)),
    )
    is_change = pl.col("question").str.ends_with("change")
    shown = found.with_columns(
        shown=pl.when(is_change)
        .then(pl.format("{} ({}), {}", "every", "large", "false"))
        .otherwise(pl.format("{} ({})", "every", "large"))
    )
    wide = shown.pivot("epsilon", index=keys, values="shown").fill_null("")
    return wide.rename({name: f"epsilon {float(name):g}" for name in wide.columns[3:]})
