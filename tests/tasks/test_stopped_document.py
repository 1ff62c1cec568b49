"""A stranger checks a ledger with a stopped day by the program and the tables of ``docs/reference/ledger.md``."""

import datetime as dt
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from insider import forged
from screened import N_BUSES, screen, write_day
from support import DATE, Dataset

from tasks.account import ledger
from tasks.base.errors import DayStopped

DOCUMENT = (Path(__file__).parents[2] / "docs" / "reference" / "ledger.md").read_text()


def checked(export: Path) -> subprocess.CompletedProcess[str]:
    program = DOCUMENT.partition("```python\n")[2].partition("```")[0]
    command = [sys.executable, "-I", "-S", "-c", program, str(export)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(params=["pure", "zcdp"])
def export(dataset: Dataset, request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return the export of a stopped day and a release of the next one."""
    screen(dataset, request.param, "planned")
    write_day(dataset, N_BUSES)
    with pytest.raises(DayStopped):
        dataset.run_day()
    write_day(dataset, 0, DATE + dt.timedelta(days=1))
    dataset.run_day(DATE + dt.timedelta(days=1))
    path = tmp_path / "export.jsonl"
    path.write_text("".join(ledger.export(dataset.config)))
    return path


@pytest.mark.quick(1)
def test_a_stranger_checks_a_stopped_day(export: Path) -> None:
    ended = checked(export)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("1 releases; the worst user has lost ")
    stop, release = export.read_bytes().splitlines(keepends=True)
    stopped, released = (json.loads(line) for line in (stop, release))
    after = {"date": stopped["date"], "revision": None, "settings": stopped["settings"]}
    for lines, said in (
        ([forged(stop, screening={**stopped["screening"], "noisy_count": 1})], "does not do what its noisy count says"),
        ([forged(stop, screening={**stopped["screening"], "loss": "7"})], "what the count costs"),
        ([forged(stop, loss="7")], "epsilon"),
        ([stop, forged(release, screening={**released["screening"], "noisy_count": 24})], "does not do what its noisy"),
        ([stop, forged(release, **after)], "asks or releases again what was stopped"),
    ):
        export.write_bytes(b"".join(lines))
        assert said in checked(export).stderr


@pytest.mark.slow
@pytest.mark.quick(1)
def test_the_document_describes_every_field_of_a_screening_and_of_a_stopped_day(export: Path) -> None:
    stopped, released = (json.loads(line) for line in export.read_bytes().splitlines())
    section = DOCUMENT.partition("## The fields of a screening")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`[^|]*`) \|", section, re.MULTILINE)
    described = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert sorted(described) == sorted(stopped["screening"]) == sorted(released["screening"])
    assert stopped.keys() <= released.keys()
    missing = {"cells", "pairs", "sums", "files", "rows", "inputs", "records_covered"}
    assert released.keys() - stopped.keys() == missing | {"grid", "statistics", "value", "mechanism", "noise"}
