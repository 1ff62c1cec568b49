import json
import shutil
from pathlib import Path

import pytest
from support import DATE, Dataset, all_files, later_day

from tasks.account import ledger, mirror
from tasks.base.errors import LedgerBroken
from tasks.upkeep import verify


def mirrored(dataset: Dataset) -> tuple[list[tuple[object, ...]], list[tuple[object, ...]]]:
    with mirror.connect(dataset.config) as connection:
        statistics = connection.execute("select * from statistic order by all").fetchall()
        return statistics, connection.execute("select * from charge order by all").fetchall()


def mirror_file(dataset: Dataset) -> Path:
    return dataset.folder / "store" / "release.duckdb"


@pytest.fixture
def two_days(busy_dataset: Dataset) -> Dataset:
    busy_dataset.set(target_error=49.0)
    busy_dataset.run_day()
    busy_dataset.run_day(later_day(busy_dataset, 1))
    return busy_dataset


def test_a_mirror_that_was_deleted_or_damaged_is_whole_after_the_next_run(two_days: Dataset) -> None:
    whole = mirrored(two_days)
    assert [len(rows) for rows in whole] == [4, 2]
    assert verify.verify_ledger(two_days.config).n_releases == 2
    mirror_file(two_days).unlink()
    two_days.run_day()
    assert mirrored(two_days) == whole
    mirror_file(two_days).write_bytes(b"no database " * 999)
    with pytest.raises(LedgerBroken, match=r"release.duckdb cannot be read"):
        verify.verify_ledger(two_days.config)
    two_days.run_day()
    assert (two_days.folder / "store" / "release.duckdb.damaged").read_bytes() == b"no database " * 999
    assert mirrored(two_days) == whole


@pytest.mark.quick(3)
@pytest.mark.parametrize(
    "forged",
    [
        "update statistic set mean = mean + 0.5 where slot_start = '2026-01-15 08:00Z'",
        "insert into statistic select * from statistic limit 1",
        "update charge set epsilon = 0.1 where number = 2",
        "update charge set revision = 'better' where number = 1",
        "delete from charge; update statistic set n_records = n_records + 1",
    ],
)
def test_verify_names_what_the_mirror_says_otherwise_than_the_ledger(two_days: Dataset, forged: str) -> None:
    with mirror.connect(two_days.config) as connection:
        connection.execute(forged)
    with pytest.raises(LedgerBroken, match=r"release.duckdb says something else of test-2026-01-1[56]"):
        verify.verify_ledger(two_days.config)
    mirror_file(two_days).unlink()
    two_days.run_day()
    assert verify.verify_ledger(two_days.config).n_releases == 2


def test_rows_of_a_release_that_nobody_paid_for_are_named_in_the_mirror_too(two_days: Dataset) -> None:
    with mirror.connect(two_days.config) as connection:
        connection.execute("insert into statistic select * replace ('test-forged' as release_id) from statistic")
    with pytest.raises(LedgerBroken, match=r"release\.duckdb knows the release test-forged"):
        verify.verify_ledger(two_days.config)


def test_rows_that_the_mirror_lost_are_written_again(two_days: Dataset) -> None:
    whole = mirrored(two_days)
    with mirror.connect(two_days.config) as connection:
        connection.execute("delete from statistic where release_id like '%-15-%' and slot_start = '2026-01-15 08:00Z'")
        connection.execute("delete from charge where release_id like '%-16-%'")
    two_days.run_day()
    assert mirrored(two_days) == whole


def test_everything_that_can_be_rebuilt_is_rebuilt_and_the_ledger_stands(two_days: Dataset) -> None:
    before, entries = all_files(two_days), ledger.read_entries(two_days.config)
    store = two_days.folder / "store"
    for name in ("warehouse.duckdb", "warehouse.duckdb.wal", "totals", "attempts", "warehouse.lock"):
        path = store / "private" / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    mirror_file(two_days).unlink()
    shutil.rmtree(store / "published")
    for date in (DATE, later_day(two_days, 1)):
        two_days.run_day(date)
    assert all_files(two_days) == before
    assert ledger.read_entries(two_days.config) == entries
    assert verify.verify_ledger(two_days.config).n_releases == 2


def test_the_mirror_is_a_witness_against_a_ledger_that_was_cut_with_everything_beside_it(two_days: Dataset) -> None:
    """The ledger, the note of its end and the published folders are all those of the day before."""
    store = two_days.folder / "store"
    path = ledger.ledger_path(two_days.config)
    first = path.read_bytes().splitlines(keepends=True)[0]
    path.write_bytes(first)
    head = {name: json.loads(first)[name] for name in ("number", "hash")}
    (store / "private" / "ledger-head").write_text(json.dumps(head))
    shutil.rmtree(store / "private" / "attempts")
    shutil.rmtree(store / "published" / "date=2026-01-16")
    assert len(ledger.read_entries(two_days.config)) == 1
    with pytest.raises(LedgerBroken, match="was cut or replaced"):
        verify.verify_ledger(two_days.config)
    with pytest.raises(LedgerBroken, match="was cut or replaced"):
        two_days.run_day(later_day(two_days, 2))
    assert path.read_bytes() == first


def test_published_folders_are_witnesses_too_on_whatever_day_is_run(two_days: Dataset) -> None:
    store = two_days.folder / "store"
    ledger.ledger_path(two_days.config).write_bytes(b"")
    for name in ("attempts", "releases"):
        shutil.rmtree(store / "private" / name)
    for path in (store / "private" / "ledger-head", mirror_file(two_days)):
        path.unlink()
    with pytest.raises(LedgerBroken, match="date=2026-01-15 was published, but no entry"):
        two_days.run_day(later_day(two_days, 2))
    assert ledger.ledger_path(two_days.config).read_bytes() == b""


def test_a_reader_that_keeps_the_mirror_open_does_not_stop_a_release(
    two_days: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    import subprocess
    import sys

    monkeypatch.setattr(mirror, "_WAIT_SECONDS", 0)
    read = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", read, str(mirror_file(two_days))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "open\n"
        two_days.run_day(later_day(two_days, 2))
        assert len(ledger.read_entries(two_days.config)) == 3
        reader.communicate("")
    mirror.bring_in_line(ledger.read_entries(two_days.config), two_days.config)
    assert len(mirrored(two_days)[1]) == 3
