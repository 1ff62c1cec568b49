"""Which cells to carry, where not all can be."""

import numpy as np
from numpy.typing import NDArray

from dpmath.occupancy import IntArray
from dpmath.programme import FloatArray, Programme
from dpmath.solver import least_worst_load, most_shares

GAP = 0.008
"""Where the search stops; what rounding to integers adds keeps the certified gap below 1 %."""

FITS = 0.999
"""The worst load at which cells fit their limits, with room for rounding to integers."""

_DROP = 0.2
_DROP_LEAST = 0.005
_ADD_TRIES = 40
_FIT_STEPS = 2_000


def cells_that_fit(programme: Programme, shares: FloatArray) -> NDArray[np.bool_]:
    """Return a choice of cells that fits every limit: drop what the relaxed programme carries least, add back.

    Args:
        programme: The instance, G cells.
        shares: How much of each cell the relaxed programme carries, shape (G,).

    Returns:
        Which cells to carry, shape (G,); a plan for them within every limit was found.

    Source:
        HV-L6.
    """
    chosen = np.ones(shares.size, dtype=bool)
    last_share = np.zeros(shares.size)
    while chosen.any() and not _fits(programme, chosen):
        inside = np.flatnonzero(chosen)
        last_share[inside] = shares
        excess = inside.size - shares.sum()
        n_drop = max(1, int(_DROP * excess), int(_DROP_LEAST * inside.size))
        chosen[inside[np.argsort(shares, kind="stable")[:n_drop]]] = False
        if chosen.any():
            _, shares = most_shares(programme.restricted(chosen), n_steps=600)
    outside = np.argsort(-np.where(chosen, -1, last_share), kind="stable")[: (~chosen).sum()]
    return _with_added(programme, chosen, outside)


def _with_added(programme: Programme, chosen: NDArray[np.bool_], queue: IntArray) -> NDArray[np.bool_]:
    """Return the choice with cells of the queue added, in blocks that double when they fit and halve when not."""
    block = 1
    for _ in range(_ADD_TRIES):
        if not queue.size:
            break
        more = chosen.copy()
        more[queue[:block]] = True
        if _fits(programme, more):
            chosen, queue, block = more, queue[block:], 2 * block
        elif block == 1:
            queue = queue[1:]
        else:
            block //= 2
    return chosen


def _fits(programme: Programme, cells: NDArray[np.bool_]) -> bool:
    """Return whether a plan for these cells was found; a doubtful case counts as none, since time is finite."""
    cover = least_worst_load(programme.restricted(cells), GAP, decide_at=FITS, n_steps=_FIT_STEPS)
    return cover.worst_load <= FITS
