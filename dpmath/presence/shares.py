"""What the balls kept of users' vectors: on the whole, and where it is more or less."""

from collections.abc import Sequence

import numpy as np

from dpmath.core.accounting import ExactIntArray
from dpmath.core.occupancy import IntArray
from dpmath.presence.ball import SHARE_BITS, sigma
from dpmath.presence.basis import FloatArray, Grid
from dpmath.presence.counts import KeptOfCells
from dpmath.presence.lengths import LEAST_SHARE, MEANT, Lengths, Share
from dpmath.presence.looks import UNEVEN, Kept
from dpmath.presence.questions import Question
from dpmath.presence.state import Known
from dpmath.presence.weights import USUAL_LOG_LENGTH, USUAL_SHARE, lean_of, share_of

_ROUNDS = 10
_ALIKE = 0.5
"""What users lose goes with what ``unevenly_kept`` says from not at all, 0, to wholly, 1: this, give or take it."""
_NO_PART = 1e-12


def share_centre(share: float) -> int:
    """Return a share in the unit of ``Kept``.

    Source:
        HV-L71.
    """
    return round(share * (1 << SHARE_BITS))


def as_kept(question: Question) -> Kept:
    """Return the question how much was kept, as it was asked; raises ``ValueError`` if it is another.

    Source:
        HV-L72.
    """
    if not isinstance(question, Kept):
        raise ValueError("the question must be that for what the balls kept")
    return question


def shares(
    question: Kept, answers: ExactIntArray, known: Known, lengths: Lengths, of_cells: Sequence[bool]
) -> tuple[Lengths, list[Share]]:
    """Return how much the balls kept: of cells in that of users; of records and of cells in the other, if there is one.

    Where there are few users, the answers say little, and what was expected counts for more.

    Args:
        question: What was asked.
        answers: The noisy answers.
        known: The day's totals.
        lengths: What was known of lengths.
        of_cells: Of each share, whether each cell had a number of its own.

    Returns:
        What is known of lengths now, and the shares.

    Source:
        HV-E21.
    """
    sizes = {"cells": known.cells / question.most_cells, "records": known.records / question.most_records}
    found, asked = [], lengths
    for number, (is_of_cells, (_, by)) in enumerate(zip(of_cells, question.of, strict=True)):
        size = sizes[by] * (1 << SHARE_BITS)
        kept = question.centre / (1 << SHARE_BITS) + float(answers[number]) / size
        square = float(asked.squares(MEANT[number])[int(is_of_cells)])
        lengths, share = lengths.told(number, is_of_cells, square, kept, sigma(question.ball) / size)
        found.append(share)
    return lengths, found


def unevenly_kept(square: FloatArray, users: FloatArray, grid: Grid) -> FloatArray:
    """Return how much more than of all the ball keeps of users in each cell, at most, for two causes, shape (G, 2).

    Users whose cells are all in one hexagon have vectors as long as its loadings are, and longer ones lose more. And
    where in the hour with the most users all are there alike, but in hours with fewer those with many cells are left,
    fewer users means longer vectors: if none else were left, the ball would keep of them what it keeps of lengths.

    Args:
        square: About the square of what a user adds to its vector in each cell, in any unit, shape (G,).
        users: About the number of users of each cell, above 0, shape (G,).
        grid: The public cells.

    Source:
        HV-E30.
    """
    of_hexagon = (np.bincount(grid.hexagon, users * square) / np.bincount(grid.hexagon, users))[grid.hexagon]
    middle = np.average(square, weights=users)
    length = np.log(np.maximum(of_hexagon / middle, 1e-12)) / 2
    lengths, at = np.unique(length, return_inverse=True)
    by_place = share_of(USUAL_LOG_LENGTH + lengths)[at]
    of_hour = np.bincount(grid.slot, users)
    by_hour = USUAL_SHARE * (1 - lean_of(USUAL_SHARE)) * (of_hour / of_hour.max())[grid.slot]
    found = np.column_stack([by_place, by_hour])
    return found - np.average(found, axis=0, weights=users)


def whole_uneven(uneven: FloatArray) -> IntArray:
    """Return the same in whole numbers of the unit of ``Kept``, the largest of each cause UNEVEN.

    Source:
        HV-E30.
    """
    largest = np.maximum(np.abs(uneven).max(axis=0), 1e-6)
    whole: IntArray = np.rint(UNEVEN * uneven / largest).astype(np.int64)
    return whole


def by_cell(
    question: Kept, answers: ExactIntArray, number: int, share: Share, uneven: FloatArray, users: FloatArray
) -> KeptOfCells:
    """Return what a ball kept of users in each cell.

    Args:
        question: What was asked.
        answers: The noisy answers.
        number: Which ball: 0 for that of users, 1 for that of records and values.
        share: What the ball kept of cells on the whole.
        uneven: See ``unevenly_kept``.
        users: The number of users of each cell, if the ball kept of all what it was meant to, shape (G,).

    Source:
        HV-E30.
    """
    unit, whole = question.most_cells / (1 << SHARE_BITS), question.uneven[number] / UNEVEN
    usual, noise = share.mean - question.centre / (1 << SHARE_BITS), sigma(question.ball) * unit
    first = len(question.of) + sum(one.shape[1] for one in question.uneven[:number])
    numbers = answers[first : first + whole.shape[1]].astype(np.float64) * unit
    one = np.eye(whole.shape[1])
    kept, off, left = np.full_like(users, share.mean), uneven, _ALIKE**2 * one
    for _ in range(_ROUNDS):
        true = users * USUAL_SHARE / kept
        off = uneven - np.average(uneven, axis=0, weights=true)
        slope, told = whole.T @ (true[:, None] * off), numbers - usual * (whole.T @ true)
        gain = _ALIKE**2 * np.linalg.solve(_ALIKE**2 * slope @ slope.T + noise**2 * one, slope).T
        part = _ALIKE + gain @ (told - _ALIKE * slope.sum(axis=1))
        left = _ALIKE**2 * (one - gain @ slope)
        kept = np.clip(share.mean + off @ part, LEAST_SHARE, 1.0)
    root = np.linalg.cholesky((left + left.T) / 2 + _NO_PART * one)
    return KeptOfCells(kept, share.unsure, off @ root / kept[:, None])
