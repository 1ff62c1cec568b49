"""A PostgreSQL of its own for a test: the server of Debian's package, in a temporary folder, on a port of its own."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

_INSTALLED = Path("/usr/lib/postgresql")
_NOBODY_ELSE = ["runuser", "-u", "postgres", "--"]
"""PostgreSQL refuses to run as root."""


@dataclass(frozen=True)
class Postgres:
    """A running server with one database.

    Attributes:
        programs: Where its programs are.
        port: Where it listens, on this machine only.
    """

    programs: Path
    port: int

    @property
    def address(self) -> str:
        """What Prefect calls the connection URL."""
        return f"postgresql+asyncpg://prefect:secret@127.0.0.1:{self.port}/prefect"

    def query(self, statement: str) -> str:
        """Return the one value that a statement gives."""
        command = [
            self.programs / "psql",
            "--no-psqlrc",
            "-At",
            "-h",
            "127.0.0.1",
            "-p",
            str(self.port),
            "-c",
            statement,
        ]
        known = {**os.environ, "PGPASSWORD": "secret", "PGUSER": "prefect", "PGDATABASE": "prefect"}
        return subprocess.run(command, env=known, capture_output=True, text=True, check=True).stdout.strip()


def programs() -> Path | None:
    """Return the folder of the newest installed server's programs; None if there is none."""
    found = sorted(_INSTALLED.glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return found[-1].parent if found else None


@contextmanager
def running_postgres(port: int) -> Iterator[Postgres]:
    """Start a server in a new folder, and stop it at the end; skip the test where none is installed."""
    there = programs()
    if there is None:
        pytest.skip("PostgreSQL is not installed; as root, `make test-slow` installs it")
    with TemporaryDirectory(prefix="postgres-") as name:  # not pytest's, which only its owner may enter
        yield from _running(there, Path(name), port)


def _running(there: Path, folder: Path, port: int) -> Iterator[Postgres]:
    as_user = _NOBODY_ELSE if os.geteuid() == 0 else []
    (folder / "password").write_text("secret")
    if as_user:
        shutil.chown(folder, "postgres")

    def run(program: str, *arguments: str) -> None:
        subprocess.run(
            [*as_user, there / program, *arguments], cwd=folder, check=True, capture_output=True, timeout=120
        )

    data = str(folder / "data")
    run("initdb", "-D", data, "-U", "prefect", "-A", "scram-sha-256", "--pwfile", str(folder / "password"))
    listening = f"-c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories={folder}"
    run("pg_ctl", "-D", data, "-l", str(folder / "log"), "-o", listening, "-w", "start")
    try:
        made = Postgres(there, port)
        subprocess.run(
            [there / "createdb", "-h", "127.0.0.1", "-p", str(port), "-U", "prefect", "prefect"],
            env={**os.environ, "PGPASSWORD": "secret"},
            check=True,
            capture_output=True,
        )
        yield made
    finally:
        run("pg_ctl", "-D", data, "-m", "fast", "-w", "stop")
