"""How long arrays should be: m_UB from the numbers of records alone, one cell at a time."""

from fractions import Fraction

import numpy as np

from dpmath.core import _check
from dpmath.core.occupancy import IntArray


def median_length(records: IntArray) -> int:
    """Return the ceil(L/2)-th largest number of records.

    Its gain over the baseline, in the scale of the noise, is at least half of the largest gain of any length.

    Args:
        records: Records of each user in the cell, shape (L,), >= 1.

    Returns:
        m_UB, the number of records of some user.

    Raises:
        ValueError: ``records`` is empty or has an element below 1.

    Source:
        STI-L3.2.
    """
    _checked(records)
    return int(np.sort(records)[records.size // 2])


def interval_length(records: IntArray) -> int:
    """Return the least m that maximises sum(min(m_l, m)) / sqrt(m), for mechanisms that clip array means.

    Args:
        records: Records of each user in the cell, shape (L,), >= 1.

    Returns:
        m_UB, the number of records of some user.

    Raises:
        ValueError: ``records`` is empty or has an element below 1.

    Source:
        STI-E9.
    """
    _checked(records)
    return min(np.unique(records).tolist(), key=lambda m: (-Fraction(_kept(records, m) ** 2, m), m))


def worst_case_error(records: IntArray, array_length: int, epsilon: Fraction) -> Fraction:
    """Return the largest expected error of Array-Averaging as if arrays were full, as a share of U.

    1 - sum(Gamma)/N for the samples left out, plus m_UB/(epsilon sum(Gamma)) for the noise, where Gamma is
    min(m_l, m_UB).

    Args:
        records: Records of each user in the cell, shape (L,), >= 1.
        array_length: Places m_UB of an array, >= 1.
        epsilon: Privacy loss, > 0.

    Returns:
        The error divided by the range U of one value, exact.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        STI-L5.1, STI-E15.
    """
    _checked(records)
    _check.at_least(1, array_length=array_length)
    _check.positive(epsilon=epsilon)
    kept = _kept(records, array_length)
    return 1 - Fraction(kept, int(records.sum())) + Fraction(array_length, kept) / Fraction(epsilon)


def minimax_length(records: IntArray, epsilon: Fraction) -> int:
    """Return the least m with the least worst-case error, m(epsilon), of OPT-Array-Averaging.

    Args:
        records: Records of each user in the cell, shape (L,), >= 1.
        epsilon: Privacy loss, > 0.

    Returns:
        m_UB, the number of records of some user; no less for a larger epsilon.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        STI-L5.2, STI-L5.3, STI-L5.4.
    """
    _checked(records)
    return min(np.unique(records).tolist(), key=lambda m: (worst_case_error(records, m, epsilon), m))


def surrogate_error(records: IntArray, array_length: int) -> Fraction:
    """Return the convex surrogate of the worst-case error. It does not depend on epsilon.

    1 - sum(Gamma)/N plus the worst-case inverse gain max(m, mean of the m_l) / (largest m_l).

    Args:
        records: Records of each user in the cell, shape (L,), >= 1.
        array_length: Places m of an array, >= 1.

    Returns:
        The value of (19) at m, exact.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        STI-E19.
    """
    _checked(records)
    _check.at_least(1, array_length=array_length)
    n_records = int(records.sum())
    gain = max(Fraction(array_length), Fraction(n_records, records.size)) / int(records.max())
    return 1 - Fraction(_kept(records, array_length), n_records) + gain


def surrogate_length(records: IntArray) -> int:
    """Return the least whole m that minimises the convex surrogate, from the least to the largest m_l.

    The surrogate falls with slope at most -1/N up to the mean of the m_l. From there on its slope is
    1/m* - |{l: m_l > m}|/N. So it is least at the mean or at the (floor(N/m*) + 1)-th largest m_l, whichever
    is larger. A mean between whole numbers is tried on both sides.

    Args:
        records: Records of each user in the cell, shape (L,), >= 1.

    Returns:
        m_UB.

    Raises:
        ValueError: ``records`` is empty or has an element below 1.

    Source:
        STI-L6.2, with the corners that the printed procedure leaves out.
    """
    _checked(records)
    n_records, largest = int(records.sum()), int(records.max())
    rank = min(n_records // largest, records.size - 1)
    mean = n_records // records.size
    tried = {int(np.sort(records)[::-1][rank]), mean, mean + 1} & set(range(int(records.min()), largest + 1))
    return min(tried, key=lambda m: (surrogate_error(records, m), m))


def _kept(records: IntArray, array_length: int) -> int:
    """Return the sum of min(m_l, m)."""
    return int(np.minimum(records, array_length).sum())


def _checked(records: IntArray) -> None:
    _check.same_length(records=records)
    _check.at_least(1, n_users=records.size)
    _check.all_at_least(1, records=records)
