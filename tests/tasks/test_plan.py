import shutil

import pytest
from support import CLIP_USER, DATE, HEADER, OF_SUMS_IN_BRIEF, Dataset, choose, later_day, table

from tasks.account import ledger
from tasks.base.errors import BudgetExceeded, HexveilError, NothingToPublish
from tasks.planning.comparison import compare_mechanisms
from tasks.planning.plan import make_plan, plan_release
from tasks.planning.preview import preview_cells, preview_plan
from tasks.proposals.mechanisms import PROMISING
from tasks.release.draw import release_statistics
from tasks.upkeep import verify


@pytest.mark.quick(2)
@pytest.mark.parametrize("mechanism", ["estimated", *OF_SUMS_IN_BRIEF])
def test_the_plan_reads_no_value(
    busy_dataset: Dataset, tmp_path_factory: pytest.TempPathFactory, mechanism: str
) -> None:
    """The same records with other values give the same plan to the byte, on a machine with the same secret."""
    choose(busy_dataset, mechanism)
    busy_dataset.prepare()
    first = plan_release.fn(DATE, busy_dataset.config)
    rows = (busy_dataset.folder / "raw" / "day.csv").read_text().splitlines()
    other = Dataset(tmp_path_factory.mktemp("other"))
    other.config_file.write_text(busy_dataset.config_file.read_text())
    changed = [row.rsplit(",", 1)[0] + "," + str(n * 7919 % 300 - 50) for n, row in enumerate(rows[1:])]
    other.write("day.csv", HEADER + "\n".join(changed) + "\n")
    private = other.folder / "store" / "private"
    private.mkdir(parents=True)
    shutil.copy(busy_dataset.folder / "store" / "private" / "user-key", private)
    other.prepare()
    assert plan_release.fn(DATE, other.config) == first


def test_a_preview_spends_nothing_and_says_what_the_release_then_does(busy_dataset: Dataset) -> None:
    busy_dataset.set(**CLIP_USER)
    busy_dataset.prepare()
    summary = preview_plan(DATE, busy_dataset.config)
    assert ledger.read_entries(busy_dataset.config) == []
    busy_dataset.release()
    entry = ledger.read_entries(busy_dataset.config)[0]
    assert summary["plan_hash"] == entry.stated["plan"]
    assert summary["epsilon"] == entry.stated["epsilon"]
    assert (summary["cells_total"], summary["cells_published"]) == (
        entry.stated["cells"]["total"],
        entry.stated["cells"]["published"],
    )
    assert summary["worst_error"] == pytest.approx(table(busy_dataset)["mean_error_bound"].max())


def test_a_plan_older_than_another_release_cannot_overspend(busy_dataset: Dataset) -> None:
    busy_dataset.set(definition="pure", epsilon_total=3.0)
    tomorrow = later_day(busy_dataset, 1)
    for date in (DATE, tomorrow):
        busy_dataset.prepare(date)
    first, second = (plan_release.fn(date, busy_dataset.config) for date in (DATE, tomorrow))
    release_statistics.fn(DATE, first, busy_dataset.config)
    with pytest.raises(BudgetExceeded, match="run the day again"):
        release_statistics.fn(tomorrow, second, busy_dataset.config)
    assert len(ledger.read_entries(busy_dataset.config)) == 1


def test_a_plan_is_not_executed_on_another_day(busy_dataset: Dataset) -> None:
    tomorrow = later_day(busy_dataset, 1)
    for date in (DATE, tomorrow):
        busy_dataset.prepare(date)
    plan_hash = plan_release.fn(DATE, busy_dataset.config)
    with pytest.raises(HexveilError):
        release_statistics.fn(tomorrow, plan_hash, busy_dataset.config)


def test_a_plan_is_not_executed_on_an_occupancy_that_changed(busy_dataset: Dataset) -> None:
    busy_dataset.prepare()
    plan_hash = plan_release.fn(DATE, busy_dataset.config)
    busy_dataset.write("late.csv", HEADER + f"bus01,{DATE}T08:59:59Z,47.0500,8.3100,30\n")
    busy_dataset.prepare()
    with pytest.raises(HexveilError, match="occupancy changed"):
        release_statistics.fn(DATE, plan_hash, busy_dataset.config)
    assert ledger.read_entries(busy_dataset.config) == []


