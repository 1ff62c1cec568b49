import datetime as dt
import json
import shutil
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pytest
from support import DATE, HEADER, Dataset

from dpmath.accounting import LOSS_UNITS
from tasks import ledger, private_files, release, verify
from tasks.errors import BudgetExceeded, HexveilError, LedgerBroken, NothingToPublish
from tasks.plan import make_plan, plan_release
from tasks.preview import compare_mechanisms, preview_cells, preview_plan
from tasks.release import find_release, release_statistics
from tasks.report import report_day


def silence(inverse_scale: np.ndarray) -> np.ndarray:
    return np.zeros(inverse_scale.size, dtype=object)


def table(dataset: Dataset, date: dt.date = DATE) -> pl.DataFrame:
    return pl.read_parquet(dataset.published("statistics.parquet", date), hive_partitioning=False)


def all_files(dataset: Dataset) -> dict[str, bytes]:
    folder = dataset.folder / "store" / "published"
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def later_day(dataset: Dataset, n: int) -> dt.date:
    """Write the busy day's records again, n days later, and return that day."""
    date = DATE + dt.timedelta(days=n)
    text = (dataset.folder / "raw" / "day.csv").read_text().replace(str(DATE), str(date))
    dataset.write(f"day{n}.csv", text)
    return date


def test_a_day_is_published_in_the_documented_columns(busy_dataset: Dataset) -> None:
    identity = busy_dataset.release()
    published = table(busy_dataset)
    assert identity == "test-2026-01-15-h3r7-60min-mean"
    assert published.columns == [
        "h3_cell",
        "slot_start",
        "slot_minutes",
        "n_records",
        "n_users",
        "mean",
        "mean_noise_scale",
        "mean_error_bound",
        "mean_ci95_low",
        "mean_ci95_high",
        "epsilon",
        "release_id",
    ]
    assert published["slot_start"].to_list() == [dt.datetime(2026, 1, 15, hour, tzinfo=dt.UTC) for hour in (8, 9)]
    assert published["n_records"].to_list() == [144, 144]
    assert published["n_users"].to_list() == [12, 12]
    assert published["release_id"].unique().to_list() == [identity]
    csv = pl.read_csv(busy_dataset.published("statistics.csv"), try_parse_dates=True)
    assert csv.columns == published.columns
    assert csv["mean"].to_list() == published["mean"].to_list()


