"""What one machine released another completes, checks and continues: its processor adds up in another order."""

import datetime as dt
import json
import random
import subprocess
import sys
from pathlib import Path

import h3
import pytest
from command_line import environment_of
from present import AREA, CONFIG, LATER, Line, made, released, write
from support import DATE, Hexveil

from tasks.account import private_files
from tasks.presence.verify import verify_presence

HEXAGONS = sorted(h3.grid_disk(AREA[0], 3))
SETTINGS = CONFIG.replace(json.dumps(AREA), json.dumps(HEXAGONS)).replace("slot_minutes = 360", "slot_minutes = 60")
ROOT = Path(__file__).parents[2]


def on(core: str, n_threads: int, home: Path) -> Hexveil:
    """Return what runs the command line as on a machine with such a processor, and so many threads."""
    machine = {"OPENBLAS_CORETYPE": core, "OPENBLAS_NUM_THREADS": str(n_threads)}

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-c", "import hexveil; hexveil.main()", *map(str, arguments)]
        given = {**environment_of(home), **machine}
        return subprocess.run(words, cwd=ROOT, env=given, capture_output=True, text=True, check=False)

    return run


def crowd(date: dt.date, n_users: int = 700) -> list[Line]:
    """Return records of users who mostly stay near one place of their own."""
    rng, found = random.Random(date.toordinal()), []
    for n in range(n_users):
        home = rng.choice(HEXAGONS)
        for _ in range(8):
            cell = home if rng.random() < 0.6 else rng.choice(HEXAGONS)
            place = map(str, h3.cell_to_latlng(cell))
            time = f"{date}T{rng.randrange(24):02}:{rng.randrange(60):02}:{rng.randrange(60):02}Z"
            found.append((f"u{n}", time, *place, f"{rng.gauss(30 + HEXAGONS.index(cell), 9):.1f}"))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("core", "n_threads"), [("Nehalem", 1), ("Haswell", 2), ("Sandybridge", 1), ("Haswell", 1)])
def test_a_day_that_is_paid_here_is_published_checked_and_followed_by_another_elsewhere(
    core: str, n_threads: int, tmp_path: Path
) -> None:
    """The power fails here between charge and publication, and states are lost, as they are in a backup."""
    files, config = made(tmp_path / "dataset", SETTINGS)
    for date in (DATE, LATER):
        write(files, date, crowd(date))
    released(config)
    for path in private_files.states(config).iterdir():
        path.unlink()
    there = on(core, n_threads, tmp_path / "home")
    for command in (("run", "--date", DATE), ("ledger", "verify"), ("run", "--date", LATER), ("ledger", "verify")):
        ended = there(*command, "--config", files.config_file)
        assert ended.returncode == 0, ended.stderr
    assert verify_presence(config).n_made_again == 2
