"""What the command line says and leaves is the same for files that differ in values alone, but for the noise."""

import json
from pathlib import Path
from typing import Any

import pytest
from fuzzing import draw_case
from support import CONFIG, DATE, Dataset, Hexveil, by_clip_user

_OF_VALUES_AND_TIME = (
    "committed_at",
    "intended_at",
    "files",
    "hash",
    "inputs",
    "plan",
    "losses",
    "totals",
    "user_key_fingerprint",
)


def seen(folder: Path, content: bytes, form: str, hexveil: Hexveil) -> dict[str, Any]:
    """Return all that is seen of a day's run over a file, without what is drawn, dated or named by a secret key."""
    folder.mkdir()
    lenient = CONFIG.replace("[privacy]", "[validation]\nmax_quarantined_share = 1\n[privacy]")
    large_cells = lenient.replace("h3_resolution = 7", "h3_resolution = 3").replace(
        "slot_minutes = 60", "slot_minutes = 1440"
    )
    (folder / "dataset.toml").write_text(by_clip_user(large_cells))
    dataset = Dataset(folder)
    dataset.write(f"day.{form}", content)
    ended = hexveil("run", "--config", dataset.config_file, "--date", DATE, "--verbose")
    lines = [line.partition(" | ")[2] for line in ended.stderr.replace(str(folder), "").splitlines()]
    ledger = [json.loads(line) for line in (folder / "store" / "ledger.jsonl").read_text().splitlines()]
    published = sorted(path.relative_to(folder) for path in (folder / "store" / "published").rglob("*"))
    return {
        "code": ended.returncode,
        "out": ended.stdout.replace(str(folder), ""),
        "lines": [line for line in lines if "hash" not in line],
        "entries": [{key: value for key, value in one.items() if key not in _OF_VALUES_AND_TIME} for one in ledger],
        "inputs": [{key: one[key] for key in ("name", "rows")} for entry in ledger for one in entry["inputs"]],
        "published": published,
    }


@pytest.mark.parametrize(("form", "seed"), [("csv", 5), ("ndjson.gz", 6), ("parquet", 6)])
def test_no_value_shows_in_what_a_run_says_and_leaves(form: str, seed: int, tmp_path: Path, hexveil: Hexveil) -> None:
    case = draw_case(seed, form)
    assert case.n_changed > 100
    plain, changed = (seen(tmp_path / name, getattr(case, name), form, hexveil) for name in ("plain", "changed"))
    assert plain == changed
    assert plain["code"] == 0, plain
    assert len(plain["entries"]) == 1
    assert len(plain["published"]) > 5
