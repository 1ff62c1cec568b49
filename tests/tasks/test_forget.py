import datetime as dt
import json
import threading

import pytest
from support import DATE, ENGINES, Dataset, all_files, later_day

from tasks import forget, ledger, private_files, verify, warehouse
from tasks.errors import BadInput, LedgerBroken
from tasks.forget import days_older_than, forget_days, forgotten_days, held_days
from tasks.late import late_records
from tasks.preview import preview_plan

PRIVATE_TABLES = (
    "held_row",
    "validated_day",
    "user_cell",
    "quarantine",
    "value_repair",
    "prepared_day",
    "released_file",
)


@pytest.fixture(params=ENGINES, ids=["local", "shards"])
def engine(request: pytest.FixtureRequest) -> str:
    """Return each engine's section: what these tests say holds for all of them."""
    return request.param


@pytest.fixture
def two_days(busy_dataset: Dataset) -> Dataset:
    """Return a dataset with a rare user on the first of two released days."""
    busy_dataset.set("target_error = 40.0", "target_error = 49.0")
    tomorrow = later_day(busy_dataset, 1)
    path = busy_dataset.folder / "raw" / "day.csv"
    path.write_text(path.read_text().replace("bus00,", "peregrine-0815,") + "nobody-0816,never,47.05,8.31,7\n")
    busy_dataset.run_day()
    busy_dataset.run_day(tomorrow)
    return busy_dataset


def private_bytes(dataset: Dataset) -> bytes:
    folder = dataset.folder / "store" / "private"
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_records_that_an_earlier_version_kept_are_forgotten_too(two_days: Dataset) -> None:
    two_days.query("create table main.record as select unnest(range(1000)) as n, 'vagrant-0817' as user_id")
    two_days.query("checkpoint")
    assert b"vagrant-0817" in private_bytes(two_days)
    forget_days([DATE], two_days.config)
    assert b"vagrant-0817" not in private_bytes(two_days)


def test_nothing_of_a_forgotten_day_is_left_and_its_release_stays_verifiable(two_days: Dataset) -> None:
    before, entries = all_files(two_days), ledger.read_entries(two_days.config)
    private = two_days.folder / "store" / "private"
    (private / "errors.log").write_bytes(b"peregrine-0815 was here")
    (private / "spill").mkdir(exist_ok=True)
    (private / "spill" / "leftover").write_bytes(b"peregrine-0815 was here")
    assert b"peregrine-0815" in private_bytes(two_days)
    forgotten = forget_days([DATE], two_days.config)
    assert forgotten.rows == {DATE: 288}
    assert forgotten.files == ["raw/day.csv"]
    assert forgotten.n_bytes_after < forgotten.n_bytes_before
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
    two_days.set("epsilon_total = 5.0", "epsilon_total = 50.0")
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
    busy_dataset.set('timezone = "UTC"', 'timezone = "Asia/Tokyo"')
    assert days_older_than(10, held, busy_dataset.config) == [DATE]


def test_what_was_forgotten_is_noted_without_anything_private(two_days: Dataset) -> None:
    forget_days([DATE], two_days.config)
    noted = json.loads((two_days.folder / "store" / "private" / "forgotten").read_text())
    assert list(noted) == ["2026-01-15"]
