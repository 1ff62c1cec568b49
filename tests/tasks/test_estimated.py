"""The whole map: an estimate is released, charged, learned from, made again, and every change of it is found."""

import datetime as dt
import json
import os
import re
from pathlib import Path

import h3
import numpy as np
import polars as pl
import pytest
from support import DATE, HEADER, Dataset, table

from dpmath.estimate.areas import Areas
from dpmath.estimate.measurement import Measurement
from tasks.account import ledger, private_files
from tasks.account.chain import releases
from tasks.account.entry import Release
from tasks.base.errors import BadConfig, BudgetExceeded, HexveilError, LedgerBroken
from tasks.estimates import asking, states
from tasks.estimates.asking import Known
from tasks.estimates.states import estimate_again, folder_of, known_before
from tasks.planning.preview import preview_cells, preview_plan
from tasks.planning.stored_plan import load_plan
from tasks.release import estimate as released_estimate
from tasks.release.estimate import areas_of
from tasks.reporting.day_report import report_day
from tasks.reporting.registry import describe_deployment
from tasks.upkeep import replay
from tasks.upkeep.evaluate import evaluate_day
from tasks.upkeep.forget import forget_days
from tasks.upkeep.verify import verify_ledger

PLACES = [(47.05 + 0.03 * row, 8.31 + 0.04 * column) for row in range(2) for column in range(3)]


