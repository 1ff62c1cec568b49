"""The peers measured: each in an environment of its own, on one data set, at two privacy losses."""

import ast
import csv
import itertools
import math
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.bench.memory import measured
from tests.bench.peers import data

HERE = Path(__file__).parent
OUT = Path("var/bench/peers")
EPSILONS = (1, 10)
CELLS_PER_USER, RECORDS_PER_CELL = 8, 3
"""To what the peers bound a user's contributions: of a few choices tried on these very data, the one that suits most of
them best. No publisher may choose so, for it looks at the data; hexveil's promise was chosen likewise."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Peer:
    """A programme that is compared.

    Attributes:
        name: What it is called.
        stem: Of its file here, and of the file of its constraints.
        hides: What its guarantee covers, and which two data sets count as neighbours.
        remembers: What it knows of earlier releases after a restart.
        settings: Of hexveil only: lines of its section [privacy], and sections after it.
    """

    name: str
    stem: str
    hides: str
    remembers: str
    settings: str = ""


_USER_GONE = "A user's presence, counts and values: neighbours differ by all records of one user."
_VALUES = (
    "A user's values in all cells. Who was where and how often is taken to be public: neighbours hold the same "
    "records with other values of one user."
)
_LEDGER = "The whole account, in a chained ledger; refuses what the budget does not pay."
_PURE = 'definition = "pure"\n'
_NOTHING_ALIKE = "[estimate]\nsimilar_cells = false\noccupancy_covariates = false"
"""These data have no geography: their places and hours only carry the number of a cell, and a publisher would know."""
HEXVEIL = Peer("hexveil", "by_hexveil", _VALUES, _LEDGER, _PURE + _NOTHING_ALIKE)
IN_ZCDP = Peer(
    "hexveil in zCDP",
    "by_hexveil",
    _VALUES + " Approximate: delta is 1e-6.",
    _LEDGER,
    _NOTHING_ALIKE,
)
UNTOLD = Peer("hexveil, not told that cells differ", "by_hexveil", _VALUES, _LEDGER, _PURE)
PLANNED = Peer("hexveil, planned", "by_hexveil", _VALUES, _LEDGER, _PURE + 'mechanism = "planned"\ntarget_error = 10')
OURS = (HEXVEIL, IN_ZCDP, UNTOLD, PLANNED)
PEERS = (
    *OURS,
    Peer("Tumult Analytics", "tumult_analytics", _USER_GONE, "Nothing; a budget lasts as long as its session."),
    Peer("PipelineDP", "pipelinedp_local", _USER_GONE, "Nothing; a budget lasts as long as its accountant."),
    Peer("OpenDP", "opendp_polars", _USER_GONE, "Nothing; a budget lasts as long as its context."),
    Peer(
        "SmartNoise SQL",
        "smartnoise_sql",
        _USER_GONE + " Approximate: delta 1e-10 is set, though the keys are public.",
        "Nothing, and within a session it counts but sets no limit.",
    ),
    Peer(
        "diffprivlib",
        "diffprivlib_by_hand",
        _USER_GONE + " Only because the programme bounds contributions itself: the library knows records, not users.",
        "Nothing; an accountant may be kept by hand.",
    ),
)


def environment(peer: Peer) -> Path:
    """Return a Python in which the peer's programme runs, installed at the first call.

    Raises:
        subprocess.CalledProcessError: It cannot be installed here.
    """
    if peer in OURS:
        return Path(sys.executable)
    folder = OUT / peer.stem
    python, done = folder.resolve() / "bin" / "python", folder / "installed"
    if not done.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, "--requirement", str(HERE / f"{peer.stem}.txt")], check=True, capture_output=True)
        done.touch()
    return python


def measure_peers(n_runs: int, peers: Sequence[Peer] = PEERS) -> tuple[list[Row], dict[str, str]]:
    """Run every peer at every privacy loss, in turn.

    Args:
        n_runs: How often.
        peers: Which.

    Returns:
        One row for each run: error over all cells, and of all runs at that privacy loss its scatter and offset, cells
        published, seconds, peak memory in MiB; and for each peer that could not be run the reason.
    """
    OUT.mkdir(parents=True, exist_ok=True)
    path = (OUT / "data.parquet").resolve()
    truth = data.write_data(path)
    rows: list[Row] = []
    deviations: dict[tuple[str, int], list[list[float]]] = defaultdict(list)
    missing: dict[str, str] = {}
    for run, epsilon, peer in itertools.product(range(n_runs), EPSILONS, peers):
        if peer.name in missing:
            continue
        try:
            found, deviation = _measured(peer, path, epsilon, truth)
        except subprocess.CalledProcessError as failure:
            missing[peer.name] = _reason(failure)
            rows = [row for row in rows if row["peer"] != peer.name]
            continue
        deviations[peer.name, epsilon].append(deviation)
        rows.append({"peer": peer.name, "epsilon": epsilon, "run": run, "lines": lines_of_code(peer), **found})
    split = {key: scatter_and_offset(np.array(found)) for key, found in deviations.items()}
    rows = [row | split[row["peer"], row["epsilon"]] for row in rows]
    guess = sum(abs(data.UPPER / 2 - mean) for mean in truth.values()) / len(truth)
    rows += [{"peer": "the middle of the range", "epsilon": epsilon, "run": 0, "error": guess} for epsilon in EPSILONS]
    return rows, missing


def scatter_and_offset(deviations: NDArray[np.float64]) -> Row:
    """Return what of the deviations changes from run to run, noise and sampling, and what stays, clipping and the like.

    Args:
        deviations: Of what was published from the truth, shape (runs, cells).

    Returns:
        Both as root mean squares over the cells, in the unit of the values; None of a single run.
    """
    if len(deviations) == 1:
        return {"scatter": None, "offset": None}
    variance = deviations.var(axis=0, ddof=1).mean()
    offset = (deviations.mean(axis=0) ** 2).mean() - variance / len(deviations)
    return {"scatter": math.sqrt(variance), "offset": math.sqrt(max(offset, 0))}


def lines_of_code(peer: Peer) -> int:
    """Return how many lines a user writes, without blank lines, comments and the docstring; of hexveil its settings."""
    if peer in OURS:
        return len(data.write_config(OUT, "lines", 1, peer.settings).read_text().split("\n")) - 1
    text = (HERE / f"{peer.stem}.py").read_text()
    docstring = ast.parse(text).body[0].end_lineno or 0
    return sum(bool(line.strip()) and not line.lstrip().startswith("#") for line in text.splitlines()[docstring:])


def _measured(peer: Peer, path: Path, epsilon: float, truth: dict[int, float]) -> tuple[Row, list[float]]:
    python, out = environment(peer), path.with_name("published.csv")
    bounds = [str(CELLS_PER_USER), str(RECORDS_PER_CELL), str(data.UPPER)]
    by_us = ["-m", f"tests.bench.peers.{peer.stem}", peer.settings]
    program = by_us if peer in OURS else [str(HERE / f"{peer.stem}.py")]
    activated = {"PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"}
    folder = None if peer in OURS else path.parent
    finished = measured([str(python), *program, str(path), str(epsilon), *bounds, str(out)], activated, folder)
    published = _published(out)
    middle = data.UPPER / 2
    deviation = [min(max(published.get(cell, middle), 0), data.UPPER) - mean for cell, mean in truth.items()]
    row = {
        "error": sum(map(abs, deviation)) / len(deviation),
        "published": len(published),
        "seconds": finished.seconds,
        "peak_mib": finished.peak_mib,
    }
    return row, deviation


def _published(path: Path) -> dict[int, float]:
    with path.open(newline="") as file:
        rows = [(int(float(row["cell"])), float(row["mean"] or "nan")) for row in csv.DictReader(file)]
    return {cell: mean for cell, mean in rows if math.isfinite(mean)}


def _reason(failure: subprocess.CalledProcessError) -> str:
    text = failure.stderr.decode() if isinstance(failure.stderr, bytes) else failure.stderr or ""
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else f"exit code {failure.returncode}"
