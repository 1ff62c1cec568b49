"""A ledger of format 2 is verified, continued and converted, and its lines stay byte for byte.

``tests/golden/format-2.tar.gz`` was made by the program as it was before there were two definitions of privacy: a day,
a revision, an amendment of the budget, and another day by the planner. Nothing in it is a secret: its key and its
records were made for this test.
"""

import tarfile
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from support import DATE, Dataset, later_day

from tasks.account import ledger
from tasks.upkeep.convert import convert_ledger
from tasks.upkeep.verify import verify_ledger

KEPT = Path(__file__).parents[1] / "golden" / "format-2.tar.gz"


@pytest.fixture
def old(tmp_path: Path) -> Dataset:
    with tarfile.open(KEPT) as archive:
        archive.extractall(tmp_path / "old", filter="data")
    return Dataset(tmp_path / "old")


def lines(dataset: Dataset) -> bytes:
    return ledger.ledger_path(dataset.config).read_bytes()


def test_an_old_ledger_verifies_and_goes_on_in_pure_epsilon(old: Dataset) -> None:
    before = lines(old)
    assert [entry.stated["format"] for entry in ledger.read_entries(old.config)] == [2, 2, 2, 2]
    assert verify_ledger(old.config).n_releases == 3
    assert old.run_day(DATE) == "test-2026-01-15-h3r7-60min-mean", "what was released is found, not released again"
    assert lines(old) == before
    old.run_day(later_day(old, 2))
    assert lines(old).startswith(before)
    entries = ledger.read_entries(old.config)
    assert entries[-1].stated["format"] == 3
    total = Fraction(int(entries[-1].stated["loss_total_after"]), 1 << 50)
    assert total == Fraction(Decimal(entries[-1].stated["epsilon_total_after"]))
    assert total == Fraction(entries[-2].stated["epsilon_total_after"]) + Fraction(entries[-1].stated["epsilon"])
    assert verify_ledger(old.config).n_releases == 4


def test_an_old_ledger_is_converted(old: Dataset) -> None:
    before = lines(old)
    old.set("[budget]", 'definition = "zcdp"\nnoise = "gaussian"\n[budget]')
    convert_ledger("a test", old.config)
    old.run_day(later_day(old, 2))
    assert lines(old).startswith(before)
    assert verify_ledger(old.config).n_releases == 4
