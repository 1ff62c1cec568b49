"""Before anything is collected: the protocol for an area, what is known of its devices, and the error to expect."""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, pi, sqrt

from dpmath.core import _check
from dpmath.local.protocol import LocalProtocol
from dpmath.local.sizes import SizeDistribution, bin_half_width, effective_size


@dataclass(frozen=True)
class Crowd:
    """What is publicly known of how many values the devices of an area have.

    Attributes:
        mean_weight: E w = E sqrt(min(m, mt)/mt), above 0, at most 1.
        tolerance: By which share E w may be wrong, from 0 to below 1.

    Raises:
        ValueError: A number is outside its range.
    """

    mean_weight: float
    tolerance: float = 0.0

    def __post_init__(self) -> None:
        """Check what the estimates divide by."""
        _check.positive(mean_weight=self.mean_weight)
        if self.mean_weight > 1 or not 0 <= self.tolerance < 1:
            raise ValueError("mean_weight must be at most 1, and tolerance from 0 to below 1")


def design(
    sizes: SizeDistribution, n_devices: int, alpha: Fraction, value_range: int, tolerance: float = 0.0
) -> LocalProtocol:
    """Return the protocol for devices with a public distribution of sizes: mt and tau as the paper has them.

    Where two bins would do, one is made: every device would vote for both. Then s is the middle of the range.

    The paper's mt is one of the sizes. If most devices had one value fewer than was said, none of them would vote. So
    mt is as much smaller as sizes may be wrong.

    Args:
        sizes: How many values the devices have in a period.
        n_devices: Devices that are expected in an area, >= 2.
        alpha: Privacy loss of a device in one period, > 0.
        value_range: Largest value R, in ticks, >= 1.
        tolerance: By which share the sizes may be wrong, from 0 to below 1.

    Returns:
        The protocol, with tau rounded up to a whole tick.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        DAME-E4, DAME-E12.
    """
    _check.at_least(2, n_devices=n_devices)
    size = max(floor(effective_size(sizes, n_devices, float(alpha)) * (1 - tolerance)), 1)
    half_width = max(ceil(bin_half_width(size, n_devices, float(alpha)) * value_range / 2), 1)
    if 4 * half_width >= value_range:
        half_width = -(-value_range // 2)
    return LocalProtocol(value_range, alpha, size, half_width)


def crowd(sizes: SizeDistribution, protocol: LocalProtocol, tolerance: float = 0.0) -> Crowd:
    """Return what a public distribution of sizes says of the weights.

    Args:
        sizes: How many values the devices have in a period.
        protocol: What every device knows.
        tolerance: By which share E w may be wrong.

    Returns:
        The mean weight.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        DAME-E9.
    """
    return Crowd(sizes.mean_root(protocol.effective_size) / sqrt(protocol.effective_size), tolerance)


def expected_local_error(n_devices: int, protocol: LocalProtocol, known: Crowd) -> float:
    """Return the expected absolute error of a mean before anything is collected, at most, where clipping is rare.

    Half of the devices answer round 2. Their noise has the scale of the widest interval, and their estimates may lie
    anywhere in it.

    Args:
        n_devices: Devices that answer, in both rounds together, >= 2.
        protocol: What every device knows.
        known: What is known of the devices' sizes.

    Returns:
        The error in ticks, at most half of the range: the midpoint of the range is never further off.

    Raises:
        ValueError: There are fewer than two devices.

    Source:
        HV-L63.
    """
    _check.at_least(2, n_devices=n_devices)
    width = min(14 * protocol.half_width, protocol.value_range)
    variance = 2 * (width / float(protocol.alpha)) ** 2 + width**2 / 4
    return min(sqrt(2 / pi * variance / (n_devices / 2)) / known.mean_weight, protocol.value_range / 2)


def central_error(n_devices: int, protocol: LocalProtocol) -> float:
    """Return the expected absolute error of the same guarantee where a curator is trusted with every device's mean.

    Args:
        n_devices: Devices, >= 1.
        protocol: What every device knows.

    Returns:
        R/(alpha n), in ticks, at most half of the range.

    Raises:
        ValueError: There are no devices.

    Source:
        STI-S3.2.
    """
    _check.at_least(1, n_devices=n_devices)
    return min(protocol.value_range / (float(protocol.alpha) * n_devices), protocol.value_range / 2)
