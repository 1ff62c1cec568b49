"""Devices with planted names and values report, steps are run well and badly, and all they wrote is searched."""

import datetime as dt
import io
import json
import logging
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Literal

import polars as pl
import pytest
from collected import Collected
from pandera.polars import Check, Column, DataFrameSchema
from planted import USER, VALUE, files_of, leaks
from support import Hexveil

from flows.collect import Step, collect
from flows.verify import verify
from tasks.base import logs, steps
from tasks.collect import reports
from tasks.device.account import begin_account
from tasks.device.report import as_line, make_report

N_DEVICES = 260
DAY = dt.date(2026, 3, 2)


def raw_pandera(frame: pl.DataFrame, *_: object) -> None:
    DataFrameSchema({"device": Column(pl.String, Check.eq("nobody"))}).validate(frame, lazy=True)


def raw_text(*_: object) -> None:
    raise ValueError(f"{USER} was at {VALUE}")


FAULTS = {"pandera": ("check", raw_pandera), "text": ("_contract", raw_text)}


@pytest.fixture
def collected(tmp_path: Path) -> Collected:
    collected = Collected(tmp_path)
    collected.change('areas = ["north", "south", "empty"]', 'areas = ["all"]')
    return collected


def run(collected: Collected, flow: Step | Literal["verify"], fault: str = "") -> str:
    """Run a flow, with a fault that says what is private; return all that was said."""
    said = io.StringIO()
    with pytest.MonkeyPatch.context() as patched, redirect_stdout(said), redirect_stderr(said):
        patched.setattr(logging.getLogger("hexveil"), "handlers", [])
        logs.show_lines(True)
        if fault:
            patched.setattr(reports, *FAULTS[fault])
        try:
            with steps.run():
                done = verify(collected.file) if flow == "verify" else collect(collected.file, flow, DAY)
                said.write(f"{done}\n")
        except Exception as error:
            said.write(f"failed: {type(error).__name__} {error} {error.__context__} {error.__cause__}\n")
    return said.getvalue()


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
    steps_of: list[tuple[int, str, Step]] = [(1, "ballot", "open"), (2, "estimate", "localise")]
    members = {"area", "collection", "device", "period", "round"}
    for number, answer, step in steps_of:
        run(collected, step)
        sent = report(collected, number)
        assert {frozenset(json.loads(line)) for line in sent} == {frozenset({*members, answer})}
        assert not any(VALUE in line for line in sent)
        assert len({json.loads(line)[answer] for line in sent}) > 20, "all have the same values; the answers differ"
    in_account = (collected.file.parent / "raw" / "0.json").read_text()
    assert VALUE not in in_account


def test_a_device_says_no_value_and_no_name_even_where_it_fails(
    collected: Collected, tmp_path: Path, hexveil: Hexveil
) -> None:
    run(collected, "open")
    asked = collected.config.storage_path / "published" / f"period={DAY}" / "round-1.json"
    (tmp_path / "values.txt").write_text(f"{VALUE}\n{USER}\n\xff{VALUE}x\n")
    (tmp_path / "damaged.json").write_text(f'{{"device": "{USER}", "values": {VALUE}')
    for name in ("new.json", "other.json", "poor.json"):
        begin_account(tmp_path / name)
    for values, account, limit in (
        ("values.txt", "new.json", "9"),
        ("values.txt", "damaged.json", "9"),
        ("absent.txt", "other.json", "9"),
        ("values.txt", "poor.json", "0"),
    ):
        files = ["--values", str(tmp_path / values), "--account", str(tmp_path / account), "--limit", limit]
        done = hexveil("device", "report", "--parameters", asked, *files)
        assert leaks({"said": (done.stdout + done.stderr).encode()}) == []
