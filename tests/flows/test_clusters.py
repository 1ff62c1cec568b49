"""A day that real worker processes read and index is the same to the byte as on one machine, whatever befalls them."""

import datetime as dt
import functools
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import boto3
import dask.config
import httpx
import numpy as np
import psutil
import pytest
from distributed import LocalCluster
from moto.server import ThreadedMotoServer
from prefect import flow
from prefect.testing.utilities import prefect_test_harness
from support import CONFIG, DATE, HEADER, Dataset, all_files, die, silence, with_noise

from flows import deployed
from flows.backfill import backfill
from tasks.account.chain import releases
from tasks.account.ledger import read_entries
from tasks.base import provenance, steps
from tasks.base.errors import BadInput, HexveilError, TemporaryFailure
from tasks.engines import cluster, shard_store
from tasks.engines.late import count_late_records
from tasks.engines.prepare import preparation
from tasks.planning.plan import plan_release
from tasks.records.judge.count_outcomes import late_records
from tasks.release.draw import release_statistics
from tasks.release.publish import publish_files
from tasks.upkeep import forget

pytestmark = pytest.mark.slow

TABLES = ("user_cell", "prepared_count", "value_repair", "quarantine", "raw_file", "validated_file", "prepared_file")
BUCKET = "buses"


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """Start a server that speaks S3's language, and return the endpoint; credentials come from the environment."""
    server = ThreadedMotoServer(port=0)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        patch.setenv("AWS_ACCESS_KEY_ID", "nobody")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        boto3.client("s3").create_bucket(Bucket=BUCKET)
        yield BUCKET
    server.stop()


@pytest.fixture(scope="module")
def running(bucket: str) -> Iterator[LocalCluster]:
    """Start three worker processes, which inherit the way to the bucket."""
    assert bucket
    options: dict[str, Any] = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with prefect_test_harness(server_startup_timeout=600), LocalCluster(n_workers=3, **options) as started:
        assert isinstance(started, LocalCluster)
        yield started


def rows(rng: np.random.Generator, n_rows: int) -> list[str]:
    """Return records of many kinds: good, with odd values, without user, place or time, and each fifth one twice."""
    made = []
    for _ in range(n_rows):
        bus, second = rng.integers(0, 40), rng.integers(0, 86_400)
        when = dt.datetime.combine(DATE, dt.time()) + dt.timedelta(seconds=int(second))
        latitude, longitude = 47 + rng.integers(0, 3) / 10, 8 + rng.integers(0, 3) / 10
        row = [
            f"bus-{bus:02}",
            f"{when.isoformat()}Z",
            f"{latitude:.4f}",
            f"{longitude:.4f}",
            f"{rng.normal(50, 30):.3f}",
        ]
        if rng.random() < 0.03:
            row[rng.integers(0, 5)] = ["", "never", "NaN", "1e9"][rng.integers(0, 4)]
        made += [",".join(row)] * (1 + (rng.random() < 0.2))
    return [*made, "too,few", "bus-01,also,too,many,fields,here"]


def dataset_in(folder: Path, engine: str = "") -> Dataset:
    """Return a dataset of three messy files with rows in common."""
    folder.mkdir()
    lenient = "[validation]\nmax_quarantined_share = 0.5\n[storage]"
    (folder / "dataset.toml").write_text(CONFIG.replace("[storage]", lenient) + engine)
    dataset, rng = Dataset(folder), np.random.default_rng(7)
    made = rows(rng, 3000)
    for name, chosen in {"a.csv": made[:2000], "b.csv": made[1500:], "c.csv": made[:400]}.items():
        dataset.write(name, HEADER + "\n".join(chosen) + "\n")
    return dataset


def engine(running: LocalCluster, n_shards: int, **settings: str) -> str:
    running.wait_for_workers(1, timeout=120)  # the test before may have ended all of them
    lines = [f'{key} = "{value}"' for key, value in {"address": running.scheduler_address, **settings}.items()]
    return "\n".join(["[engine]", 'name = "dask"', f"n_shards = {n_shards}", *lines]) + "\n"


def as_flow(work: Any) -> Any:
    """Run work within a flow run, so that it is given to the workers by Prefect."""
    failed: list[HexveilError] = []

    @flow(name="test")
    def run() -> Any:
        try:
            return [work()]
        except HexveilError as error:
            failed.append(error)
        return None

    done = run()
    if failed:
        raise failed[0]
    return done[0]


