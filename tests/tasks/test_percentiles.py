"""Percentiles and shares above limits: released, charged, carried over days, made again, and refused in a sentence."""

import shutil
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from estimates import PLACES, day, released, say_again
from fixed import fix
from planted import USER, VALUE, files_of, leaks, readable
from support import DATE, HEADER, Dataset, table

from dpmath.estimate.law_charges import FIRST, LATER
from tasks.account import private_files
from tasks.answers.ask import ask
from tasks.base import warehouse
from tasks.base.errors import BadConfig, BadInput, HexveilError
from tasks.kinds.estimated import laws, tables
from tasks.output_formats.columns import meaning
from tasks.output_formats.joint import JOINT, JOINT_SHARES, factors_of
from tasks.planning.preview import preview_plan
from tasks.upkeep.forget import forget_days
from tasks.upkeep.verify import verify_ledger

pytestmark = pytest.mark.theorem("HV-L55")
WANTED = ["p15", "p50", "p85", "share_above_30", "share_above_50_5"]


@pytest.fixture
def lawful(dataset: Dataset) -> Dataset:
    """Return a dataset of buses of which a fifth stand, and whose percentiles are published."""
    dataset.set(mechanism="estimated", target_error=None, definition="zcdp", epsilon_per_day=4.0, epsilon_total=40.0)
    dataset.set(statistics={"percentiles": [15, 50, 85]})
    dataset.set(statistics={"limits": [30, 50.5]})
    for number in range(3):
        write_buses(dataset, number, 90)
    return dataset


def write_buses(dataset: Dataset, number: int, n_buses: int) -> None:
    rng = np.random.default_rng(number)
    lines = []
    for bus in range(n_buses):
        for hour in (7, 8, 9):
            place = int(rng.integers(6))
            latitude, longitude = PLACES[place]
            for minute in range(0, 60, 20):
                value = 0.0 if rng.random() < 0.2 else min(99.0, max(0.0, 20 + 6 * place + rng.normal(0, 9)))
                lines.append(f"bus{bus:03},{day(number)}T{hour:02}:{minute:02}:00Z,{latitude},{longitude},{value:.2f}")
    dataset.write(f"day-{day(number)}.csv", HEADER + "\n".join(lines) + "\n")


def test_percentiles_and_shares_are_published_charged_and_made_again(lawful: Dataset) -> None:
    for number in range(2):
        lawful.run_day(day(number))
    first, second = released(lawful)
    assert list(FIRST.keys()) == [name for name in first.stated["sums"] if name in FIRST]
    assert list(second.stated["sums"])[-2:] == list(LATER)
    assert "law" not in second.stated["sums"], "the city's law is asked about once"
    assert "HV-L55" in first.stated["theorems"]
    config = lawful.config
    assert set(private_files.losses(first, config).values()) == {config.privacy.loss_per_day}
    found = table(lawful)
    for name in WANTED:
        assert {name, f"{name}_ci95_low", f"{name}_ci95_high"} <= set(found.columns)
        assert meaning(name)
        assert (found[f"{name}_ci95_low"] <= found[name]).all()
        assert (found[name] <= found[f"{name}_ci95_high"]).all()
    assert found["p50"].count() > 0
    large = found.filter(pl.col("n_records") >= 20)
    assert set(large["distribution_area"]) == {"cell"}
    assert verify_ledger(config).n_releases == 2


def test_a_plan_says_what_percentiles_cost_the_means(lawful: Dataset) -> None:
    lawful.set(epsilon_per_day=3.0)  # with more, what so small a city is expected to err by is residuals alone
    lawful.prepare()
    first = preview_plan(day(0), lawful.config)
    assert first["percentiles_take"] == pytest.approx(sum(FIRST.values()) / 1000)
    assert first["error_without_percentiles"] is None
    lawful.run_day()
    lawful.prepare(day(1))
    second = preview_plan(day(1), lawful.config)
    assert second["percentiles_take"] == pytest.approx(sum(LATER.values()) / 1000)
    assert 0.8 * second["error_over_all_records"] < second["error_without_percentiles"]
    assert second["error_without_percentiles"] < second["error_over_all_records"]
    lawful.set(statistics={"percentiles": None})
    lawful.set(statistics={"limits": None})
    lawful.prepare(day(1))
    without = preview_plan(day(1), lawful.config)
    assert "percentiles_take" not in without
    assert without["error_over_all_records"] == pytest.approx(second["error_without_percentiles"])


