import datetime as dt
import json
import threading

import polars as pl
import pytest
from support import CLIP_USER, DATE, ENGINES, HEADER, Dataset, all_files, later_day, slow

from flows.show import show_forgotten
from tasks.account import ledger, private_files
from tasks.base import warehouse
from tasks.base.errors import BadInput, LedgerBroken
from tasks.planning.preview import preview_plan
from tasks.records.forgotten import Forgetting, forgotten_days, forgotten_parameters, note_forgotten
from tasks.records.judge.count_outcomes import late_records
from tasks.upkeep import forget, verify
from tasks.upkeep.forget import days_older_than, forget_days, held_days

PRIVATE_TABLES = (
    "held_row",
    "validated_day",
    "user_cell",
    "quarantine",
    "value_repair",
    "prepared_day",
    "released_file",
)


@pytest.fixture(params=[ENGINES[0], slow(ENGINES[1])], ids=["local", "shards"])
def engine(request: pytest.FixtureRequest) -> str:
    """Return each engine's section: what these tests say holds for all of them."""
    return request.param


@pytest.fixture
def two_days(busy_dataset: Dataset) -> Dataset:
    """Return a dataset with a rare user on the first of two released days."""
    busy_dataset.set(**CLIP_USER | {"target_error": 49.0})
    tomorrow = later_day(busy_dataset, 1)
    path = busy_dataset.folder / "raw" / "day.csv"
    path.write_text(path.read_text().replace("bus00,", "peregrine-0815,") + "nobody-0816,never,47.05,8.31,7\n")
    busy_dataset.run_day()
    busy_dataset.run_day(tomorrow)
    return busy_dataset


def private_bytes(dataset: Dataset) -> bytes:
    folder = dataset.folder / "store" / "private"
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_nothing_of_a_forgotten_day_is_left_and_its_release_stays_verifiable(two_days: Dataset) -> None:
    before, entries = all_files(two_days), ledger.read_entries(two_days.config)
    private = two_days.folder / "store" / "private"
    (private / "errors.log").write_bytes(b"peregrine-0815 was here")
    (private / "spill").mkdir(exist_ok=True)
    (private / "spill" / "leftover").write_bytes(b"peregrine-0815 was here")
    assert b"peregrine-0815" in private_bytes(two_days)
    warehouse_file = private / "warehouse.duckdb"
    n_bytes_before = warehouse_file.stat().st_size
    forgotten = forget_days([DATE], two_days.config)
    assert forgotten.rows == {DATE: 288}
    assert forgotten.files == ["raw/day.csv"]
    assert warehouse_file.stat().st_size < n_bytes_before
    assert b"peregrine-0815" not in private_bytes(two_days)
    assert b"nobody-0816" not in private_bytes(two_days), "a row without a day goes with the last of its file"
    for table in PRIVATE_TABLES:
        days = two_days.query(f"select distinct local_date from {table}")
        assert DATE not in {day for (day,) in days}
    assert two_days.query("select sum(n_rows) from held_row") == [(288,)]
    assert all_files(two_days) == before
    assert ledger.read_entries(two_days.config) == entries
    assert verify.verify_ledger(two_days.config).n_releases == 2


def test_the_records_of_a_forgotten_day_are_not_read_again(two_days: Dataset) -> None:
    forget_days([DATE], two_days.config)
    before = all_files(two_days)
    two_days.run_day()
    assert all_files(two_days) == before
    with pytest.raises(BadInput, match=r"was forgotten at .* not read again"):
        two_days.run_day(revision="again")
    (two_days.folder / "store" / "private" / "warehouse.duckdb").unlink()
    two_days.run_day(later_day(two_days, 2))
    assert two_days.query("select coalesce(sum(n_rows), 0) from held_row where local_date <= DATE '2026-01-15'") == [
        (0,)
    ]
    assert two_days.query("select sum(n_forgotten) from raw_file") == [(288,)]
    assert late_records(two_days.config) == {}


def test_what_users_lost_on_a_forgotten_day_still_counts(two_days: Dataset) -> None:
    later = later_day(two_days, 2)
    two_days.prepare(later)
    before = preview_plan(later, two_days.config)
    forget_days([DATE, DATE + dt.timedelta(days=1)], two_days.config)
    two_days.prepare(later)
    after = preview_plan(later, two_days.config)
    assert {**before, "seconds": 0} == {**after, "seconds": 0}
    assert float(after["epsilon"]) < 2


