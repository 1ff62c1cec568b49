"""The figures of Bounding User Contributions: one cell, optimal clipping against the plain Laplace mechanism."""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Canvas

from dpmath.cells.thresholds import clipped_errors, clipping_thresholds, threshold_rank
from dpmath.core.occupancy import Occupancy
from dpmath.papers.annulus import annulus_projection, clipping_bounds, clipping_sensitivity
from tests.paper.figure import Claim, Figure, steps
from tests.paper.style import COLOURS, draw_series, series_of

UPPER = 65.0
"""U, km/h."""
REPETITIONS = 10_000
"""Of every average, as in the papers."""
LAPLACE, OPTIMAL, OPTIMAL_WORST = "Laplace, no clipping", "optimal clipping", "optimal clipping, worst case"
AKMV = "AKMV, private quantile"
BEYOND_TWO = "From epsilon 2 on T is U m* and nothing is clipped: the two mechanisms are one."


def geometric_collection(largest_power: int = 6) -> np.ndarray:
    """Return 2^i users with 2^(M - i) records each, for i from 0 to M."""
    powers = np.arange(largest_power + 1)
    return np.repeat(2 ** (largest_power - powers), 2**powers)


def extreme_valued_collection(n_users: int = 101, most: int = 10) -> np.ndarray:
    """Return one user with ``most`` records and others with one each."""
    return np.append(most, np.ones(n_users - 1, dtype=np.int64))


