"""Reports that come after their round was closed: counted and said, in whatever file they come, and never used."""

import itertools
import os
from pathlib import Path

import pytest
from collected import DATE, Collected

from dpmath.local.device import round_of
from tasks.collect.late import Late, count_late_reports
from tasks.collect.rounds import estimate, localise


@pytest.fixture
def collected(tmp_path: Path) -> Collected:
    return Collected(tmp_path)


def late(collected: Collected) -> list[tuple[int, int]]:
    found = count_late_reports.fn(collected.config)
    assert {one.period for one in found} <= {"2026-03-02"}
    return [(one.round, one.n_reports) for one in found]


def others(collected: Collected, number: int, n: int) -> list[dict[str, object]]:
    """Return reports of a round of devices that have sent none."""
    honest = collected.report(number)
    key = collected.asked(number).key
    names = (name for name in map("later-{}".format, itertools.count()) if round_of(key, name) == number)
    return [{**honest[0], "device": name} for name in itertools.islice(names, n)]


def test_nothing_is_late_before_a_round_is_closed_or_after_it_without_new_files(collected: Collected) -> None:
    assert late(collected) == []
    collected.report(1)
    assert late(collected) == []
    collected.report(2)
    assert late(collected) == []
    estimate.fn(DATE, collected.config)
    assert late(collected) == []


def test_late_reports_of_both_rounds_are_counted_and_change_nothing(
    collected: Collected, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = others(collected, 1, 3), others(collected, 2, 4)
    localise.fn(DATE, collected.config)
    estimate.fn(DATE, collected.config)
    published, ledger = collected.published(), collected.entries()
    collected.add(*first, first[0], "no report", *second, name="a-first-by-name.jsonl")
    with caplog.at_level("WARNING"):
        assert late(collected) == [(1, 3), (2, 4)]
    assert "late reports change nothing period=2026-03-02 round=1 n_reports=3" in caplog.text
    assert "later-" not in caplog.text
    for step in (localise, estimate):
        step.fn(DATE, collected.config)
    assert (collected.published(), collected.entries()) == (published, ledger)
    assert late(collected) == [(1, 3), (2, 4)]


def test_a_file_that_grew_is_counted_anew_and_a_report_that_is_sent_again_is_not_late(collected: Collected) -> None:
    more = others(collected, 1, 5)
    localise.fn(DATE, collected.config)
    collected.add(*more[:2])
    assert late(collected) == [(1, 2)]
    collected.add(*more)
    assert late(collected) == [(1, 5)]
    (collected.reports / "again.jsonl").write_bytes((collected.reports / "round-1.jsonl").read_bytes())
    assert late(collected) == [(1, 5)]
    (collected.reports / "zz.jsonl").unlink()
    assert late(collected) == [(1, 5)]


@pytest.mark.parametrize("is_held", [True, False], ids=["known", "lost"])
def test_a_late_report_counts_once_in_however_many_files_and_runs_it_comes(collected: Collected, is_held: bool) -> None:
    more = others(collected, 1, 3)
    localise.fn(DATE, collected.config)
    if not is_held:
        (collected.config.storage_path / "private" / "reports.duckdb").unlink()
    collected.add(*more[:2], name="first.jsonl")
    assert late(collected) == [(1, 2)]
    collected.add(*more[:2], *more[:1], name="second.jsonl")
    assert late(collected) == [(1, 2)]
    collected.add(*more[1:], name="third.jsonl")
    collected.add(*more[1:], name="fourth.jsonl")
    assert late(collected) == [(1, 3)]
    collected.add("", name="third.jsonl")
    assert late(collected) == [(1, 3)], "it is still in another file"


def test_only_new_files_are_read(collected: Collected) -> None:
    more = others(collected, 1, 2)
    localise.fn(DATE, collected.config)
    collected.add(*more)
    assert late(collected) == [(1, 2)]
    first = collected.reports / "round-1.jsonl"
    stamp = first.stat()
    first.write_bytes(b"x" * stamp.st_size)
    os.utime(first, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert late(collected) == [(1, 2)]


def test_without_the_database_what_is_beyond_the_ledgers_number_is_late(collected: Collected) -> None:
    more = others(collected, 1, 3)
    localise.fn(DATE, collected.config)
    collected.add(*more)
    (collected.config.storage_path / "private" / "reports.duckdb").unlink()
    assert late(collected) == [(1, 3)]
    assert late(collected) == [(1, 3)]


def test_late_reports_of_any_period_are_said(collected: Collected) -> None:
    more = others(collected, 1, 1)
    localise.fn(DATE, collected.config)
    collected.add(*more)
    assert count_late_reports.fn(collected.config) == [Late("2026-03-02", 1, 1)]