def test_a_crash_on_the_way_is_finished_by_forgetting_again(two_days: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        pass

    def kill(*_: object) -> None:
        raise Killed

    for at in ("transaction", "compact"):
        with monkeypatch.context() as patch:
            patch.setattr(warehouse, at, kill)
            with pytest.raises(Killed):
                forget_days([DATE], two_days.config)
        assert DATE in forgotten_days(two_days.config)
    held = held_days(two_days.config)
    assert held[DATE] == 0, "a day that is half forgotten is still to be forgotten"
    assert DATE in days_older_than(0, held, two_days.config)
    forget_days([DATE], two_days.config)
    assert DATE not in held_days(two_days.config)
    assert b"peregrine-0815" not in private_bytes(two_days)


def test_the_warehouse_is_not_written_anew_while_another_has_it(two_days: Dataset) -> None:
    with warehouse.connect(two_days.config) as connection:
        compacting = threading.Thread(target=warehouse.compact, args=(two_days.config,))
        compacting.start()
        compacting.join(0.5)
        assert compacting.is_alive()
        connection.execute("create table written_meanwhile as select 1 as one")
    compacting.join()
    assert two_days.query("select one from written_meanwhile") == [(1,)]


def test_plans_and_draws_of_a_forgotten_day_that_no_release_was_made_by_go_too(two_days: Dataset) -> None:
    third = later_day(two_days, 2)
    two_days.set(epsilon_total=50.0)
    plans, releases = private_files.plans(two_days.config), private_files.releases(two_days.config)
    before = {path.name for path in [*plans.iterdir(), *releases.iterdir()]}
    two_days.prepare(third)
    preview_plan(third, two_days.config)
    (releases / "a-draw-that-died").write_bytes(b"noise")
    forget_days([third], two_days.config)
    assert {path.name for path in [*plans.iterdir(), *releases.iterdir()]} == before
    assert verify.verify_ledger(two_days.config).n_releases == 2


def test_a_damaged_note_of_forgotten_days_is_named(two_days: Dataset) -> None:
    forget_days([DATE], two_days.config)
    (two_days.folder / "store" / "private" / "forgotten").write_bytes(b"[")
    with pytest.raises(LedgerBroken, match=r"forgotten is damaged"):
        two_days.run_day()


def test_days_older_than_a_number_are_counted_from_today_where_the_dataset_is(
    busy_dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy_dataset.prepare()
    held = held_days(busy_dataset.config)
    assert held == {DATE: 288}

    class Clock(dt.datetime):
        @classmethod
        def now(cls, tz: dt.tzinfo | None = None) -> "Clock":
            return cls(2026, 1, 25, 23, 30, tzinfo=dt.UTC).astimezone(tz)

    monkeypatch.setattr(forget.dt, "datetime", Clock)
    assert days_older_than(9, held, busy_dataset.config) == [DATE]
    assert days_older_than(10, held, busy_dataset.config) == []
    busy_dataset.set(timezone="Asia/Tokyo")
    assert days_older_than(10, held, busy_dataset.config) == [DATE]


def test_what_was_forgotten_is_noted_without_anything_private(two_days: Dataset) -> None:
    forget_days([DATE], two_days.config)
    noted = json.loads((two_days.folder / "store" / "private" / "forgotten").read_text())
    assert list(noted) == ["2026-01-15"]


def rows_within_day(dataset: Dataset) -> int:
    """Return how many raw records are held that were observed on ``DATE`` in UTC, in warehouse or shards."""
    parts = (dataset.folder / "store" / "private" / "shards").rglob("*.parquet")
    within = f"(observed_at at time zone 'UTC')::date = date '{DATE}'"
    held = dataset.query(f"select count(*) from raw_record where {within}")[0][0]
    for path in parts:
        held += dataset.query(f"select count(*) from read_parquet('{path}') where {within}")[0][0]
    return int(held)


def a_day_and_the_next(dataset: Dataset, suffix: str) -> None:
    """Write a file of a record each two hours, over two days in UTC, most of which Tokyo counts to the second."""
    times = [f"{date}T{hour:02}:00:00Z" for date in (DATE, DATE + dt.timedelta(days=1)) for hour in range(0, 24, 2)]
    records = [{"bus": "bus1", "time": time, "lat": 47.05, "lon": 8.31, "speed": 30} for time in times]
    path = dataset.write(f"a.{suffix}", b"")
    frame = pl.DataFrame(records)
    {"csv": frame.write_csv, "ndjson": frame.write_ndjson, "parquet": frame.write_parquet}[suffix](path)


@pytest.mark.quick(1)
@pytest.mark.parametrize("suffix", ["csv", "ndjson", "parquet"])
def test_rows_of_a_forgotten_day_stay_forgotten_in_another_time_zone(dataset: Dataset, suffix: str) -> None:
    a_day_and_the_next(dataset, suffix)
    dataset.prepare()
    assert rows_within_day(dataset) == 12
    forget_days([DATE], dataset.config)
    assert rows_within_day(dataset) == 0
    dataset.set(timezone="Asia/Tokyo")
    dataset.prepare(DATE + dt.timedelta(days=1))
    assert rows_within_day(dataset) == 0
    assert dataset.query("select sum(n_records) from user_cell") == [(8,)], "from 9:00 on, until midnight in Tokyo"
    assert dataset.query("select n_rows, n_forgotten from raw_file order by file_id desc limit 1") == [(24, 12)]


def test_rows_that_were_read_in_another_time_zone_are_forgotten_too(dataset: Dataset) -> None:
    a_day_and_the_next(dataset, "csv")
    dataset.set(timezone="Asia/Tokyo")
    dataset.prepare(DATE + dt.timedelta(days=1))
    dataset.set(timezone="UTC")
    dataset.prepare()
    forget_days([DATE], dataset.config)
    assert rows_within_day(dataset) == 0
    assert dataset.query("select count(*) from user_cell") == [(0,)]
    dataset.prepare(DATE + dt.timedelta(days=1))
    assert dataset.query("select sum(n_records) from user_cell") == [(12,)]


def test_what_was_counted_of_values_under_another_time_zone_goes_too(dataset: Dataset) -> None:
    rows = "".join(f"bus{n:02},{DATE}T23:30:{n:02}Z,47.05,8.31,{'' if n < 5 else 999}\n" for n in range(12))
    dataset.write("day.csv", HEADER + rows)
    dataset.prepare()
    assert sum(n for (n,) in dataset.query("select n_records from value_repair")) == 12
    dataset.set(timezone="Europe/Zurich")
    forget_days([DATE + dt.timedelta(days=1)], dataset.config)
    for table in ("value_repair", "validated_day", "validated_file", "prepared_day", "prepared_file", "prepared_count"):
        assert dataset.query(f"select * from {table}") == [], table


def test_days_in_a_row_are_one_span_and_a_longer_day_of_another_zone_loses_nothing(dataset: Dataset) -> None:
    days = {DATE + dt.timedelta(days=shift): Forgetting("now", "UTC") for shift in (0, 1, 4)}
    note_forgotten(days | {DATE + dt.timedelta(days=2): Forgetting("now", "Asia/Tokyo")}, dataset.config)
    spans = forgotten_parameters(dataset.config)
    assert [
        (start.isoformat()[:13], end.isoformat()[:13])
        for start, end in zip(spans["starts"], spans["ends"], strict=True)
    ] == [
        ("2026-01-15T00", "2026-01-17T15"),
        ("2026-01-19T00", "2026-01-20T00"),
    ]


def test_what_is_said_of_forgetting_is_the_same_for_any_values(
    busy_dataset: Dataset, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """The size of the warehouse depends on values: random ones take more room than constant ones."""
    said = []
    path = busy_dataset.folder / "raw" / "day.csv"
    lines = path.read_text().splitlines()
    for value in ("30", "0.123456789012345"):
        path.write_text("\n".join([lines[0], *(line.rpartition(",")[0] + "," + value for line in lines[1:])]) + "\n")
        (busy_dataset.folder / "store" / "private" / "forgotten").unlink(missing_ok=True)
        busy_dataset.prepare()
        caplog.clear()
        show_forgotten(forget_days([DATE], busy_dataset.config), busy_dataset.config)
        said.append((capsys.readouterr().out, caplog.messages))
    assert said[0] == said[1]
    assert "The raw rows of 1 local days are deleted" in said[0][0]
    assert said[0][1] == ["forgotten n_days=1"]
    show_forgotten(forget_days([DATE], busy_dataset.config), busy_dataset.config)
    again = capsys.readouterr().out
    assert "are deleted" not in again
    assert "Of 1 local days no raw rows were here; they will never be read" in again


def test_a_row_of_the_next_days_file_that_lies_within_the_day_goes_too(dataset: Dataset) -> None:
    dataset.set(files=["raw/{date}.csv"])
    dataset.set(max_quarantined_share=1)
    for date in (DATE, DATE + dt.timedelta(days=1)):
        dataset.write(
            f"{date}.csv", f"bus,time,lat,lon,speed\nbus1,{date}T08:00:00Z,47,8,1\nbus9,{DATE}T09:00:00Z,47,8,7\n"
        )
        dataset.prepare(date)
    assert rows_within_day(dataset) == 3
    forget_days([DATE], dataset.config)
    assert rows_within_day(dataset) == 0
    assert held_days(dataset.config) == {DATE + dt.timedelta(days=1): 1}
    dataset.prepare(DATE + dt.timedelta(days=1))
    assert dataset.query("select sum(n_records) from user_cell") == [(1,)]


def test_a_day_of_which_nothing_is_held_can_be_forgotten(dataset: Dataset) -> None:
    forget_days([DATE], dataset.config)
    a_day_and_the_next(dataset, "csv")
    dataset.prepare(DATE + dt.timedelta(days=1))
    assert rows_within_day(dataset) == 0