def test_running_a_day_again_draws_nothing_and_publishes_the_same_bytes(
    busy_dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy_dataset.release()
    before = all_files(busy_dataset)
    monkeypatch.setattr("tasks.entropy.random_bytes", lambda _: pytest.fail("noise was drawn again"))
    shutil.rmtree(busy_dataset.folder / "store" / "published")
    busy_dataset.release()
    assert all_files(busy_dataset) == before
    assert len(before) == 3
    assert len(ledger.read_entries(busy_dataset.config)) == 1


def test_with_no_noise_and_an_infinite_budget_the_means_are_the_plain_ones(busy_dataset: Dataset) -> None:
    """No target: CLIP-USER's bound is then the paper's, which leaves nothing to suppress without noise."""
    busy_dataset.set("target_error = 40.0", "")
    busy_dataset.set("epsilon_per_day = 2.0", "epsilon_per_day = 1000000")
    busy_dataset.set("epsilon_total = 5.0", "epsilon_total = 1000000")
    busy_dataset.set("[storage]", "[statistics]\nvariance = true\n[storage]")
    busy_dataset.release(noise=silence)
    plain = busy_dataset.query(
        "select slot_start, avg(value_ticks) / 100, var_pop(value_ticks) / 10000 from record group by all order by all"
    )
    published = table(busy_dataset)
    assert published["mean"].to_list() == pytest.approx([mean for _, mean, _ in plain], abs=1e-9)
    assert published["variance"].to_list() == pytest.approx([variance for _, _, variance in plain], rel=1e-9)


def test_the_entry_charges_what_an_independent_sum_over_the_plan_gives(busy_dataset: Dataset) -> None:
    busy_dataset.release()
    entry = ledger.read_entries(busy_dataset.config)[0]
    plan = json.loads((private_files.plans(busy_dataset.config) / entry["plan"]).read_bytes())
    cells, pairs = (
        pl.read_parquet(private_files.plans(busy_dataset.config) / plan["files"][name]) for name in ("cells", "pairs")
    )
    losses: dict[str, Fraction] = {}
    for pair in pairs.iter_rows(named=True):
        cell = cells.row(
            by_predicate=(pl.col("slot_start") == pair["slot_start"]) & (pl.col("h3_cell") == pair["h3_cell"]),
            named=True,
        )
        loss = pair["mean_width"] * Fraction(cell["mean_inverse_scale"], LOSS_UNITS)
        losses[pair["user_hash"]] = losses.get(pair["user_hash"], Fraction(0)) + loss
    assert Fraction(entry["epsilon"]) == max(losses.values())
    assert Fraction(0) < 2 - Fraction(entry["epsilon"]) < Fraction(1, 10**6)


@pytest.mark.parametrize("mechanism", ["clip-user", "planned"])
def test_the_plan_reads_no_value(
    busy_dataset: Dataset, tmp_path_factory: pytest.TempPathFactory, mechanism: str
) -> None:
    """The same records with other values give the same plan to the byte, on a machine with the same secret."""
    busy_dataset.set('"clip-user"', f'"{mechanism}"')
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
    busy_dataset.prepare()
    summary = preview_plan(DATE, busy_dataset.config)
    assert ledger.read_entries(busy_dataset.config) == []
    busy_dataset.release()
    entry = ledger.read_entries(busy_dataset.config)[0]
    assert summary["plan_hash"] == entry["plan"]
    assert summary["epsilon"] == entry["epsilon"]
    assert (summary["cells_total"], summary["cells_published"]) == (
        entry["cells"]["total"],
        entry["cells"]["published"],
    )
    assert summary["worst_error"] == pytest.approx(table(busy_dataset)["mean_error_bound"].max())


def test_losses_add_up_over_days_to_the_users_budget_and_no_further(busy_dataset: Dataset) -> None:
    """5 in all at 2 a day: two full days, a third clipped to what is left, no fourth."""
    days = [DATE, *(later_day(busy_dataset, n) for n in (1, 2, 3))]
    busy_dataset.set("target_error = 40.0", "target_error = 49.0")
    for date in days[:3]:
        busy_dataset.release(date)
    with pytest.raises(BudgetExceeded, match=r"too little is left of budget.epsilon_total = 5.0"):
        busy_dataset.release(days[3])
    entries = ledger.read_entries(busy_dataset.config)
    totals = [Fraction(entry["epsilon_total_after"]) for entry in entries]
    assert totals == [sum(Fraction(entry["epsilon"]) for entry in entries[: n + 1]) for n in range(3)]
    assert Fraction(0) <= 5 - totals[-1] < Fraction(1, 1000)
    assert verify.verify_ledger(busy_dataset.config) == 3


def test_a_plan_older_than_another_release_cannot_overspend(busy_dataset: Dataset) -> None:
    busy_dataset.set("epsilon_total = 5.0", "epsilon_total = 3.0")
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
    busy_dataset.set("upper = 100.0", "upper = 200.0")
    with pytest.raises(HexveilError, match="settings"):
        release_statistics.fn(DATE, plan_hash, busy_dataset.config)


def test_a_day_whose_cells_cannot_keep_their_promise_is_not_released(busy_dataset: Dataset) -> None:
    busy_dataset.set("target_error = 40.0", "target_error = 0.1")
    with pytest.raises(NothingToPublish, match="the 2 cells cannot keep a promise"):
        busy_dataset.release()
    assert ledger.read_entries(busy_dataset.config) == []
    assert not (busy_dataset.folder / "store" / "published").exists()


def test_the_same_day_in_another_grid_is_refused(busy_dataset: Dataset) -> None:
    busy_dataset.release()
    busy_dataset.set("h3_resolution = 7", "h3_resolution = 6")
    with pytest.raises(HexveilError, match="was released as test-2026-01-15-h3r7-60min-mean"):
        find_release.fn(DATE, busy_dataset.config)


def test_without_the_machines_secret_nothing_more_is_released(busy_dataset: Dataset) -> None:
    busy_dataset.release()
    key = busy_dataset.folder / "store" / "private" / "user-key"
    secret = key.read_bytes()
    assert key.stat().st_mode & 0o077 == 0
    key.unlink()
    with pytest.raises(LedgerBroken, match="user-key is missing"):
        busy_dataset.release(later_day(busy_dataset, 1))
    key.write_bytes(secret[::-1])
    with pytest.raises(LedgerBroken, match="not the key"):
        busy_dataset.release(later_day(busy_dataset, 1))


class Killed(BaseException):
    """Stands for the process dying at a given call."""


def kill(*_: object) -> None:
    raise Killed


def test_noisy_files_that_never_reached_the_ledger_are_destroyed_before_the_next_draw(
    busy_dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(ledger, "append", kill)
        with pytest.raises(Killed):
            busy_dataset.release()
    orphans = {path.name for path in private_files.releases(busy_dataset.config).iterdir()}
    assert len(orphans) == 3
    assert ledger.read_entries(busy_dataset.config) == []
    busy_dataset.release()
    kept = {path.name for path in private_files.releases(busy_dataset.config).iterdir()}
    assert kept == set(ledger.read_entries(busy_dataset.config)[0]["files"].values())
    assert not kept & orphans


@pytest.mark.parametrize("at", ["_holds", "_mirror"])
def test_a_crash_after_the_append_is_made_good_by_the_next_run(
    busy_dataset: Dataset, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(f"tasks.publish.{at}", kill)
        with pytest.raises(Killed):
            busy_dataset.release()
    entries = ledger.read_entries(busy_dataset.config)
    assert len(entries) == 1
    busy_dataset.release()
    assert ledger.read_entries(busy_dataset.config) == entries
    assert verify.verify_ledger(busy_dataset.config) == 1


def test_what_is_mirrored_is_what_is_published(busy_dataset: Dataset) -> None:
    from tasks import warehouse

    busy_dataset.release()
    with warehouse.connect_mirror(busy_dataset.config) as connection:
        means = connection.execute("select mean from statistic order by slot_start").fetchall()
        charges = connection.execute("select number, epsilon from charge").fetchall()
    assert [mean for (mean,) in means] == table(busy_dataset)["mean"].to_list()
    assert charges == [(1, float(ledger.read_entries(busy_dataset.config)[0]["epsilon"]))]


@pytest.mark.parametrize("name", ["statistics.parquet", "statistics.csv", "manifest.json"])
def test_verify_names_a_published_file_that_was_changed_or_is_gone(busy_dataset: Dataset, name: str) -> None:
    busy_dataset.release()
    path = busy_dataset.published(name)
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(LedgerBroken, match=rf"entry 1 .*{name} is not the file"):
        verify.verify_ledger(busy_dataset.config)
    path.unlink()
    with pytest.raises(LedgerBroken, match=rf"entry 1 .*{name} is missing"):
        verify.verify_ledger(busy_dataset.config)
    busy_dataset.release()
    assert verify.verify_ledger(busy_dataset.config) == 1


def test_verify_recomputes_losses_and_sums_and_trusts_no_entry(
    busy_dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Entries that lie from the start, with a chain in order, are found out."""
    honest = release._entry
    lies = {
        "epsilon is not the worst loss": lambda entry: entry.update(epsilon="1"),
        "epsilon_total_after is not the sum": lambda entry: entry.update(epsilon_total_after="9"),
        "records_covered is not": lambda entry: entry.update(records_covered=1),
        "the limit is not": lambda entry: entry.update(epsilon_total_limit="1"),
        "settings are not": lambda entry: entry["settings"]["privacy"].update(epsilon_per_day="9"),
        "cells are not those": lambda entry: entry["cells"].update(total=3),
    }

    def lying(lie: Callable[[ledger.Entry], None], *args: Any) -> ledger.Entry:
        entry = honest(*args)
        lie(entry)
        return entry

    for said, lie in lies.items():
        shutil.rmtree(busy_dataset.folder / "store", ignore_errors=True)
        with monkeypatch.context() as patch:
            patch.setattr(release, "_entry", partial(lying, lie))
            busy_dataset.release()
        with pytest.raises(LedgerBroken, match=f"entry 1 .*{said}"):
            verify.verify_ledger(busy_dataset.config)


def test_a_changed_or_missing_plan_is_noticed(busy_dataset: Dataset) -> None:
    busy_dataset.release()
    plan = private_files.plans(busy_dataset.config) / ledger.read_entries(busy_dataset.config)[0]["plan"]
    plan.write_bytes(plan.read_bytes() + b" ")
    with pytest.raises(LedgerBroken, match="missing or was changed"):
        verify.verify_ledger(busy_dataset.config)


def test_the_manifest_says_what_a_reader_must_know_and_no_plain_hash_of_the_input(busy_dataset: Dataset) -> None:
    busy_dataset.release()
    manifest = json.loads(busy_dataset.published("manifest.json").read_text())
    assert {
        "guarantee",
        "mechanism",
        "value",
        "epsilon",
        "versions",
        "files",
        "columns",
        "noise",
        "data_domain",
    } <= set(manifest)
    assert {"neighbours", "unit_of_privacy", "not_protected", "composition"} <= set(manifest["guarantee"])
    content_hash = busy_dataset.query("select content_hash from raw_file")[0][0]
    entry = ledger.read_entries(busy_dataset.config)[0]
    assert "inputs" not in manifest
    assert content_hash not in str(entry) + str(manifest)
    assert entry["inputs"][0]["rows"] == 288


def test_the_variance_is_published_with_its_own_promise(busy_dataset: Dataset) -> None:
    busy_dataset.set("[storage]", "[statistics]\nvariance = true\n[storage]")
    busy_dataset.set("target_error = 40.0", "target_error_variance = 6200.0")
    busy_dataset.set("epsilon_per_day = 2.0", "epsilon_per_day = 4.0")
    assert busy_dataset.release() == "test-2026-01-15-h3r7-60min-mean-variance"
    published = table(busy_dataset)
    assert (published["variance_error_bound"] <= 6200).all()
    assert published["variance"].is_between(0, 2500).all()
    assert Fraction(ledger.read_entries(busy_dataset.config)[0]["epsilon"]) <= 4


def test_the_interval_holds_the_true_mean_whatever_the_values_are(busy_dataset: Dataset) -> None:
    """With the noise at its 95 % quantile, extreme values and clipping, the truth is still inside."""
    from dpmath.intervals import noise_quantile

    rows = (busy_dataset.folder / "raw" / "day.csv").read_text().splitlines()[1:]
    extreme = [row.rsplit(",", 1)[0] + (",100" if n % 2 else ",0") for n, row in enumerate(sorted(rows))]
    busy_dataset.write("day.csv", HEADER + "\n".join(extreme) + "\n")
    for sign in (-1, 1):
        shutil.rmtree(busy_dataset.folder / "store", ignore_errors=True)
        busy_dataset.release(
            noise=lambda scales, sign=sign: np.array(
                [sign * noise_quantile(int(s), 0.05) for s in scales], dtype=object
            )
        )
        true = [
            float(mean)
            for (mean,) in busy_dataset.query(
                "select avg(value_ticks) / 100 from record group by slot_start order by slot_start"
            )
        ]
        published = table(busy_dataset)
        assert all(
            low <= mean <= high
            for low, mean, high in zip(published["mean_ci95_low"], true, published["mean_ci95_high"], strict=True)
        )


def test_a_report_reconciles_rows_and_cost(busy_dataset: Dataset) -> None:
    busy_dataset.release()
    day = report_day(DATE, busy_dataset.config)
    assert (day.n_rows, day.n_kept, day.n_published, day.n_withheld) == (288, 288, 2, 0)
    assert day.epsilon == Decimal(ledger.read_entries(busy_dataset.config)[0]["epsilon"])


def test_plans_do_not_depend_on_when_files_came(busy_dataset: Dataset) -> None:
    busy_dataset.prepare()
    once = make_plan(DATE, busy_dataset.config)
    busy_dataset.prepare()
    assert make_plan(DATE, busy_dataset.config).cells.equals(once.cells)


def test_a_ledger_that_lost_its_last_lines_is_refused_and_nothing_is_destroyed(busy_dataset: Dataset) -> None:
    busy_dataset.release()
    busy_dataset.release(later_day(busy_dataset, 1))
    path = ledger.ledger_path(busy_dataset.config)
    whole = path.read_bytes()
    kept = {one.name for one in private_files.releases(busy_dataset.config).iterdir()}
    for rest in (whole.splitlines(keepends=True)[0], b"", None, whole[:-30]):
        path.unlink() if rest is None else path.write_bytes(rest)
        with pytest.raises(LedgerBroken):
            busy_dataset.release(later_day(busy_dataset, 2))
        with pytest.raises(LedgerBroken):
            verify.verify_ledger(busy_dataset.config)
    assert {one.name for one in private_files.releases(busy_dataset.config).iterdir()} == kept
    path.write_bytes(whole)
    assert verify.verify_ledger(busy_dataset.config) == 2


def test_an_append_that_a_crash_cut_short_is_taken_away_by_the_next_run(busy_dataset: Dataset) -> None:
    busy_dataset.release()
    path = ledger.ledger_path(busy_dataset.config)
    whole = path.read_bytes()
    path.write_bytes(whole + whole[: len(whole) // 2])
    with pytest.raises(LedgerBroken, match="Run a day again"):
        verify.verify_ledger(busy_dataset.config)
    plan_hash = ledger.sha256(b"no such plan")
    with pytest.raises(LedgerBroken):
        release_statistics.fn(DATE + dt.timedelta(days=9), plan_hash, busy_dataset.config)
    assert path.read_bytes() == whole


def test_a_published_day_that_no_entry_pays_for_is_noticed(busy_dataset: Dataset) -> None:
    busy_dataset.release()
    shutil.copytree(busy_dataset.published("."), busy_dataset.published(".", DATE + dt.timedelta(days=1)))
    with pytest.raises(LedgerBroken, match="no entry pays for it"):
        verify.verify_ledger(busy_dataset.config)


def test_an_occupancy_prepared_with_other_settings_meanwhile_is_not_released(busy_dataset: Dataset) -> None:
    busy_dataset.prepare()
    plan_hash = plan_release.fn(DATE, busy_dataset.config)
    asked = busy_dataset.config
    busy_dataset.set("tick = 0.01", "tick = 0.1")
    busy_dataset.prepare()
    with pytest.raises(HexveilError, match="other settings"):
        release_statistics.fn(DATE, plan_hash, asked)


def test_promise_and_interval_hold_though_values_are_rounded_to_ticks(busy_dataset: Dataset) -> None:
    """A tick of half the range rounds 24 to 0: the bound says so."""
    path = busy_dataset.folder / "raw" / "day.csv"
    rows = path.read_text().splitlines()[1:]
    busy_dataset.write("day.csv", HEADER + "\n".join(row.rsplit(",", 1)[0] + ",24" for row in rows) + "\n")
    busy_dataset.set("tick = 0.01", "tick = 50")
    busy_dataset.set("target_error = 40.0", "target_error = 49.0")
    busy_dataset.set("epsilon_per_day = 2.0", "epsilon_per_day = 1000")
    busy_dataset.set("epsilon_total = 5.0", "epsilon_total = 1000")
    busy_dataset.release(noise=silence)
    for row in table(busy_dataset).iter_rows(named=True):
        assert abs(row["mean"] - 24) <= row["mean_error_bound"] <= 49
        assert row["mean_ci95_low"] <= 24 <= row["mean_ci95_high"]


@pytest.mark.parametrize("variance", [False, True])
def test_the_planner_releases_what_it_promised_and_verify_agrees(busy_dataset: Dataset, variance: bool) -> None:
    busy_dataset.set('"clip-user"', '"planned"')
    if variance:
        busy_dataset.set("[storage]", "[statistics]\nvariance = true\n[storage]")
    busy_dataset.prepare()
    summary = preview_plan(DATE, busy_dataset.config)
    assert summary["gap"] <= 0.01
    assert summary["epsilon_lower_bound"] <= float(summary["epsilon"]) <= 2
    busy_dataset.release()
    assert (table(busy_dataset)["mean_error_bound"] <= 40).all()
    assert verify.verify_ledger(busy_dataset.config) == 1


def preview_plan_of(dataset: Dataset) -> dict[str, Any]:
    dataset.prepare()
    return preview_plan(DATE, dataset.config)


def test_without_a_target_the_planner_promises_the_least_error_for_all_cells(busy_dataset: Dataset) -> None:
    busy_dataset.set('"clip-user"', '"planned"')
    assert preview_plan_of(busy_dataset)["error_lower_bound"] is None
    busy_dataset.set("target_error = 40.0", "")
    summary = preview_plan_of(busy_dataset)
    assert 0 < summary["error_lower_bound"] <= summary["worst_error"] <= 1.01 * summary["error_lower_bound"]
    busy_dataset.release()
    published = table(busy_dataset)
    assert published.height == 2
    assert (published["mean_error_bound"] < 40).all()
    assert published["mean_error_bound"].max() == pytest.approx(summary["worst_error"])


def test_mechanisms_are_compared_side_by_side(busy_dataset: Dataset) -> None:
    busy_dataset.prepare()
    rows = {row["mechanism"]: row for row in compare_mechanisms(DATE, busy_dataset.config)}
    assert list(rows) == ["baseline", "clip-user", "exact", "planned"]
    assert all(row["epsilon"] <= 2 for row in rows.values())
    assert rows["planned"]["cells_published"] >= rows["clip-user"]["cells_published"]
    cells = preview_cells(DATE, busy_dataset.config)
    assert [cell["n_records"] for cell in cells] == [144, 144]


def test_an_unfinished_line_does_not_keep_the_next_run_from_its_day(busy_dataset: Dataset) -> None:
    identity = busy_dataset.release()
    path = ledger.ledger_path(busy_dataset.config)
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"release_id":"x')
    assert find_release.fn(DATE, busy_dataset.config) == identity
    assert path.read_bytes() == whole


def test_a_day_that_is_published_but_not_in_a_restored_ledger_is_not_drawn_again(busy_dataset: Dataset) -> None:
    busy_dataset.prepare()
    store = busy_dataset.folder / "store"
    shutil.copytree(store / "private", busy_dataset.folder / "backup")
    busy_dataset.release()
    before = all_files(busy_dataset)
    shutil.rmtree(store / "private")
    shutil.copytree(busy_dataset.folder / "backup", store / "private")
    ledger.ledger_path(busy_dataset.config).unlink()
    with pytest.raises(LedgerBroken, match="spend twice"):
        busy_dataset.release()
    assert all_files(busy_dataset) == before


def test_a_damaged_note_of_the_ledgers_end_is_named(busy_dataset: Dataset) -> None:
    busy_dataset.release()
    (busy_dataset.folder / "store" / "private" / "ledger-head").write_bytes(b"")
    with pytest.raises(LedgerBroken, match="ledger-head is damaged"):
        find_release.fn(DATE, busy_dataset.config)
