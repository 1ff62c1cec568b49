"""The warehouse: kept open between steps, and let go of."""

import datetime as dt
import fcntl
from pathlib import Path

import pytest
from support import Dataset

from tasks.base import warehouse
from tasks.base.errors import WarehouseDamaged
from tasks.upkeep.verify import verify_ledger


def is_free(dataset: Dataset) -> bool:
    """Tell whether another process would get its turn at the warehouse now."""
    with Path(dataset.folder / "store" / "private" / "warehouse.lock").open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def fail(dataset: Dataset) -> None:
    with warehouse.connect(dataset.config) as connection, warehouse.any_order(connection):
        connection.sql("from nowhere")


def test_a_warehouse_is_kept_open_from_its_first_connection_to_the_end_of_the_block(dataset: Dataset) -> None:
    with warehouse.connect(dataset.config):
        assert not is_free(dataset)
    with warehouse.kept_open(dataset.config):
        assert is_free(dataset), "nobody waits for one who has not come"
        with warehouse.connect(dataset.config) as connection:
            connection.execute("create temp table passing (number integer)")
            connection.execute("insert into late_day values (date '2026-01-15', 3)")
        assert not is_free(dataset)
        with warehouse.connect(dataset.config) as connection:
            assert connection.sql("from late_day").fetchall()[0][1] == 3
            with pytest.raises(warehouse.EngineError, match="passing"):
                connection.sql("from passing")
    assert is_free(dataset)


def test_a_block_within_another_changes_nothing(dataset: Dataset) -> None:
    with warehouse.kept_open(dataset.config):
        with warehouse.kept_open(dataset.config), warehouse.connect(dataset.config):
            pass
        assert not is_free(dataset)
    assert is_free(dataset)


def test_an_error_lets_go_of_a_warehouse_that_is_kept_open(dataset: Dataset) -> None:
    """What ends one step may have damaged what is open; and the next attempt may be a minute away."""
    with warehouse.kept_open(dataset.config):
        with pytest.raises(warehouse.EngineError):
            fail(dataset)
        assert is_free(dataset)
        with warehouse.connect(dataset.config) as connection:
            assert connection.sql("select current_setting('preserve_insertion_order')").fetchall() == [(True,)]
        assert not is_free(dataset)
    assert is_free(dataset)


def test_a_torn_block_of_a_warehouse_is_said_and_its_day_is_released_once_from_the_raw_files(
    busy_dataset: Dataset,
) -> None:
    dataset = busy_dataset
    dataset.prepare()
    path = dataset.folder / "store" / "private" / "warehouse.duckdb"
    whole = bytearray(path.read_bytes())
    torn = range(12_288 + 1_000, 12_288 + 5_000)  # of the first block, which has a checksum
    whole[torn.start : torn.stop] = bytes(255 - byte for byte in whole[torn.start : torn.stop])
    path.write_bytes(whole)
    with pytest.raises(WarehouseDamaged, match=r"is damaged: .* delete warehouse\.duckdb and warehouse\.duckdb\.wal"):
        dataset.run_day()
    assert path.read_bytes() == whole, "what may be mended is left as it is"
    path.unlink()
    dataset.run_day()
    assert verify_ledger(dataset.config).n_releases == 1


DAYS = {"dates": [dt.date(2026, 1, 15), dt.date(2026, 1, 16)]}


def test_a_statement_is_run_on_the_table_that_is_named_and_on_no_other(dataset: Dataset) -> None:
    with warehouse.connect(dataset.config) as connection:
        connection.execute("insert into late_day select date '2026-01-14' + day::integer, 1 from range(4) as t(day)")
        connection.execute("insert into prepared_day values (date '2026-01-15', 'some')")
        warehouse.run_on(connection, "write/delete_days", "late_day", DAYS)
        left = connection.sql("select local_date from late_day order by all").fetchall()
        assert left == [(dt.date(2026, 1, 14),), (dt.date(2026, 1, 17),)]
        assert connection.sql("select count(*) from prepared_day").fetchall() == [(1,)]


@pytest.mark.parametrize(
    "name", ["late_days", "LATE_DAY", "held_row", "record", "any_table", "", "late_day where true; drop table late_day"]
)
def test_a_statement_is_run_on_no_name_that_is_not_of_a_table_of_the_schema(dataset: Dataset, name: str) -> None:
    with warehouse.connect(dataset.config) as connection, pytest.raises(ValueError, match="is no table of sql/schema"):
        warehouse.run_on(connection, "write/delete_days", name, DAYS)


def test_a_statement_that_names_its_table_is_run_on_no_other(dataset: Dataset) -> None:
    with warehouse.connect(dataset.config) as connection, pytest.raises(ValueError, match="names its table itself"):
        warehouse.run_on(connection, "write/delete_quarantined_records", "late_day", {"date": DAYS["dates"][0]})


def test_a_statement_fails_without_a_table_and_on_one_that_lacks_its_columns(dataset: Dataset) -> None:
    with warehouse.connect(dataset.config) as connection:
        with pytest.raises(warehouse.EngineError, match="any_table does not exist"):
            warehouse.run(connection, "write/delete_days", DAYS)
        with pytest.raises(warehouse.EngineError, match='"local_date" not found'):
            warehouse.run_on(connection, "write/delete_days", "raw_file", DAYS)
