"""The wheel with all that it needs, installed by pip in an empty environment, and deployed from an empty folder."""

import datetime as dt
import re
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from deployed import FIRST, Deployed, day_rows, free_ports
from feeds import N_BUSES, N_PINGS, pings, snapshot
from support import DATE, WITH_MAP, Dataset, Say
from wheels import Environment

pytestmark = pytest.mark.slow
NEXT = DATE + dt.timedelta(days=1)
RIVAL_FLOW = "def daily():\n    raise SystemExit('this is the flow of another project')\n\nverify = backfill = daily\n"


@pytest.fixture(scope="module")
def deployed(alone: Environment, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    """Start the services in a folder where another project's flows are, and deploy a dataset."""
    folder = tmp_path_factory.mktemp("empty")
    for name in ("flows", "tasks"):
        (folder / name).mkdir()
        (folder / name / "__init__.py").touch()
    (folder / "flows" / "deployed.py").write_text(RIVAL_FLOW)
    dataset = Dataset(tmp_path_factory.mktemp("dataset"))
    dataset.config_file.write_text(WITH_MAP)
    for number in (0, 1):
        dataset.write(f"day_{number}.csv", day_rows(FIRST + dt.timedelta(days=number)))
    made = Deployed(dataset, folder / "var" / "prefect", free_ports(), (str(alone.hexveil),), folder)
    made.up()
    yield made
    made.down()


def test_a_worker_whose_folder_has_flows_of_another_project_runs_ours(deployed: Deployed) -> None:
    worker = int((deployed.home / "worker.pid").read_text())
    assert deployed.folder is not None
    assert Path(f"/proc/{worker}/cwd").resolve() == deployed.folder.resolve()
    run = deployed.ended(deployed.start("daily", date=FIRST))
    assert run["state"]["type"] == "COMPLETED", run["state"]
    assert deployed.dataset.published("statistics.csv", FIRST).exists()
    checked = deployed.ended(deployed.start("verify"))
    assert checked["state"]["type"] == "COMPLETED", checked["state"]


def test_a_dataset_is_deployed_again_and_a_day_run_by_hand_goes_to_the_server(
    deployed: Deployed, alone: Environment
) -> None:
    api = {"PREFECT_API_URL": f"{deployed.url}/api", "PREFECT_API_AUTH_STRING": deployed.password}
    assert deployed.folder is not None
    again = alone.run(alone.hexveil, "deploy", "--config", deployed.dataset.config_file, cwd=deployed.folder, **api)
    assert again.returncode == 0, again.stderr
    assert "published" in deployed.run_by_command(FIRST + dt.timedelta(days=1)).stdout
    names = {run["name"] for run in deployed.listed("flow_runs")}
    assert f"daily test {FIRST + dt.timedelta(days=1)}" in names


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
    """The first hour of a stranger, with nothing but hexveil and its libraries, and a feed of GTFS-Realtime."""
    began, commands = time.monotonic(), []

    def hexveil(*words: object) -> str:
        commands.append(f"{words[0]}")
        done = alone.run(alone.hexveil, *map(str, words), cwd=tmp_path, PREFECT_WORKER_QUERY_SECONDS="2")
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert list(tmp_path.iterdir()) == []
    assert hexveil("demo").count("cells ") == 3
    verified = hexveil("ledger", "verify", "--config", "var/demo/demo.toml")
    assert "3 releases: chain, losses, sums and published files agree" in verified

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
