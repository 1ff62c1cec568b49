"""What a collector makes of the reports: the bin, and the mean with its interval.

Every number is in ticks. The reports were randomised before they came, so nothing here costs privacy.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from statistics import NormalDist

from dpmath.core import _check
from dpmath.local.design import Crowd
from dpmath.local.protocol import LocalProtocol

MISS_RATE = 0.05
"""How often the interval may miss the mean."""


@dataclass(frozen=True)
class LocalEstimate:
    """The mean of an area, in ticks.

    Attributes:
        mean: The estimate, from 0 to R.
        sd: Standard deviation of its error from noise and from which devices answered.
        low: Lower end of the interval.
        high: Upper end of the interval.
        lowered_by: The most by which clipping may have lowered the estimate; it is in the interval already.
        raised_by: The most by which clipping may have raised it.
    """

    mean: float
    sd: float
    low: float
    high: float
    lowered_by: float
    raised_by: float


def localised(n_votes: Sequence[int], protocol: LocalProtocol) -> int:
    """Return the bin with the most votes, the first of those that are level.

    Args:
        n_votes: Ballots with a 1 for each bin.
        protocol: What every device knows.

    Returns:
        The number of the bin, from 0.

    Raises:
        ValueError: There is not one count for each bin.

    Source:
        DAME-E6.
    """
    if len(n_votes) != protocol.n_bins:
        raise ValueError(f"n_votes must be {protocol.n_bins} numbers, not {len(n_votes)}")
    return max(range(protocol.n_bins), key=lambda number: n_votes[number])


def clipping_bias(
    n_votes: Sequence[int], n_ballots: int, number: int, protocol: LocalProtocol, known: Crowd, miss_rate: float
) -> tuple[float, float]:
    """Return by how much clipping may have lowered and raised the estimate, from the ballots of round 1.

    The paper takes all devices to have one mean, so that clipping is rare. Where devices differ, some means lie beyond
    the interval. The ballots tell how many, up to their noise, and how many devices voted at all: if hardly any did,
    the bin itself may be wrong, and anything beyond the interval is possible. It is assumed that devices with few
    values differ as those do that vote.

    Args:
        n_votes: Ballots with a 1 for each bin.
        n_ballots: Ballots, >= 1.
        number: The bin that was found.
        protocol: What every device knows.
        known: What is known of the devices' sizes.
        miss_rate: How often each of the two bounds may be too small, and how often the share of voters too large.

    Returns:
        The two bounds, in ticks; 0 on a side where the interval ends at the end of the range.

    Raises:
        ValueError: There are no ballots, or not one count for each bin.

    Source:
        HV-L62.
    """
    _check.at_least(1, n_ballots=n_ballots)
    localised(n_votes, protocol)
    mirrored = list(reversed(n_votes))
    lower, upper = protocol.interval(number)
    ends = (protocol.value_range - upper, number, n_votes), (lower, protocol.n_bins - 1 - number, mirrored)
    voting = _least_voting_share(n_votes, n_ballots, protocol, miss_rate)
    beyond = (_beyond(length, at, counts, n_ballots, protocol, miss_rate) for length, at, counts in ends)
    lowered, raised = (
        min(off / voting, length) if voting > 0 else length for off, (length, _, _) in zip(beyond, ends, strict=True)
    )
    return lowered / known.mean_weight, raised / known.mean_weight


def estimated(
    sums: tuple[int, int, int],
    number: int,
    protocol: LocalProtocol,
    known: Crowd,
    ballots: tuple[Sequence[int], int],
) -> LocalEstimate:
    """Return the estimate of the mean, with an interval that misses it in at most 5 of 100 collections, about.

    What is estimated is the mean of the devices' means, each weighted by its w. The interval allows for noise and
    chance by the spread of the reports, for clipping by the ballots, for a wrong E w, and for the rounding of values
    and reports to ticks.

    Args:
        sums: How many estimates were reported, >= 2; their sum; the sum of their squares. In ticks.
        number: The bin that was found.
        protocol: What every device knows.
        known: What is known of the devices' sizes.
        ballots: The votes for each bin, and the number of ballots, >= 1.

    Returns:
        The estimate and its interval, cut to the range of the values.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        DAME-E9, HV-L62.
    """
    n, total, squares = sums
    _check.at_least(2, n_reports=n)
    middle = protocol.midpoint(number)
    shift = float(Fraction(total, n) - middle)
    sd = sqrt(max(Fraction(n * squares - total * total, n * n * (n - 1)), Fraction(0)))
    lowered, raised = clipping_bias(*ballots, number, protocol, known, MISS_RATE / 10)
    n_bounds = (lowered > 0) + (raised > 0)
    noise_miss = MISS_RATE - MISS_RATE / 10 * (n_bounds + (n_bounds > 0))
    reach = NormalDist().inv_cdf(1 - noise_miss / 2) * sd
    weights = [known.mean_weight * (1 + sign * known.tolerance) for sign in (-1, 1)]
    rounding = (1 + 1 / min(weights)) / 2
    low = middle + min((shift - reach) / weight for weight in weights) - rounding - raised
    high = middle + max((shift + reach) / weight for weight in weights) + rounding + lowered
    mean, low, high = (
        min(max(end, 0.0), float(protocol.value_range)) for end in (middle + shift / known.mean_weight, low, high)
    )
    return LocalEstimate(mean, sd / known.mean_weight, low, high, lowered, raised)


def one_report_moves(n_reports: int, number: int, protocol: LocalProtocol, known: Crowd) -> float:
    """Return by how much one device that lies can move the mean: from one end of the domain to the other.

    Args:
        n_reports: Estimates that were reported, >= 1.
        number: The bin that was found.
        protocol: What every device knows.
        known: What is known of the devices' sizes.

    Returns:
        The distance, in ticks.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        HV-L64.
    """
    _check.at_least(1, n_reports=n_reports)
    least, largest = protocol.domain(number)
    return (largest - least) / n_reports / known.mean_weight


def liars_to_move_the_bin(n_votes: Sequence[int]) -> int:
    """Return how many devices of round 1 must lie before another bin can be found.

    One ballot adds at most one vote to a bin and takes at most one from another.

    Args:
        n_votes: Ballots with a 1 for each bin.

    Returns:
        Half of the lead of the first bin over the second, rounded up; 0 if there is no other bin.

    Source:
        HV-L64.
    """
    first, *others = sorted(n_votes, reverse=True)
    return max((first - others[0] + 1) // 2, 1) if others else 0


def _least_voting_share(n_votes: Sequence[int], n_ballots: int, protocol: LocalProtocol, miss_rate: float) -> float:
    """Return a bound of the share of devices that vote: at least so many do, as the ballots tell.

    Args:
        n_votes: Ballots with a 1 for each bin.
        n_ballots: Ballots.
        protocol: What every device knows.
        miss_rate: How often the bound may be too large.
    """
    own_of_each_once = range(0 if protocol.n_bins % 3 == 1 else 1, protocol.n_bins, 3)
    shares, variance = _shares([n_votes[centre] for centre in own_of_each_once], n_ballots, protocol)
    reach = NormalDist().inv_cdf(1 - miss_rate) * sqrt((variance * len(shares) + 1 / 4) / n_ballots)
    return min(max(sum(shares) - reach, 0.0), 1.0)


def _shares(n_votes: Sequence[int], n_ballots: int, protocol: LocalProtocol) -> tuple[list[float], float]:
    """Return the share of devices that vote for each of some bins, without bias; and a share's variance by the flips.

    The variance is that of a single ballot.
    """
    flip = float(protocol.flip_probability)
    shares = [(ones / n_ballots - flip) / (1 - 2 * flip) for ones in n_votes]
    return shares, flip * (1 - flip) / (1 - 2 * flip) ** 2


def _beyond(
    length: int, number: int, n_votes: Sequence[int], n_ballots: int, protocol: LocalProtocol, miss_rate: float
) -> float:
    """Return a bound of what clipping takes off the voters' means on the right, averaged over all devices, in ticks.

    Args:
        length: How far the range reaches beyond the interval.
        number: The bin that was found, counted from the left.
        n_votes: Ballots with a 1 for each bin, from the left.
        n_ballots: Ballots.
        protocol: What every device knows.
        miss_rate: How often the bound may be too small.
    """
    last = protocol.n_bins - 1
    if length <= 0 or number + 4 > last:
        return 0.0
    groups = [min(centre, last) for centre in range(number + 5, last + 2, 3)]
    groups = list(dict.fromkeys(groups))
    tau = protocol.half_width
    depths = [min((2 * (centre - number) + 3) * tau - 7 * tau, length) for centre in groups]
    shares, variance = _shares([n_votes[centre] for centre in groups], n_ballots, protocol)
    mean = sum(depth * share for depth, share in zip(depths, shares, strict=True))
    variance = sum(depth**2 for depth in depths) * variance + max(depths) ** 2 / 4
    reach = NormalDist().inv_cdf(1 - miss_rate) * sqrt(variance / n_ballots)
    return max(mean + reach, 0.0)