def uniform_samples(shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Return samples uniform on [0, U]."""
    return rng.uniform(0, UPPER, shape)


def projected_gaussian_samples(shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Return samples of mean U/2 and variance U/4, drawn again until they lie in (0, U]."""
    samples = rng.normal(UPPER / 2, np.sqrt(UPPER / 4), shape)
    while (outside := (samples <= 0) | (samples > UPPER)).any():
        samples[outside] = rng.normal(UPPER / 2, np.sqrt(UPPER / 4), outside.sum())
    return samples


def epsilons(quick: bool) -> np.ndarray:
    """Return the range of epsilon; the papers' text does not say which theirs is."""
    return np.round(np.arange(0.1, 2.55, 0.1 if quick else 0.05), 2)


def threshold(records: np.ndarray, epsilon: float) -> tuple[int, float]:
    """Return the optimal T, in records, and the worst-case error that it has, km/h."""
    users = np.arange(records.size)
    occupancy = Occupancy(np.zeros_like(users), users, records.astype(np.int64), 1, records.size)
    kept = np.ones(records.size, dtype=bool)
    thresholds = clipping_thresholds(occupancy, kept, float(epsilon))
    return int(thresholds[0]), UPPER * clipped_errors(occupancy, kept, thresholds, float(epsilon))[0]


def laplace_release(means: np.ndarray, records: np.ndarray, epsilon: float, rng: np.random.Generator) -> np.ndarray:
    """Release each repetition's mean with noise for the user with the most records, km/h."""
    noise = rng.laplace(0, UPPER * records.max() / epsilon, len(means))
    return (means @ records + noise) / records.sum()


def optimal_release(means: np.ndarray, records: np.ndarray, epsilon: float, rng: np.random.Generator) -> np.ndarray:
    """Release each repetition's mean, every user's samples, averaged, being clipped as is best at worst, km/h."""
    lower, upper = clipping_bounds(records, threshold(records, epsilon)[0])
    user = np.repeat(np.arange(records.size), records)
    noise = rng.laplace(0, UPPER * clipping_sensitivity(lower[user], upper[user], user) / epsilon, len(means))
    return (np.clip(means, UPPER * lower, UPPER * upper) @ records + noise) / records.sum()


def akmv_release(means: np.ndarray, records: np.ndarray, epsilon: float, rng: np.random.Generator) -> np.ndarray:
    """Release each repetition's mean by AKMV: a threshold of totals for half of epsilon, the clipped sum for the rest.

    The threshold is drawn as `private_threshold` draws it, between totals in place of ticks.
    """
    totals = means * records
    edges = np.sort(np.pad(totals, ((0, 0), (1, 1)), constant_values=(0, UPPER * records.max())), axis=1)
    below = max(records.size - threshold_rank(epsilon), 0)
    scores = np.abs(np.arange(records.size + 1) - below)
    with np.errstate(divide="ignore"):
        weights = np.log(np.diff(edges, axis=1)) - epsilon / 4 * scores
    chosen = (weights + rng.gumbel(size=weights.shape)).argmax(axis=1)
    rows = np.arange(len(totals))
    thresholds = rng.uniform(edges[rows, chosen], edges[rows, chosen + 1])
    noise = rng.laplace(0, 2 * thresholds / epsilon)
    return (np.minimum(totals, thresholds[:, None]).sum(axis=1) + noise) / records.sum()


Release = Callable[[np.ndarray, np.ndarray, float, np.random.Generator], np.ndarray]
RELEASES: dict[str, Release] = {LAPLACE: laplace_release, OPTIMAL: optimal_release, AKMV: akmv_release}


def errors_on(means: np.ndarray, records: np.ndarray, quick: bool) -> pl.DataFrame:
    """Return the mean absolute error of each mechanism over the rows of ``means``, users' sample means, km/h."""
    rng = np.random.default_rng(records.sum())
    truth = means @ records / records.sum()
    rows = []
    for epsilon in steps(epsilons(quick)):
        for name, release in RELEASES.items():
            errors = np.abs(release(means, records, epsilon, rng) - truth)
            spread = errors.std() / np.sqrt(errors.size)
            rows.append({"epsilon": epsilon, "mechanism": name, "error_kmh": errors.mean(), "standard_error": spread})
        worst = threshold(records, epsilon)[1]
        rows.append({"epsilon": epsilon, "mechanism": OPTIMAL_WORST, "error_kmh": worst, "standard_error": 0.0})
    return pl.DataFrame(rows)


def worst_numbers(quick: bool) -> pl.DataFrame:
    """Return the errors on the dataset where every value is U."""
    records = geometric_collection()
    return errors_on(np.full((REPETITIONS // (10 if quick else 1), records.size), UPPER), records, quick)


def average_numbers(
    records: np.ndarray, samples: Callable[[tuple[int, int], np.random.Generator], np.ndarray], quick: bool
) -> pl.DataFrame:
    """Return the errors on independent samples, drawn anew in each repetition."""
    drawn = samples((REPETITIONS // (10 if quick else 1), int(records.sum())), np.random.default_rng(1))
    starts = np.cumsum(records) - records
    return errors_on(np.add.reduceat(drawn, starts, axis=1) / records, records, quick)


def draw_errors(numbers: pl.DataFrame, canvas: Canvas) -> None:
    """Draw error over epsilon, on a logarithmic scale."""
    axes = canvas.subplots()
    draw_series(axes, numbers, "epsilon", "error_kmh", "mechanism")
    axes.set(xlabel="epsilon, privacy loss of a user", ylabel="error of the mean, km/h", yscale="log")


def ratios_below_two(numbers: pl.DataFrame) -> np.ndarray:
    """Return by which factor plain Laplace noise is worse than optimal clipping, for each epsilon below 2."""
    below = numbers.filter(pl.col("epsilon") < 2)
    return series_of(below, LAPLACE, "error_kmh") / series_of(below, OPTIMAL, "error_kmh")


def worst_claims(numbers: pl.DataFrame) -> Iterator[Claim]:
    """Measure what the papers say of the worst dataset."""
    worst, measured = series_of(numbers, OPTIMAL_WORST, "error_kmh"), series_of(numbers, OPTIMAL, "error_kmh")
    laplace = series_of(numbers, LAPLACE, "error_kmh")
    yield Claim(
        "The optimal worst-case error falls with epsilon, or at least never rises.",
        bool(np.all(np.diff(worst) <= 1e-12)),
        f"It falls from {worst[0]:.1f} to {worst[-1]:.1f} km/h over the range.",
    )
    shares, spread = measured / worst, series_of(numbers, OPTIMAL, "standard_error")
    yield Claim(
        "The optimal worst-case error is not exceeded where every value is U.",
        bool(np.all(measured <= worst + 5 * spread)),
        f"The measured error is {shares.min():.0%} to {shares.max():.0%} of it, sampling error included: formula (3) "
        "adds bias and noise up, though in a draw they may cancel.",
    )
    yield akmv_claim(numbers)
    yield Claim(
        "At no epsilon is the optimal worst-case error above that of the plain Laplace mechanism.",
        bool(np.all(worst <= UPPER * 64 / 448 / series_of(numbers, LAPLACE, "epsilon") + 1e-9)),
        f"The plain mechanism's is {(laplace / worst).min():.2f} to {(laplace / worst).max():.2f} times as large.",
    )


def akmv_claim(numbers: pl.DataFrame) -> Claim:
    """Measure by which factor AKMV is worse than optimal clipping below epsilon 2."""
    below = numbers.filter(pl.col("epsilon") < 2)
    ratios = series_of(below, AKMV, "error_kmh") / series_of(below, OPTIMAL, "error_kmh")
    return Claim(
        "Optimal clipping errs less than AKMV at every epsilon below 2.",
        bool(np.all(ratios > 1)),
        f"AKMV errs {ratios.min():.2f} to {ratios.max():.2f} times as much.",
    )


def average_claims(factor: float, numbers: pl.DataFrame) -> Iterator[Claim]:
    """Measure what the papers say of independent samples."""
    ratios = ratios_below_two(numbers)
    yield akmv_claim(numbers)
    yield Claim(
        f"The vanilla Laplace mechanism is significantly worse than optimal clipping: at least {factor} times, at "
        "every epsilon below 2.",
        bool(np.all(ratios >= factor)),
        f"By a factor between {ratios.min():.1f} and {ratios.max():.1f}.",
    )
    beyond = numbers.filter(pl.col("epsilon") >= 2)
    yield Claim(
        "It is worse at every epsilon that is drawn.",
        bool(np.all(series_of(beyond, LAPLACE, "error_kmh") > 1.1 * series_of(beyond, OPTIMAL, "error_kmh"))),
        BEYOND_TWO,
        expected=False,
    )
    below = numbers.filter(pl.col("epsilon") < 2)
    worst, laplace = series_of(below, OPTIMAL_WORST, "error_kmh"), series_of(below, LAPLACE, "error_kmh")
    yield Claim(
        "Even the worst-case error of optimal clipping is no higher than the average error of plain Laplace noise, for "
        "every epsilon below 2.",
        bool(np.all(worst <= laplace + 5 * series_of(below, LAPLACE, "standard_error"))),
        f"It is between {(worst / laplace).min():.0%} and {(worst / laplace).max():.0%} of it, but for sampling error.",
    )
    optimal = series_of(numbers, OPTIMAL, "error_kmh")
    jump = np.diff(optimal).argmax()
    yield Claim(
        "The average error of optimal clipping is not monotonic in epsilon, because T jumps.",
        bool(optimal[jump + 1] > 1.2 * optimal[jump]),
        f"It rises from {optimal[jump]:.2f} to {optimal[jump + 1]:.2f} km/h at epsilon "
        f"{series_of(numbers, OPTIMAL, 'epsilon')[jump + 1]:g}, where T becomes that of a user with more records.",
    )


INNER, OUTER = 0.35, 0.65
"""Radii of the annulus that is drawn, as shares of U."""


def annulus_numbers(quick: bool) -> pl.DataFrame:
    """Return vectors of two components and their projections, as shares of U."""
    rng = np.random.default_rng(2)
    corners = np.vstack([np.eye(2), INNER / 2 * np.eye(2)])
    samples = np.vstack([corners, rng.dirichlet(np.ones(3), 40 if quick else 400)[:, :2]])
    projected = annulus_projection(samples, np.full(len(samples), INNER), np.full(len(samples), OUTER))
    columns = {"x": samples[:, 0], "y": samples[:, 1], "projected_x": projected[:, 0], "projected_y": projected[:, 1]}
    return pl.DataFrame(columns)


def draw_annulus(numbers: pl.DataFrame, canvas: Canvas) -> None:
    """Draw the annulus with a few vectors and where they are projected to."""
    axes = canvas.subplots()
    axes.fill([INNER, OUTER, 0, 0], [0, 0, OUTER, INNER], color=COLOURS[0], alpha=0.25, label="annulus")
    axes.plot([1, 0], [0, 1], "--", color="#777777", label="|x| = U")
    for i, row in enumerate(numbers.head(14).iter_rows(named=True)):
        moved = {"arrowstyle": "->", "color": COLOURS[1]}
        axes.annotate("", (row["projected_x"], row["projected_y"]), (row["x"], row["y"]), arrowprops=moved)
        axes.plot(row["x"], row["y"], "o", color=COLOURS[6], markersize=4, label="sample" if i == 0 else None)
    axes.set(xlabel="first component, share of U", ylabel="second component, share of U", aspect="equal")
    axes.legend(frameon=False)


def annulus_claims(numbers: pl.DataFrame) -> Iterator[Claim]:
    """Measure what the vector paper says of projections onto the annulus."""
    samples = numbers.select("x", "y").to_numpy()
    projected = numbers.select("projected_x", "projected_y").to_numpy()
    norm = np.abs(samples).sum(axis=1)
    distance = np.abs(samples - projected).sum(axis=1)
    needed = np.maximum(np.maximum(INNER - norm, norm - OUTER), 0)
    yield Claim(
        "A sample moves by how far its norm is from the annulus, and no projection moves it less.",
        bool(np.allclose(distance, needed)),
        f"True of all {numbers.height} samples drawn.",
    )
    moved = np.abs(projected[:, None] - projected[None]).sum(axis=2).max()
    yield Claim(
        "If a user's sample changes, its projection moves by b - a at most (Lemma III.3, the sensitivity).",
        bool(moved <= OUTER - INNER + 1e-9),
        f"(U, 0) and (0, U) are projected {moved:.2f} U apart, that is 2b, where b - a is {OUTER - INNER:.2f} U. The "
        "proof moves a sample along one axis only. So in two dimensions and more the paper's noise is too small, with "
        "T = 0 there is none at all, and this project projects onto the ball of radius b with noise for 2b.",
        expected=False,
    )


GEOMETRIC = "geometric collection, M = 6: 127 users, 448 records"
EXTREME = "extreme-valued collection: 100 users with one record, one with 10"

FIGURES = (
    Figure(
        "BUC figure 1",
        f"Error on the dataset where every value is U = 65 km/h; {GEOMETRIC}. Averages of 10,000 repetitions (quick: "
        "1,000), and the worst case by formula.",
        "The error incurred by our clipping strategy is much lower for a large range of epsilon values, and the "
        "optimal worst-case error is monotonically decreasing with epsilon.",
        worst_numbers,
        draw_errors,
        worst_claims,
    ),
    Figure(
        "BUC figure 2",
        f"Average error on uniform samples; {GEOMETRIC}. Averages of 10,000 repetitions (quick: 1,000).",
        "The average-case performance of the vanilla Laplace mechanism is significantly worse than the average-case "
        "error incurred by the OPT-worst-case mechanism. Sharp discontinuities in T make the errors not monotonic in "
        "epsilon.",
        partial(average_numbers, geometric_collection(), uniform_samples),
        draw_errors,
        partial(average_claims, 1.5),
    ),
    Figure(
        "BUC figure 3",
        f"Average error on projected Gaussian samples, mean U/2, variance U/4; {EXTREME}. Averages of 10,000 "
        "repetitions (quick: 1,000).",
        "These plots show a similar trend in the performances of the mechanisms as in Figure 2, on a log-scale.",
        partial(average_numbers, extreme_valued_collection(), projected_gaussian_samples),
        draw_errors,
        partial(average_claims, 5),
    ),
    Figure(
        "BUC vectors figure 1",
        f"The annulus for two components, a = {INNER} U and b = {OUTER} U, with samples and their projections.",
        "A projection of a sample onto the annulus intuitively reduces the range of values that it can take, and hence "
        "its sensitivity too: in the worst case a sample changes from (a, 0) to (b, 0).",
        annulus_numbers,
        draw_annulus,
        annulus_claims,
    ),
)
