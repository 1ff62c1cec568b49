import datetime as dt
import json
import shutil
from decimal import Decimal
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from support import CLIP_USER, DATE, HEADER, PUBLISHED, Dataset, all_files, later_day, silence, table

from dpmath.core.accounting import LOSS_UNITS
from dpmath.core.currency import LAPLACE
from tasks.account import ledger, private_files
from tasks.account.chain import releases
from tasks.account.releases import find_release
from tasks.base.errors import BudgetExceeded, HexveilError
from tasks.reporting.day_report import report_day
from tasks.upkeep import verify


def test_a_day_is_published_in_the_documented_columns(busy_dataset: Dataset) -> None:
    busy_dataset.set(**CLIP_USER)
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
    busy_dataset.with_map()
    busy_dataset.release()
    before = all_files(busy_dataset)
    monkeypatch.setattr("tasks.base.randomness.random_bytes", lambda _: pytest.fail("noise was drawn again"))
    shutil.rmtree(busy_dataset.folder / "store" / "published")
    busy_dataset.release()
    assert all_files(busy_dataset) == before
    assert before.keys() == {f"date={DATE}/{name}" for name in PUBLISHED}
    assert len(ledger.read_entries(busy_dataset.config)) == 1


def test_with_no_noise_and_an_infinite_budget_the_means_are_the_plain_ones(busy_dataset: Dataset) -> None:
    """No target: CLIP-USER's bound is then the paper's, which leaves nothing to suppress without noise."""
    busy_dataset.set(**CLIP_USER | {"target_error": None})
    busy_dataset.set(epsilon_per_day=1000000)
    busy_dataset.set(epsilon_total=1000000)
    busy_dataset.set(variance=True)
    busy_dataset.release(noise=silence)
    plain = busy_dataset.query(
        "select slot_start, avg(value_ticks) / 100, var_pop(value_ticks) / 10000 "
        f"from record('{DATE}') group by all order by all"
    )
    published = table(busy_dataset)
    assert published["mean"].to_list() == pytest.approx([mean for _, mean, _ in plain], abs=1e-9)
    assert published["variance"].to_list() == pytest.approx([variance for _, _, variance in plain], rel=1e-9)


def test_the_entry_charges_what_an_independent_sum_over_the_plan_gives(busy_dataset: Dataset) -> None:
    busy_dataset.set(**CLIP_USER)
    busy_dataset.release()
    entry = ledger.read_entries(busy_dataset.config)[0]
    plan = json.loads((private_files.plans(busy_dataset.config) / entry.stated["plan"]).read_bytes())
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
    assert Fraction(entry.stated["epsilon"]) == max(losses.values())
    assert Fraction(0) < 2 - Fraction(entry.stated["epsilon"]) < Fraction(1, 10**6)


def test_losses_add_up_over_days_to_the_users_budget_and_no_further(busy_dataset: Dataset) -> None:
    """5 in all at 2 a day: two full days, a third clipped to what is left, no fourth."""
    busy_dataset.set(definition="pure")
    days = [DATE, *(later_day(busy_dataset, n) for n in (1, 2, 3))]
    busy_dataset.set(target_error=49.0)
    for date in days[:3]:
        busy_dataset.release(date)
    with pytest.raises(BudgetExceeded, match=rf"{days[3]}( is withheld|: too little is left)"):
        busy_dataset.release(days[3])
    entries = ledger.read_entries(busy_dataset.config)
    totals = [Fraction(entry.stated["epsilon_total_after"]) for entry in entries]
    assert totals == [sum(Fraction(entry.stated["epsilon"]) for entry in entries[: n + 1]) for n in range(3)]
    assert Fraction(0) <= 5 - totals[-1] < Fraction(1, 1000)
    assert verify.verify_ledger(busy_dataset.config).n_releases == 3


def test_the_same_day_in_another_grid_is_refused(busy_dataset: Dataset) -> None:
    busy_dataset.release()
    busy_dataset.set(h3_resolution=6)
    with pytest.raises(HexveilError, match="was released as test-2026-01-15-h3r7-60min-mean"):
        find_release.fn(DATE, busy_dataset.config)


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
    assert len(orphans) == len(PUBLISHED) - len(["map.html"]) + len(["questions"])
    assert ledger.read_entries(busy_dataset.config) == []
    busy_dataset.release()
    kept = {path.name for path in private_files.releases(busy_dataset.config).iterdir()}
    (entry,) = releases(ledger.read_entries(busy_dataset.config))
    assert kept == {*entry.files.values(), *entry.kept.values()}
    assert not kept & orphans