def write_day(dataset: Dataset, date: dt.date, seed: int = 1, n_buses: int = 24, n_places: int = 6) -> None:
    """Write a day in which buses go from place to place, slower in the morning and at the first places."""
    rng = np.random.default_rng(seed)
    lines = []
    for bus in range(n_buses):
        for hour in range(7, 13):
            place = int(rng.integers(n_places))
            speed = 20 + 8 * place + 2 * (hour - 7)
            for minute in range(0, 60, 60 // int(rng.integers(1, 6))):
                latitude, longitude = PLACES[place]
                value = min(99.0, max(0.0, speed + rng.normal(0, 4)))
                lines.append(f"bus{bus:02},{date}T{hour:02}:{minute:02}:00Z,{latitude},{longitude},{value:.2f}")
    dataset.write(f"day-{date}.csv", HEADER + "\n".join(lines) + "\n")


def day(number: int) -> dt.date:
    return DATE + dt.timedelta(days=number)


@pytest.fixture(params=["pure", "zcdp"])
def estimated(dataset: Dataset, request: pytest.FixtureRequest) -> Dataset:
    dataset.set('"clip-user"', '"estimated"')
    dataset.set("target_error = 40.0\n", f'definition = "{request.param}"\n')
    dataset.set("epsilon_per_day = 2.0", "epsilon_per_day = 4.0")
    dataset.set("epsilon_total = 5.0", "epsilon_total = 40.0")
    dataset.without_map()
    for number in range(3):
        write_day(dataset, day(number), seed=number)
    return dataset


def released(dataset: Dataset) -> list[Release]:
    return releases(ledger.read_entries(dataset.config))


def test_every_cell_is_published_with_an_interval_and_charged_as_the_day_allows(estimated: Dataset) -> None:
    estimated.run_day()
    (entry,) = released(estimated)
    found = table(estimated)
    assert found.height == entry.n_cells == entry.n_published
    assert (found["mean_ci95_low"] < found["mean_ci95_high"]).all()
    assert set(found["support"]) <= {"measured", "modelled"}
    config = estimated.config
    assert int(entry.stated["loss"]) == config.privacy.currency.within(config.privacy.epsilon_per_day)
    losses = private_files.losses(entry, config)
    assert set(losses.values()) == {int(entry.stated["loss"])}
    typical = pl.read_parquet(estimated.published("typical.parquet"), hive_partitioning=False)
    assert set(typical["kind_of_day"]) == {"weekday", "saturday", "sunday"}
    measured = pl.read_parquet(estimated.published("measurements.parquet"), hive_partitioning=False)
    assert {len(weights) for weights in measured["weights"]} == {found.height}
    assert verify_ledger(config).n_releases == 1


def test_missing_values_leave_a_day_as_it_would_be_without_them(estimated: Dataset) -> None:
    """Half of the records say 255. Counted as the midpoint they would move slow cells by 15 km/h."""
    estimated.set("tick = 0.01", "tick = 0.01\nmissing = [255]")
    for old, new in (
        ("epsilon_per_day = 4.0", "epsilon_per_day = 400"),
        ("epsilon_total = 40.0", "epsilon_total = 400"),
    ):
        estimated.set(old, new)
    path = estimated.folder / "raw" / f"day-{DATE}.csv"
    header, *rows = path.read_text().splitlines()
    rows += [re.sub(r":00Z,(.*),[\d.]+$", r":30Z,\1,255", row) for row in rows]
    path.write_text("\n".join([header, *rows]) + "\n")
    estimated.run_day()
    found, _ = evaluate_day(DATE, None, estimated.config)
    assert table(estimated)["n_records"].sum() == len(rows), "records with a missing value stay"
    assert (found["cells_without_values"], found["published"]) == (0, found["cells"])
    assert found["mean_absolute_error"] < 3
    assert verify_ledger(estimated.config).n_releases == 1


def test_days_learn_from_the_releases_before_them_and_a_lost_state_is_made_again(estimated: Dataset) -> None:
    for number in range(2):
        estimated.run_day(day(number))
    first, second = released(estimated)
    assert (first.state_before, second.state_before) == (None, first.state_after)
    assert [entry.stated["learned_from"] for entry in (first, second)] == [0, 1]
    config = estimated.config
    kept = known_before(day(2), [], ledger.read_entries(config), config).state
    for path in folder_of(config).iterdir():
        path.unlink()
    again = known_before(day(2), [], ledger.read_entries(config), config).state
    assert kept is not None
    assert again is not None
    np.testing.assert_allclose(again.mean, kept.mean, atol=1e-6)
    np.testing.assert_allclose(again.covariance, kept.covariance, atol=1e-6)
    estimated.run_day(day(2))
    assert verify_ledger(config).n_releases == 3


def test_days_may_be_released_in_any_order_and_a_revision_teaches_nothing(estimated: Dataset) -> None:
    for number in (2, 0):
        estimated.run_day(day(number))
    estimated.run_day(day(2), "again")
    estimated.run_day(day(1))
    late, early, revision, middle = released(estimated)
    assert early.state_before == late.state_after
    assert revision.state_before is None, "it learns from what was known before its day's first release"
    assert revision.state_after is None
    assert middle.state_before == early.state_after
    assert verify_ledger(estimated.config).n_releases == 4


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("slot_minutes = 60", "slot_minutes = 120"),
        ('timezone = "UTC"', 'timezone = "Atlantic/Reykjavik"'),
    ],
)
def test_another_grid_or_time_zone_begins_anew(estimated: Dataset, old: str, new: str) -> None:
    estimated.run_day()
    estimated.set(old, new)
    estimated.run_day(day(1))
    assert released(estimated)[1].state_before is None
    assert verify_ledger(estimated.config).n_releases == 2


def test_a_range_is_released_day_by_day(estimated: Dataset) -> None:
    estimated.run_range([day(number) for number in range(3)])
    assert [entry.stated["learned_from"] for entry in released(estimated)] == [0, 1, 2]


def test_users_who_are_short_lose_what_they_have_left_and_the_rest_lose_the_day(estimated: Dataset) -> None:
    write_day(estimated, day(0), n_buses=12)
    estimated.set("epsilon_total = 40.0", "epsilon_total = 4.5")
    estimated.run_day()
    estimated.run_day(day(1))
    config, (_, entry) = estimated.config, released(estimated)
    losses = sorted(set(private_files.losses(entry, config).values()))
    limit, day_limit = (
        config.privacy.currency.within(one) for one in (config.budget.epsilon_total, config.privacy.epsilon_per_day)
    )
    assert losses == [limit - day_limit, day_limit]
    assert verify_ledger(config).n_releases == 2
    write_day(estimated, day(2), n_buses=12)
    estimated.set("epsilon_total = 4.5", "epsilon_total = 4.0")
    with pytest.raises(BudgetExceeded, match="no user of the day has any of"):
        estimated.run_day(day(2))


