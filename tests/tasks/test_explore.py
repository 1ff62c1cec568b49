"""Exploring compares grids and epsilons by the occupancy alone, spends nothing, and marks what is not worth it."""

from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from support import DATE, Dataset, table

from tasks.account import ledger
from tasks.base.errors import HexveilError
from tasks.estimates import prospects
from tasks.occupancy.other_grids import other_occupancies
from tasks.planning.explore import Exploration, explore_day
from tasks.planning.plan import read_day
from tasks.planning.released_spread import released_spread

EPSILONS = [Decimal("0.001"), Decimal(2), Decimal(200)]


def explored(dataset: Dataset, epsilons: list[Decimal] = EPSILONS) -> Exploration:
    dataset.prepare()
    return explore_day(DATE, [6, 7], [30, 60, 180], epsilons, dataset.config)


def test_the_occupancy_of_the_own_grid_is_the_one_that_a_day_is_planned_with(roaming: Dataset) -> None:
    roaming.prepare()
    day = read_day(DATE, roaming.config)
    ((grid, cells, occupancy),) = other_occupancies(DATE, 7, [60], roaming.config)
    assert grid == roaming.config.grid
    assert cells.equals(day.cells.select(cells.columns))
    for name in ("cell", "user", "n_records"):
        assert np.array_equal(getattr(occupancy, name), getattr(day.request.occupancy, name)), name


@pytest.mark.parametrize(("resolution", "minutes"), [(6, 180), (8, 15)])
def test_other_occupancies_are_those_of_a_day_prepared_so(roaming: Dataset, resolution: int, minutes: int) -> None:
    roaming.prepare()
    found = {
        grid.slot_minutes: (cells, one)
        for grid, cells, one in other_occupancies(DATE, resolution, [15, 180], roaming.config)
    }
    roaming.set("h3_resolution = 7", f"h3_resolution = {resolution}")
    roaming.set("slot_minutes = 60", f"slot_minutes = {minutes}")
    roaming.prepare()
    day, (cells, occupancy) = read_day(DATE, roaming.config), found[minutes]
    assert cells.equals(day.cells.select(cells.columns))
    assert np.array_equal(occupancy.n_records, day.request.occupancy.n_records)


@pytest.mark.parametrize("mechanism", ["estimated", "planned"])
def test_exploring_reads_no_value_and_spends_nothing(roaming: Dataset, mechanism: str) -> None:
    roaming.set('"estimated"', f'"{mechanism}"')
    first = explored(roaming)
    day = pl.read_csv(roaming.folder / "raw" / "day.csv", schema_overrides={"time": pl.String})
    day.with_columns(speed=pl.Series(range(day.height)) * 7919 % 300 - 50).write_csv(roaming.folder / "raw" / "day.csv")
    assert explored(roaming) == first
    assert len(first.choices) == 2 * 3 * 3
    assert ledger.read_entries(roaming.config) == []
    assert not (roaming.folder / "store" / "private" / "plans").exists()


def test_more_epsilon_errs_less_and_too_little_is_marked_as_no_better_than_a_constant(roaming: Dataset) -> None:
    choices = explored(roaming).choices
    assert len(choices) == 2 * 3 * len(EPSILONS)
    for least, usual, most in zip(choices[::3], choices[1::3], choices[2::3], strict=True):
        errors = [choice.error_over_all_records or 0 for choice in (least, usual, most)]
        assert errors == sorted(errors, reverse=True)
        assert (least.worse_than_constant, most.worse_than_constant) == (True, False)
        assert (least.share_within_target or 0) <= (most.share_within_target or 0)
        assert usual.year_pure == 730
        assert 72 < usual.year_zcdp < 73


def test_a_promise_that_is_wider_than_values_differ_is_marked(roaming: Dataset) -> None:
    roaming.set('"estimated"', '"planned"\ntarget_error = 45.0')
    promised = explored(roaming, [Decimal(2)])
    assert promised.target == 45
    assert [one.worse_than_constant for one in promised.choices] == [True] * 6
    roaming.set("target_error = 45.0", "target_error = 2.0")
    strict = explored(roaming, [Decimal(5000)])
    assert [one.worse_than_constant for one in strict.choices] == [False] * 6
    assert min(one.share_within_target or 0 for one in strict.choices) > 0.5


def test_the_constant_is_that_of_earlier_releases_once_there_are_some(roaming: Dataset) -> None:
    before = explored(roaming)
    assert before.spread is None
    roaming.run_day()
    after = explored(roaming)
    found = table(roaming)
    records, means = found["n_records"].to_numpy(), found["mean"].to_numpy()
    varies = np.average(
        (means - np.average(means, weights=records)) ** 2 + found["mean_sd"].to_numpy() ** 2, weights=records
    )
    assert after.spread == pytest.approx(np.sqrt(2 / np.pi * varies))
    own = next(one for one in after.choices if (one.h3_resolution, one.slot_minutes) == (7, 60))
    assert own.constant_error == pytest.approx(after.spread, rel=0.02)


@pytest.mark.parametrize("definition", ["pure", "zcdp"])
def test_the_spread_of_noisy_means_is_that_without_their_noise(uneven: Dataset, definition: str) -> None:
    uneven.set("epsilon_per_day = 2.0", f'epsilon_per_day = 40.0\ndefinition = "{definition}"')
    uneven.set("epsilon_total = 5.0", "epsilon_total = 40.0")
    uneven.run_day()
    found, records = table(uneven), table(uneven)["n_records"].to_numpy()
    means, noise = (found[name].to_numpy() for name in ("mean", "mean_noise_scale"))
    varies = np.average((means - np.average(means, weights=records)) ** 2, weights=records)
    left = varies - np.average(2 * noise**2, weights=records)
    spread = released_spread(ledger.read_entries(uneven.config), uneven.config)
    assert spread == (None if left <= 0 else pytest.approx(np.sqrt(2 / np.pi * left)))


def test_a_map_with_too_many_hexagons_is_not_tried(roaming: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prospects, "_MOST_COEFFICIENTS", 10)
    assert {one.error_over_all_records for one in explored(roaming).choices} == {None}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"estimated"', '"levy"\ncell_epsilon = 1.0', "mechanism levy promises no error"),
        ("[storage]", '[engine]\nname = "dask"\n[storage]', 'set engine.name = "local"'),
    ],
)
def test_what_cannot_be_explored_is_said(roaming: Dataset, old: str, new: str, said: str) -> None:
    roaming.set(old, new)
    with pytest.raises(HexveilError, match=said):
        explored(roaming)
