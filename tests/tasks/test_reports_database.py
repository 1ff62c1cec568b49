"""The database of a collection's reports: damaged, or in use by another program."""

import subprocess
import sys
from contextlib import closing
from pathlib import Path

import duckdb
import pytest
from collected import DATE, Collected

from tasks.base.errors import HexveilError
from tasks.collect.late import count_late_reports
from tasks.collect.reports import open_reports
from tasks.collect.rounds import estimate
from tasks.collect.verify import verify_collection

ROOT = Path(__file__).parents[2]
LOCALISE = """
import datetime as dt, sys
from pathlib import Path
from tasks.collect.config import load_collection
from tasks.collect import reports, rounds
reports._WAIT_SECONDS = 1
rounds.localise.fn(dt.date(2026, 3, 2), load_collection(Path(sys.argv[1])))
"""


@pytest.fixture
def collected(tmp_path: Path) -> Collected:
    return Collected(tmp_path)


@pytest.mark.quick(2)
@pytest.mark.parametrize("damage", ["empty", "cut", "another format", "wrong checksum"])
def test_a_damaged_database_of_reports_is_set_aside_and_the_reports_are_read_again(
    collected: Collected, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    collected.report(1)
    collected.report(2)
    path = collected.config.storage_path / "private" / "reports.duckdb"
    whole = path.read_bytes()
    flipped = bytearray(whole)
    flipped[8192 + 100] ^= 255
    flipped[4096 + 100] ^= 255
    cases = {"empty": b"", "cut": whole[:8192], "another format": b"x" * 20_000, "wrong checksum": flipped}
    path.write_bytes(cases[damage])
    with caplog.at_level("WARNING"):
        estimate.fn(DATE, collected.config)
    assert "damaged file is set aside and made anew" in caplog.text
    assert path.with_name("reports.duckdb.damaged").read_bytes() == cases[damage]
    assert count_late_reports.fn(collected.config) == [], "what the ledger says was used is not late"
    verify_collection(collected.config)


def read_from_a_file_that_ends_early(collected: Collected) -> None:
    path = collected.config.storage_path / "private" / "reports.duckdb"
    with open_reports(collected.config) as reports:
        path.write_bytes(path.read_bytes()[:12288])
        reports.execute("select count(distinct ballot) from device_report").fetchall()


def test_a_part_of_the_database_that_cannot_be_read_is_said_in_words(collected: Collected) -> None:
    """The file opens, and ends where the rows of the reports are."""
    collected.report(1)
    collected.report(2)
    with pytest.raises(HexveilError, match=r"cannot be read or written.* the reports are read again"):
        read_from_a_file_that_ends_early(collected)


def test_a_database_that_another_program_uses_is_said_to_be_in_use(collected: Collected) -> None:
    collected.report(1)
    with closing(duckdb.connect(str(collected.config.storage_path / "private" / "reports.duckdb"))):
        command = [sys.executable, "-c", LOCALISE, str(collected.file)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "InUse: " in done.stderr
    assert "has been in use by another program for 1 s; end it first" in done.stderr
