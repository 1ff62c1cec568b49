"""The city's curve over all days with its band, as a picture that needs no script."""

import datetime as dt
import math
from collections.abc import Mapping
from dataclasses import dataclass

from dpmath.estimate.areas import HALF_WIDTH
from tasks.output_formats.publication import Publication

WIDTH, HEIGHT = 1000, 240
LEFT, RIGHT, _TOP, _BOTTOM = 56, 12, 12, 28
_LINES, _DATES = 4, 6
_FEW = 60
"""With more days, the dot of a day is smaller."""


@dataclass(frozen=True)
class Curve:
    """What the page draws, in units of a picture of WIDTH by HEIGHT.

    Attributes:
        title: What it is of.
        lines: Where each line of the grid is, and its number.
        bands: The corners of each band, one for each run of days.
        means: The points of each line.
        dots: Where each day is, how large its dot, and what is said of it.
        dates: Where each date stands, how it is aligned, and the date.
    """

    title: str
    lines: list[tuple[float, str]]
    bands: list[str]
    means: list[str]
    dots: list[tuple[float, float, int, str]]
    dates: list[tuple[float, str, str]]


def city_curve(days: Mapping[dt.date, tuple[float, float]], publication: Publication) -> Curve | None:
    """Return the curve of the days' means; None for less than two days.

    Args:
        days: The mean over all records of each day, and its standard deviation.
        publication: The dataset.
    """
    if len(days) < 2:
        return None
    value, dates = publication.config.value, sorted(days)
    ends = [(mean - HALF_WIDTH * deviation, mean + HALF_WIDTH * deviation) for mean, deviation in days.values()]
    low = max(min(one for one, _ in ends), float(value.lower))
    high = min(max(one for _, one in ends), float(value.upper))
    lines = _round_numbers(low, high)
    low, high = min(low, lines[0]), max(high, lines[-1])
    n_days = (dates[-1] - dates[0]).days

    def x(date: dt.date) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (date - dates[0]).days / n_days

    def y(number: float) -> float:
        share = (min(max(number, low), high) - low) / max(high - low, 1e-300)
        return HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * share

    def points(run: list[dt.date], side: float) -> list[str]:
        return [f"{x(date):.1f},{y(days[date][0] + side * days[date][1]):.1f}" for date in run]

    runs, size = _without_gaps(dates), 4 if len(dates) <= _FEW else 2
    labelled = sorted({round(n_days * number / (_DATES - 1)) for number in range(_DATES)})
    return Curve(
        title=f"{value.name.capitalize()} of every day, in {value.unit}",
        lines=[(y(one), f"{one:g}") for one in lines],
        bands=[" ".join(points(run, HALF_WIDTH) + points(run, -HALF_WIDTH)[::-1]) for run in runs],
        means=[" ".join(points(run, 0.0)) for run in runs],
        dots=[
            (x(date), y(mean), size, f"{date}: {mean:.3g} {value.unit}, within {HALF_WIDTH * deviation:.2g}")
            for date, (mean, deviation) in sorted(days.items())
        ],
        dates=[
            (
                x(dates[0] + dt.timedelta(days=number)),
                "start" if number == 0 else "end" if number == n_days else "middle",
                str(dates[0] + dt.timedelta(days=number)),
            )
            for number in labelled
        ],
    )


def _without_gaps(dates: list[dt.date]) -> list[list[dt.date]]:
    """Return runs of days that follow each other."""
    runs: list[list[dt.date]] = []
    for date in dates:
        if runs and (date - runs[-1][-1]).days == 1:
            runs[-1].append(date)
        else:
            runs.append([date])
    return runs


def _round_numbers(low: float, high: float) -> list[float]:
    """Return a few round numbers that cover a range."""
    width = max(high - low, 1e-9) / _LINES
    power = 10.0 ** math.floor(math.log10(width))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= width)
    first = math.floor(low / step)
    return [round(step * number, 10) for number in range(first, math.ceil(high / step) + 1)]
