"""The planner measured: CPL's table against HiGHS, certified gaps, and how time and memory grow with the pairs."""

import csv
import json
import resource
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from oracle import worst_load_by_highs
from rich.console import Console
from rich.progress import track
from rich.table import Table

from dpmath.core.occupancy import Occupancy
from dpmath.papers.clip_user import clip_user_dropping, degradation_factor
from dpmath.papers.dropping import CellRelease
from dpmath.planner.plans import least_epsilon, most_carried
from dpmath.planner.programme import Programme
from tests.bench.cities import city, cpl

OUT = Path("var/bench")
SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
UPPER = 65.0
console = Console()


def optimum_by_highs(occupancy: Occupancy, error: float) -> float:
    """Return the least loss for a common promised error, from an independent solver."""
    programme = Programme(
        occupancy.cell,
        occupancy.user,
        occupancy.n_records.astype(float),
        occupancy.cell_records.astype(float),
        np.full(occupancy.n_cells, error),
        np.ones(occupancy.n_users),
    )
    return worst_load_by_highs(programme)


def cpl_row(gamma: float, cell_epsilon: float) -> dict[str, float]:
    """Return one row of the table: the same worst-case error, under every accounting."""
    occupancy = cpl(gamma, np.random.default_rng(round(1000 * gamma)))
    largest = occupancy.cell_largest
    error = float((largest / occupancy.cell_records).max() / cell_epsilon)
    kept = clip_user_dropping(occupancy, CellRelease(cell_epsilon, 1, ["mean"]), error)
    exact = np.bincount(occupancy.user, occupancy.n_records / largest[occupancy.cell]).max() * cell_epsilon
    row = {"gamma": gamma, "cell_epsilon": cell_epsilon, "error_kmh": UPPER * error}
    row |= {"no_suppression": 12 * cell_epsilon}
    row |= {"clip_user": degradation_factor(occupancy, kept) * cell_epsilon, "exact": float(exact)}
    if error >= 0.5:
        return row | {"planner": 0.0, "highs": 0.0, "ratio": 1.0, "gap": 0.0}
    plan = least_epsilon(occupancy, [6500], [Fraction(error)] * 12)
    highs = optimum_by_highs(occupancy, error)
    return row | {"planner": plan.worst_load, "highs": highs, "ratio": plan.worst_load / highs, "gap": plan.gap}


def measure(n_pairs: int) -> dict[str, float]:
    """Plan a city of so many pairs and return seconds, peak memory in MiB and the certified gap."""
    n_users, n_cells = (300, 1080) if n_pairs == 21_000 else (n_pairs // 50, n_pairs // 50)
    occupancy = city(np.random.default_rng(n_pairs), n_users, n_cells, n_pairs)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    start = time.perf_counter()
    plan = least_epsilon(occupancy, [10_000], [Fraction(1, 10)] * occupancy.n_cells)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"pairs": n_pairs, "seconds": seconds, "peak_mib": peak, "before_mib": before, "gap": plan.gap}


def measure_choice(n_pairs: int) -> dict[str, float]:
    """Carry as many cells of a city as epsilon 8 allows; return seconds, peak memory, cells, bound and gap."""
    occupancy = city(np.random.default_rng(n_pairs), n_pairs // 50, n_pairs // 50, n_pairs)
    start = time.perf_counter()
    plan = most_carried(occupancy, [10_000], Fraction(8), Fraction(1, 10))
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    carried = int(plan.sums[0].inverse_scale.astype(bool).sum())
    cells = {"cells": occupancy.n_cells, "carried": carried, "upper_bound": plan.most}
    return {"pairs": n_pairs, "seconds": seconds, "peak_mib": peak, **cells, "gap": plan.gap}


def measure_suppression(n_pairs: int) -> dict[str, float]:
    """Run CLIP-USER as printed, for mean and variance, on a city; return seconds and K before and after."""
    occupancy = city(np.random.default_rng(n_pairs), n_pairs // 50, n_pairs // 50, n_pairs)
    start = time.perf_counter()
    kept = clip_user_dropping(occupancy, CellRelease(1.0, UPPER), spare_best_cell=True)
    seconds = time.perf_counter() - start
    before, after = (degradation_factor(occupancy, one) for one in (np.ones_like(kept), kept))
    return {"pairs": n_pairs, "seconds": seconds, "suppressed": int((~kept).sum()), "before": before, "after": after}


QUESTIONS = {"all": measure, "most": measure_choice, "suppression": measure_suppression}


def measured_apart(question: str, n_pairs: int) -> dict[str, float]:
    """Measure in a process of its own, so that its peak memory is its own."""
    command = [sys.executable, "-m", "tests.bench.planner", question, str(n_pairs)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def show(title: str, rows: list[dict[str, float]]) -> None:
    """Print a table and write it as CSV."""
    table = Table(*rows[0], title=title)
    for row in rows:
        table.add_row(*(f"{value:.4g}" for value in row.values()))
    console.print(table)
    with (OUT / f"{title.replace(' ', '_')}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def draw_growth(all_cells: list[dict[str, float]], most: list[dict[str, float]]) -> None:
    """Draw time and memory over the number of pairs for both questions, beside lines that grow in proportion."""
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    pairs = np.array([row["pairs"] for row in all_cells])
    for axis, name, unit in zip(axes, ("seconds", "peak_mib"), ("seconds", "MiB"), strict=True):
        for rows, label in ((all_cells, "all cells, least epsilon"), (most, "most cells at epsilon 8")):
            axis.loglog(pairs, [row[name] for row in rows], "o-", label=label)
        axis.loglog(pairs, most[-1][name] * pairs / pairs[-1], "--", color="grey", label="in proportion")
        axis.set(xlabel="pairs of user and cell", ylabel=unit)
        axis.legend()
    figure.suptitle("Planning a synthetic city")
    figure.savefig(OUT / "planner_growth.png", dpi=120)


def main() -> None:
    """Print every table, and write CSV files and the plot to var/bench."""
    mpl.use("agg")
    OUT.mkdir(parents=True, exist_ok=True)
    cases = [(gamma, epsilon) for epsilon in (0.1, 0.5, 1.0) for gamma in (3, 6, 9)]
    show("planner against HiGHS", [cpl_row(*case) for case in track(cases, "CPL's setting")])
    show("a city of 300 users", [measured_apart("all", 21_000)])
    all_cells = [measured_apart("all", size) for size in track(SIZES, "growth, all cells")]
    show("planner growth", all_cells)
    most = [measured_apart("most", size) for size in track(SIZES, "growth, most cells")]
    show("planner growth of most cells", most)
    draw_growth(all_cells, most)
    show("growth of CLIP-USER", [measured_apart("suppression", size) for size in track(SIZES, "growth, CLIP-USER")])
    console.print(f"Written to {OUT}/")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.stdout.write(json.dumps(QUESTIONS[sys.argv[1]](int(sys.argv[2]))))
    else:
        main()
