"""SIGKILL at random moments of the whole command: interpreter, scheduler, flow and all."""

import contextlib
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import victim
from support import DATE, Campaign, Dataset, Say, all_files

N_KILLS = 12


@pytest.mark.slow
def test_the_whole_flow_killed_many_times_and_run_again_releases_once(
    busy_dataset: Dataset, server: dict[str, str], campaign: Campaign, tmp_path: Path, say: Say
) -> None:
    template = tmp_path.with_name(f"{tmp_path.name}-template")
    shutil.copytree(busy_dataset.folder, template)
    began = time.perf_counter()
    assert start(busy_dataset.folder, server).wait() == 0
    longest = time.perf_counter() - began
    n_killed = n_released_before = 0
    while n_killed < campaign.size(N_KILLS):
        folder = tmp_path.with_name(f"{tmp_path.name}-{n_killed}")
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(template, folder)
        began, process = time.perf_counter(), start(folder, server)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=random.uniform(0.3, 1) * longest)
        process.kill()
        if process.wait() != -signal.SIGKILL:
            longest = time.perf_counter() - began  # less than it took beside other work
            continue
        n_killed += 1
        seen = all_files(Dataset(folder))
        path = folder / "store" / "ledger.jsonl"
        n_released_before += path.exists() and path.stat().st_size > 0
        assert start(folder, server).wait() == 0
        victim.run(victim.check_released_once, folder, seen)
    say(f"{n_killed} flows were killed, {n_released_before} of them after the release; all was well after")


def start(folder: Path, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    command = [
        sys.executable,
        "-m",
        "flows.cli",
        "run",
        "--config",
        str(Dataset(folder).config_file),
        "--date",
        str(DATE),
    ]
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
