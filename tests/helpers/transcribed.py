"""CPL's formulas and Algorithm 1 as they are printed, line by line, in fractions; errata as in dpmath/THEOREMS.md."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np

Counts = list[list[int]]
"""Records [cell][user]."""

CellError = Callable[[list[int], list[int]], Fraction]
"""The error of one cell from its users' records, and their records kept."""


def mean(values: tuple[int, ...]) -> Fraction:
    return Fraction(sum(values), len(values))


def variance(values: tuple[int, ...]) -> Fraction:
    return Fraction(sum(x * x for x in values), len(values)) - mean(values) ** 2


def printed_variance_sensitivity(largest: int, total: int) -> Fraction:
    """Proposition III.1 over U^2, in its three cases."""
    if total > 2 * largest:
        return Fraction(largest * (total - largest), total**2)
    return Fraction(1, 4) * (1 if total % 2 == 0 else 1 - Fraction(1, total**2))


def corrected_variance_bias(kept: int, total: int) -> Fraction:
    """Theorem IV.2 over U^2, with its two conditions exchanged."""
    if kept == total:
        return Fraction(0)
    if 2 * kept > total:
        return Fraction(kept * (total - kept), total**2)
    return Fraction(1, 4) * (1 if total % 2 == 0 else 1 - Fraction(1, total**2))


def dropped_error(epsilon: Fraction, upper: int, statistics: tuple[str, ...]) -> CellError:
    """Equation (13) for a mean, a variance or both, each at an equal part of epsilon."""

    def error(all_records: list[int], kept: list[int]) -> Fraction:
        total, n, largest = sum(all_records), sum(kept), max(kept)
        part, found = epsilon / len(statistics), Fraction(0)
        if "mean" in statistics:
            found += upper * (1 - Fraction(n, total)) + upper * Fraction(largest, n) / part
        if "variance" in statistics:
            found += upper**2 * (corrected_variance_bias(n, total) + printed_variance_sensitivity(largest, n) / part)
        return found

    return error


def midpoint_error(epsilon: Fraction) -> CellError:
    """The error of a mean, over U, where a suppressed user counts as the midpoint."""

    def error(all_records: list[int], kept: list[int]) -> Fraction:
        return (Fraction(sum(all_records) - sum(kept), 2) + max(kept) / epsilon) / sum(all_records)

    return error


def algorithm_1(
    counts: Counts, error: CellError, bound: Fraction | None = None, min_users: int = 1, spare_best: bool = False
) -> Counts:
    """Return the records kept; lines are those of Algorithm 1."""
    gamma = [list(row) for row in counts]
    before = [error(row, row) for row in counts]  # line 2
    bound = max(before) if bound is None else bound  # line 3
    spared = before.index(min(before)) if spare_best else None
    while True:  # line 5
        n_cells = [sum(row[user] > 0 for row in gamma) for user in range(len(gamma[0]))]
        busiest = [user for user, n in enumerate(n_cells) if n == max(n_cells) > 0]  # line 6
        for user in busiest:  # line 7
            errors = {}
            for cell, row in enumerate(gamma):  # line 8
                without = [0 if one == user else n for one, n in enumerate(row)]  # line 9
                if row[user] and cell != spared and sum(n > 0 for n in without) >= min_users:
                    errors[cell] = error(counts[cell], without)  # line 10
            if not errors:
                return gamma
            best = min(errors, key=lambda cell: errors[cell])  # line 11
            if errors[best] > bound:  # line 12
                return gamma
            gamma[best][user] = 0  # line 18


def printed_factor(gamma: Counts) -> int:
    """Line 23: K."""
    return int((np.array(gamma) > 0).sum(axis=0).max())