@pytest.mark.slow
def test_a_lost_state_is_made_again_with_what_it_knew_of_laws(lawful: Dataset) -> None:
    lawful.run_day(day(0))
    for path in (lawful.config.storage_path / "private" / "states").iterdir():
        path.unlink()
    lawful.run_day(day(1))
    assert "law" not in released(lawful)[1].stated["sums"]
    assert verify_ledger(lawful.config).n_releases == 2


def test_without_the_settings_nothing_of_them_is_stored_asked_or_published(lawful: Dataset) -> None:
    lawful.set(statistics={"percentiles": None})
    lawful.set(statistics={"limits": None})
    lawful.run_day()
    (entry,) = released(lawful)
    assert not set(entry.stated["sums"]) & {*FIRST, *LATER}
    assert "percentiles" not in entry.settings["statistics"]
    assert not [name for name in table(lawful).columns if name.startswith(("p15", "share_above", "distribution"))]
    with warehouse.connect(lawful.config) as connection:
        assert connection.execute("select count(*) from user_cell_bin").fetchone() == (0,)


@pytest.mark.slow
def test_the_law_may_be_asked_about_on_a_later_day_and_no_more_after_it(lawful: Dataset) -> None:
    lawful.set(statistics={"percentiles": None})
    lawful.set(statistics={"limits": None})
    lawful.run_day(day(0))
    lawful.set(statistics={"percentiles": [85]})
    lawful.run_day(day(1))
    lawful.set(statistics={"percentiles": None})
    lawful.run_day(day(2))
    sums = [set(entry.stated["sums"]) & {*FIRST} for entry in released(lawful)]
    assert sums == [set(), {*FIRST}, set()]
    assert verify_ledger(lawful.config).n_releases == 3


def test_bins_of_the_warehouse_are_those_of_the_ticks(lawful: Dataset) -> None:
    """Values at a bin's edge, at the bounds, beyond them, and one that is missing."""
    lawful.set(missing=[255])
    values = ["0", "-3", "0.006", "1", "1.001", "99.99", "100", "120", "255", ""]
    rows = [f"bus,{DATE}T08:{minute:02}:00Z,47.05,8.31,{value}" for minute, value in enumerate(values)]
    lawful.write(f"day-{DATE}.csv", HEADER + "\n".join(rows) + "\n")
    lawful.set(max_quarantined_share=1)
    lawful.prepare()
    config = lawful.config
    with warehouse.connect(config) as connection:
        found = connection.execute("select value_bin, n_values from user_cell_bin order by all").fetchall()
        n_missing = connection.execute("select sum(n_missing) from user_cell").fetchone()
    expected: dict[int, int] = {}
    for value in values[:-2]:
        inside = min(max(Decimal(value), config.value.lower), config.value.upper)
        ticks = round((inside - config.value.lower) / config.value.tick)
        number = -(-100 * ticks // config.value.n_ticks)
        expected[number] = expected.get(number, 0) + 1
    assert dict(found) == expected
    assert n_missing == (2,)


@pytest.mark.quick(1)
@pytest.mark.parametrize("column", ["p85", "share_above_30", "share_above_30_ci95_low", "distribution_area"])
def test_a_changed_percentile_does_not_follow_from_the_answers(
    lawful: Dataset, column: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if another program had released it: the entry and its files agree, the numbers do not."""
    whole = laws.law_frame

    def changed(*given: object) -> pl.DataFrame:
        frame = whole(*given)  # type: ignore[arg-type]
        if column == laws.AREA:
            return frame.with_columns(pl.lit("parent_4h").alias(column))
        return frame.with_columns((pl.col(column) * 0.9 + 0.01).alias(column))

    with monkeypatch.context() as patch:
        patch.setattr(laws, "law_frame", changed)
        lawful.run_day()
    with pytest.raises(HexveilError, match=column.partition("_ci95")[0]):
        verify_ledger(lawful.config)


def test_a_statistic_that_should_be_empty_is_found(lawful: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise is drawn once: in one draw of a hundred none should be empty."""
    fix(monkeypatch)
    whole = laws.laws_of
    with monkeypatch.context() as patch:
        patch.setattr(laws, "laws_of", partial(whole, slack=10.0))
        lawful.run_day()
    with pytest.raises(HexveilError, match="is empty, or is not"):
        verify_ledger(lawful.config)


def test_few_users_or_a_small_epsilon_are_refused_in_a_sentence_and_cost_nothing(lawful: Dataset) -> None:
    lawful.set(epsilon_per_day=0.5)
    with pytest.raises(BadInput, match=r"cannot be told of 90 users at privacy.epsilon_per_day = 0.5.*known only to"):
        lawful.run_day()
    assert released(lawful) == []


@pytest.mark.slow
def test_a_later_day_of_few_users_asks_nothing_and_has_what_earlier_days_tell(lawful: Dataset) -> None:
    lawful.run_day(day(0))
    write_buses(lawful, 1, 20)
    lawful.run_day(day(1))
    assert not set(released(lawful)[1].stated["sums"]) & {*LATER}
    assert "p85" in table(lawful, day(1)).columns
    assert verify_ledger(lawful.config).n_releases == 2


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"percentiles": [0]}, "must be from 1 to 99"),
        ({"percentiles": [85, 15]}, "must rise, each one once"),
        ({"limits": [30, 30]}, "must rise, each one once"),
        ({"limits": [-1]}, "must be at least value.lower"),
        ({"limits": [100]}, "below value.upper"),
        ({"percentiles": [1, 2, 3, 4, 5, 6]}, "at most 5"),
    ],
)
def test_settings_that_mean_nothing_are_refused(lawful: Dataset, settings: dict[str, list[int]], reason: str) -> None:
    lawful.set(statistics=settings)
    with pytest.raises(BadConfig, match=reason):
        _ = lawful.config


