"""The steps of the image, done without a container engine: in a bare environment, with PostgreSQL and a web server."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from deployed import FIRST, Deployed, day_rows, free_ports
from image import FOLDER, copied
from postgres import running_postgres
from support import WITH_MAP, Dataset
from wheels import ROOT

from tasks.upkeep.verify import verify_ledger

pytestmark = pytest.mark.slow
NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin")
PASSWORD = "admin:of-the-test"


def bare(home: Path, **variables: object) -> dict[str, str]:
    """Return an environment with Python, what pip must know of this machine, and the variables alone."""
    kept = {name: value for name, value in os.environ.items() if name.startswith("PIP_") and name != "PIP_CONSTRAINT"}
    path = f"{Path(sys.base_prefix) / 'bin'}:/usr/bin:/bin"
    return {**kept, "PATH": path, "HOME": str(home), **{name: str(value) for name, value in variables.items()}}


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Do what the Dockerfile does: copy, and install."""
    root = tmp_path_factory.mktemp("image")
    for names, target in copied():
        for name in names:
            place = root / target.lstrip("/")
            place = place / name if target.endswith("/") else place
            place.parent.mkdir(parents=True, exist_ok=True)
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, place)
    install = ["sh", root / "build" / "deploy" / "container" / "install.sh", root / "build", root / "opt"]
    done = subprocess.run(install, env=bare(Path.home()), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    shutil.rmtree(root / "build")
    return root / "opt"


@pytest.fixture(scope="module")
def house(image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    """Start server and worker by the commands of the image, as the compose file does."""
    dataset = Dataset(tmp_path_factory.mktemp("dataset"))
    dataset.config_file.write_text(WITH_MAP.replace('path = "store"', 'path = "storage/test"'))
    dataset.write("day.csv", day_rows(FIRST))
    home, port = tmp_path_factory.mktemp("home"), free_ports()
    (home / "password").write_text(PASSWORD)
    made = Deployed(dataset, home, port)
    shared = {"PREFECT_HOME": home, "PREFECT_API_AUTH_STRING": PASSWORD}
    with ExitStack() as stack:
        database = stack.enter_context(running_postgres(free_ports()))
        settings = {
            "PREFECT_SERVER_DATABASE_CONNECTION_URL": database.address,
            "PREFECT_SERVER_API_AUTH_STRING": PASSWORD,
            "HEXVEIL_HOST": "127.0.0.1",
            "HEXVEIL_PORT": port,
        }
        stack.enter_context(started(image / "bin" / "hexveil-server", home, **shared, **settings))
        wait_for(f"{made.url}/api/health", home)
        there = {"PREFECT_API_URL": f"{made.url}/api", "HEXVEIL_CONFIGS": dataset.folder}
        stack.enter_context(started(image / "bin" / "hexveil-worker", home, **shared, **there))
        yield made


def started(program: Path, home: Path, **variables: object) -> ExitStack:
    log = (home / f"{program.name.removeprefix('hexveil-')}.log").open("ab")
    process = subprocess.Popen(
        [program], env=bare(home, **variables), cwd=home, stdout=log, stderr=log, start_new_session=True
    )
    ending = ExitStack()
    ending.callback(log.close)
    ending.callback(process.wait)
    ending.callback(os.killpg, process.pid, signal.SIGTERM)
    return ending


def wait_for(url: str, home: Path) -> None:
    for _ in range(600):
        try:
            httpx.get(url).raise_for_status()
        except httpx.HTTPError:
            time.sleep(0.2)
        else:
            return
    pytest.fail("".join(path.read_text()[-3000:] for path in home.glob("*.log")))


def test_the_worker_of_the_image_deploys_and_publishes_a_day(house: Deployed) -> None:
    deadline = time.monotonic() + 150
    while len(house.listed("deployments")) < 3:
        assert time.monotonic() < deadline, (house.home / "worker.log").read_text()[-3000:]
        time.sleep(0.5)
    assert {one["name"] for one in house.listed("deployments")} == {"daily-test", "backfill-test", "verify-test"}
    run = house.ended(house.start("daily", date=FIRST))
    assert run["state"]["type"] == "COMPLETED", run["state"]
    assert verify_ledger(house.dataset.config).n_releases == 1
    assert not list(house.home.glob("prefect.db*"))


@pytest.mark.skipif(NGINX is None, reason="nginx is not installed; as root, `make test-slow` installs it")
def test_the_web_server_gives_what_is_published_and_nothing_else(house: Deployed, tmp_path: Path) -> None:
    port = free_ports()
    storage = house.dataset.folder / "storage"
    conf = (FOLDER / "files.conf").read_text()
    conf = conf.replace("listen 8080", f"listen 127.0.0.1:{port}").replace("/storage/", f"{storage}/")
    user = "user root;" if os.geteuid() == 0 else ""
    (tmp_path / "nginx.conf").write_text(
        f"{user} daemon off; pid {tmp_path}/pid; error_log {tmp_path}/errors;\nevents {{}}\n"
        f"http {{ access_log off; client_body_temp_path {tmp_path}/body;\n{conf} }}\n"
    )
    unfinished = storage / "test" / "published" / f"date={FIRST}" / ".statistics.csv.half"
    unfinished.touch()
    with subprocess.Popen([str(NGINX), "-p", tmp_path, "-c", tmp_path / "nginx.conf"]) as server:
        try:
            wait_for(f"http://127.0.0.1:{port}/test/", tmp_path)
            with httpx.Client(base_url=f"http://127.0.0.1:{port}") as web:
                assert "test: all days" in web.get("/test", follow_redirects=True).text
                package = web.get("/test/datapackage.json")
                assert package.headers["content-type"].startswith("application/json")
                assert package.headers["access-control-allow-origin"] == "*"
                for resource in package.json()["resources"]:
                    published = storage / "test" / "published" / resource["path"]
                    assert web.get(f"/test/{resource['path']}").content == published.read_bytes()
                hidden = (
                    "/",
                    "/test/../private/user-key",
                    "/test/%2e%2e/private/user-key",
                    "/test/%2e%2e/ledger.jsonl",
                )
                for path in (*hidden, f"/test/date={FIRST}/{unfinished.name}", "/other/", "/test/date=2020-01-01/"):
                    assert web.get(path).status_code in (400, 404), path
        finally:
            server.terminate()
            unfinished.unlink()
