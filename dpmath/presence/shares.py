"""What the balls kept of users' vectors: on the whole, and where it is more or less."""

from dataclasses import dataclass

import numpy as np

from dpmath.core.accounting import ExactIntArray
from dpmath.core.occupancy import IntArray
from dpmath.presence.as_asked import Counting
from dpmath.presence.ball import SHARE_BITS, sigma
from dpmath.presence.basis import FloatArray
from dpmath.presence.counts import KeptOfCells
from dpmath.presence.questions import APART, Kept
from dpmath.presence.state import Known
from dpmath.presence.weights import USUAL_LOG_LENGTH, USUAL_SHARE, share_of

_SPREAD_OF_SHARES = 0.15
_LEAST_SHARE, _MOST_SHARE = 0.1, 1.0
_ROUNDS = 4
_ALIKE = 0.5
"""What users lose goes with the loadings of where they are from not at all, 0, to wholly, 1: this, give or take it."""


@dataclass(frozen=True)
class Share:
    """What a ball kept.

    Attributes:
        mean: The share.
        unsure: The deviation of what it is off by, over the share.
    """

    mean: float
    unsure: float


def share_centre(share: float) -> int:
    """Return a share in the unit of ``Kept``.

    Source:
        HV-L71.
    """
    return round(share * (1 << SHARE_BITS))


def shares(question: Kept, answers: ExactIntArray, known: Known) -> list[Share]:
    """Return how much the balls kept: of cells in that of users; of records and of cells in the other, if there is one.

    Where there are few users, the answers say little, and the share that was meant counts for more.

    Args:
        question: What was asked.
        answers: The noisy answers.
        known: The day's totals.

    Source:
        HV-E21.
    """
    sizes = {"cells": known.cells / question.most_cells, "records": known.records / question.most_records}
    of = [number for number, (_, by) in enumerate(question.of) if by != "apart"]
    size = np.array([sizes[question.of[number][1]] for number in of]) * (1 << SHARE_BITS)
    gain = 1 / (1 + (sigma(question.ball) / size / _SPREAD_OF_SHARES) ** 2)
    kept = USUAL_SHARE + gain * answers[of].astype(np.float64) / size
    kept, unsure = np.clip(kept, _LEAST_SHARE, _MOST_SHARE), _SPREAD_OF_SHARES * np.sqrt(1 - gain)
    return [Share(*one) for one in zip(kept.tolist(), (unsure / kept).tolist(), strict=True)]


def unevenly_kept(counts: Counting, users: FloatArray, hexagon: IntArray) -> FloatArray:
    """Return how much more than of all the ball keeps of users in each cell, if they stay where they are.

    Users whose cells are all in one hexagon have vectors as long as its loadings are, and longer ones lose more.

    Args:
        counts: The question for users.
        users: About the number of users of each cell, above 0, shape (G,).
        hexagon: The hexagon of each cell, shape (G,).

    Source:
        HV-E30.
    """
    loading = counts.users.loading.astype(np.float64)
    square = np.asarray((loading * loading).sum(axis=1)).ravel()
    of_hexagon = (np.bincount(hexagon, users * square) / np.bincount(hexagon, users))[hexagon]
    middle = np.average(square, weights=users)
    length = np.log(np.maximum(of_hexagon / middle, 1e-12)) / 2
    lengths, at = np.unique(length, return_inverse=True)
    found = np.array([share_of(USUAL_LOG_LENGTH + one) for one in lengths])[at]
    return found - np.average(found, weights=users)


def whole_apart(apart: FloatArray) -> IntArray:
    """Return the same in whole numbers of the unit of ``Kept``, the largest of which is APART.

    Source:
        HV-E30.
    """
    largest = max(float(np.abs(apart).max()), 1e-6)
    whole: IntArray = np.rint(APART * apart / largest).astype(np.int64)
    return whole


def by_cell(question: Kept, answers: ExactIntArray, share: Share, apart: FloatArray, users: FloatArray) -> KeptOfCells:
    """Return what the ball for users kept of each cell.

    Args:
        question: What was asked.
        answers: The noisy answers.
        share: What the ball kept on the whole.
        apart: See ``unevenly_kept``.
        users: The number of users of each cell, if the ball kept of all what it was meant to, shape (G,).

    Source:
        HV-E30.
    """
    (number,) = (number for number, (_, by) in enumerate(question.of) if by == "apart")
    unit, whole = question.most_cells / (1 << SHARE_BITS), question.apart / APART
    usual, noise = share.mean - question.centre / (1 << SHARE_BITS), sigma(question.ball) * unit
    kept, part, unsure = np.full_like(apart, share.mean), 0.0, 0.0
    for _ in range(_ROUNDS):
        true = users * USUAL_SHARE / kept
        off = apart - np.average(apart, weights=true)
        slope, told = float((true * off) @ whole), float(answers[number]) * unit - usual * float(true @ whole)
        gain = _ALIKE**2 * slope / (_ALIKE**2 * slope**2 + noise**2)
        part, unsure = _ALIKE + gain * (told - slope * _ALIKE), _ALIKE * np.sqrt(max(1 - gain * slope, 0.0))
        kept = np.clip(share.mean + part * off, _LEAST_SHARE, _MOST_SHARE)
    return KeptOfCells(kept, share.unsure, unsure * off / kept)
