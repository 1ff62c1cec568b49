"""What one device sends: its privacy, by every report under every data on small domains, and its draws."""

import itertools
import os
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from exact import decimal
from scipy import stats

from dpmath.local import device
from dpmath.local.protocol import FLIP_BITS, LocalProtocol
from dpmath.noise.exact import happens, one_discrete_laplace, uniform_below
from dpmath.noise.sampling import discrete_laplace

FALSE_ALARM = 1e-9
ALPHA = Fraction(3, 5)
ROUNDING = Decimal(10) ** -60
SMALL = [
    LocalProtocol(value_range, alpha, size, half_width)
    for value_range, half_width in ((1, 1), (5, 1), (7, 2), (12, 1), (13, 1), (16, 2), (9, 20))
    for alpha in (ALPHA, Fraction(4))
    for size in (1, 2)
]


def all_data(protocol: LocalProtocol) -> Iterator[tuple[int, ...]]:
    """Yield everything that a device can have: none, one or two values."""
    for n in range(3):
        yield from itertools.combinations_with_replacement(range(protocol.value_range + 1), n)


def worst_ballots(protocol: LocalProtocol, flip: Fraction) -> Fraction:
    """Return the largest ratio of the probabilities of one ballot under two data, over all ballots and all data."""
    rows = {tuple(device.cast_votes(data, protocol)) for data in all_data(protocol)}
    n_differing = max(sum(a != b for a, b in zip(*pair, strict=True)) for pair in itertools.product(rows, repeat=2))
    worst = Fraction(0)
    for ballot in itertools.product([False, True], repeat=protocol.n_bins):
        chances = []
        for row in rows:
            chance = Fraction(1)
            for bit, vote in zip(ballot, row, strict=True):
                chance *= 1 - flip if bit == vote else flip
            chances.append(chance)
        worst = max(worst, max(chances) / min(chances))
    assert worst == ((1 - flip) / flip) ** n_differing
    return worst


def estimate_chances(centre: int, domain: tuple[int, int], rate: Fraction) -> list[Decimal]:
    """Return the probability of each report in a domain: discrete Laplace about a centre, its tails at the ends."""
    p = decimal(-rate).exp()
    at = [(1 - p) / (1 + p) * p ** abs(y - centre) for y in range(domain[0], domain[1] + 1)]
    at[0] = p ** (centre - domain[0]) / (1 + p)
    at[-1] = p ** (domain[1] - centre) / (1 + p)
    return at


def worst_estimates(protocol: LocalProtocol, rate_of: Fraction) -> Decimal:
    """Return the largest ratio over all reports, all data and all bins, for noise of ``rate_of`` times the rate."""
    worst = Decimal(0)
    for number in range(protocol.n_bins):
        centres = {device.clipped_estimate(data, number, protocol) for data in all_data(protocol)}
        rows = [
            estimate_chances(one, protocol.domain(number), rate_of * protocol.noise_rate(number)) for one in centres
        ]
        assert all(abs(sum(row) - 1) < ROUNDING for row in rows)
        worst = max(worst, *(max(column) / min(column) for column in zip(*rows, strict=True)))
    return worst


@pytest.mark.theorem("DAME-E5", "DAME-E6", "HV-L60")
@pytest.mark.parametrize("protocol", SMALL, ids=str)
def test_every_ballot_is_as_likely_under_any_two_data_up_to_exp_alpha(protocol: LocalProtocol) -> None:
    limit = decimal(protocol.alpha).exp()
    least = protocol.flip_probability
    assert decimal(worst_ballots(protocol, least)) <= limit
    one_less = least - Fraction(1, 1 << FLIP_BITS)
    loss_of_one_less = ((1 - one_less) / one_less) ** min(6, protocol.n_bins)
    assert decimal(loss_of_one_less) > limit, "the least probability that will do"


@pytest.mark.theorem("DAME-E6", "HV-L60")
def test_a_ballot_with_a_smaller_probability_of_a_flip_is_found_out() -> None:
    protocol = LocalProtocol(13, ALPHA, 1, 1)
    assert protocol.n_bins >= 6
    too_small = protocol.flip_probability - Fraction(2, 1 << FLIP_BITS)
    assert decimal(worst_ballots(protocol, too_small)) > decimal(ALPHA).exp()


@pytest.mark.theorem("DAME-E8", "HV-L60")
@pytest.mark.parametrize("protocol", SMALL, ids=str)
def test_every_estimate_is_as_likely_under_any_two_data_up_to_exp_alpha(protocol: LocalProtocol) -> None:
    limit = decimal(protocol.alpha).exp()
    assert worst_estimates(protocol, Fraction(1)) <= limit * (1 + ROUNDING)
    if protocol.effective_size == 1:  # then a device of one value reaches both ends of the interval
        assert worst_estimates(protocol, Fraction(1001, 1000)) > limit


@pytest.mark.theorem("HV-L61")
def test_what_a_device_sends_in_a_period_is_one_report_whatever_its_data() -> None:
    """The probability of all that is sent is that of its one report, so the losses above are those of the period."""
    keys = [os.urandom(32) for _ in range(400)]
    rounds = [device.round_of(key, "a device") for key in keys]
    assert set(rounds) == {1, 2}
    assert rounds == [device.round_of(key, "a device") for key in keys]
    assert stats.binomtest(rounds.count(1), 400).pvalue > FALSE_ALARM
    names = [device.round_of(keys[0], f"device {i}") for i in range(400)]
    assert stats.binomtest(names.count(1), 400).pvalue > FALSE_ALARM
    assert names != [device.round_of(keys[1], f"device {i}") for i in range(400)]


