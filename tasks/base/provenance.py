"""Record which code made a release, with which libraries, and when."""

import datetime as dt
import functools
import importlib.metadata
import platform
from pathlib import Path

from tasks.base.durable import canonical_json, sha256
from tasks.base.errors import HexveilError

_PACKAGES = ("dpmath", "flows", "sql", "tasks")


_SOURCES = ("*.py", "*.sql", "*.js", "*.jinja")


_LIBRARIES = ("hexveil", "prefect", "duckdb", "polars", "numpy", "pandera", "h3", "h3ronpy", "pyarrow", "bokeh")


@functools.cache
def versions() -> dict[str, str]:
    """Return the versions of hexveil, its libraries and Python."""
    found = {name: importlib.metadata.version(name) for name in _LIBRARIES}
    return found | {"python": platform.python_version()}


@functools.cache
def code_hash() -> str:
    """Return a SHA-256 over the project's own source files: their paths and hashes, sorted."""
    root = Path(__file__).parents[2]
    files = [path for name in _PACKAGES for kind in _SOURCES for path in (root / name).rglob(kind)]
    if {path.relative_to(root).parts[0] for path in files} != set(_PACKAGES):
        raise HexveilError(f"the sources of {', '.join(_PACKAGES)} are not all in {root}; install hexveil again")
    hashes = sorted([path.relative_to(root).as_posix(), sha256(path.read_bytes())] for path in files)
    return sha256(canonical_json(hashes))


def now() -> str:
    """Return the current time in UTC, to the second."""
    return dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