def alone(work: Any) -> Any:
    """Run work within a run without a server, so that it is given to the workers by Dask alone."""
    with steps.run():
        return work()


AsRun = Callable[[Any], Any]


@pytest.fixture(params=[as_flow, alone])
def as_run(request: pytest.FixtureRequest) -> AsRun:
    return request.param


def prepare(dataset: Dataset, as_run: AsRun = as_flow) -> None:
    as_run(lambda: [made(DATE, dataset.config) for made in preparation(dataset.config)] and None)


def released(dataset: Dataset) -> dict[str, Any]:
    """Release a prepared day without noise; return everything it came to, but for when that was."""
    plan_hash = plan_release.fn(DATE, dataset.config)
    with with_noise(silence):
        identity = release_statistics.fn(DATE, plan_hash, dataset.config)
    publish_files.fn(identity, dataset.config)
    tables = {table: sorted(map(repr, dataset.query(f"select * from {table}"))) for table in TABLES}
    files = {name: re.sub(rb'"intended_at": "[^"]*"', b"", content) for name, content in all_files(dataset).items()}
    return {"plan": plan_hash, **tables, **files}


@pytest.fixture(scope="module")
def on_one_machine(tmp_path_factory: pytest.TempPathFactory) -> tuple[Dataset, dict[str, Any]]:
    """Return the dataset on one machine, and what it came to."""
    dataset = dataset_in(tmp_path_factory.mktemp("one") / "local")
    dataset.prepare()
    return dataset, released(dataset)


def with_same_key(dataset: Dataset, other: Dataset) -> Dataset:
    """Give a dataset the key by which another hashes its users, since plans name users by it."""
    target = dataset.folder / "store" / "private" / "user-key"
    target.parent.mkdir(parents=True, mode=0o700)
    target.write_bytes((other.folder / "store" / "private" / "user-key").read_bytes())
    target.chmod(0o600)
    return dataset


