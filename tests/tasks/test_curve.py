"""The city's curve on the page over all days: the band is 1.96 deviations wide, and a gap stays a gap."""

import datetime as dt
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from estimates import day
from support import Dataset

from tasks.account import over_all_days
from tasks.output_formats.curve import city_curve
from tasks.output_formats.publication import Publication


def publication(dataset: Dataset) -> Publication:
    some: Any = None
    return Publication(dataset.config, {}, 0.0, 0, some, some, [], [])


def days(*numbers: int) -> dict[dt.date, tuple[float, float]]:
    return {day(number): (20.0 + number, 1.0 + number / 10) for number in numbers}


def heights(points: str) -> list[float]:
    return [float(point.partition(",")[2]) for point in points.split()]


def test_the_band_is_the_interval_of_each_day(dataset: Dataset) -> None:
    curve = city_curve(days(0, 1, 2), publication(dataset))
    assert curve is not None
    at, number = zip(*[(y, float(text)) for y, text in curve.lines], strict=True)
    (band,), (mean,) = curve.bands, curve.means
    values = np.interp([-y for y in heights(band)], [-y for y in at], number)
    expected = [20 + n + 1.96 * (1 + n / 10) for n in (0, 1, 2)] + [20 + n - 1.96 * (1 + n / 10) for n in (2, 1, 0)]
    assert values == pytest.approx(expected, abs=0.01)
    assert np.interp([-y for y in heights(mean)], [-y for y in at], number) == pytest.approx([20, 21, 22], abs=0.01)
    assert curve.dots[1][3] == f"{day(1)}: 21 km/h, within 2.2"


def test_a_day_that_is_missing_is_a_gap_and_one_day_no_curve(dataset: Dataset) -> None:
    curve = city_curve(days(0, 1, 4, 5, 9), publication(dataset))
    assert curve is not None
    assert [len(points.split()) for points in curve.means] == [2, 2, 1]
    assert city_curve(days(3), publication(dataset)) is None


def test_a_year_of_days_has_dates_that_do_not_meet(dataset: Dataset) -> None:
    curve = city_curve(days(*range(365)), publication(dataset))
    assert curve is not None
    places = [x for x, _, _ in curve.dates]
    assert min(np.diff(places)) > 100
    assert len(curve.dots) == 365


def test_the_page_over_all_days_draws_what_the_entries_say(estimated: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(2):
        estimated.run_day(day(number))
    page = (estimated.folder / "store" / "published" / "index.html").read_text()
    assert len(re.findall("<circle ", page)) == 2
    honest = over_all_days.PublishedRelease
    monkeypatch.setattr(over_all_days, "PublishedRelease", lambda **fields: replace(honest(**fields), whole_day=None))
    estimated.run_day(day(0))
    assert "<circle " not in (estimated.folder / "store" / "published" / "index.html").read_text()
