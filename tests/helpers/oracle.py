"""The planner's linear programmes solved by HiGHS, which shares no code with the planner."""

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from dpmath.planner.programme import Programme


def constraints(programme: Programme, n_extra: int) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """Return the rows of loads, and those of widths and promises, over (spending, scale, extra) variables."""
    pairs, cells = programme.cell.size, programme.cell_records.size
    pair, cell = np.arange(pairs), np.arange(cells)
    shape = pairs + cells + n_extra
    loads = sp.csr_matrix((programme.per_limit, (programme.user, pair)), (programme.limits.size, shape))
    widths = sp.csr_matrix(
        (
            np.append(np.ones(pairs), -programme.records),
            (np.append(pair, pair), np.append(pair, pairs + programme.cell)),
        ),
        (pairs, shape),
    )
    promises = sp.csr_matrix(
        (np.append(-np.ones(pairs), programme.need), (np.append(programme.cell, cell), np.append(pair, pairs + cell))),
        (cells, shape),
    )
    return loads, sp.csr_matrix(sp.vstack([widths, promises]))


def worst_load_by_highs(programme: Programme) -> float:
    """Return the least worst load of a plan for all cells."""
    pairs, cells, users = programme.cell.size, programme.cell_records.size, programme.limits.size
    loads, others = constraints(programme, 1)
    loads = loads.tolil()
    loads[:, -1] = -1
    bounds = np.concatenate([np.zeros(users + pairs), np.full(cells, -2.0)])
    cost = np.zeros(pairs + cells + 1)
    cost[-1] = 1
    solved = linprog(cost, sp.vstack([loads.tocsr(), others]), bounds, method="highs")
    return float(solved.fun)


def shares_by_highs(programme: Programme) -> float:
    """Return what the cells are worth that can be carried within the limits, in part allowed."""
    pairs, cells, users = programme.cell.size, programme.cell_records.size, programme.limits.size
    loads, others = constraints(programme, cells)
    others = others.tolil()
    for cell in range(cells):
        others[pairs + cell, pairs + cells + cell] = 2
    right = np.concatenate([np.ones(users), np.zeros(pairs + cells)])
    cost = np.concatenate([np.zeros(pairs + cells), -np.ones(cells) * programme.worth])
    limits = [(0, None)] * (pairs + cells) + [(0, 1)] * cells
    solved = linprog(cost, sp.vstack([loads, others.tocsr()]), right, bounds=limits, method="highs")
    return -float(solved.fun)
