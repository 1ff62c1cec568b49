"""Occupancies of the sizes and shapes that the planner is measured on."""

import numpy as np

from dpmath.core.occupancy import Occupancy


def cpl(gamma: float, rng: np.random.Generator, n_cells: int = 12, rate: float = 0.01) -> Occupancy:
    """Return the synthetic setting of CPL: 2^G - 1 users, geometric counts, one heavy user in each cell."""
    rows = []
    for user in range(1, 2**n_cells):
        for cell in rng.choice(n_cells, n_cells - user.bit_length() + 1, replace=False):
            rows.append((cell, user - 1, rng.geometric(rate)))
    cell, user, records = np.array(sorted(rows), dtype=np.int64).T
    for one in range(n_cells):
        pairs = np.flatnonzero(cell == one)
        heaviest = pairs[records[pairs].argmax()]
        records[heaviest] = round((1 + gamma) * records[heaviest])
    return Occupancy(cell, user, records, n_cells, 2**n_cells - 1)


def city(rng: np.random.Generator, n_users: int, n_cells: int, n_pairs: int) -> Occupancy:
    """Return a city whose users and cells are unequally busy."""
    popularity = 1 / np.arange(1, n_cells + 1) ** 0.5
    activity = rng.gamma(2, 1, n_users)
    pairs = np.zeros(0, dtype=np.int64)
    while pairs.size < n_pairs:
        cell = rng.choice(n_cells, n_pairs, p=popularity / popularity.sum())
        user = rng.choice(n_users, n_pairs, p=activity / activity.sum())
        pairs = np.union1d(pairs, cell * n_users + user)
    pairs = np.sort(rng.permutation(pairs)[:n_pairs])
    _, cell = np.unique(pairs // n_users, return_inverse=True)
    _, user = np.unique(pairs % n_users, return_inverse=True)
    return Occupancy(cell, user, rng.geometric(0.1, n_pairs), int(cell.max()) + 1, int(user.max()) + 1)
