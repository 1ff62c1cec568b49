import dataclasses
import itertools
import math

import numpy as np
import pytest
from scipy import stats
from users import constant_sizes, geometric_sizes, heavy_tailed_sizes, users_with_mean

from dpmath.local.sizes import SizeDistribution, bin_half_width, effective_size
from dpmath.papers.dame import Protocol, estimates, local_mean, randomised_estimates, randomised_votes, votes
from dpmath.papers.dame_bounds import local_error_lower_bound, local_error_upper_bound

ALPHA = 0.6
FALSE_ALARM = 1e-9
THOUSAND = geometric_sizes(1000)


def protocol(n_users: int = 20_000, size: int = 1000, cut: bool = False, epsilon: float = ALPHA) -> Protocol:
    return Protocol(n_users, epsilon, size, THOUSAND.mean_root(size) / math.sqrt(size), cut)


def possible_votes(public: Protocol) -> np.ndarray:
    """Return every row of votes that any user's data can lead to."""
    means = np.repeat(np.linspace(-1, 1, 401), 2)
    n_samples = np.tile([1, public.effective_size], 401)
    return np.unique(votes(means, n_samples, public), axis=0)


def worst_ratio(rows: np.ndarray, bit_epsilon: float) -> float:
    """Return the largest ratio of the probabilities of one message under two users' data, over all messages."""
    keep = math.exp(bit_epsilon) / (1 + math.exp(bit_epsilon))
    messages = np.array(list(itertools.product([False, True], repeat=rows.shape[1])))
    same = messages[:, None] == rows[None]
    chance = np.where(same, keep, 1 - keep).prod(axis=2)
    return float((chance.max(axis=1) / chance.min(axis=1)).max())


@pytest.mark.theorem("DAME-E5", "DAME-E6")
def test_randomised_votes_of_any_two_users_are_as_likely_up_to_exp_alpha() -> None:
    rows = possible_votes(protocol(size=3000))
    assert rows.shape[1] >= 6
    assert rows.sum(axis=1).max() == 3
    assert rows.sum(axis=1).min() == 0
    assert worst_ratio(rows, ALPHA / 6) == pytest.approx(math.exp(ALPHA))
    assert worst_ratio(rows, ALPHA / 5) > math.exp(ALPHA) * 1.1


@pytest.mark.theorem("DAME-E6")
def test_votes_are_flipped_as_often_as_said(rng: np.random.Generator) -> None:
    """False-alarm rate 1e-9; twice the privacy loss per bit would be noticed."""
    n = 1_000_000
    flipped = int(randomised_votes(np.zeros((n, 1), dtype=bool), ALPHA, rng).sum())
    for loss, plausible in ((ALPHA / 6, True), (ALPHA / 3, False)):
        assert (stats.binomtest(flipped, n, 1 / (1 + math.exp(loss))).pvalue > FALSE_ALARM) == plausible
    cast = rng.random((50, 4)) < 0.5
    states = [np.random.default_rng(1) for _ in range(2)]
    assert np.array_equal(randomised_votes(cast, ALPHA, states[0]), ~randomised_votes(~cast, ALPHA, states[1]))


@pytest.mark.theorem("DAME-E5")
@pytest.mark.parametrize("size", [1, 30, 1000, 100_000])
def test_a_user_votes_for_the_bin_of_the_mean_and_its_neighbours(size: int) -> None:
    public = protocol(size=size)
    means = np.linspace(-1, 1, 1001)
    cast = votes(means, np.full(1001, size), public)
    distance = np.abs(means[:, None] - public.midpoints)
    tau = public.half_width
    assert np.all(cast[distance < 3 * tau - 1e-9])
    assert not np.any(cast[distance > 3 * tau + 1e-9])
    assert public.midpoints[-1] + tau >= 1
    assert public.midpoints == pytest.approx(-public.midpoints[::-1])
    assert not votes(means, np.full(1001, max(size - 1, 1)), public).any() or size == 1


@pytest.mark.theorem("DAME-E8")
@pytest.mark.parametrize("cut", [False, True])
def test_an_estimate_stays_in_the_interval_that_its_noise_is_made_for(cut: bool) -> None:
    for size in (10, 1000, 100_000):
        public = protocol(size=size, cut=cut)
        means = np.tile(np.linspace(-1, 1, 101), 3)
        n_samples = np.repeat([1, size, 10 * size], 101)
        for midpoint in public.midpoints:
            lower, upper = public.interval(midpoint)
            clipped = estimates(means, n_samples, midpoint, public)
            assert lower <= clipped.min() <= clipped.max() <= upper
            assert (upper - lower) / public.noise_scale(midpoint) == pytest.approx(ALPHA)
            if not cut:
                assert public.noise_scale(midpoint) == pytest.approx(14 * public.half_width / ALPHA)