@pytest.mark.parametrize("of", [{"definition": "pure"}, {"mechanism": "planned"}])
def test_other_mechanisms_and_definitions_have_none(lawful: Dataset, of: dict[str, str]) -> None:
    lawful.set(**of)
    if of == {"definition": "pure"}:
        lawful.set(delta=None)
    with pytest.raises(BadConfig, match='need mechanism = "estimated" and definition = "zcdp"'):
        _ = lawful.config


def test_forgetting_a_day_forgets_its_bins(lawful: Dataset) -> None:
    lawful.run_day()
    forget_days([DATE], lawful.config)
    with warehouse.connect(lawful.config) as connection:
        assert connection.execute("select count(*) from user_cell_bin").fetchone() == (0,)


def test_no_user_and_no_value_leaves_the_warehouse(lawful: Dataset, caplog: pytest.LogCaptureFixture) -> None:
    path = lawful.folder / "raw" / f"day-{DATE}.csv"
    path.write_text(path.read_text().replace("bus000,", f"{USER},") + f"{USER},{DATE}T08:59:00Z,47.05,8.31,{VALUE}\n")
    lawful.run_day()
    assert leaks(files_of(lawful.folder) | {"log": caplog.text.encode()}) == []
    for name in (*private_files.releases(lawful.config).iterdir(), *lawful.published("").rglob("*")):
        if name.is_file() and readable(name).startswith(b"PAR1"):
            assert not [one for one in pl.read_parquet(name).columns if one.startswith("private")]


def published(lawful: Dataset) -> Path:
    return lawful.folder / "store" / "published"


def test_a_share_above_a_limit_is_asked_of_areas_and_days_from_published_files(lawful: Dataset) -> None:
    """Against dense matrices: errors of shares are those of the means, as shares move with them, and their own."""
    for number in range(2):
        lawful.run_day(day(number))
    folder = published(lawful) / f"date={day(1)}"
    joint, shares = (pl.read_parquet(folder / name, hive_partitioning=False) for name in (JOINT, JOINT_SHARES))
    assert shares["limit"].unique().sort().to_list() == [30.0, 50.5]
    of_limit = shares.filter(pl.col("limit") == 30.0)
    assert of_limit["h3_cell"].equals(joint["h3_cell"])
    assert (of_limit["by_mean"] > 0).all()
    moved = of_limit["by_mean"].to_numpy()
    covariance = moved[:, None] * factors_of(joint)[0].times(np.eye(joint.height)) * moved
    covariance += factors_of(of_limit)[0].times(np.eye(joint.height))
    weight = joint["n_records"].to_numpy() / joint["n_records"].sum()
    (row,) = ask(published(lawful), above=30, first=str(day(1))).table.to_dicts()
    for same in (30.0, "30.00", "3e1"):
        assert ask(published(lawful), above=same, first=str(day(1))).table.to_dicts() == [row]
    assert row["share_above_30"] == pytest.approx(weight @ of_limit["share_above"].to_numpy())
    assert row["share_above_30_sd"] == pytest.approx(np.sqrt(weight @ covariance @ weight))
    assert 0 <= row["share_above_30_ci95_low"] < row["share_above_30"] < row["share_above_30_ci95_high"] <= 1
    parts = ask(published(lawful), above="50.5", by="area,day").table
    whole = ask(published(lawful), above="50.5").table
    added = np.average(parts["share_above_50_5"], weights=parts["n_records"])
    assert added == pytest.approx(whole["share_above_50_5"][0])
    answer = ask(published(lawful), above=30, first=str(day(1)), compare=str(day(0)))
    assert answer.notes[-1].endswith("on average; of shares, more."), "as the page on the published files says"
    compared = answer.table
    assert compared["change"][0] == pytest.approx(compared["share_above_30"][0] - compared["share_above_30_before"][0])


