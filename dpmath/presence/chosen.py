"""The whole numbers of each cell that floating point chose for questions: stored, as another processor chooses others.

Neither the loss nor the radius depends on them; see ``Sums``, ``Kept`` and ``Check``. Some single numbers are chosen in
floating point too and not stored: the weights of ``Totals``, the most cells that count there and in ``Kept``, how far
values may be there, and what few records are to ``Check``. They are chosen again where answers are read, and another
processor may find another.
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array

from dpmath.core.occupancy import IntArray
from dpmath.presence.basis import FloatArray
from dpmath.presence.loadings import is_of_own, of_own
from dpmath.presence.looks import UNEVEN, Check, Kept
from dpmath.presence.questions import Block, Question, Sums

Chosen = dict[str, IntArray]
"""By name, a row for each cell: of loadings a number if every cell has a sum of its own, else one for each sum."""
_BLOCKS = ("users", "records", "values")
_ROUGHLY = "roughly_"
_EXPECTED = ("expected_of_user", "expected_of_record")
_UNEVEN = (("kept_by_place", "kept_by_hour"), ("amounts_kept_by_place", "amounts_kept_by_hour"))


def chosen_of(questions: Iterable[Question]) -> Chosen:
    """Return the numbers of a day's questions.

    Source:
        HV-L72.
    """
    found: Chosen = {}
    for question in questions:
        for name, block in _blocks_of(question).items():
            found[name] = block.loading.diagonal() if is_of_own(block.loading) else block.loading.toarray()
            found[_centre(name)] = block.centre
        if isinstance(question, Check):
            found |= dict(zip(_EXPECTED, question.expected.T, strict=True))
        if isinstance(question, Kept):
            for names, uneven in zip(_UNEVEN, question.uneven, strict=False):
                found |= dict(zip(names, uneven.T, strict=True))
    return found


def with_chosen(question: Question, chosen: Chosen) -> Question:
    """Return a question as it was asked: with stored numbers, and the radius, the noise and all else of its own.

    Args:
        question: The question as it would be asked here.
        chosen: The stored numbers.

    Raises:
        ValueError: A number is missing or out of range, or there is not one for each cell.

    Source:
        HV-L72.
    """
    try:
        if isinstance(question, Sums):
            blocks = {
                name.removeprefix(_ROUGHLY): _stored(name, block, chosen)
                for name, block in _blocks_of(question).items()
            }
            n_sums = sum(block.n_sums for block in blocks.values())
            return replace(question, **blocks, ball=replace(question.ball, n_sums=n_sums))
        if isinstance(question, Check):
            expected = np.column_stack([chosen[name] for name in _EXPECTED])
            if expected.shape != question.expected.shape or expected.min(initial=1) < 1:
                raise ValueError("expected must be of shape (G, 2), and at least 1")
            return replace(question, expected=expected)
        if isinstance(question, Kept):
            named = zip(_UNEVEN, question.uneven, strict=False)
            return replace(question, uneven=tuple(_stored_uneven(names, ours, chosen) for names, ours in named))
    except KeyError:
        raise ValueError("chosen lacks numbers of a question") from None
    return question


def _stored(name: str, block: Block, chosen: Chosen) -> Block:
    loading, centre = chosen[name], chosen[_centre(name)]
    if len(loading) != block.centre.size or loading.ndim not in (1, 2):
        raise ValueError(f"{name} must be of shape (G,) or (G, Q)")
    return Block(of_own(loading) if loading.ndim == 1 else csr_array(loading), centre, block.shift)


def _stored_uneven(names: Iterable[str], ours: IntArray, chosen: Chosen) -> IntArray:
    found = np.column_stack([chosen[name] for name in names])
    if found.shape != ours.shape or found.max(initial=0) > UNEVEN or found.min(initial=0) < -UNEVEN:
        raise ValueError(f"what is kept unevenly must be of shape (G, 2), and within {UNEVEN} of 0")
    return found


def _blocks_of(question: Question) -> dict[str, Block]:
    if not isinstance(question, Sums):
        return {}
    prefix = _ROUGHLY if question.is_rough else ""
    return {prefix + name: getattr(question, name) for name in _BLOCKS if getattr(question, name) is not None}


def _centre(name: str) -> str:
    return f"{name}_centre"


def apart(ours: Question, theirs: Question) -> float:
    """Return how far the chosen numbers of a question are from those of another, as a share: by rounding, under 1e-6.

    Loadings of directions may be turned, as long as they ask for the same: their products are compared.

    Args:
        ours: The one.
        theirs: The other, of the same kind.

    Source:
        HV-L72.
    """
    if ours is theirs:
        return 0.0
    (one, other), far = (chosen_of([question]) for question in (ours, theirs)), 0.0
    for name, numbers in one.items():
        if numbers.ndim != other[name].ndim:
            return np.inf
        far = max(far, (_turned if numbers.ndim > 1 else _off)(_floats(numbers), _floats(other[name])))
    return far


def _floats(numbers: IntArray) -> FloatArray:
    return numbers.astype(np.float64)


def _off(one: FloatArray, other: FloatArray) -> float:
    return float(np.max(np.maximum(np.abs(one - other) - 1, 0) / np.maximum(np.abs(one), 1), initial=0.0))


def _turned(one: FloatArray, other: FloatArray) -> float:
    """Return how far A A' and B B' are apart, as a share of the first, every cell counting alike."""
    length = np.maximum(np.sqrt((one**2).sum(axis=1, keepdims=True)), 1)
    a, b = one / length, other / length
    first, second, both = (float((x.T @ y).ravel() @ (x.T @ y).ravel()) for x, y in ((a, a), (b, b), (a, b)))
    return float(np.sqrt(max(first + second - 2 * both, 0.0) / max(first, 1e-300)))