@pytest.mark.theorem("HV-L60")
def test_a_bit_is_flipped_for_exactly_as_many_words_as_its_probability_says() -> None:
    protocol = LocalProtocol(9, ALPHA, 1, 20)
    assert protocol.n_bins == 1
    n_flipping = protocol.flip_probability.numerator * ((1 << FLIP_BITS) // protocol.flip_probability.denominator)
    for word, flipped in ((0, True), (n_flipping - 1, True), (n_flipping, False), ((1 << FLIP_BITS) - 1, False)):
        sent = device.ballot([3], protocol, lambda n, word=word: word.to_bytes(4, "little")[:n])
        assert sent == [0 if flipped else 1]


@pytest.mark.theorem("HV-L60")
def test_uniform_integers_are_uniform_over_all_bytes() -> None:
    for n in (1, 2, 3, 5, 8, 100, 255, 256):
        found = []
        for byte in range(256):
            words = iter([byte, 0])
            found.append(uniform_below(n, lambda size, words=words: bytes([next(words)] * size)))
        accepted = 256 >> (n - 1).bit_length() if n > 1 else 256
        assert all(found.count(i) == accepted for i in range(1, n))
    with pytest.raises(ValueError, match="probability"):
        happens(Fraction(3, 2), os.urandom)


@pytest.mark.statistical
@pytest.mark.theorem("CKS-A2")
@pytest.mark.parametrize("rate", [Fraction(5, 2), Fraction(3, 7), Fraction(3, 50)])
def test_the_noise_of_a_device_is_discrete_laplace_and_that_of_the_other_sampler(rate: Fraction) -> None:
    """False-alarm rate 1e-9 each; a rate that is a quarter larger is told apart."""
    n = 15_000
    draws = np.array([one_discrete_laplace(rate, os.urandom) for _ in range(n)])
    many = discrete_laplace(np.full(n, int(rate * 2**50), dtype=object), os.urandom)
    other = discrete_laplace(np.full(n, int(rate * 2**50 * 5 / 4), dtype=object), os.urandom)

    def p_value(sample: np.ndarray) -> float:
        edge = int(4 / rate) + 1
        table = np.array(
            [np.bincount(np.clip(one, -edge, edge) + edge, minlength=2 * edge + 1) for one in (draws, sample)]
        )
        kept = table[:, table.sum(axis=0) > 20]
        expected = kept.sum(axis=0) / 2  # of each row, which are of one length but for what was left out
        return float(stats.chi2.sf(((kept - expected) ** 2 / expected).sum(), kept.shape[1] - 1))

    assert p_value(many) > FALSE_ALARM
    assert p_value(other) < FALSE_ALARM
    p = np.exp(-float(rate))
    zeros = stats.binomtest(int((draws == 0).sum()), n, (1 - p) / (1 + p)).pvalue
    assert zeros > FALSE_ALARM


@pytest.mark.theorem("DAME-E8", "HV-L60")
@pytest.mark.parametrize("protocol", SMALL, ids=str)
def test_bins_cover_the_range_and_every_report_is_in_the_domain(protocol: LocalProtocol) -> None:
    assert -protocol.half_width <= protocol.left <= 0
    right = protocol.left + 2 * protocol.half_width * protocol.n_bins
    assert protocol.value_range <= right <= protocol.value_range + protocol.half_width + 1
    for number in range(protocol.n_bins):
        lower, upper = protocol.interval(number)
        assert 0 <= lower < upper <= protocol.value_range
        least, largest = protocol.domain(number)
        assert largest - upper >= 14 / protocol.noise_rate(number)
        for data in all_data(protocol):
            assert lower <= device.clipped_estimate(data, number, protocol) <= upper
            assert least <= device.noisy_estimate(data, number, protocol, os.urandom) <= largest
    for value in range(protocol.value_range + 1):
        votes = device.cast_votes([value] * protocol.effective_size, protocol)
        at = [protocol.midpoint(number) for number, vote in enumerate(votes) if vote]
        assert min(abs(value - one) for one in at) <= protocol.half_width


@pytest.mark.theorem("DAME-E8")
def test_few_values_are_drawn_to_the_midpoint_by_the_root_of_their_share() -> None:
    protocol = LocalProtocol(10_000, ALPHA, 100, 700)
    number = 3
    middle = protocol.midpoint(number)
    for n, weight in ((0, 0), (1, 0.1), (25, 0.5), (100, 1), (400, 1)):
        found = device.clipped_estimate([middle + 1000] * n, number, protocol)
        assert found == pytest.approx(middle + weight * 1000, abs=1)


@pytest.mark.theorem("DAME-E5", "DAME-E8")
def test_bad_arguments_are_refused() -> None:
    for name, value in (("value_range", 0), ("alpha", Fraction(0)), ("effective_size", 0), ("half_width", 0)):
        arguments = {"value_range": 9, "alpha": ALPHA, "effective_size": 1, "half_width": 1, name: value}
        with pytest.raises(ValueError, match=name):
            LocalProtocol(**arguments)
    with pytest.raises(ValueError, match="alpha"):
        LocalProtocol(9, Fraction(1, 1 << 40), 1, 1)
    protocol = SMALL[4]
    for bad in ([-1], [protocol.value_range + 1]):
        with pytest.raises(ValueError, match="private_ticks"):
            device.cast_votes(bad, protocol)
    with pytest.raises(ValueError, match="number"):
        device.clipped_estimate([1], protocol.n_bins, protocol)
    with pytest.raises(ValueError, match="rate"):
        one_discrete_laplace(Fraction(0), os.urandom)