def test_a_share_of_two_days_is_less_sure_if_users_come_again(lawful: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise is drawn once: it decides how much of the errors of two days is found to last, in some draws hardly any."""
    fix(monkeypatch)
    found = []
    for number in range(2):
        lawful.run_day(day(number))
    for again in (1, 1000):
        say_again(published(lawful), day(1), again)
        found.append(ask(published(lawful), above=30).table["share_above_30_sd"][0])
    assert found[1] > 1.001 * found[0]


def test_a_percentile_of_an_area_is_between_limits_that_surely_have_it(lawful: Dataset) -> None:
    lawful.run_day()
    for percentile in (5, 60, 99):
        (row,) = ask(published(lawful), percentile=percentile).table.to_dicts()
        low, high = row[f"p{percentile}_ci95_low"], row[f"p{percentile}_ci95_high"]
        assert {low, high} <= {0.0, 30.0, 50.5, 100.0}
        assert low < high
        for limit, above in ((30.0, "30"), (50.5, "50.5")):
            (share,) = ask(published(lawful), above=above).table.to_dicts()
            name = f"share_above_{above.replace('.', '_')}"
            assert (share[f"{name}_ci95_low"] > 1 - percentile / 100) == (low >= limit)
            assert (share[f"{name}_ci95_high"] < 1 - percentile / 100) == (high <= limit)


def test_what_was_not_published_of_laws_is_refused_in_a_sentence(lawful: Dataset) -> None:
    lawful.run_day()
    asked = partial(ask, published(lawful))
    questions: list[tuple[dict[str, Any], str]] = [
        ({"above": 40}, "shares above 40 were not published; ask about those above 30 and 50.5"),
        ({"above": "fast"}, "above=fast must be a number"),
        ({"percentile": 100}, "must be from 1 to 99"),
        ({"percentile": 85, "compare": str(DATE)}, "percentiles are not compared"),
        ({"percentile": 85, "above": 30}, "ask for one of"),
    ]
    for question, reason in questions:
        with pytest.raises(HexveilError, match=reason):
            asked(**question)
    lawful.set(statistics={"limits": None})
    lawful.run_day(day(1))
    with pytest.raises(HexveilError, match=rf"{day(1)} has no shares above limits: .*; {DATE} to {DATE} have some"):
        asked(above=30)
    shutil.rmtree(published(lawful) / f"date={DATE}")
    package = published(lawful) / "datapackage.json"
    package.write_text(package.read_text().replace("joint_shares", "other"))
    for one in (partial(asked, above=30), partial(asked, percentile=85)):
        with pytest.raises(HexveilError, match=r"the publisher did not set statistics\.limits"):
            one()


@pytest.mark.slow
def test_a_changed_joint_table_of_shares_does_not_follow_from_the_answers(
    lawful: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = tables.share_tables
    for column in ("share_above", "by_mean", "variance"):

        def changed(*given: object, column: str = column) -> dict[str, pl.DataFrame]:
            return {name: one.with_columns(pl.col(column) * 1.1) for name, one in whole(*given).items()}  # type: ignore[arg-type]

        with monkeypatch.context() as patch:
            patch.setattr(tables, "share_tables", changed)
            lawful.run_day()
        with pytest.raises(HexveilError, match=r"joint_shares\.parquet does not follow"):
            verify_ledger(lawful.config)
        shutil.rmtree(lawful.config.storage_path)
        lawful.config.storage_path.mkdir()
        lawful.prepare()