def differing(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    return [name for name in one.keys() | other.keys() if one.get(name) != other.get(name)]


@pytest.mark.parametrize(("n_shards", "as_run"), [(1, as_flow), (2, alone), (2, as_flow), (5, alone)])
def test_any_number_of_shards_gives_the_same_bytes(
    n_shards: int, as_run: AsRun, running: LocalCluster, on_one_machine: tuple[Dataset, dict[str, Any]], tmp_path: Path
) -> None:
    dataset = with_same_key(dataset_in(tmp_path / "shards", engine(running, n_shards)), on_one_machine[0])
    prepare(dataset, as_run)
    assert differing(released(dataset), on_one_machine[1]) == []
    assert dataset.query("select count(*) from raw_record") == [(0,)]
    assert len({line for line in on_one_machine[1]["quarantine"] if "duplicate" in line}) > 100


def test_a_backfill_on_workers_plans_every_day_as_on_one_machine(running: LocalCluster, tmp_path: Path) -> None:
    next_day = DATE + dt.timedelta(days=1)
    plans = []
    for name, how in (("local", ""), ("shards", engine(running, 3)), ("shards-alone", engine(running, 3))):
        dataset = dataset_in(tmp_path / name, how)
        dataset.set(epsilon_total=100.0)
        if plans:
            with_same_key(dataset, Dataset(tmp_path / "local"))
        rows_of_next_day = (dataset.folder / "raw" / "a.csv").read_text().replace(f"{DATE}T", f"{next_day}T")
        dataset.write("d.csv", rows_of_next_day)
        if name == "shards":
            deployed.backfill(dataset.config_file, DATE, next_day)
        else:
            alone(functools.partial(backfill, dataset.config_file, DATE, next_day))
        plans.append([(entry.date, entry.plan, entry.rows) for entry in releases(read_entries(dataset.config))])
    assert len(plans[0]) == 2
    assert plans[0] == plans[1] == plans[2]


@contextmanager
def killing_one_at_work(running: LocalCluster, scratch: Path) -> Iterator[list[int]]:
    """Kill the first worker that is seen with a temporary warehouse open; yield a list that it is then in."""
    killed: list[int] = []
    over = threading.Event()

    def kill() -> None:
        while not killed and not over.wait(0.002):
            for pid in at_work(running, scratch)[:1]:
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join()


def at_work(running: LocalCluster, scratch: Path) -> list[int]:
    return [worker.pid for worker in list(running.workers.values()) if has_warehouse_open(worker.pid, scratch)]


def has_warehouse_open(pid: int, scratch: Path) -> bool:
    for link in Path(f"/proc/{pid}/fd").glob("*"):
        with suppress(OSError):  # it was closed meanwhile
            file = link.readlink()
            if file.is_relative_to(scratch) and "warehouse.duckdb" in file.name:
                return True
    return False


def run_until_killed_at_work(step: Any, dataset: Dataset, running: LocalCluster, as_run: AsRun) -> None:
    """Run a step, each time from where the dataset is now, until a kill has met a worker at it."""
    store = dataset.folder / "store"
    before = store.with_name("before")
    shutil.copytree(store, before)
    for _ in range(20):
        with killing_one_at_work(running, store / "private" / "scratch") as killed:
            as_run(lambda: step(DATE, dataset.config))
        if killed:
            shutil.rmtree(before)
            return
        shutil.rmtree(store)
        shutil.copytree(before, store)
    pytest.fail(f"no worker was seen at work in 20 runs of {step.fn.__name__}")


def test_workers_that_are_killed_at_their_work_change_nothing(
    as_run: AsRun, running: LocalCluster, on_one_machine: tuple[Dataset, dict[str, Any]], tmp_path: Path
) -> None:
    dataset = with_same_key(dataset_in(tmp_path / "killed", engine(running, 4)), on_one_machine[0])
    for step in preparation(dataset.config):
        run_until_killed_at_work(step, dataset, running, as_run)
    assert differing(released(dataset), on_one_machine[1]) == []
    held = {name for (name,) in dataset.query("select name from raw_part")}
    stored = {name for name in shard_store.open_store(dataset.config).names() if name.endswith(".parquet")}
    assert held <= stored


def test_late_records_are_counted_and_a_forgotten_day_is_gone(running: LocalCluster, tmp_path: Path) -> None:
    dataset = dataset_in(tmp_path / "late", engine(running, 2))
    prepare(dataset)
    released(dataset)
    late = [f"late-{n},{DATE}T08:00:0{n}Z,47.0000,8.0000,5" for n in range(7)]
    dataset.write("late.csv", HEADER + "\n".join([*late, late[0]]) + "\n")
    dataset.set(n_shards=3)
    as_flow(lambda: count_late_records(DATE, dataset.config))
    assert late_records(dataset.config) == {DATE: 7}
    forgotten = forget.forget_days([DATE], dataset.config)
    assert forgotten.n_parts > 4
    assert shard_store.open_store(dataset.config).names() == ["fence", "owner"]
    left = [path for path in (dataset.folder / "store" / "private").rglob("*") if b"late-3" in bytes_of(path)]
    assert left == []
    with pytest.raises(BadInput, match="was forgotten"):
        prepare(dataset)


def bytes_of(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""


def test_inputs_and_shards_may_lie_in_an_object_store(
    running: LocalCluster, on_one_machine: tuple[Dataset, dict[str, Any]], bucket: str, tmp_path: Path
) -> None:
    far = engine(running, 3, shards=f"s3://{bucket}/shards", scratch=str(tmp_path / "scratch"))
    dataset = with_same_key(dataset_in(tmp_path / "far", far), on_one_machine[0])
    store = boto3.client("s3")
    for path in (dataset.folder / "raw").iterdir():
        store.put_object(Bucket=bucket, Key=f"raw/{DATE}/{path.name}", Body=path.read_bytes())
    dataset.set(files=[f"s3://{bucket}/raw/{{date}}/*.csv"])
    for _ in range(2):
        prepare(dataset)
    there = released(dataset)
    same = ("user_cell", "value_repair", f"date={DATE}/statistics.csv")
    assert [name for name in same if there[name] != on_one_machine[1][name]] == []
    kept = store.list_objects_v2(Bucket=bucket, Prefix="shards/")["Contents"]
    assert len(kept) > 6
    assert not (dataset.folder / "store" / "private" / "shards").exists()
    assert [path.name for path in (tmp_path / "scratch").rglob("*") if path.is_file()] == ["door"]
    forget.forget_days([DATE], dataset.config)
    left = store.list_objects_v2(Bucket=bucket, Prefix="shards/")["Contents"]
    assert [one["Key"] for one in left] == ["shards/fence", "shards/owner"]


def test_a_day_that_workers_cannot_use_is_refused_in_the_same_words(running: LocalCluster, tmp_path: Path) -> None:
    said = []
    for name, how in (("local", ""), ("shards", engine(running, 2))):
        dataset = dataset_in(tmp_path / name, how)
        dataset.set(max_quarantined_share=0.0)
        with pytest.raises(BadInput) as caught:
            prepare(dataset)
        said.append(str(caught.value))
        assert dataset.query("select count(*) from prepared_day") == [(0,)]
    assert said[0] == said[1]
    dataset.write("broken.csv", "bus,time,lat,lon\n")
    with pytest.raises(BadInput, match=r"broken\.csv: no column"):
        prepare(dataset)


def test_what_ends_every_worker_fails_and_says_what_may_help(
    as_run: AsRun, running: LocalCluster, tmp_path: Path
) -> None:
    config = dataset_in(tmp_path / "deadly", engine(running, 2)).config
    with pytest.raises(HexveilError, match=r"stopped every worker that worked on it.* Raise engine\.n_shards"):
        as_run(lambda: cluster.succeeded(cluster.run_each(die, [{}], config)))


def in_a_module_that_workers_lack(monkeypatch: pytest.MonkeyPatch) -> Callable[[], str]:
    def code_hash() -> str:
        return "of the flow"

    code_hash.__module__, code_hash.__qualname__ = "lacking", "code_hash"
    monkeypatch.setitem(sys.modules, "lacking", ModuleType("lacking"))
    monkeypatch.setattr("lacking.code_hash", code_hash, raising=False)
    return code_hash


def test_a_cluster_that_is_not_there_or_has_other_code_is_refused(
    as_run: AsRun, running: LocalCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = dataset_in(tmp_path / "refused", engine(running, 2)).config
    for another in (os.getpid, in_a_module_that_workers_lack(monkeypatch)):
        with monkeypatch.context() as patch:
            patch.setattr(provenance, "code_hash", another)
            with pytest.raises(HexveilError, match="lack hexveil, or have another version than the flow"):
                as_run(lambda: cluster.run_each(die, [{}], config))
    nowhere = config.model_copy(update={"engine": config.engine.model_copy(update={"address": "tcp://127.0.0.1:9"})})
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
        pytest.raises(TemporaryFailure, match="no Dask scheduler with a worker answers"),
    ):
        as_run(lambda: cluster.run_each(die, [{}], nowhere))


def test_other_code_is_refused_from_a_worker_that_came_after_the_cluster_was_looked_at(
    as_run: AsRun, running: LocalCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = dataset_in(tmp_path / "joined", engine(running, 2)).config
    monkeypatch.setattr(cluster, "_check_cluster", lambda *_: None)
    monkeypatch.setattr(provenance, "code_hash", lambda: "of the flow")
    with pytest.raises(HexveilError, match="or have another version than the flow"):
        as_run(lambda: cluster.succeeded(cluster.run_each(die, [{}], config)))


_OWN_CLUSTER = """
import sys
from tasks.engines import cluster
if __name__ == "__main__":
    cluster._own_cluster()
    print("started", flush=True)
    sys.stdin.read()
"""


def test_a_cluster_of_this_machine_shows_no_pages_to_its_other_users(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(_OWN_CLUSTER)
    command = [sys.executable, str(tmp_path / "own.py")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        here = psutil.Process(process.pid)
        found = [one for each in [here, *here.children(recursive=True)] for one in each.net_connections("tcp")]
        ports = {one.laddr.port for one in found if one.status == psutil.CONN_LISTEN}
        answers = []
        for port in ports:
            for page in (
                "",
                "status",
                "info/main/workers.html",
                "info/main/logs.html",
                "json/identity.json",
                "metrics",
            ):
                with suppress(httpx.TransportError):
                    answers.append(httpx.get(f"http://127.0.0.1:{port}/{page}", timeout=10).status_code)
        process.communicate("")
    assert len(ports) >= 4, "the scheduler's and the workers' own, and those that Dask opens for pages"
    assert set(answers) == {404}