@pytest.mark.parametrize("at", ["published_folder", "mirror.bring_in_line"])
def test_a_crash_after_the_append_is_made_good_by_the_next_run(
    busy_dataset: Dataset, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(f"tasks.release.publish.{at}", kill)
        with pytest.raises(Killed):
            busy_dataset.release()
    entries = ledger.read_entries(busy_dataset.config)
    assert len(entries) == 1
    busy_dataset.release()
    assert ledger.read_entries(busy_dataset.config) == entries
    assert verify.verify_ledger(busy_dataset.config).n_releases == 1


def test_what_is_mirrored_is_what_is_published(busy_dataset: Dataset) -> None:
    from tasks.account import mirror

    busy_dataset.release()
    with mirror.connect(busy_dataset.config) as connection:
        means = connection.execute("select mean from statistic order by slot_start").fetchall()
        charges = connection.execute("select number, epsilon from charge").fetchall()
    assert [mean for (mean,) in means] == table(busy_dataset)["mean"].to_list()
    assert charges == [(1, float(ledger.read_entries(busy_dataset.config)[0].stated["epsilon"]))]


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
    assert entry.stated["inputs"][0]["rows"] == 288


def test_the_variance_is_published_with_its_own_promise(busy_dataset: Dataset) -> None:
    busy_dataset.set(**CLIP_USER, variance=True)
    busy_dataset.set(target_error_variance=6200.0, target_error=None)
    busy_dataset.set(epsilon_per_day=4.0)
    assert busy_dataset.release() == "test-2026-01-15-h3r7-60min-mean-variance"
    published = table(busy_dataset)
    assert (published["variance_error_bound"] <= 6200).all()
    assert published["variance"].is_between(0, 2500).all()
    assert Fraction(ledger.read_entries(busy_dataset.config)[0].stated["epsilon"]) <= 4


def test_the_interval_holds_the_true_mean_whatever_the_values_are(busy_dataset: Dataset) -> None:
    """With the noise at its 95 % quantile, extreme values and clipping, the truth is still inside."""
    busy_dataset.set(definition="pure")
    from dpmath.noise.reach import noise_quantile

    rows = (busy_dataset.folder / "raw" / "day.csv").read_text().splitlines()[1:]
    extreme = [row.rsplit(",", 1)[0] + (",100" if n % 2 else ",0") for n, row in enumerate(sorted(rows))]
    busy_dataset.write("day.csv", HEADER + "\n".join(extreme) + "\n")
    for sign in (-1, 1):
        shutil.rmtree(busy_dataset.folder / "store", ignore_errors=True)
        busy_dataset.release(
            noise=lambda scales, sign=sign: np.array(
                [sign * noise_quantile(LAPLACE, int(s), 0.05) for s in scales], dtype=object
            )
        )
        true = [
            float(mean)
            for (mean,) in busy_dataset.query(
                f"select avg(value_ticks) / 100 from record('{DATE}') group by slot_start order by slot_start"
            )
        ]
        published = table(busy_dataset)
        assert all(
            low <= mean <= high
            for low, mean, high in zip(published["mean_ci95_low"], true, published["mean_ci95_high"], strict=True)
        )


def test_a_report_reconciles_rows_and_cost(busy_dataset: Dataset) -> None:
    busy_dataset.release()
    day = report_day(DATE, {}, busy_dataset.config)
    assert (day.n_rows, day.n_kept, day.n_published, day.n_withheld) == (288, 288, 2, 0)
    assert day.epsilon == Decimal(ledger.read_entries(busy_dataset.config)[0].stated["epsilon"])


def test_promise_and_interval_hold_though_values_are_rounded_to_ticks(busy_dataset: Dataset) -> None:
    """A tick of half the range rounds 24 to 0: the bound says so."""
    busy_dataset.set(**CLIP_USER)
    path = busy_dataset.folder / "raw" / "day.csv"
    rows = path.read_text().splitlines()[1:]
    busy_dataset.write("day.csv", HEADER + "\n".join(row.rsplit(",", 1)[0] + ",24" for row in rows) + "\n")
    busy_dataset.set(tick=50)
    busy_dataset.set(target_error=49.0)
    busy_dataset.set(epsilon_per_day=1000)
    busy_dataset.set(epsilon_total=1000)
    busy_dataset.release(noise=silence)
    for row in table(busy_dataset).iter_rows(named=True):
        assert abs(row["mean"] - 24) <= row["mean_error_bound"] <= 49
        assert row["mean_ci95_low"] <= 24 <= row["mean_ci95_high"]


def test_a_day_can_be_published_without_its_map(busy_dataset: Dataset) -> None:
    busy_dataset.release()
    assert all_files(busy_dataset).keys() == {f"date={DATE}/{name}" for name in PUBLISHED if name != "map.html"}
