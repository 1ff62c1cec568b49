"""Exploring compares grids and epsilons by the occupancy alone, spends nothing, and marks what is not worth it."""

import json
import shutil
from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from screened import MODES, N_BUSES, screen, write_day
from support import CLIP_USER, DATE, Dataset, table

from dpmath.estimate.screening import Screening, screening_within
from tasks.account import ledger, screenings
from tasks.account.screenings import full_charges
from tasks.base.config import Config
from tasks.base.errors import BadInput, HexveilError
from tasks.engines.prepare_here import prepared_here
from tasks.kinds.estimated.plan import EstimatePlan
from tasks.occupancy.other_grids import other_occupancies
from tasks.planning.explore import Exploration, explore_day
from tasks.planning.plan import make_plan, read_day
from tasks.planning.released_spread import released_spread
from tasks.upkeep.forget import forget_days

EPSILONS = [Decimal("0.001"), Decimal(2), Decimal(200)]


def explored(dataset: Dataset, epsilons: list[Decimal] = EPSILONS, slots: Sequence[int] = (60, 180)) -> Exploration:
    with prepared_here(DATE, dataset.config) as prepared:
        return explore_day(DATE, [6, 7], slots, epsilons, dataset.config, prepared)


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
    roaming.edit("h3_resolution = 7", f"h3_resolution = {resolution}")
    roaming.edit("slot_minutes = 60", f"slot_minutes = {minutes}")
    roaming.prepare()
    day, (cells, occupancy) = read_day(DATE, roaming.config), found[minutes]
    assert cells.equals(day.cells.select(cells.columns))
    assert np.array_equal(occupancy.n_records, day.request.occupancy.n_records)


@pytest.mark.quick(1)
@pytest.mark.parametrize("mechanism", ["estimated", "planned"])
def test_exploring_reads_no_value_and_spends_nothing(roaming: Dataset, mechanism: str) -> None:
    roaming.set(mechanism=mechanism)
    first = explored(roaming)
    day = pl.read_csv(roaming.folder / "raw" / "day.csv", schema_overrides={"time": pl.String})
    day.with_columns(speed=pl.Series(range(day.height)) * 7919 % 300 - 50).write_csv(roaming.folder / "raw" / "day.csv")
    assert explored(roaming) == first
    assert len(first.choices) == 2 * 2 * 3
    assert ledger.read_entries(roaming.config) == []
    assert not (roaming.folder / "store" / "private" / "plans").exists()


def test_more_epsilon_errs_less_and_too_little_is_marked_as_no_better_than_a_constant(roaming: Dataset) -> None:
    choices = explored(roaming).choices
    assert len(choices) == 2 * 2 * len(EPSILONS)
    for least, usual, most in zip(choices[::3], choices[1::3], choices[2::3], strict=True):
        errors = [choice.error_over_all_records or 0 for choice in (least, usual, most)]
        assert errors == sorted(errors, reverse=True)
        assert (least.worse_than_constant, most.worse_than_constant) == (True, False)
        assert (least.share_within_target or 0) <= (most.share_within_target or 0)
        assert usual.year_pure == 730
        assert 72 < usual.year_zcdp < 73


@pytest.mark.slow
def test_a_promise_that_is_wider_than_values_differ_is_marked(roaming: Dataset) -> None:
    roaming.set(definition="pure", mechanism="planned", target_error=45.0)
    promised = explored(roaming, [Decimal(2)])
    assert promised.target == 45
    assert [one.worse_than_constant for one in promised.choices] == [True] * 4
    roaming.set(target_error=2.0)
    strict = explored(roaming, [Decimal(5000)])
    assert [one.worse_than_constant for one in strict.choices] == [False] * 4
    assert min(one.share_within_target or 0 for one in strict.choices) > 0.5


@pytest.mark.slow
def test_the_constant_is_that_of_earlier_releases_once_there_are_some(roaming: Dataset) -> None:
    before = explored(roaming)
    assert before.spread is None
    for limit in ("per_day", "total"):  # with little, noise may vary more than values can
        roaming.edit(f"epsilon_{limit} = 2.0", f"epsilon_{limit} = 40.0")
    roaming.run_day()
    after = explored(roaming)
    found = table(roaming)
    records, means = found["n_records"].to_numpy(), found["mean"].to_numpy()
    varies = np.average(
        (means - np.average(means, weights=records)) ** 2 + found["mean_sd"].to_numpy() ** 2, weights=records
    )
    of_mean = json.loads(roaming.published("manifest.json").read_text())["whole_day"]["mean_sd"]
    assert after.spread == pytest.approx(np.sqrt(2 / np.pi * (varies - float(of_mean) ** 2)))
    own = next(one for one in after.choices if (one.h3_resolution, one.slot_minutes) == (7, 60))
    assert own.constant_error == pytest.approx(after.spread, rel=0.02)


