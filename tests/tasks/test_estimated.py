"""The whole map: an estimate is released, charged, learned from, made again, and every change of it is found."""

import datetime as dt
import json
import os
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from estimates import day, released, write_day
from support import DATE, Dataset, slow, table

from dpmath.estimate.design import RADIUS
from dpmath.estimate.measurement import Measurement
from dpmath.estimate.state import State
from tasks.account import ledger, private_files
from tasks.base.config import Config
from tasks.base.errors import BadConfig, BudgetExceeded, HexveilError, LedgerBroken
from tasks.kinds.estimated import asked_day, replay, states
from tasks.kinds.estimated import release as released_estimate
from tasks.kinds.estimated.public_day import occupancy_of
from tasks.kinds.estimated.states import folder_of, known_before, questions_again
from tasks.kinds.estimated.stored_arrays import read_arrays
from tasks.kinds.table import load_plan
from tasks.planning.preview import preview_cells, preview_plan
from tasks.upkeep.evaluate import evaluate_day
from tasks.upkeep.verify import verify_ledger


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
    strata = measured.filter(query=0).select("cell", "n_records", "expected")
    assert {len(weights) for weights in measured["weights"]} == {len(cells) for cells in strata["cell"]}
    for cells, n_records in strata.select("cell", "n_records").iter_rows():
        assert np.bincount(cells, n_records).tolist() == found["n_records"].to_list()
    assert verify_ledger(config).n_releases == 1


def test_missing_values_leave_a_day_as_it_would_be_without_them(estimated: Dataset) -> None:
    """Half of the records say 255. Counted as the midpoint they would move slow cells by 15 km/h."""
    estimated.set(missing=[255])
    for old, new in (
        ("epsilon_per_day = 4.0", "epsilon_per_day = 400"),
        ("epsilon_total = 40.0", "epsilon_total = 400"),
    ):
        estimated.edit(old, new)
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
    assert (first.states.get("before"), second.states.get("before")) == (None, first.states.get("after"))
    assert [entry.stated["learned_from"] for entry in (first, second)] == [0, 1]
    config = estimated.config
    kept = known_before(day(2), [], ledger.read_entries(config), config).state
    for path in folder_of(config).iterdir():
        path.unlink()
    again = known_before(day(2), [], ledger.read_entries(config), config).state
    assert kept is not None
    assert again is not None
    np.testing.assert_allclose(again.mean, kept.mean, atol=1e-6)
    np.testing.assert_allclose(again.known.block(slice(None)), kept.known.block(slice(None)), atol=1e-6)
    estimated.run_day(day(2))
    assert verify_ledger(config).n_releases == 3


def test_days_may_be_released_in_any_order_and_a_revision_teaches_nothing(estimated: Dataset) -> None:
    for number in (2, 0):
        estimated.run_day(day(number))
    estimated.run_day(day(2), "again")
    estimated.run_day(day(1))
    late, early, revision, middle = released(estimated)
    assert early.states.get("before") == late.states.get("after")
    assert revision.states.get("before") is None, "it learns from what was known before its day's first release"
    assert revision.states.get("after") is None
    assert middle.states.get("before") == early.states.get("after")
    assert verify_ledger(estimated.config).n_releases == 4


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("slot_minutes = 60", "slot_minutes = 120"),
        ('timezone = "UTC"', 'timezone = "Atlantic/Reykjavik"'),
    ],
)
def test_another_grid_or_time_zone_begins_anew(estimated: Dataset, old: str, new: str) -> None:
    estimated.run_day()
    estimated.edit(old, new)
    estimated.run_day(day(1))
    assert released(estimated)[1].states.get("before") is None
    assert verify_ledger(estimated.config).n_releases == 2


@pytest.mark.slow
def test_a_range_is_released_day_by_day(estimated: Dataset) -> None:
    estimated.run_range([day(number) for number in range(3)])
    assert [entry.stated["learned_from"] for entry in released(estimated)] == [0, 1, 2]


def test_users_who_are_short_lose_what_they_have_left_and_the_rest_lose_the_day(estimated: Dataset) -> None:
    write_day(estimated, day(0), n_buses=12)
    estimated.set(epsilon_total=4.5)
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
    estimated.set(epsilon_total=4.0)
    with pytest.raises(BudgetExceeded, match=f"{day(2)} is withheld"):
        estimated.run_day(day(2))


