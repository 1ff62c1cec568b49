"""The example of docs/how-to/collect.md, run as a reader runs it: pasted into a shell in an empty folder."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "collect.md"


@pytest.mark.slow
def test_the_example_runs_as_it_is_written_and_ends_at_a_mean(tmp_path: Path) -> None:
    """The mean is that of the reports that were drawn; it has a deviation of 5, and is 30 off once in 5e8 runs."""
    example = PAGE.read_text().partition("## Try it with 150 devices")[2].split("```")[1]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-eu", "-c", example],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "1 periods, 1 of them released" in done.stdout
    reports = [(tmp_path / "reports" / "2026-03-02" / f"round-{number}.jsonl").read_text() for number in (1, 2)]
    assert sum(text.count("\n") for text in reports) == 150
    (row,) = csv.DictReader((tmp_path / "store/published/period=2026-03-02/means.csv").read_text().splitlines())
    assert int(row["n_round_1"]) + int(row["n_round_2"]) == 150
    mean = float(row["mean"])
    assert float(row["mean_ci95_low"]) <= mean <= float(row["mean_ci95_high"])
    said = [json.loads(line)["estimate"] for line in reports[1].splitlines()]  # in ticks of half a km/h
    assert mean == pytest.approx(min(max(sum(said) / len(said) / 2, 0), 60), abs=1e-6)
    assert abs(mean - 24) < 30
