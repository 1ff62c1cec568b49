"""Starts and stops Prefect's server and worker on one machine, and a local web server for the published files."""

import contextlib
import fcntl
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from flows.owners import schedule_of
from tasks.base.durable import write_whole
from tasks.base.errors import HexveilError
from tasks.base.locks import turn
from tasks.base.owner import Owner
from tasks.base.randomness import random_bytes

POOL = "hexveil"

_SERVICES = ("server", "worker", "files")
_STOPPING_ORDER = ("worker", "files", "server")
_PORT = 4200
_LINES_SHOWN = 5
_START_SECONDS, _STOP_SECONDS, _ANSWER_SECONDS = 180, 60, 20
_NOTED = 'echo $$ > "$0" && exec "$@"'
"""Runs a command whose process is written down before it begins, even if the one that starts it is interrupted."""


@dataclass(frozen=True)
class LocalServices:
    """The folder and the port of the services on one machine.

    Attributes:
        folder: Holds logs, process ids and Prefect's own database.
        port: The server's port; the published files are on the next port.
    """

    folder: Path
    port: int

    @property
    def url(self) -> str:
        """The address of the pages."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def health(self) -> str:
        """The address that answers anybody, without a password, if the server runs."""
        return f"{self.url}/api/health"

    @property
    def files_url(self) -> str:
        """The address of the published files, with {dataset} for the dataset's name."""
        return f"http://127.0.0.1:{self.port + 1}/{{dataset}}/"

    @property
    def password_file(self) -> Path:
        """The file with name:password for signing in. With Prefect, a user who signs in can run programs here."""
        return self.folder / "password"

    def serves(self, config: Owner) -> bool:
        """Return whether the published files of a dataset are served at ``files_url``."""
        return (self.folder / "files" / config.name).is_symlink()

    def environment(self, settings: Path) -> dict[str, str]:
        """Return the environment with the server's address and password, and defaults from a settings file."""
        lines = [line.split("=", 1) for line in settings.read_text(encoding="utf-8").splitlines() if line[:1].isalpha()]
        password = self.password_file.read_text(encoding="utf-8")
        return {
            **dict(lines),
            **os.environ,
            "PREFECT_HOME": str(self.folder),
            "PREFECT_API_URL": f"{self.url}/api",
            "PREFECT_API_AUTH_STRING": password,
            "PREFECT_SERVER_API_AUTH_STRING": password,
            "PREFECT_SERVER_API_CORS_ALLOWED_ORIGINS": self.url,
            "PREFECT_SERVER_UI_API_URL": f"{self.url}/api",
            "HEXVEIL_PUBLISHED_URL": self.files_url,
        }


@contextmanager
def exclusive_services(folder: Path) -> Iterator[None]:
    """Let one command at a time start or stop services: two at once would start them twice."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    with turn(folder / "lock", "the services"):
        yield


def open_services(folder: Path, port: int | None) -> LocalServices:
    """Return the services of a folder, with the port that they use now, or will use: the given one, or the last.

    Raises:
        HexveilError: They run on another port than the given one, or the port is in use.
    """
    noted = folder / "port"
    last = int(noted.read_text()) if noted.exists() else _PORT
    if any(is_running(name, folder) for name in _SERVICES):
        if port not in (None, last):
            raise HexveilError(f"the services run at port {last}; stop them with `hexveil down` to change it")
        return LocalServices(folder, last)
    local = LocalServices(folder, port or last)
    _check_free(local.port)
    _check_free(local.port + 1)
    noted.write_text(str(local.port))
    if not local.password_file.exists():
        write_whole(local.password_file, f"admin:{random_bytes(16).hex()}".encode())
    return local


def running_services(folder: Path) -> LocalServices | None:
    """Return the services of a folder if their server runs.

    Raises:
        HexveilError: The server runs but does not answer.
    """
    if not is_running("server", folder):
        return None
    local = LocalServices(folder, int((folder / "port").read_text()))
    if not _became_true(lambda: _answers(local.health), _ANSWER_SECONDS):
        raise HexveilError(
            f"the server of `hexveil up` runs at {local.url} and does not answer; {folder / 'server.log'} may say why. "
            "Wait, or stop it with `hexveil down`, after which runs need no server"
        )
    return local


def start_server(local: LocalServices, environment: dict[str, str]) -> None:
    """Start the server and wait until it answers."""
    if is_running("server", local.folder):
        return
    command = _prefect("server", "start", "--host", "127.0.0.1", "--port", str(local.port))
    _start("server", command, environment, local.folder)
    _wait(lambda: _answers(local.health), "server", local.folder)


def start_worker(local: LocalServices, environment: dict[str, str]) -> None:
    """Start a worker, which runs the scheduled flows; no worker may be running."""
    _start("worker", _prefect("worker", "start", "--pool", POOL, "--type", "process"), environment, local.folder)


def serve_files(local: LocalServices, config: Owner) -> None:
    """Serve a dataset's published folder, beside those of other datasets, on this machine only."""
    root = local.folder / "files"
    root.mkdir(exist_ok=True)
    link = root / config.name
    link.unlink(missing_ok=True)
    link.symlink_to(config.storage_path / "published")
    if not is_running("files", local.folder):
        address = [str(local.port + 1), "--bind", "127.0.0.1", "--directory", str(root)]
        _start("files", [sys.executable, "-m", "http.server", *address], dict(os.environ), local.folder)
        _wait(lambda: _answers(f"http://127.0.0.1:{local.port + 1}/"), "files", local.folder)