@pytest.mark.quick(1)
@pytest.mark.parametrize("left", [0.9, 0.5, slow(0.99)])
def test_a_day_on_which_everybody_is_short_asks_everything_for_what_is_left(estimated: Dataset, left: float) -> None:
    config, currency = estimated.config, estimated.config.privacy.currency
    of_a_day = currency.within(config.privacy.epsilon_per_day)
    total = currency.epsilon(of_a_day + int(of_a_day * left))
    estimated.edit("epsilon_total = 40.0", f"epsilon_total = {float(total):.6f}")
    estimated.run_day()
    estimated.run_day(day(1))
    _, entry = released(estimated)
    (loss,) = set(private_files.losses(entry, config).values())
    assert loss == pytest.approx(of_a_day * left, rel=1e-4)
    plan = load_plan(entry.plan, config)
    occupancy, users = occupancy_of(plan.cells, plan.pairs)
    questions, _ = questions_again(entry, occupancy, users, config)
    paid = [question.losses(currency) for question, _ in questions]
    assert len(paid) == len(["level", "level again", "map", "map shrink", "check"])
    assert all((losses > 0).all() for losses in paid), "nobody answers nothing"
    assert 0.999 * loss < np.sum(paid, axis=0).max() <= loss
    assert verify_ledger(config).n_releases == 2


@pytest.mark.quick(1)
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


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("name", "column"),
    [("typical.parquet", "typical_mean"), ("measurements.parquet", "noise_sd"), ("joint.parquet", "cell_mean")],
)
def test_a_further_table_that_is_changed_is_found(
    estimated: Dataset, monkeypatch: pytest.MonkeyPatch, name: str, column: str
) -> None:
    honest = released_estimate.further_tables

    def tampered(*arguments: object) -> dict[str, pl.DataFrame]:
        tables = honest(*arguments)  # type: ignore[arg-type]
        return tables | {name: tables[name].with_columns(pl.col(column) * 0.9)}

    with monkeypatch.context() as changed:
        changed.setattr(released_estimate, "further_tables", tampered)
        estimated.run_day()
    with pytest.raises(LedgerBroken, match=f"{name} does not follow from the noisy answers"):
        verify_ledger(estimated.config)


