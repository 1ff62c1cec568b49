"""A collection as flows at a Prefect server, and what the devices sent, looked for in everything that was written."""

import datetime as dt
import gzip
import json
import subprocess
import sys
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from collected import DATE, N_DEVICES, Collected

from flows.collect import collect, collect_backfill
from tasks.base.errors import HexveilError
from tasks.collect.rounds import localise, open_period
from tasks.collect.simulated import write_reports

ROOT = Path(__file__).parents[2]
RUN = """
import datetime as dt, sys
from pathlib import Path
import hexveil
print(hexveil.collect(Path(sys.argv[2]), sys.argv[1], dt.date(2026, 3, 2)))
"""


@pytest.mark.slow
def test_a_collection_runs_as_flows_and_nothing_that_is_public_names_a_device(
    tmp_path: Path, server: dict[str, str]
) -> None:
    collected = Collected(tmp_path)

    def run(name: str) -> str:
        command = [sys.executable, "-c", RUN, name, str(collected.file)]
        done = subprocess.run(command, cwd=ROOT, env=server, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    said = run("open")
    collected.report(1)
    said += run("localise")
    collected.report(2)
    said += run("estimate") + run("estimate")
    assert [one["kind"] for one in collected.entries()] == [
        "collection-opened",
        "collection-localised",
        "collection-estimated",
    ]
    private = collected.config.storage_path / "private"
    home = Path(server["PREFECT_HOME"])
    written = [path for folder in (collected.config.storage_path, home) for path in folder.rglob("*") if path.is_file()]
    public = [path for path in written if path.parent != private]
    assert len(public) > 8
    assert b"device-0" not in said.encode() + b"".join(path.read_bytes() for path in public)
    assert b"device-0" in (private / "reports.duckdb").read_bytes()  # so the search finds what there is
    assert private.stat().st_mode & 0o077 == 0


def test_a_backfill_closes_no_round_whose_devices_may_still_report(tmp_path: Path) -> None:
    collected = Collected(tmp_path)
    today = dt.datetime.now(ZoneInfo(collected.config.timezone)).date()
    for date in (DATE, today):
        open_period.fn(date, collected.config)
    with pytest.raises(HexveilError, match="closes no round while its devices may still report"):
        collect_backfill(collected.file, today, today)
    collected.report(1)
    with pytest.raises(HexveilError, match=r"1 of 1 periods have problems; the rest is done:\n  2026-03-02"):
        collect_backfill(collected.file, DATE, today)
    assert [(one["kind"], one["period"]) for one in collected.entries()] == [
        ("collection-opened", "2026-03-02"),
        ("collection-opened", today.isoformat()),
        ("collection-localised", "2026-03-02"),
    ]


def test_a_step_is_done_though_late_reports_of_another_period_cannot_be_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    collected = Collected(tmp_path)
    collected.asked(1)
    collected.report(1)
    localise.fn(DATE, collected.config)
    (collected.reports / "cut.jsonl.gz").write_bytes(gzip.compress(b"{}\n" * 999)[:-9])
    (collected.reports / "folder.jsonl").mkdir()
    (collected.reports / "nothing.jsonl").symlink_to("gone")
    collected.change('/*.jsonl"', '/*.jsonl*"')
    with caplog.at_level("WARNING"):
        done = collect(collected.file, "open", DATE + dt.timedelta(days=1))
    assert done.folder.name == "period=2026-03-03"
    assert "late reports could not be counted" in caplog.text


def test_reports_are_found_in_a_folder_whose_name_looks_like_a_pattern(tmp_path: Path) -> None:
    folder = tmp_path / "g[1]"
    folder.mkdir()
    collected = Collected(folder)
    collected.asked(1)
    collected.report(1)
    assert localise.fn(DATE, collected.config).exists()


@pytest.mark.parametrize("broken", ["write_named_by_hash", "append_line"])
def test_a_step_that_fails_while_it_writes_is_done_again(
    tmp_path: Path, broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    collected = Collected(tmp_path)
    asked = collected.asked(1)
    collected.report(1)

    def full(*_: object) -> None:
        raise OSError(28, "no space left")

    monkeypatch.setattr(f"tasks.collect.ledger.{broken}", full)
    with pytest.raises(Exception, match="No space left") as failed:
        localise.fn(DATE, collected.config)
    assert "day" not in str(failed.value), "a period may be a week"
    assert len(collected.entries()) == 1
    assert not any("round-2.json" in name for name in collected.published())
    monkeypatch.undo()
    second = json.loads((localise.fn(DATE, collected.config) / "round-2.json").read_text())
    assert second["key"] == asked.key.hex()
    assert len(collected.entries()) == 2
    assert write_reports(N_DEVICES, asked, collected.config) > 0
