"""The wheel with all that it needs, installed by pip in an empty environment, and deployed from an empty folder."""

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import pytest
from deployed import FIRST, Deployed, day_rows, free_ports
from support import WITH_MAP, Dataset
from wheels import Environment

pytestmark = pytest.mark.slow
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


def test_nothing_but_hexveil_and_its_libraries_is_needed(alone: Environment, tmp_path: Path) -> None:
    assert alone.run(alone.hexveil, "demo", cwd=tmp_path).returncode == 0
    verified = alone.run(alone.hexveil, "ledger", "verify", "--config", "var/demo/demo.toml", cwd=tmp_path)
    assert "3 releases: chain, losses, sums and published files agree" in verified.stdout, verified.stderr


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