@pytest.mark.theorem("DAME-E8")
def test_the_whole_loss_is_reached_by_users_at_the_interval_s_ends() -> None:
    public = protocol(size=100_000, cut=True)
    midpoint = public.midpoints[public.midpoints.size // 2]
    ends = estimates(np.array([-1.0, 1.0]), np.array([100_000] * 2), midpoint, public)
    assert np.ptp(ends) / public.noise_scale(midpoint) == pytest.approx(ALPHA)


@pytest.mark.theorem("DAME-E8")
def test_cutting_the_interval_changes_no_estimate_and_never_adds_noise(rng: np.random.Generator) -> None:
    for size in (3, 1000, 100_000):
        whole, cut = protocol(size=size), protocol(size=size, cut=True)
        means, n_samples = rng.uniform(-1, 1, 500), rng.integers(1, 2 * size, 500)
        for midpoint in whole.midpoints:
            assert estimates(means, n_samples, midpoint, cut) == pytest.approx(
                estimates(means, n_samples, midpoint, whole)
            )
            assert cut.noise_scale(midpoint) <= whole.noise_scale(midpoint)
            assert cut.noise_scale(midpoint) <= 2 / ALPHA + 1e-12


@pytest.mark.theorem("DAME-E8")
def test_the_noise_is_laplace_of_the_scale_that_is_said(rng: np.random.Generator) -> None:
    """False-alarm rate 1e-9; half the scale would be noticed."""
    public = protocol()
    noise = randomised_estimates(np.zeros(20_000), 0.0, public, rng)
    scale = public.noise_scale(0.0)
    assert stats.kstest(noise, stats.laplace(0, scale).cdf).pvalue > FALSE_ALARM
    assert stats.kstest(noise, stats.laplace(0, scale / 2).cdf).pvalue < FALSE_ALARM


@pytest.mark.theorem("DAME-E5", "DAME-E6", "DAME-E8")
def test_each_message_is_a_function_of_its_user_s_data_alone(rng: np.random.Generator) -> None:
    public = protocol()
    means, n_samples = rng.uniform(-1, 1, 40), rng.integers(1, 3000, 40)
    other_means, other_samples = means.copy(), n_samples.copy()
    other_means[7], other_samples[7] = -means[7], 5000
    others = np.arange(40) != 7

    def messages(means: np.ndarray, n_samples: np.ndarray) -> np.ndarray:
        own = np.random.default_rng(3)
        ballots = randomised_votes(votes(means, n_samples, public), ALPHA, own)
        values = randomised_estimates(estimates(means, n_samples, 0.1, public), 0.1, public, own)
        return np.column_stack([ballots, values])

    before, after = messages(means, n_samples), messages(other_means, other_samples)
    assert np.array_equal(before[others], after[others])
    assert not np.array_equal(before[7], after[7])


@pytest.mark.theorem("DAME-E9", "HV-L32")
@pytest.mark.parametrize("midpoint", [-0.4, 0.1, 0.4])
def test_the_estimate_is_the_mean_where_nothing_is_clipped_whatever_bin_was_found(midpoint: float) -> None:
    sizes = np.array([10, 100, 1000])
    distribution = SizeDistribution(sizes, np.full(3, 1 / 3))
    public = Protocol(6, ALPHA, 1000, distribution.mean_root(1000) / math.sqrt(1000))
    average = estimates(np.full(3, 0.25), sizes, midpoint, public).mean()
    weight = public.mean_weight
    assert (average - (1 - weight) * midpoint) / weight == pytest.approx(0.25)
    assert average / weight != pytest.approx(0.25)


@pytest.mark.statistical
@pytest.mark.theorem("DAME-E9", "HV-L32")
def test_the_error_is_what_the_noise_makes_it(rng: np.random.Generator) -> None:
    """Geometric sizes of mean 1000, mt = 1000, alpha 0.6, 20,000 users, interval cut: mean error 0.05.

    False-alarm rate 1e-9: the squared errors of 60 runs, over their variance, are a chi-squared sum. A variance half
    as large or twice as large would be noticed.
    """
    public = protocol(cut=True)
    runs = 60
    errors = np.array(
        [local_mean(*users_with_mean(0.2, 20_000, THOUSAND, rng), public, rng) - 0.2 for _ in range(runs)]
    )
    variance = 2 * (2 / ALPHA) ** 2 / 10_000 / public.mean_weight**2
    low, high = stats.chi2.ppf(FALSE_ALARM, runs), stats.chi2.isf(FALSE_ALARM, runs)
    assert 0.8 * low < (errors**2).sum() / variance < 1.1 * high
    assert math.sqrt(2 * variance / math.pi) == pytest.approx(0.05, abs=0.01)


@pytest.mark.quick(1)
@pytest.mark.theorem("DAME-T2", "HV-L32")
@pytest.mark.statistical
@pytest.mark.parametrize(
    "distribution",
    [constant_sizes(50), THOUSAND, heavy_tailed_sizes(2.5, 100_000)],
    ids=["constant", "geometric", "heavy"],
)
def test_the_measured_error_is_between_the_bounds(distribution: SizeDistribution, rng: np.random.Generator) -> None:
    """False-alarm rate 1e-9: 150 squared errors over their mean are a chi-squared sum. A quarter of it is refused."""
    n_users, runs = 50_000, 150
    size = effective_size(distribution, n_users, ALPHA)
    public = Protocol(n_users, ALPHA, size, distribution.mean_root(size) / math.sqrt(size))
    errors = [local_mean(*users_with_mean(0.3, n_users, distribution, rng), public, rng) - 0.3 for _ in range(runs)]
    total, rarely = float(np.square(errors).sum()), float(stats.chi2.isf(FALSE_ALARM, runs))
    upper = local_error_upper_bound(distribution, n_users, ALPHA, size)
    assert upper / 4 * rarely < total < upper * rarely
    assert total > runs * local_error_lower_bound(distribution, n_users, ALPHA)


@pytest.mark.theorem("DAME-T2")
def test_the_printed_cap_of_the_upper_bound_needs_an_estimate_cut_to_the_range(rng: np.random.Generator) -> None:
    """Forty users: noise carries the paper's own estimate out of [-1, 1], mostly by more than 2."""
    means, n_samples = np.full(40, 0.9), np.ones(40, dtype=int)
    whole = Protocol(40, ALPHA, 1, 1.0)
    cut = dataclasses.replace(whole, cut=True)
    assert max((local_mean(means, n_samples, whole, rng) - 0.9) ** 2 for _ in range(50)) > 4
    assert max((local_mean(means, n_samples, cut, rng) - 0.9) ** 2 for _ in range(50)) <= 4


def spare(distribution: SizeDistribution, strength: float, a: int) -> float:
    """Return by how much the users with at least ``a`` samples are more than (12) asks for."""
    x = 8 * max(a * strength, 1)
    needed = min(288 / strength * math.log(x / math.log(x)), 1)
    return float(1 - distribution.probabilities[distribution.sizes < a].sum()) ** 2 - needed


@pytest.mark.theorem("DAME-E12")
def test_no_larger_size_than_the_effective_one_is_reached_by_enough_users(rng: np.random.Generator) -> None:
    for _ in range(100):
        sizes = np.sort(rng.choice(np.arange(1, 60), rng.integers(1, 8), replace=False))
        distribution = SizeDistribution(sizes, rng.dirichlet(np.ones(sizes.size)))
        n_users, epsilon = int(rng.integers(1, 100_000)), float(rng.uniform(0.1, 0.6))
        strength = n_users * epsilon**2
        reached = effective_size(distribution, n_users, epsilon)
        assert spare(distribution, strength, reached) >= 0
        assert all(spare(distribution, strength, a) < 0 for a in range(reached + 1, 100))


@pytest.mark.theorem("DAME-E12")
def test_more_users_never_lower_the_effective_size_and_few_users_leave_the_least() -> None:
    found = [effective_size(THOUSAND, n, ALPHA) for n in (10, 1000, 30_000, 100_000, 10**6, 10**8)]
    assert found == sorted(found)
    assert found[0] == 1
    assert found[-1] > 3000
    assert effective_size(constant_sizes(50), 10, ALPHA) == 50


@pytest.mark.theorem("DAME-E4")
def test_the_bins_narrow_as_users_have_more_samples() -> None:
    assert bin_half_width(1000, 20_000, 0.6) == pytest.approx(0.16979, abs=1e-5)
    assert bin_half_width(4, 1, 0.1) == pytest.approx(math.sqrt(2 * math.log(8) / 4))
    widths = [bin_half_width(size, 20_000, 0.6) for size in (1, 10, 100, 1000)]
    assert widths == sorted(widths, reverse=True)


@pytest.mark.theorem("DAME-E4")
def test_sample_means_are_within_one_half_width_of_the_mean_but_rarely() -> None:
    """Hoeffding: P(|mean - theta| > tau) <= 2 exp(-mt tau^2/2) = 1/(4 sqrt(mt) n alpha^2); the exact tail is below."""
    size, strength = 1000, 7200
    tau = bin_half_width(size, 20_000, 0.6)
    beyond = 2 * stats.binom.sf(math.floor(size * (1 + tau) / 2), size, 0.5)
    assert beyond <= 1 / (4 * math.sqrt(size) * strength)
    assert 2 * stats.binom.sf(math.floor(size * (1 + tau / 2) / 2), size, 0.5) > 1 / (4 * math.sqrt(size) * strength)


@pytest.mark.theorem("DAME-T1", "HV-L33")
def test_the_lower_bound_is_the_best_over_every_cut(rng: np.random.Generator) -> None:
    for _ in range(50):
        sizes = np.sort(rng.choice(np.arange(1, 60), 5, replace=False))
        shares = rng.dirichlet(np.ones(5))
        n_users, epsilon = int(rng.integers(1, 200)), float(rng.uniform(0.05, 0.6))
        strength = n_users * epsilon**2
        best = max(
            math.exp(-1 - 24 * strength * shares[sizes > a].sum() ** 2)
            / (288 * max(strength * (shares * np.sqrt(sizes))[sizes <= a].sum() ** 2, 1))
            for a in range(61)
        )
        assert local_error_lower_bound(SizeDistribution(sizes, shares), n_users, epsilon) == pytest.approx(best)


@pytest.mark.theorem("HV-L33")
def test_the_steps_of_the_lower_bound_hold_and_the_sketch_s_range_of_delta_does_not() -> None:
    alpha = np.linspace(0.01, 22 / 35, 100)
    assert np.all(np.expm1(alpha) ** 2 <= 3 * alpha**2)
    divergence = {delta: delta * math.log((1 + delta) / (1 - delta)) for delta in (0.01, 1 / math.sqrt(72), 0.8, 0.9)}
    assert all(value <= 3 * delta**2 for delta, value in divergence.items() if delta <= 0.8)
    assert divergence[0.9] > 3 * 0.9**2


@pytest.mark.theorem("DAME-T1", "DAME-T2")
def test_the_bounds_match_up_to_the_logarithm_as_users_grow() -> None:
    for distribution in (constant_sizes(1), THOUSAND):
        ratios = []
        for n_users in (10**8, 10**10, 10**12):
            size = effective_size(distribution, n_users, ALPHA)
            upper = local_error_upper_bound(distribution, n_users, ALPHA, size)
            ratios.append(upper / local_error_lower_bound(distribution, n_users, ALPHA) / math.log(n_users))
        assert max(ratios) / min(ratios) < 1.5


@pytest.mark.theorem("DAME-T2")
def test_the_upper_bound_is_capped_and_never_below_the_variance() -> None:
    assert local_error_upper_bound(THOUSAND, 1, ALPHA, 1) == 4
    size, n_users = 1000, 10**6
    public = protocol(n_users, size)
    variance = (2 * public.noise_scale(0.0) ** 2 + 49 * public.half_width**2) / (n_users / 2) / public.mean_weight**2
    bound = local_error_upper_bound(THOUSAND, n_users, ALPHA, size, c3=4 * (392 + 49 * ALPHA**2))
    assert bound == pytest.approx(variance)
    assert local_error_upper_bound(THOUSAND, n_users, ALPHA, size) > variance


@pytest.mark.theorem("DAME-E4", "DAME-E5", "DAME-E6", "DAME-E8", "DAME-E9", "DAME-E12", "DAME-T1", "DAME-T2")
def test_bad_arguments_are_refused(rng: np.random.Generator) -> None:
    public = protocol()
    for name, value in (("epsilon", 0.0), ("n_users", 3), ("effective_size", 0), ("mean_weight", 1.5)):
        with pytest.raises(ValueError, match=name):
            dataclasses.replace(public, **{name: value})
    for sizes, shares, message in (([2, 1], [0.5, 0.5], "ascending"), ([0], [1.0], "sizes"), ([1], [0.5], "sum to 1")):
        with pytest.raises(ValueError, match=message):
            SizeDistribution(np.array(sizes), np.array(shares))
    with pytest.raises(ValueError, match="means"):
        votes(np.array([1.5]), np.array([3]), public)
    with pytest.raises(ValueError, match="n_samples"):
        estimates(np.array([0.5]), np.array([0]), 0.0, public)
    with pytest.raises(ValueError, match="clipped"):
        randomised_estimates(np.array([9.0]), 0.0, public, rng)
    with pytest.raises(ValueError, match="epsilon"):
        randomised_votes(np.ones((1, 1), dtype=bool), -1.0, rng)
    with pytest.raises(ValueError, match="n_users"):
        local_mean(np.zeros(4), np.ones(4, dtype=int), public, rng)
    with pytest.raises(ValueError, match="effective_size"):
        bin_half_width(0, 5, 0.5)
    with pytest.raises(ValueError, match="c4"):
        effective_size(THOUSAND, 5, 0.5, c4=1.0)
    with pytest.raises(ValueError, match="c4"):
        local_error_upper_bound(THOUSAND, 5, 0.5, 1, c4=0.5)
    with pytest.raises(ValueError, match="epsilon"):
        local_error_lower_bound(THOUSAND, 5, 1.0)