@pytest.mark.parametrize("column", ["mean", "mean_sd", "mean_ci95_low", "mean_day_share"])
def test_a_changed_estimate_is_found(estimated: Dataset, monkeypatch: pytest.MonkeyPatch, column: str) -> None:
    honest = released_estimate.estimate_frame

    def tampered(*arguments: object) -> pl.DataFrame:
        return honest(*arguments).with_columns(pl.col(column) * 0.9)  # type: ignore[arg-type]

    with monkeypatch.context() as changed:
        changed.setattr(released_estimate, "estimate_frame", tampered)
        estimated.run_day()
    with pytest.raises(LedgerBroken, match="does not follow from the noisy answers"):
        verify_ledger(estimated.config)


def test_questions_that_cost_more_than_is_charged_are_found(
    estimated: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = asking.charges

    def dearer(*arguments: object) -> list[object]:
        return [type(one)(one.name, one.sensitivity, one.inverse_scale * 2) for one in honest(*arguments)]  # type: ignore[arg-type]

    with monkeypatch.context() as changed:
        changed.setattr(asking, "charges", dearer)
        with pytest.raises(HexveilError):
            estimated.run_day()
        assert not released(estimated), "the question that costs too much is not asked"
        changed.setattr(released_estimate, "within", lambda asking, *_: asking)
        estimated.run_day()
    with pytest.raises(LedgerBroken, match="cost more than the user was charged"):
        verify_ledger(estimated.config)


def test_a_release_of_another_model_is_charged_as_it_was_and_not_learned_from(
    estimated: Dataset, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As after an upgrade that changes the estimate: the ledger stays in order, and the next day begins anew."""
    estimated.run_day()
    for module in (states, replay, released_estimate):
        monkeypatch.setattr(module, "MODEL", 1000)
    assert verify_ledger(estimated.config).n_releases == 1
    assert "its table is not made again" in caplog.text
    estimated.run_day(day(1))
    first, second = released(estimated)
    assert first.state_after is not None
    assert second.state_before is None
    assert verify_ledger(estimated.config).n_releases == 2


def test_forgetting_a_day_removes_what_was_evaluated_without_noise(estimated: Dataset) -> None:
    estimated.run_day()
    _, path = evaluate_day(DATE, None, estimated.config)
    assert path.exists()
    forget_days([DATE], estimated.config)
    assert not path.exists()


def test_a_lost_file_of_questions_is_found(estimated: Dataset) -> None:
    estimated.run_day()
    (entry,) = released(estimated)
    (private_files.releases(estimated.config) / str(entry.questions)).unlink()
    with pytest.raises(LedgerBroken, match="is missing or was changed"):
        verify_ledger(estimated.config)


def test_a_day_is_drawn_once_and_noise_that_was_not_released_is_removed(
    estimated: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as changed:
        changed.setattr(ledger, "append", crash)
        with pytest.raises(KeyboardInterrupt):
            estimated.run_day()
    folder = private_files.releases(estimated.config)
    left = {path.name for path in folder.iterdir()}
    states = {path.name for path in folder_of(estimated.config).iterdir()}
    assert left
    assert states
    estimated.run_day()
    (entry,) = released(estimated)
    assert {path.name for path in folder.iterdir()} == {*entry.files.values(), entry.questions}
    assert {path.name for path in folder_of(estimated.config).iterdir()} == {entry.state_after}
    before = table(estimated)
    estimated.run_day()
    assert table(estimated).equals(before)


def test_nothing_that_is_not_noised_is_written_or_said(
    estimated: Dataset, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    seen: list[int] = []
    honest = Measurement.answers

    def heard(measurement: Measurement, totals: np.ndarray) -> object:
        answers = honest(measurement, totals)
        seen.extend([int(answers.shrink.sum()), *(int(one) for one in answers.vector.sum(axis=0)[:20])])
        return answers

    monkeypatch.setattr(Measurement, "answers", heard)
    estimated.run_day()
    telling = [one for one in seen if abs(one) > 10_000 and one % (1 << 20)]  # whole shrink factors are no secret
    needles = {str(abs(one)).encode() for one in telling}
    raw = {one.to_bytes(8, "little", signed=True) for one in telling}
    assert len(needles) >= 2
    number = re.compile(
        rb"(?<![0-9A-Za-z.])[0-9]+(?![0-9A-Za-z])"
    )  # whole: digits of a float or a hash match by chance
    assert needles & set(number.findall(b"x=-%d.0," % telling[0]))
    store = estimated.folder / "store"
    files = {path: path.read_bytes() for path in store.rglob("*") if path.is_file() and "warehouse" not in path.name}
    files[Path("output")] = "".join(capfd.readouterr()).encode()
    for path, content in files.items():
        assert not needles & set(number.findall(content)), path
        assert not any(needle in content for needle in raw), path
    for path in (private_files.releases(estimated.config), folder_of(estimated.config)):
        for file in path.iterdir():
            if file.read_bytes().startswith(b"PAR1"):
                found = pl.read_parquet(file)
                for column in found.select(pl.col(pl.Binary)).iter_columns():
                    joined = b"".join(column.to_list())
                    assert not any(needle in joined for needle in raw), file


def test_a_plan_says_how_exact_the_map_will_be(estimated: Dataset) -> None:
    estimated.prepare()
    before = preview_plan(DATE, estimated.config)
    assert before["error_over_all_records"] is before["day_share"] is None, "the values' scale is not known yet"
    estimated.run_day()
    estimated.prepare(day(1))
    after = preview_plan(day(1), estimated.config)
    cells = preview_cells(day(1), estimated.config)
    assert all(row["expected_sd"] > 0 for row in cells)
    assert 0 < after["median_error"] <= after["worst_error"]
    assert 0 < after["error_over_all_records"] <= after["worst_error"]
    n_records = sum(row["n_records"] for row in cells)
    assert after["day_share"] == pytest.approx(sum(row["day_share"] * row["n_records"] for row in cells) / n_records)
    assert 0 < after["day_share"] < 1
    assert len(released(estimated)) == 1


def test_a_plan_reads_no_value(estimated: Dataset) -> None:
    """Two days that differ in every value have the same plan."""
    estimated.run_day()
    estimated.prepare(day(1))
    first = preview_plan(day(1), estimated.config)
    path = estimated.folder / "raw" / f"day-{day(1)}.csv"
    header, *lines = path.read_text().splitlines()
    path.write_text("\n".join([header, *(f"{line.rpartition(',')[0]},77.0" for line in lines)]) + "\n")
    os.utime(path)
    estimated.prepare(day(1))
    second = preview_plan(day(1), estimated.config)
    assert first | {"seconds": 0} == second | {"seconds": 0}
    plan = load_plan(first["plan_hash"], estimated.config)
    assert plan.is_estimate
    assert plan.withheld.height == 0


def test_an_estimate_promises_nothing_of_a_variance_and_finds_itself_what_a_cell_costs(estimated: Dataset) -> None:
    estimated.set('mechanism = "estimated"', 'mechanism = "estimated"\ncell_epsilon = 1.0')
    with pytest.raises(BadConfig, match="remove target_error_variance and cell_epsilon"):
        _ = estimated.config


TARGET = 12.0
"""Half the width that intervals may have: some cells of these days meet it, and some do not."""


@pytest.fixture
def coarse(estimated: Dataset) -> Dataset:
    estimated.set('mechanism = "estimated"', f'mechanism = "estimated"\ntarget_error = {TARGET}')
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


def test_without_a_target_each_cell_has_its_own_value(estimated: Dataset) -> None:
    estimated.run_day()
    assert set(table(estimated)["mean_area"]) == {"cell"}


IS_COARSE = pl.col("support") == "coarse"
CHANGES = {
    "does not follow from the noisy answers": pl.when(IS_COARSE).then(pl.col("mean") * 0.9).otherwise("mean"),
    "mean_area does not follow from the widths": pl.lit("parent_4h").alias("mean_area"),
    "support does not follow": pl.when(IS_COARSE).then(pl.lit("measured")).otherwise("support").alias("support"),
}


@pytest.mark.parametrize("message", CHANGES)
def test_a_changed_coarse_value_or_choice_is_found(
    coarse: Dataset, monkeypatch: pytest.MonkeyPatch, message: str
) -> None:
    from tasks.release import estimate as released_estimate

    honest = released_estimate.estimate_frame
    with monkeypatch.context() as changed:
        changed.setattr(
            released_estimate, "estimate_frame", lambda *given: honest(*given).with_columns(CHANGES[message])
        )
        coarse.run_day()
    with pytest.raises(LedgerBroken, match=message):
        verify_ledger(coarse.config)


def test_a_table_from_before_areas_is_verified_as_one_of_cells(
    estimated: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tasks.release import estimate as released_estimate

    honest = released_estimate.estimate_frame
    with monkeypatch.context() as changed:
        changed.setattr(released_estimate, "estimate_frame", lambda *given: honest(*given).drop("mean_area"))
        estimated.run_day()
    assert verify_ledger(estimated.config).n_releases == 1


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


def test_a_manifest_names_the_measurements_and_no_private_file(estimated: Dataset) -> None:
    estimated.run_day()
    manifest = json.loads(estimated.published("manifest.json").read_text())
    assert {"typical.parquet", "measurements.parquet"} <= manifest["files"].keys()
    (entry,) = released(estimated)
    text = estimated.published("manifest.json").read_text()
    assert str(entry.questions) not in text
    assert str(entry.state_after) not in text


def test_the_further_fields_of_an_estimate_are_documented(estimated: Dataset) -> None:
    estimated.run_day()
    (entry,) = released(estimated)
    page = (Path(__file__).parents[2] / "docs" / "reference" / "ledger.md").read_text()
    further = page.partition("## The further fields of an estimate")[2].partition("## ")[0]
    of_any = page.partition("## The fields of a release")[2].partition("## ")[0]
    described = [
        set(re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`[^|]*`)", text, re.M)))) for text in (further, of_any)
    ]
    assert set(entry.stated) - described[1] == described[0]


def test_a_holiday_counts_as_a_sunday(estimated: Dataset) -> None:
    from tasks.estimates.public_day import kind_of_day

    assert [kind_of_day(dt.date(2026, 1, 15 + n), estimated.config) for n in range(4)] == [0, 0, 1, 2]
    estimated.set("[storage]", '[calendar]\nholidays = ["2026-01-15"]\n[storage]')
    assert kind_of_day(dt.date(2026, 1, 15), estimated.config) == 2


def test_variance_is_refused(estimated: Dataset) -> None:
    estimated.set("[storage]", "[statistics]\nvariance = true\n[storage]")
    with pytest.raises(BadConfig, match=r"mechanism estimated has no variance: set statistics\.variance = false"):
        _ = estimated.config


def test_an_evaluation_compares_with_the_values_and_stays_private(
    estimated: Dataset, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    estimated.run_day()
    caplog.clear()
    evaluation, path = evaluate_day(DATE, None, estimated.config)
    assert path.is_relative_to(estimated.folder / "store" / "private")
    assert json.loads(path.read_text()) == evaluation
    assert caplog.text == ""
    assert capfd.readouterr().out == ""
    means = "select slot_start, h3_cell, sum(total_ticks) / sum(n_records) / 100 from user_cell"
    rows = estimated.query(f"{means} where local_date = date '{DATE}' group by all")
    true = {(start, h3.int_to_str(cell)): float(mean) for start, cell, mean in rows}
    found = table(estimated)
    records = found["n_records"].to_numpy()
    truth = np.array([true[start, cell] for start, cell in found.select("slot_start", "h3_cell").iter_rows()])
    error = found["mean"].to_numpy() - truth
    assert evaluation["mean_absolute_error"] == pytest.approx(np.average(np.abs(error), weights=records))
    constant = np.average(truth, weights=records)
    skill = 1 - np.average(error**2, weights=records) / np.average((truth - constant) ** 2, weights=records)
    assert evaluation["skill"] == pytest.approx(skill)
    inside = (found["mean_ci95_low"].to_numpy() <= truth) & (truth <= found["mean_ci95_high"].to_numpy())
    assert evaluation["coverage_of_cells"] == pytest.approx(inside.mean())
    assert sum(group["cells"] for group in evaluation["by_records"]) == found.height


def test_a_day_without_its_values_cannot_be_evaluated(estimated: Dataset) -> None:
    with pytest.raises(HexveilError, match="has not been released"):
        evaluate_day(DATE, None, estimated.config)
    estimated.run_day()
    forget_days([DATE], estimated.config)
    with pytest.raises(HexveilError, match="are not those of its release"):
        evaluate_day(DATE, None, estimated.config)