def test_a_plan_is_not_executed_under_other_settings(busy_dataset: Dataset) -> None:
    busy_dataset.prepare()
    plan_hash = plan_release.fn(DATE, busy_dataset.config)
    busy_dataset.set(upper=200.0)
    with pytest.raises(HexveilError, match="settings"):
        release_statistics.fn(DATE, plan_hash, busy_dataset.config)


def test_a_day_whose_cells_cannot_keep_their_promise_is_not_released(busy_dataset: Dataset) -> None:
    busy_dataset.set(**CLIP_USER | {"target_error": 0.1})
    with pytest.raises(NothingToPublish, match="the 2 cells cannot keep a promise"):
        busy_dataset.release()
    assert ledger.read_entries(busy_dataset.config) == []
    assert not (busy_dataset.folder / "store" / "published").exists()


def test_an_occupancy_prepared_with_other_settings_meanwhile_is_not_released(busy_dataset: Dataset) -> None:
    busy_dataset.prepare()
    plan_hash = plan_release.fn(DATE, busy_dataset.config)
    asked = busy_dataset.config
    busy_dataset.set(tick=0.1)
    busy_dataset.prepare()
    with pytest.raises(HexveilError, match="other settings"):
        release_statistics.fn(DATE, plan_hash, asked)


@pytest.mark.quick(1)
@pytest.mark.parametrize("variance", [False, True])
def test_the_planner_releases_what_it_promised_and_verify_agrees(busy_dataset: Dataset, variance: bool) -> None:
    busy_dataset.set(definition="pure", mechanism="planned")
    if variance:
        busy_dataset.set(variance=True)
    busy_dataset.prepare()
    summary = preview_plan(DATE, busy_dataset.config)
    assert summary["gap"] <= 0.01
    assert summary["epsilon_lower_bound"] <= float(summary["epsilon"]) <= 2
    busy_dataset.release()
    assert (table(busy_dataset)["mean_error_bound"] <= 40).all()
    assert verify.verify_ledger(busy_dataset.config).n_releases == 1


@pytest.mark.slow
def test_without_a_target_the_planner_promises_the_least_error_for_all_cells(busy_dataset: Dataset) -> None:
    busy_dataset.set(**CLIP_USER | {"mechanism": "planned"})
    busy_dataset.prepare()
    assert preview_plan(DATE, busy_dataset.config)["error_lower_bound"] is None
    busy_dataset.set(target_error=None)
    busy_dataset.prepare()
    summary = preview_plan(DATE, busy_dataset.config)
    assert 0 < summary["error_lower_bound"] <= summary["worst_error"] <= 1.01 * summary["error_lower_bound"]
    busy_dataset.release()
    published = table(busy_dataset)
    assert published.height == 2
    assert (published["mean_error_bound"] < 40).all()
    assert published["mean_error_bound"].max() == pytest.approx(summary["worst_error"])


def test_a_plan_says_why_a_run_would_refuse_a_day_that_was_released_with_another_grid(busy_dataset: Dataset) -> None:
    busy_dataset.run_day()
    busy_dataset.edit("h3_resolution = 7", "h3_resolution = 8")
    busy_dataset.prepare()
    with pytest.raises(HexveilError, match="was released as test-2026-01-15-h3r7-60min-mean") as caught:
        busy_dataset.run_day()
    assert preview_plan(DATE, busy_dataset.config)["refused"] == str(caught.value)


def test_mechanisms_are_compared_side_by_side(busy_dataset: Dataset) -> None:
    busy_dataset.set(**CLIP_USER)
    busy_dataset.prepare()
    rows = {row["mechanism"]: row for row in compare_mechanisms(DATE, busy_dataset.config)}
    assert set(rows) == {*PROMISING, "estimated"}
    assert rows["estimated"]["error_over_all_records"] is None, "the scale of the values is not known yet"
    assert all(0 < rows[name]["error_over_all_records"] <= 50 for name in PROMISING)
    assert all(row["records_covered"] == round(288 * row["records_share"]) for row in rows.values())
    assert rows["estimated"]["records_share"] == 1
    assert all(row["epsilon"] <= 2 for row in rows.values())
    assert rows["planned"]["cells_published"] >= rows["clip-user"]["cells_published"]
    cells = preview_cells(DATE, busy_dataset.config)
    assert [cell["n_records"] for cell in cells] == [144, 144]


def test_plans_do_not_depend_on_when_files_came(busy_dataset: Dataset) -> None:
    busy_dataset.prepare()
    once = make_plan(DATE, busy_dataset.config)
    busy_dataset.prepare()
    assert make_plan(DATE, busy_dataset.config).cells.equals(once.cells)
