"""The first hour of a stranger: a wheel in an empty environment, an empty folder, and a feed of GTFS-Realtime."""

import datetime as dt
import re
import time
from pathlib import Path

import httpx
import pytest
from deployed import Deployed, free_ports
from feeds import N_BUSES, N_PINGS, pings, snapshot
from support import DATE, Dataset, Say
from wheels import Environment

pytestmark = pytest.mark.slow
NEXT = DATE + dt.timedelta(days=1)


def write_snapshots(folder: Path, n_days: int) -> list[Path]:
    """Write the snapshots of a day as `hexveil record` does: in a folder of the local day, named by their instants."""
    by_time: dict[int, list[tuple[str, int, int]]] = {}
    for bus, second, speed in pings():
        by_time.setdefault(second // 300, []).append((bus, second + n_days * 86400, speed))
    files = []
    for some in by_time.values():
        at = dt.datetime.fromtimestamp(some[0][1], dt.UTC)
        files.append(folder / str(at.date()) / f"{at:%Y-%m-%dT%H-%M-%S.%fZ}.pb")
        files[-1].parent.mkdir(parents=True, exist_ok=True)
        files[-1].write_bytes(snapshot(some))
    return files


def test_from_an_empty_folder_to_a_feed_that_is_published_every_day(
    alone: Environment, tmp_path: Path, say: Say
) -> None:
    began, commands = time.monotonic(), []

    def hexveil(*words: object) -> str:
        commands.append(f"{words[0]}")
        done = alone.run(alone.hexveil, *map(str, words), cwd=tmp_path, PREFECT_WORKER_QUERY_SECONDS="2")
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert list(tmp_path.iterdir()) == []
    assert hexveil("demo").count("cells ") == 3

    files = write_snapshots(tmp_path / "raw", 0)
    shown = hexveil("init", *files, "--name", "test", "--unit", "km/h", "--missing", "99999", "--yes")
    assert f"{DATE} was read: {N_BUSES * N_PINGS} rows kept" in shown
    assert 'files = ["raw/{date}/*.pb"]' in (tmp_path / "test.toml").read_text()
    hexveil(*re.findall(r"hexveil (explore .*?) +#", shown)[0].split(), "--resolution", 7, "--slot", 60)
    ran = hexveil(*re.findall(r"hexveil (run .*?) +#", shown)[0].split())
    assert f"{N_BUSES * N_PINGS} of {N_BUSES * N_PINGS} records, 100.0%" in ran
    published = tmp_path / "test-store" / "published"
    assert (published / f"date={DATE}" / "map.html").stat().st_size > 10_000

    write_snapshots(tmp_path / "raw", 1)
    services = Deployed(Dataset(tmp_path), tmp_path / "var" / "prefect", free_ports())
    hexveil("up", "--config", "test.toml", "--port", services.port)
    try:
        assert {one["name"] for one in services.listed("deployments")} == {"daily-test", "backfill-test", "verify-test"}
        run = services.ended(services.start("daily", date=NEXT))
        assert run["state"]["type"] == "COMPLETED", run["state"]
        page = httpx.get(f"http://127.0.0.1:{services.port + 1}/test/date={NEXT}/map.html")
        assert page.text == (published / f"date={NEXT}" / "map.html").read_text()
        assert "2 releases: chain, losses, sums and published files agree" in hexveil(
            "ledger", "verify", "--config", "test.toml"
        )
    finally:
        hexveil("down")
    with pytest.raises(httpx.ConnectError):
        httpx.get(services.url)
    say(f"\nfrom an empty folder: {len(commands)} commands ({', '.join(commands)}), {time.monotonic() - began:.0f} s")
