"""A cell whose interval is too wide has the value of a larger area, and every change of it is found."""

import h3
import numpy as np
import polars as pl
import pytest
from estimates import day, released
from support import DATE, Dataset, table

from dpmath.estimate.areas import HALF_WIDTH, Areas
from tasks.account import ledger
from tasks.base.errors import LedgerBroken
from tasks.kinds.estimated import release as released_estimate
from tasks.kinds.estimated.asked_day import Known
from tasks.kinds.estimated.states import estimate_again
from tasks.kinds.estimated.tables import areas_of
from tasks.planning.preview import preview_cells, preview_plan
from tasks.reporting.day_report import report_day
from tasks.reporting.registry import describe_deployment
from tasks.upkeep.evaluate import evaluate_day
from tasks.upkeep.verify import verify_ledger

TARGET = 12.0
"""Half the width that intervals may have: some cells of these days meet it, and some do not."""


@pytest.fixture
def coarse(estimated: Dataset) -> Dataset:
    estimated.edit('mechanism = "estimated"', f'mechanism = "estimated"\ntarget_error = {TARGET}')
    return estimated


def areas_again(dataset: Dataset) -> Areas:
    """Return the areas of the only release, made from its questions and answers."""
    (entry,) = released(dataset)
    again = estimate_again(entry, Known(None, None, 0, 1), dataset.config)
    return areas_of(again.estimate, again.asked, dataset.config)


def test_a_cell_has_the_value_of_a_larger_area_only_where_its_own_interval_is_too_wide(coarse: Dataset) -> None:
    coarse.run_day()
    found, areas = table(coarse), areas_again(coarse)
    is_coarse = found["mean_area"].to_numpy() != "cell"
    too_wide = areas.widths[0] > TARGET
    assert is_coarse.any()
    assert not is_coarse.all()
    assert (too_wide | ~is_coarse).all()
    assert ((found["support"] == "coarse").to_numpy() == is_coarse).all()
    cells = found.filter(pl.col("mean_area") == "cell")
    assert cells["mean"].to_numpy() == pytest.approx(areas.mean[0][~is_coarse], abs=1e-4)
    width = 1.96 * found["mean_sd"].to_numpy()
    kept = np.where(too_wide, width <= np.maximum(TARGET, areas.widths.min(axis=0)) + 1e-4, width <= TARGET)
    assert kept.all(), "each interval meets the target, or no area of the cell does and it is the narrowest"
    hours = found.with_columns(band=pl.col("slot_start").dt.hour() // 4)
    shared = hours.filter(mean_area="hexagon_4h").group_by("h3_cell", "band")
    columns = ["mean", "mean_sd", "mean_ci95_low", "mean_ci95_high", "mean_day_share", "typical_mean"]
    assert (shared.agg(pl.col(columns).n_unique()).select(columns) == 1).to_numpy().all()
    assert report_day(DATE, {}, coarse.config).n_coarse == is_coarse.sum()
    described = describe_deployment(ledger.read_entries(coarse.config), coarse.config)
    assert described["utility"]["promised_error"] is None, "a target of widths is no promise"
    assert verify_ledger(coarse.config).n_releases == 1


@pytest.mark.slow
def test_a_plan_says_how_many_cells_will_have_too_wide_an_interval(coarse: Dataset) -> None:
    coarse.prepare()
    assert preview_plan(DATE, coarse.config)["cells_too_wide"] is None, "the values' scale is not known yet"
    coarse.run_day()
    coarse.prepare(day(1))
    widths = sorted(HALF_WIDTH * row["expected_sd"] for row in preview_cells(day(1), coarse.config))
    target = (widths[9] + widths[10]) / 2
    coarse.edit(f"target_error = {TARGET}", f"target_error = {target:.9f}")
    coarse.prepare(day(1))
    assert preview_plan(day(1), coarse.config)["cells_too_wide"] == len(widths) - 10
    coarse.edit(f"target_error = {target:.9f}\n", "")
    coarse.prepare(day(1))
    assert preview_plan(day(1), coarse.config)["cells_too_wide"] == 0


def test_without_a_target_each_cell_has_its_own_value(estimated: Dataset) -> None:
    estimated.run_day()
    assert set(table(estimated)["mean_area"]) == {"cell"}


IS_COARSE = pl.col("support") == "coarse"

CHANGES = {
    "does not follow from the noisy answers": pl.when(IS_COARSE).then(pl.col("mean") * 0.9).otherwise("mean"),
    "mean_area does not follow from the widths": pl.lit("parent_4h").alias("mean_area"),
    "support does not follow": pl.when(IS_COARSE).then(pl.lit("measured")).otherwise("support").alias("support"),
}


@pytest.mark.quick(2)
@pytest.mark.parametrize("message", CHANGES)
def test_a_changed_coarse_value_or_choice_is_found(
    coarse: Dataset, monkeypatch: pytest.MonkeyPatch, message: str
) -> None:

    honest = released_estimate.estimate_frame
    with monkeypatch.context() as changed:
        changed.setattr(
            released_estimate, "estimate_frame", lambda *given: honest(*given).with_columns(CHANGES[message])
        )
        coarse.run_day()
    with pytest.raises(LedgerBroken, match=message):
        verify_ledger(coarse.config)


def test_a_coarse_value_is_evaluated_against_the_values_of_its_area(coarse: Dataset) -> None:
    coarse.run_day()
    evaluation, _ = evaluate_day(DATE, None, coarse.config)
    raw = pl.read_csv(coarse.folder / "raw" / f"day-{DATE}.csv", try_parse_dates=True)
    cells = [h3.latlng_to_cell(latitude, longitude, 7) for latitude, longitude in raw.select("lat", "lon").rows()]
    raw = raw.with_columns(
        hexagon=pl.Series(cells),
        parent=pl.Series([h3.cell_to_parent(cell) for cell in cells]),
        hour=pl.col("time").dt.hour(),
        band=pl.col("time").dt.hour() // 4,
    )
    held = []
    for row in table(coarse).iter_rows(named=True):
        area, cell, hour = row["mean_area"], row["h3_cell"], row["slot_start"].hour
        where = {"parent": h3.cell_to_parent(cell)} if area.startswith("parent") else {"hexagon": cell}
        when = {"band": hour // 4} if area.endswith("4h") else {"hour": hour}
        truth = np.mean(raw.filter(**where, **when)["speed"].to_numpy())
        held.append(row["mean_ci95_low"] <= truth <= row["mean_ci95_high"])
    assert evaluation["coverage_of_cells"] == pytest.approx(np.mean(held))
