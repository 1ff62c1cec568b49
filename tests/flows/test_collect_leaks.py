"""Devices with planted names and values report, steps are run well and badly, and all they wrote is searched."""

import datetime as dt
import json
import subprocess
import sys
from pathlib import Path

import pytest
from collected import Collected
from planted import USER, VALUE, files_of, leaks

from tasks.device.account import begin_account
from tasks.device.report import as_line, make_report

N_DEVICES = 260
DAY = dt.date(2026, 3, 2)
RUN_EACH = """
import datetime as dt
import sys
from pathlib import Path

import polars as pl

from flows import collect, verify
from tasks.base import logs, steps
from tasks.collect import reports

logs.show_lines(True)
date, config = dt.date(2026, 3, 2), Path(sys.argv[1])
flow, fault = sys.argv[2:]

def raw_pandera(frame, schema, table):
    from pandera.polars import Check, Column, DataFrameSchema
    DataFrameSchema({"device": Column(pl.String, Check.eq("nobody"))}).validate(frame, lazy=True)

def raw_text(*_):
    raise ValueError("PLANTED-USER-7Q was at 73.1937")

faults = {"pandera": (reports, "check", raw_pandera), "text": (reports, "_contract", raw_text)}
if fault in faults:
    setattr(*faults[fault])
try:
    with steps.run():
        print(verify.verify(config) if flow == "verify" else collect.collect(config, flow, date))
except Exception as error:
    print("failed:", type(error).__name__, error, error.__context__, error.__cause__)
"""


@pytest.fixture
def collected(tmp_path: Path) -> Collected:
    collected = Collected(tmp_path)
    collected.change('areas = ["north", "south", "empty"]', 'areas = ["all"]')
    return collected


def run(collected: Collected, flow: str, fault: str = "") -> str:
    command = [sys.executable, "-c", RUN_EACH, str(collected.file), flow, fault]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout + done.stderr


def report(collected: Collected, number: int) -> list[str]:
    """Let planted devices answer a round by their own code, and return the lines that they send."""
    phones = collected.file.parent / "raw"  # what is on the devices, as input is elsewhere: not searched
    phones.mkdir(exist_ok=True)
    (phones / "values.txt").write_text(f"{VALUE}\n" * 500)
    asked = collected.config.storage_path / "published" / f"period={DAY}" / f"round-{number}.json"
    sent = []
    for device in range(N_DEVICES):
        account = phones / f"{device}.json"
        if not account.exists():
            begin_account(account, f"{USER}-{device}")
        made = make_report(asked, phones / "values.txt", account).report
        sent += [as_line(made)] if made else []
    collected.reports.mkdir(parents=True, exist_ok=True)
    (collected.reports / f"round-{number}.jsonl").write_text("".join(sent))
    return sent


def searched_of(collected: Collected) -> dict[str, bytes]:
    """Return all that is written but what is private: on the devices, their reports, the database of the reports."""
    found = files_of(collected.file.parent)
    private = ("reports.duckdb", "/reports/2026-03-02/")
    return {name: content for name, content in found.items() if not any(part in name for part in private)}


def test_no_name_and_no_value_of_a_device_is_in_anything_that_is_written_or_said(collected: Collected) -> None:
    said = run(collected, "open")
    first = report(collected, 1)
    wrong = [f"{USER} is no report of {VALUE}\n", f'{{"device": "{USER}-x", "area": "{USER}", "round": 1}}\n']
    (collected.reports / "wrong.jsonl").write_text("".join(wrong))
    (collected.reports / "bytes.jsonl").write_bytes(b"\xff" + USER.encode() + b"x" * (1 << 17))
    said += run(collected, "localise", "pandera") + run(collected, "localise", "text")
    assert said.count("failed: ") == 2
    said += run(collected, "localise")
    second = report(collected, 2)
    late = json.loads(first[0]) | {"device": "PLANTED-LATE"}
    (collected.reports / "late.jsonl").write_text(as_line(late) + wrong[0])
    said += run(collected, "estimate", "text") + run(collected, "estimate")
    said += run(collected, "estimate") + run(collected, "verify")
    assert len(first) + len(second) == N_DEVICES
    assert [one["kind"].rpartition("-")[2] for one in collected.entries()] == ["opened", "localised", "estimated"]
    searched = searched_of(collected) | {"said": said.encode()}
    assert len(searched) > 20
    assert leaks(searched) == []
    assert not any(b"PLANTED-LATE" in content for content in searched.values())
    private = collected.config.storage_path / "private"
    kept = (private / "errors.log").read_bytes() + (private / "reports.duckdb").read_bytes()
    assert USER.encode() in kept, "so the search finds what there is"
    assert all(path.stat().st_mode & 0o077 == 0 for path in (private, private / "errors.log"))


def test_a_device_sends_its_name_and_a_random_answer_and_nothing_else(collected: Collected) -> None:
    members = {"area", "collection", "device", "period", "round"}
    for number, answer, step in ((1, "ballot", "open"), (2, "estimate", "localise")):
        run(collected, step)
        sent = report(collected, number)
        assert {frozenset(json.loads(line)) for line in sent} == {frozenset({*members, answer})}
        assert not any(VALUE in line for line in sent)
        assert len({json.loads(line)[answer] for line in sent}) > 20, "all have the same values; the answers differ"
    in_account = (collected.file.parent / "raw" / "0.json").read_text()
    assert VALUE not in in_account


def test_a_device_says_no_value_and_no_name_even_where_it_fails(collected: Collected, tmp_path: Path) -> None:
    run(collected, "open")
    asked = collected.config.storage_path / "published" / f"period={DAY}" / "round-1.json"
    (tmp_path / "values.txt").write_text(f"{VALUE}\n{USER}\n\xff{VALUE}x\n")
    (tmp_path / "damaged.json").write_text(f'{{"device": "{USER}", "values": {VALUE}')
    for name in ("new.json", "other.json", "poor.json"):
        begin_account(tmp_path / name)
    command = [sys.executable, "-m", "flows.cli", "device", "report", "--parameters", str(asked)]
    for values, account, limit in (
        ("values.txt", "new.json", "9"),
        ("values.txt", "damaged.json", "9"),
        ("absent.txt", "other.json", "9"),
        ("values.txt", "poor.json", "0"),
    ):
        files = ["--values", str(tmp_path / values), "--account", str(tmp_path / account), "--limit", limit]
        done = subprocess.run([*command, *files], capture_output=True, text=True, check=False)
        assert leaks({"said": (done.stdout + done.stderr).encode()}) == []
