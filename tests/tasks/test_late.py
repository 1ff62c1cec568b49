import datetime as dt

import pytest
from support import DATE, ENGINES, HEADER, Dataset, all_files, later_day, slow

from tasks.account import ledger
from tasks.base.config_source import OF_FILE
from tasks.base.errors import BadInput, HexveilError
from tasks.engines.late import count_late_records
from tasks.engines.prepare import preparation
from tasks.planning.plan import plan_release
from tasks.records.judge.count_outcomes import late_records
from tasks.release.draw import release_statistics
from tasks.release.publish import publish_files
from tasks.reporting.day_report import report_day
from tasks.upkeep import verify
from tasks.upkeep.forget import forget_days

LATE = f"bus90,{DATE}T08:01:30Z,47.05,8.31,12\nbus91,{DATE}T08:02:30Z,47.05,8.31,13\n"


@pytest.fixture(params=[ENGINES[0], slow(ENGINES[1])], ids=["local", "shards"])
def engine(request: pytest.FixtureRequest) -> str:
    """Return each engine's section: what these tests say holds for all of them."""
    return request.param


def test_records_that_come_after_the_release_are_kept_counted_and_change_nothing(busy_dataset: Dataset) -> None:
    busy_dataset.run_day()
    assert late_records(busy_dataset.config) == {}
    before, entries = all_files(busy_dataset), ledger.read_entries(busy_dataset.config)
    busy_dataset.write("late.csv", HEADER + LATE)
    for _ in range(2):
        busy_dataset.run_day()
        assert late_records(busy_dataset.config) == {DATE: 2}
    assert all_files(busy_dataset) == before
    assert ledger.read_entries(busy_dataset.config) == entries
    assert busy_dataset.query(
        "select sum(held_row.n_rows) from held_row join raw_file using (file_id) where name = 'raw/late.csv'"
    ) == [(2,)]
    late, _ = count_late_records.fn(DATE, busy_dataset.config)
    assert report_day(DATE, late, busy_dataset.config).late == late == {DATE: 2}
    assert verify.verify_ledger(busy_dataset.config).n_releases == 1


def test_a_file_that_grew_counts_only_what_is_new_and_a_copy_of_it_nothing(busy_dataset: Dataset) -> None:
    busy_dataset.run_day()
    text = (busy_dataset.folder / "raw" / "day.csv").read_text()
    busy_dataset.write("copy.csv", text)
    busy_dataset.run_day()
    assert late_records(busy_dataset.config) == {}
    busy_dataset.write("day.csv", text + LATE)
    busy_dataset.run_day()
    assert late_records(busy_dataset.config) == {DATE: 2}


def test_a_value_that_changed_is_not_late(busy_dataset: Dataset) -> None:
    """Else the count would tell something about values."""
    busy_dataset.run_day()
    text = (busy_dataset.folder / "raw" / "day.csv").read_text()
    busy_dataset.write("day.csv", text.replace(",8.3100,10", ",8.3100,99"))
    busy_dataset.run_day()
    assert late_records(busy_dataset.config) == {}


def test_late_records_are_found_in_the_files_of_another_day(busy_dataset: Dataset) -> None:
    busy_dataset.run_day()
    tomorrow = later_day(busy_dataset, 1)
    with (busy_dataset.folder / "raw" / "day1.csv").open("a") as file:
        file.write(LATE)
    busy_dataset.run_day(tomorrow)
    assert late_records(busy_dataset.config) == {DATE: 2}


@pytest.mark.slow
def test_counting_for_one_day_tells_what_was_late_of_others_too_whatever_is_wrong_with_a_file(
    busy_dataset: Dataset,
) -> None:
    busy_dataset.set(files=["raw/{date}*.csv"])
    tomorrow = later_day(busy_dataset, 1)
    for date, name in ((DATE, "day.csv"), (tomorrow, "day1.csv")):
        busy_dataset.write(f"{date}.csv", (busy_dataset.folder / "raw" / name).read_text())
        busy_dataset.run_day(date)
    busy_dataset.write(f"{DATE}-late.csv", HEADER + LATE)
    assert count_late_records.fn(DATE, busy_dataset.config) == ({DATE: 2}, [])
    assert count_late_records.fn(tomorrow, busy_dataset.config) == ({DATE: 2}, [])
    busy_dataset.write(f"{tomorrow}-bad.csv", "no header\n")
    late, unread = count_late_records.fn(tomorrow, busy_dataset.config)
    assert late == {DATE: 2}
    assert f"{tomorrow}-bad.csv" in unread[0]


def test_a_revision_uses_what_was_late(busy_dataset: Dataset) -> None:
    busy_dataset.run_day()
    busy_dataset.write("late.csv", HEADER + LATE)
    busy_dataset.run_day()
    busy_dataset.run_day(revision="whole")
    first, second = ledger.read_entries(busy_dataset.config)
    assert sum(second.stated["rows"].values()) == sum(first.stated["rows"].values()) + 2
    assert late_records(busy_dataset.config) == {}


def test_without_the_warehouse_the_rows_that_are_more_are_counted(busy_dataset: Dataset) -> None:
    busy_dataset.run_day()
    (n_users,) = busy_dataset.query("select count(distinct user_id) from raw_record")[0]
    assert report_day(DATE, {}, busy_dataset.config).n_users == n_users
    (busy_dataset.folder / "store" / "private" / "warehouse.duckdb").unlink()
    busy_dataset.write("late.csv", HEADER + LATE)
    busy_dataset.run_day()
    assert late_records(busy_dataset.config) == {DATE: 2}
    assert report_day(DATE, {}, busy_dataset.config).n_users is None, "the records of the release are not known"


