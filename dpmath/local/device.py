"""What one device sends: a ballot in round 1 or an estimate in round 2. The standard library alone, and exact.

A device answers one round in a period, so what it sends in the period costs alpha. The guarantee is for all of its
data: its values, and how many it has. A device without values sends a report like any other.
"""

import hashlib
from collections.abc import Sequence
from fractions import Fraction
from math import isqrt

from dpmath.local.protocol import LocalProtocol
from dpmath.noise.exact import RandomBytes, happens, one_discrete_laplace

_ROOT_BITS = 32


def round_of(key: bytes, device: str) -> int:
    """Return the round that a device answers, 1 or 2: a bit of the device's name, keyed by the collector.

    The device cannot choose the key and the collector cannot choose the name, if each is fixed before the other is
    known.

    Args:
        key: The key of the period, drawn by the collector. All keys have one length, so that no two pairs of a key and
            a name are hashed alike.
        device: Name of the device.

    Returns:
        1 or 2, as often as each other.

    Source:
        HV-L61.
    """
    return 1 + (hashlib.sha256(f"{key.hex()}:{device}".encode()).digest()[0] & 1)


def cast_votes(private_ticks: Sequence[int], protocol: LocalProtocol) -> list[bool]:
    """Return a device's votes before they are randomised: the bin of its mean and the bins beside it.

    Args:
        private_ticks: The device's values, from 0 to R each. With fewer than mt there is no vote.
        protocol: What every device knows.

    Returns:
        A vote for each bin.

    Raises:
        ValueError: A value is outside its range.

    Source:
        DAME-E5.
    """
    _check_ticks(private_ticks, protocol)
    n = len(private_ticks)
    if n < protocol.effective_size:
        return [False] * protocol.n_bins
    own = (sum(private_ticks) - protocol.left * n) // (2 * protocol.half_width * n)
    own = min(own, protocol.n_bins - 1)
    return [abs(number - own) <= 1 for number in range(protocol.n_bins)]


def ballot(private_ticks: Sequence[int], protocol: LocalProtocol, random_bytes: RandomBytes) -> list[int]:
    """Return the report of round 1: every vote, flipped with the probability of the protocol.

    Args:
        private_ticks: The device's values, from 0 to R each; may be none.
        protocol: What every device knows.
        random_bytes: Returns that many independent uniform bytes.

    Returns:
        0 or 1 for each bin.

    Raises:
        ValueError: A value is outside its range.

    Source:
        DAME-E6, HV-L60.
    """
    votes = cast_votes(private_ticks, protocol)
    return [int(vote != happens(protocol.flip_probability, random_bytes)) for vote in votes]


def clipped_estimate(private_ticks: Sequence[int], number: int, protocol: LocalProtocol) -> int:
    """Return a device's estimate before noise: w mean + (1 - w) s, in the nearest whole tick, clipped to the interval.

    w = sqrt(min(m, mt)/mt), rounded to a multiple of 2^-32. A device without values has w = 0.

    Args:
        private_ticks: The device's values, from 0 to R each; may be none.
        number: Which bin was found, counted from 0.
        protocol: What every device knows.

    Returns:
        The estimate, in ticks.

    Raises:
        ValueError: A value or the bin is outside its range.

    Source:
        DAME-E8.
    """
    _check_ticks(private_ticks, protocol)
    middle = Fraction(protocol.midpoint(number))
    n = len(private_ticks)
    share = (min(n, protocol.effective_size) << 2 * _ROOT_BITS) // protocol.effective_size
    weight = Fraction(isqrt(share), 1 << _ROOT_BITS)
    own = Fraction(sum(private_ticks), n) if n else middle
    lower, upper = protocol.interval(number)
    return min(max((weight * own + (1 - weight) * middle + Fraction(1, 2)) // 1, lower), upper)


def noisy_estimate(
    private_ticks: Sequence[int], number: int, protocol: LocalProtocol, random_bytes: RandomBytes
) -> int:
    """Return the report of round 2: the estimate with exact discrete Laplace noise, cut to the domain.

    Args:
        private_ticks: The device's values, from 0 to R each; may be none.
        number: Which bin was found, counted from 0.
        protocol: What every device knows.
        random_bytes: Returns that many independent uniform bytes.

    Returns:
        The report, in ticks.

    Raises:
        ValueError: A value or the bin is outside its range.

    Source:
        DAME-E8, HV-L60.
    """
    noise = one_discrete_laplace(protocol.noise_rate(number), random_bytes)
    least, largest = protocol.domain(number)
    return min(max(clipped_estimate(private_ticks, number, protocol) + noise, least), largest)


def _check_ticks(private_ticks: Sequence[int], protocol: LocalProtocol) -> None:
    if private_ticks and not 0 <= min(private_ticks) <= max(private_ticks) <= protocol.value_range:
        raise ValueError(f"private_ticks must be from 0 to {protocol.value_range} in every element")
