"""The wheel: what is in it, and that it works in an empty folder beside another project with the same names."""

import json
import subprocess
import sys
import zipfile
from contextlib import ExitStack
from pathlib import Path

import pytest
from deployed import day_rows, free_ports
from support import DATE, WITH_MAP, Dataset, slow
from wheels import ROOT, Environment

from tasks.base.provenance import code_hash

OURS = ("dpmath", "flows", "sql", "tasks")
SHIPPED = ("deploy", *OURS)


def test_the_wheel_has_every_file_of_the_project_and_no_name_that_others_use(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"hexveil", "hexveil.packages", "hexveil.py"}
    wanted = {
        f"hexveil.packages/{path.relative_to(ROOT).as_posix()}"
        for folder in SHIPPED
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert len(wanted) > 300
    assert wanted == {name for name in names if name.startswith("hexveil.packages/")}


@pytest.mark.slow
def test_in_an_empty_folder_the_demo_is_published_and_verified_beside_a_rival(
    installed: Environment, tmp_path: Path
) -> None:
    shown = installed.run(installed.hexveil, "demo", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.count("cells      641 published") == 1, "the first day's cells, as README shows"
    assert [path.name for path in tmp_path.iterdir()] == ["var"], "all that it writes"
    assert shown.stdout.endswith("Next: hexveil ledger show --config var/demo/demo.toml\n")
    verified = installed.run(installed.hexveil, "ledger", "verify", "--config", "var/demo/demo.toml", cwd=tmp_path)
    assert "3 releases: chain, losses, sums and published files agree" in verified.stdout, verified.stderr
    ledger = (tmp_path / "var" / "demo" / "store" / "ledger.jsonl").read_text().splitlines()
    assert {json.loads(line)["code"] for line in ledger} == {code_hash()}, "the code of this checkout, and no other"


@pytest.mark.slow
def test_the_rival_is_found_by_its_own_users_as_it_was(installed: Environment, tmp_path: Path) -> None:
    for name in OURS:
        found = installed.run(installed.python, "-c", f"import {name}; print({name}.RIVAL)", cwd=tmp_path)
        assert found.stdout == f"{name}\n", found.stderr


@pytest.mark.slow
def test_a_process_that_has_loaded_a_rival_is_refused_with_advice(installed: Environment, tmp_path: Path) -> None:
    note = installed.packages / "loads_a_rival.pth"
    note.write_text("import tasks\n")
    try:
        refused = installed.run(installed.hexveil, "--help", cwd=tmp_path)
    finally:
        note.unlink()
    assert refused.returncode == 1
    assert refused.stdout == ""
    [said] = refused.stderr.splitlines()
    assert said.startswith(
        f"hexveil: this process has loaded another package `tasks`, from {installed.packages}/tasks/"
    )
    assert "install hexveil in an environment of its own" in said
    assert installed.run(installed.hexveil, "--help", cwd=tmp_path).returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("first", [slow(""), "tasks.base.config, "], ids=["alone", "after its packages"])
def test_a_checkout_that_is_reached_by_a_link_is_its_own(tmp_path: Path, first: str) -> None:
    (tmp_path / "linked").symlink_to(ROOT)
    code = f"import {first}hexveil; print(hexveil.daily.name)"
    linked = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(tmp_path / "linked")}
    found = subprocess.run([sys.executable, "-P", "-c", code], env=linked, capture_output=True, text=True, check=False)
    assert found.stdout == "daily\n", found.stderr


@pytest.mark.slow
def test_a_folder_of_such_a_name_where_the_command_is_given_is_not_taken_for_ours(
    installed: Environment, tmp_path: Path
) -> None:
    for name in OURS:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise SystemExit('of another project')\n")
    flow = "import hexveil; print(hexveil.daily.fn.__name__, hexveil.daily.__module__)"
    found = installed.run(installed.python, "-c", flow, cwd=tmp_path)
    assert found.stdout == "daily flows.deployed\n", found.stderr
    assert installed.run(installed.hexveil, "--help", cwd=tmp_path, PYTHONPATH=str(tmp_path)).returncode == 0


@pytest.mark.slow
def test_workers_of_a_cluster_that_preload_hexveil_run_its_steps(installed: Environment, tmp_path: Path) -> None:
    dataset = Dataset(tmp_path)
    port = free_ports()
    address = f"tcp://127.0.0.1:{port}"
    dataset.config_file.write_text(WITH_MAP + f'[engine]\nname = "dask"\nn_shards = 2\naddress = "{address}"\n')
    dataset.write("day.csv", day_rows(DATE))
    dask = [str(installed.python), "-m", "dask"]
    nowhere = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    pages = ["--preload", "hexveil", "--no-dashboard"]
    served = ["scheduler", "--host", "127.0.0.1", "--port", str(port)], ["worker", address, "--nthreads", "1"]
    with ExitStack() as cluster:
        for words in served:
            started = subprocess.Popen([*dask, *words, *pages], env=nowhere, cwd=tmp_path, stderr=subprocess.DEVNULL)
            cluster.callback(started.wait)
            cluster.callback(started.terminate)
        day = ["run", "--config", "dataset.toml", "--date", str(DATE)]
        done = installed.run(installed.hexveil, *day, cwd=tmp_path)
        while "start both" in done.stderr:
            done = installed.run(installed.hexveil, *day, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "577 read = 577 kept" in done.stdout