def test_files_that_are_gone_are_no_reason_to_fail_a_released_day(busy_dataset: Dataset) -> None:
    busy_dataset.run_day()
    busy_dataset.write("late.csv", HEADER + LATE)
    busy_dataset.run_day()
    for name in ("day.csv", "late.csv"):
        (busy_dataset.folder / "raw" / name).unlink()
    busy_dataset.run_day()
    assert count_late_records.fn(DATE, busy_dataset.config) == ({DATE: 2}, [])
    with pytest.raises(BadInput, match="no file"):
        busy_dataset.run_day(DATE + dt.timedelta(days=1))


def test_a_record_of_the_same_time_at_another_place_is_late_and_counts_once(busy_dataset: Dataset) -> None:
    busy_dataset.run_day()
    row = f"bus00,{DATE}T08:00:00Z,47.06,8.3100,10\n"
    busy_dataset.write("late1.csv", HEADER + row)
    busy_dataset.write("late2.csv", HEADER + row + f"bus00,{DATE}T08:00:00Z,47.05,8.3200,10\n")
    busy_dataset.run_day()
    assert late_records(busy_dataset.config) == {DATE: 2}


def test_late_records_are_still_counted_after_a_revision_that_died(
    busy_dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy_dataset.run_day()
    busy_dataset.write("late.csv", HEADER + LATE)
    busy_dataset.run_day()
    with monkeypatch.context() as patch:
        patch.setattr(ledger, "append", lambda *_: 1 / 0)
        with pytest.raises(HexveilError):
            busy_dataset.run_day(revision="again")
    busy_dataset.run_day()
    assert late_records(busy_dataset.config) == {DATE: 2}


@pytest.mark.slow
def test_a_file_after_one_that_was_forgotten_is_not_taken_for_it(busy_dataset: Dataset) -> None:
    tomorrow = later_day(busy_dataset, 1)
    busy_dataset.run_day()
    busy_dataset.run_day(tomorrow)
    forget_days([tomorrow], busy_dataset.config)
    (busy_dataset.folder / "raw" / "day1.csv").unlink()
    busy_dataset.write("late.csv", HEADER + LATE)
    busy_dataset.run_day()
    assert late_records(busy_dataset.config) == {DATE: 2}


def test_an_entry_names_the_files_that_were_used_not_those_that_came_meanwhile(busy_dataset: Dataset) -> None:
    busy_dataset.prepare()
    plan_hash = plan_release.fn(DATE, busy_dataset.config)
    path = busy_dataset.folder / "raw" / "day.csv"
    path.write_text(path.read_text() + LATE)
    busy_dataset.write("other.csv", HEADER + LATE.replace("bus9", "bus8"))
    preparation(busy_dataset.config)[0].fn(DATE, busy_dataset.config)
    identity = release_statistics.fn(DATE, plan_hash, busy_dataset.config)
    publish_files.fn(identity, busy_dataset.config)
    entry = ledger.read_entries(busy_dataset.config)[0]
    assert [(file["name"], file["rows"]) for file in entry.stated["inputs"]] == [("raw/day.csv", 288)]
    assert entry.stated["rows"] == {"kept": 288}
    busy_dataset.run_day()
    assert late_records(busy_dataset.config) == {DATE: 4}


def test_digests_of_one_file_differ_between_releases(busy_dataset: Dataset) -> None:
    """Else equal ones would tell that no value changed."""
    busy_dataset.run_day()
    busy_dataset.run_day(revision="again")
    first, second = ledger.read_entries(busy_dataset.config)
    assert first.stated["inputs"][0]["name"] == second.stated["inputs"][0]["name"]
    assert first.stated["inputs"][0]["digest"] != second.stated["inputs"][0]["digest"]


def test_a_late_file_that_cannot_be_read_is_told_of_and_the_others_are_counted(busy_dataset: Dataset) -> None:
    busy_dataset.run_day()
    busy_dataset.write("bad.csv", (HEADER + LATE).encode("utf-16"))
    busy_dataset.write("empty.csv", "")
    late, (bad, empty) = count_late_records.fn(DATE, busy_dataset.config)
    assert late == {}
    busy_dataset.write("late.csv", HEADER + LATE)
    assert count_late_records.fn(DATE, busy_dataset.config) == ({DATE: 2}, [bad, empty])
    assert "bad.csv" in bad
    assert (bad + empty).isprintable(), "a terminal obeys bytes of a file"
    assert "UTF-16" in bad
    assert "empty.csv" in empty
    assert len(ledger.read_entries(busy_dataset.config)) == 1


def test_of_many_late_files_that_cannot_be_read_a_few_are_named(busy_dataset: Dataset) -> None:
    busy_dataset.run_day()
    for number in range(7):
        busy_dataset.write(f"bad{number}.csv", "")
    _, unread = count_late_records.fn(DATE, busy_dataset.config)
    assert ["bad" in one for one in unread] == [True] * 5 + [False]
    assert unread[-1] == "2 more files cannot be read"


def test_a_late_file_that_is_named_after_its_user_is_not_named(busy_dataset: Dataset) -> None:
    busy_dataset.run_day()
    busy_dataset.set(user=OF_FILE)
    busy_dataset.write("bus77.csv", "")
    _, unread = count_late_records.fn(DATE, busy_dataset.config)
    assert unread == ["2 files that are named after users cannot be read"]