def deploy(folder: Path, config_file: Path, config: Owner) -> None:
    """Create or update the deployments of a dataset, or of a collection.

    Args:
        folder: The folder of their definitions.
        config_file: The configuration's file.
        config: The configuration.

    Raises:
        HexveilError: Prefect refuses them; the message has Prefect's output.
    """
    schedule = schedule_of(config)
    about = {
        "HEXVEIL_CONFIG": str(config_file.resolve()),
        "HEXVEIL_DATASET": config.name,
        "HEXVEIL_TIMEZONE": config.timezone,
        **schedule.variables,
    }
    command = _prefect("--no-prompt", "deploy", "--all", "--prefect-file", str(folder / schedule.definitions))
    done = subprocess.run(  # noqa: S603 our own command
        command, env={**os.environ, **about}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise HexveilError(f"the deployments could not be made:\n{done.stdout}{done.stderr}")


def stop(folder: Path) -> list[str]:
    """Stop the running services, the worker first, and return their names; the next worker continues any open run."""
    stopped = [name for name in _STOPPING_ORDER if is_running(name, folder)]
    for name in stopped:
        process = _process(name, folder)
        for kind in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process, kind)
            if _became_true(lambda name=name: not is_running(name, folder), _STOP_SECONDS):
                break
    return stopped


def is_running(name: str, folder: Path) -> bool:
    """Return whether a service runs: it locks its pid file from its start until its end, however it ends."""
    try:
        with _note(name, folder).open("rb") as note:
            fcntl.flock(note, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def _process(name: str, folder: Path) -> int:
    note = _note(name, folder)
    if not _became_true(lambda: bool(note.read_text()), _STOP_SECONDS):
        raise HexveilError(f"the {name} runs, but {note} does not say as which process; stop it by hand")
    return int(note.read_text())


def _start(name: str, command: list[str], environment: dict[str, str], folder: Path) -> None:
    with _note(name, folder).open("a") as note, (folder / f"{name}.log").open("ab") as log:
        fcntl.flock(note, fcntl.LOCK_EX)
        note.truncate(0)
        subprocess.Popen(  # noqa: S603 our own command
            ["/bin/sh", "-c", _NOTED, str(_note(name, folder)), *command],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            pass_fds=[note.fileno()],
        )


def _wait(ready: Callable[[], bool], name: str, folder: Path) -> None:
    if not _became_true(lambda: ready() or not is_running(name, folder), _START_SECONDS) or not ready():
        log = folder / f"{name}.log"
        last = "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-_LINES_SHOWN:])
        raise HexveilError(f"the {name} did not start; mend what {log} says, then run `hexveil up` again:\n{last}")


def _became_true(condition: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.2)
    return True


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310 our own address
            return answer.status == 200
    except OSError:
        return False


def _check_free(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            raise HexveilError(f"port {port} is in use by another program; choose another with --port") from None


def _note(name: str, folder: Path) -> Path:
    return folder / f"{name}.pid"


def _prefect(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "prefect", *arguments]
