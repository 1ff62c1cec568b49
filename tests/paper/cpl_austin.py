"""CPL's Figures 1 and 2: CLIP-USER and pseudo-users on real positions, of Austin's buses in place of the paper's."""

from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path

import numpy as np
import polars as pl

from dpmath.core.occupancy import Occupancy
from dpmath.papers.dropping import CellRelease
from tests.paper.austin import FOLDER, missing, positions
from tests.paper.cpl import UPPER, Row, suppressed_release
from tests.paper.cpl_figures import IMPROVED, ORIGINAL, draw
from tests.paper.figure import Claim, Figure, steps
from tests.paper.style import series_of

HOUR = "2016-11-25T09"
N_CELLS = 50
EPSILONS = np.geomspace(0.1, 2, 31)
"""Privacy loss of one cell; the paper gives the range."""

SPARING, SPARING_NONE = "after CLIP-USER, the cell of least error spared", "after CLIP-USER, no cell spared"


def busiest_cells(folder: Path) -> Occupancy:
    """Return the hexagons with the most records of one hour."""
    records = positions(folder).filter(pl.col("hour") == HOUR)
    cells = records.group_by("hexagon").len().sort("len", "hexagon").tail(N_CELLS)
    pairs = records.join(cells, on="hexagon").group_by("hexagon", "user_id").len().sort("hexagon", "user_id")
    _, cell = np.unique(pairs["hexagon"], return_inverse=True)
    users, user = np.unique(pairs["user_id"], return_inverse=True)
    return Occupancy(cell, user, pairs["len"].to_numpy().astype(np.int64), N_CELLS, users.size)


@cache
def rows_of(quick: bool) -> list[Row]:
    """Return what was measured for each epsilon; both figures show it."""
    occupancy = busiest_cells(FOLDER)
    rows = []
    for epsilon in steps(EPSILONS[:: 3 if quick else 1].tolist()):
        row = suppressed_release(occupancy, CellRelease(epsilon, UPPER))
        losses = {name.replace("factor", "loss"): row[name] * epsilon for name in row if "factor" in name}
        rows.append({"epsilon": epsilon} | losses | row)
    return rows


def numbers(series: dict[str, str], quantity: str, extra: tuple[str, ...], quick: bool) -> pl.DataFrame:
    """Return a quantity over the loss of one cell, one series for each column, and more columns beside it."""
    return pl.DataFrame(
        {"epsilon": row["epsilon"], "series": name, quantity: row[column]} | {one: row[one] for one in extra}
        for name, column in series.items()
        for row in rows_of(quick)
    )


def loss_claims(shown: pl.DataFrame) -> Iterator[Claim]:
    """Measure what the paper says of the privacy loss."""
    before, after = (series_of(shown, name, "loss", "series") for name in (ORIGINAL, SPARING))
    factors, shares = after / series_of(shown, SPARING, "epsilon", "series"), after / before
    yield Claim(
        "There is a clear improvement of the privacy loss for most values of epsilon: to at most half.",
        bool(np.mean(shares <= 0.5) > 0.5),
        f"To at most half at {np.mean(shares <= 0.5):.0%} of them; over the range to {shares.min():.0%} to "
        f"{shares.max():.0%}, K being {factors.min():.0f} to {factors.max():.0f} in place of "
        f"{(factors / shares).max():.0f}.",
    )


def error_claims(shown: pl.DataFrame) -> Iterator[Claim]:
    """Measure what the paper says of the worst-case error."""
    gain = 1 - series_of(shown, IMPROVED, "error", "series") / series_of(shown, ORIGINAL, "error", "series")
    yield Claim(
        "CLIP-USER and pseudo-users do not raise the worst-case error.",
        bool(np.all(gain >= -1e-9)),
        f"They lower it by up to {gain.max():.1%}.",
    )
    yield Claim(
        "There is little to no improvement of the worst-case error: less than 2 %.",
        bool(np.all(gain < 0.02)),
        f"None at {np.mean(gain < 1e-9):.0%} of the values of epsilon, and {gain.max():.1%} at most.",
    )
    sizes = series_of(shown, IMPROVED, "worst_cell_sizes", "series")
    yield Claim(
        "In the cell of the worst error the pseudo-user step has very few sizes to choose from: ten at most.",
        bool(np.all(sizes <= 10)),
        f"There are {sizes.min():.0f} to {sizes.max():.0f}. A single one where one bus is left, whose own number of "
        "records it is; elsewhere a smaller size would add more bias than it saves noise.",
    )


SETTING = (
    "the 50 hexagons at resolution 7 with the most positions of Austin's buses on Friday, 25 November 2016, from 9 to "
    "10 in the morning: 142 buses, one of them in 9 cells (the paper's: 223, one in 11); mean and variance released, "
    "U = 65 km/h; the cell of least error spared"
)

FIGURES = (
    Figure(
        "CPL figure 1",
        f"Privacy loss of the worst user; {SETTING}, or not, as printed.",
        "We see a clear improvement in the privacy loss under composition, for most values of epsilon considered.",
        partial(
            numbers, {ORIGINAL: "original_loss", SPARING: "loss", SPARING_NONE: "loss_sparing_no_cell"}, "loss", ()
        ),
        partial(draw, "loss", "privacy loss of the worst user"),
        loss_claims,
        missing,
    ),
    Figure(
        "CPL figure 2",
        f"Worst-case error; {SETTING}.",
        "There is little to no improvement in the worst-case error, across all grids. One reason could be that the "
        "grid contributing to it contains very few contributions from any user, so that the pseudo-user step optimises "
        "over very few values.",
        partial(numbers, {ORIGINAL: "original_error", IMPROVED: "error"}, "error", ("worst_cell_sizes",)),
        partial(draw, "error", "worst-case error, (11): km/h and (km/h)^2 added"),
        error_claims,
        missing,
    ),
)