def test_a_cell_that_is_marked_unusual_and_is_not_is_found(estimated: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = released_estimate.estimate_frame
    with monkeypatch.context() as changed:
        changed.setattr(
            released_estimate,
            "estimate_frame",
            lambda *arguments: honest(*arguments).with_columns(unusual=~pl.col("unusual")),
        )
        estimated.run_day()
    with pytest.raises(LedgerBroken, match="unusual does not follow from the noisy answers"):
        verify_ledger(estimated.config)


def test_a_state_that_the_next_day_would_begin_with_is_found_if_it_is_changed(
    estimated: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = released_estimate.write_state

    def tampered(state: State, config: Config) -> str:
        told = tuple(replace(one, sums=one.sums + 0.1) for one in state.told)
        return honest(replace(state, told=told), config)

    with monkeypatch.context() as changed:
        changed.setattr(released_estimate, "write_state", tampered)
        estimated.run_day()
    with pytest.raises(LedgerBroken, match="the state after it does not follow from the noisy answers"):
        verify_ledger(estimated.config)
    (entry,) = released(estimated)
    (folder_of(estimated.config) / str(entry.states.get("after"))).unlink()
    assert verify_ledger(estimated.config).n_releases == 1, "it is made again"


def test_a_state_whose_functions_another_machine_turned_says_the_same(
    estimated: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Functions of equal variance have no order and no sign of their own."""
    honest = released_estimate.write_state

    def turned(state: State, config: Config) -> str:
        of_covariates = slice(1, 1 + state.basis.whitening.shape[1])
        signs = np.ones(state.mean.size)
        signs[of_covariates] = -1
        told = tuple(replace(one, seen=one.seen * signs[:, None]) for one in state.told)
        basis = replace(state.basis, whitening=-state.basis.whitening)
        other = replace(state, told=told, basis=basis)
        assert (other.mean[of_covariates] == -state.mean[of_covariates]).all()
        assert state.mean[of_covariates].all()
        return honest(other, config)

    with monkeypatch.context() as changed:
        changed.setattr(released_estimate, "write_state", turned)
        estimated.run_day()
    assert verify_ledger(estimated.config).n_releases == 1


def test_questions_that_cost_more_than_is_charged_are_found(
    estimated: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = asked_day.charges

    def dearer(*arguments: object) -> list[object]:
        return [type(one)(one.name, one.sensitivity, one.inverse_scale * 2) for one in honest(*arguments)]  # type: ignore[arg-type]

    with monkeypatch.context() as changed:
        changed.setattr(asked_day, "charges", dearer)
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
    assert first.states.get("after") is not None
    assert second.states.get("before") is None
    assert verify_ledger(estimated.config).n_releases == 2


def test_a_lost_file_of_questions_is_found(estimated: Dataset) -> None:
    estimated.run_day()
    (entry,) = released(estimated)
    (private_files.releases(estimated.config) / str(entry.kept["questions"])).unlink()
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
    assert {path.name for path in folder.iterdir()} == {*entry.files.values(), entry.kept["questions"]}
    assert {path.name for path in folder_of(estimated.config).iterdir()} == {entry.states.get("after")}
    before = table(estimated)
    estimated.run_day()
    assert table(estimated).equals(before)


def test_nothing_that_is_not_noised_is_written_or_said(
    estimated: Dataset, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """What is told is met at each release. By chance some number is in 1 of 200: so in four of them once in 1e9."""
    met: list[Path] = []
    for _ in range(20):
        shutil.rmtree(estimated.folder / "store", ignore_errors=True)
        would_tell, path = met_in_a_release(estimated, monkeypatch, capfd)
        if would_tell and path is None:
            return
        met += [path] if path else []
        assert len(met) < 4, met
    pytest.fail("too few sums are numbers that would tell")


def met_in_a_release(
    estimated: Dataset, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> tuple[bool, Path | None]:
    """Release a day; return whether two of its sums would tell, as in 99 of 100 draws, and a file in which one is."""
    seen: list[int] = []
    honest = Measurement.answers

    def heard(measurement: Measurement, totals: np.ndarray) -> object:
        answers = honest(measurement, totals)
        seen.extend([int(answers.room.sum()), *(int(one) for one in answers.vector.sum(axis=0)[:20])])
        return answers

    with monkeypatch.context() as patch:
        patch.setattr(Measurement, "answers", heard)
        estimated.run_day()
    telling = [one for one in seen if abs(one) > 10_000 and one % (1 << 20)]  # a whole room is no secret
    needles = {str(abs(one)).encode() for one in telling}
    # An integer below 2^16, like a room of halves, has at most two bytes that are not 0: the floats of a state hold
    # some by chance (in 1 run of 30).
    wide = np.array([one for one in telling if abs(one) > 1 << 16 and one % (1 << 16)])
    raw = {one.tobytes() for kind in ("<i8", "<f8") for one in wide.astype(kind)}
    numbers = np.concatenate([wide, wide / RADIUS, wide.astype(np.float32), (wide / RADIUS).astype(np.float32)])
    would_tell = min(len(needles), wide.size) >= 2
    number = re.compile(
        rb"(?<![0-9A-Za-z.])[0-9]+(?![0-9A-Za-z])"
    )  # whole: digits of a float or a hash match by chance
    assert not telling or needles & set(number.findall(b"x=-%d.0," % telling[0]))
    store = estimated.folder / "store"
    files = {path: path.read_bytes() for path in store.rglob("*") if path.is_file() and "warehouse" not in path.name}
    files[Path("output")] = "".join(capfd.readouterr()).encode()
    for path, content in files.items():
        if needles & set(number.findall(content)) or any(needle in content for needle in raw):
            return would_tell, path
        if content.startswith(b"PK"):  # arrays: they are stored in fewer bytes
            for array in read_arrays(path.parent, path.name).values():
                if array.dtype.kind in "iuf" and np.isin(numbers, array).any():
                    return would_tell, path
    for path in (private_files.releases(estimated.config), folder_of(estimated.config)):
        for file in path.iterdir():
            if file.read_bytes().startswith(b"PAR1"):
                found = pl.read_parquet(file)
                for column in found.select(pl.col(pl.Binary)).iter_columns():
                    joined = b"".join(column.to_list())
                    if any(needle in joined for needle in raw):
                        return would_tell, file
    return would_tell, None


@pytest.mark.slow
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
    assert plan.published.equals(plan.cells)
    assert plan.withheld.height == 0


def test_an_estimate_promises_nothing_of_a_variance_and_finds_itself_what_a_cell_costs(estimated: Dataset) -> None:
    estimated.set(cell_epsilon=1.0, target_error_variance=4.0)
    with pytest.raises(BadConfig, match="remove cell_epsilon, and has no variance: remove target_error_variance"):
        _ = estimated.config


def test_a_manifest_names_the_measurements_and_no_private_file(estimated: Dataset) -> None:
    estimated.run_day()
    manifest = json.loads(estimated.published("manifest.json").read_text())
    assert {"typical.parquet", "measurements.parquet"} <= manifest["files"].keys()
    (entry,) = released(estimated)
    text = estimated.published("manifest.json").read_text()
    assert str(entry.kept["questions"]) not in text
    assert str(entry.states.get("after")) not in text


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
    assert [estimated.config.calendar.kind_of_day(dt.date(2026, 1, 15 + n)) for n in range(4)] == [0, 0, 1, 2]
    estimated.set(holidays=["2026-01-15"])
    assert estimated.config.calendar.kind_of_day(dt.date(2026, 1, 15)) == 2


def test_variance_is_refused(estimated: Dataset) -> None:
    estimated.set(variance=True)
    with pytest.raises(BadConfig, match=r"mechanism estimated has no variance: set statistics\.variance = false"):
        _ = estimated.config
