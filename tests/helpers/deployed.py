"""A dataset deployed as `make up` does it: a real server, a real worker, and what the server's interface says."""

import datetime as dt
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import planted
from collected import Collected
from support import HEADER

FIRST = dt.date(2026, 1, 15)
N_DAYS = 24
ZONE = "America/Chicago"


class Patient(httpx.Client):
    """Asks again where the server is busy, as Prefect's own client does.

    Where no answer came in time, only what changes nothing is asked again.
    """

    def request(self, method: str, url: Any, **kwargs: Any) -> httpx.Response:
        only_reads = method == "GET" or str(url).endswith("/filter")
        for _ in range(20):
            try:
                answer = super().request(method, url, **kwargs)
            except httpx.ReadTimeout:
                if not only_reads:
                    raise
                continue
            if answer.status_code != httpx.codes.SERVICE_UNAVAILABLE:
                return answer
            time.sleep(1)
        return super().request(method, url, **kwargs)


@dataclass(frozen=True)
class Deployed:
    """One dataset or collection, deployed.

    Attributes:
        dataset: Its files.
        home: Prefect's home, with the logs.
        port: Of the server.
        program: What runs the command line.
        folder: Where it is run; None for the current folder.
        settings: Environment variables for it.
    """

    dataset: Any
    home: Path
    port: int
    program: tuple[str, ...] = (sys.executable, "-m", "flows.cli")
    folder: Path | None = None
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def api(self) -> httpx.Client:
        name, password = self.password.split(":")
        return Patient(base_url=f"{self.url}/api", auth=(name, password), timeout=60)

    @property
    def password(self) -> str:
        return (self.home / "password").read_text()

    def up(self) -> subprocess.CompletedProcess[str]:
        return self._hexveil("up", "--config", self._config_file, "--port", self.port, "--home", self.home)

    def down(self) -> subprocess.CompletedProcess[str]:
        return self._hexveil("down", "--home", self.home)

    def run_by_command(self, date: dt.date) -> subprocess.CompletedProcess[str]:
        """Run a day by `hexveil run`, which is told nothing of the server but where its home is."""
        where = ("--config", self.dataset.config_file, "--home", self.home)
        return self._hexveil("run", *where, "--date", date)

    def _hexveil(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
        kept |= {"PREFECT_WORKER_QUERY_SECONDS": "2", **self.settings}
        command = [*self.program, *map(str, arguments)]
        done = subprocess.run(
            command, env=kept, cwd=self.folder, capture_output=True, text=True, check=False, timeout=600
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    def start(self, flow: str, **parameters: object) -> str:
        """Start a deployment now; return the flow run's id."""
        return self.schedule(flow, dt.datetime.now(dt.UTC), **parameters)

    def schedule(self, flow: str, when: dt.datetime, **parameters: object) -> str:
        with self.api as api:
            deployment = api.get(f"/deployments/name/{self._deployment(flow)}").raise_for_status().json()
            state = {"type": "SCHEDULED", "state_details": {"scheduled_time": when.isoformat()}}
            wanted = {"state": state, "parameters": {key: str(value) for key, value in parameters.items()}}
            run = api.post(f"/deployments/{deployment['id']}/create_flow_run", json=wanted).raise_for_status().json()
        return str(run["id"])

    @property
    def _config_file(self) -> Path:
        return self.dataset.file if isinstance(self.dataset, Collected) else self.dataset.config_file

    def _deployment(self, flow: str) -> str:
        name = "phones" if isinstance(self.dataset, Collected) else "test"
        step = flow.removeprefix("collect_")
        return f"{'collect' if step in ('open', 'localise', 'estimate') else flow}/{step}-{name}"

    def run(self, run_id: str) -> dict[str, Any]:
        with self.api as api:
            found: dict[str, Any] = api.get(f"/flow_runs/{run_id}").raise_for_status().json()
        return found

    def ended(self, run_id: str, seconds: float = 420) -> dict[str, Any]:
        """Wait until a run has ended for good; return it."""
        deadline = time.monotonic() + seconds
        while (run := self.run(run_id))["state"]["type"] not in ("COMPLETED", "FAILED", "CANCELLED"):
            assert time.monotonic() < deadline, f"{run['state']}\n{(self.home / 'worker.log').read_text()[-3000:]}"
            time.sleep(0.5)
        return run

    def listed(self, what: str, **wanted: object) -> list[dict[str, Any]]:
        """Return everything of a kind that the server holds."""
        found: list[dict[str, Any]] = []
        with self.api as api:
            while True:
                page = api.post(f"/{what}/filter", json={"limit": 200, "offset": len(found), **wanted})
                found += page.raise_for_status().json()
                if len(page.json()) < 200:
                    return found

    def artifacts(self, run_id: str) -> dict[str, dict[str, Any]]:
        """Return a run's artifacts by key, or by type where they have none."""
        wanted = {"flow_runs": {"id": {"any_": [run_id]}}}
        return {artifact["key"] or artifact["type"]: artifact for artifact in self.listed("artifacts", **wanted)}

    def events(self, *names: str, n: int = 1, **payload: object) -> list[dict[str, Any]]:
        """Return the events of these names and payload; wait for the first n: the server stores them with a delay."""
        now = dt.datetime.now(dt.UTC)
        occurred = {
            "since": (now - dt.timedelta(hours=2)).isoformat(),
            "until": (now + dt.timedelta(hours=1)).isoformat(),
        }
        wanted = {"limit": 50, "filter": {"occurred": occurred, "event": {"prefix": list(names)}}}
        found: list[dict[str, Any]] = []
        with self.api as api:
            for _ in range(60):
                answer = api.post("/events/filter", json=wanted).raise_for_status().json()
                found = answer["events"]
                while answer["next_page"]:
                    answer = api.get(answer["next_page"]).raise_for_status().json()
                    found += answer["events"]
                found = [event for event in found if payload.items() <= event["payload"].items()]
                if len(found) >= n:
                    break
                time.sleep(0.5)
        return found

    def kill_worker(self) -> None:
        """End the worker and the runs it started as a power cut would: at once, with no word to anybody."""
        os.killpg(int((self.home / "worker.pid").read_text()), signal.SIGKILL)
        for process in self.engines():
            os.kill(process, signal.SIGKILL)

    def engines(self) -> list[int]:
        """Return the processes of flow runs: those that are not the services."""
        services = [int(note.read_text()) for note in self.home.glob("*.pid")]
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                ours = f"PREFECT_HOME={self.home}".encode() in (folder / "environ").read_bytes().split(b"\0")
                if ours and os.getpgid(int(folder.name)) not in services:
                    found.append(int(folder.name))
            except OSError:
                continue
        return found


def day_rows(date: dt.date) -> str:
    """Return a day of twelve users in two hexagons and two hours; one more hexagon has too few records."""
    places = [("47.05", "8.31"), ("47.15", "8.31")]
    rows = [
        f"{planted.USER}-{bus},{date}T{hour}:{minute:02}:00-06:00,{place[0]},{place[1]},{planted.VALUE}"
        for bus in range(12)
        for place in places
        for hour in ("08", "17")
        for minute in range(0, 60, 5)
    ]
    rows += [f"{planted.USER}-1,{date}T12:00:00-06:00,47.25,8.31,{planted.LATE_VALUE}"]
    return HEADER + "\n".join(rows) + "\n"


_given = set[int]()


def free_ports() -> int:
    """Return a free port whose next one is free too; below those that the system gives to outgoing connections.

    It may be taken much later: so none is given twice, and each process of the tests gives others.
    """
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    while True:
        port = 10_000 + 5_000 * (worker % 4) + 2 * random.randrange(2_500)
        if port in _given:
            continue
        with socket.socket() as first, socket.socket() as second:
            try:
                first.bind(("127.0.0.1", port))
                second.bind(("127.0.0.1", port + 1))
            except OSError:
                continue
            _given.add(port)
            return port