@pytest.mark.parametrize("definition", ["pure", "zcdp"])
def test_the_spread_of_noisy_means_is_that_without_their_noise(uneven: Dataset, definition: str) -> None:
    uneven.set(**CLIP_USER | {"definition": definition}, epsilon_per_day=40.0, epsilon_total=40.0)
    uneven.run_day()
    found, records = table(uneven), table(uneven)["n_records"].to_numpy()
    means, noise = (found[name].to_numpy() for name in ("mean", "mean_noise_scale"))
    varies = np.average((means - np.average(means, weights=records)) ** 2, weights=records)
    left = varies - np.average(2 * noise**2, weights=records)
    spread = released_spread(ledger.read_entries(uneven.config), uneven.config)
    assert spread == (None if left <= 0 else pytest.approx(np.sqrt(2 / np.pi * left)))


def test_a_mechanism_that_promises_nothing_cannot_be_explored(roaming: Dataset) -> None:
    roaming.set(definition="pure", mechanism="levy", cell_epsilon=1.0)
    with pytest.raises(HexveilError, match="mechanism levy promises no error"):
        explored(roaming)


@pytest.mark.slow
def test_records_on_a_cluster_are_read_once_more_here_and_not_kept(roaming: Dataset) -> None:
    local = explored(roaming, [Decimal(2)])
    roaming.set(n_shards=3, engine={"name": "dask"})
    shutil.rmtree(roaming.folder / "store")
    roaming.run_day()
    parts = sorted((roaming.folder / "store" / "private" / "shards").rglob("*.parquet"))
    assert explored(roaming, [Decimal(2)]).choices[0].cells == local.choices[0].cells
    assert (explored(roaming, [Decimal(2)]).spread is None, local.spread) == (False, None)
    assert sorted((roaming.folder / "store" / "private" / "shards").rglob("*.parquet")) == parts != []
    assert list((roaming.folder / "store" / "private" / "scratch").glob("work-*")) == []
    shutil.rmtree(roaming.folder / "store")
    assert explored(roaming, [Decimal(2)]) == local


def test_a_forgotten_day_is_not_read_again_to_be_explored(roaming: Dataset) -> None:
    roaming.set(engine={"name": "dask"})
    roaming.prepare()
    forget_days([DATE], roaming.config)
    with pytest.raises(BadInput, match=f"{DATE} was forgotten"):
        explored(roaming)


def costly(config: Config) -> Screening | None:
    """Return a count that costs 9 tenths of a day."""
    currency = config.privacy.currency
    most = currency.within(config.privacy.epsilon_per_day)
    return screening_within(9 * most // 10, currency) if config.value.screen else None


@pytest.mark.slow
@pytest.mark.quick(1)
@pytest.mark.parametrize("mode", MODES, ids="-".join)
def test_screening_takes_its_share_where_a_plan_pays_for_it(
    dataset: Dataset, mode: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The share is 9 in 10 here: what a hundredth moves is small, and nothing where the budget is not what limits."""
    definition, mechanism = mode
    monkeypatch.setattr(screenings, "screening_of", costly)
    screen(dataset, definition, mechanism)
    few, enough = Decimal("0.01"), Decimal(1 if mechanism == "estimated" else 8)
    dataset.edit("epsilon_per_day = 400", f"epsilon_per_day = {enough}")
    if mechanism == "planned":
        dataset.set(target_error=2.0)
    write_day(dataset, 0, n_buses=300)
    paid = explored(dataset, [few, enough], (30, 60, 180)).choices
    if mechanism == "estimated":
        assert make_plan(DATE, dataset.config).n_asked == 300
    dataset.set(screen=False)
    whole = explored(dataset, [few, enough], (30, 60, 180)).choices
    assert [one.is_screened for one in paid] == [False, True] * 6
    assert not any(one.is_screened for one in whole)
    assert paid[::2] == whole[::2]
    errors = [[one.error_over_all_records or 0 for one in some[1::2]] for some in (paid, whole)]

    assert all(less >= more for less, more in zip(*errors, strict=True))
    assert errors[0] != errors[1]
    assert [(one.year_pure, one.year_zcdp) for one in paid] == [(one.year_pure, one.year_zcdp) for one in whole]


def test_what_is_explored_is_what_a_plan_asks_with(dataset: Dataset) -> None:
    screen(dataset, "zcdp", "estimated")
    write_day(dataset, 0)
    dataset.prepare()
    plan = make_plan(DATE, dataset.config)
    assert isinstance(plan, EstimatePlan)
    most = dataset.config.privacy.currency.within(Decimal(400))
    assert list(plan.charges) == list(full_charges(N_BUSES, dataset.config))
    assert [most - loss for loss in plan.question_losses] == pytest.approx(list(plan.charges), rel=1e-3)
