"""The figures of Bounding User Contributions: one cell, optimal clipping against the plain Laplace mechanism."""

from collections.abc import Callable, Iterator

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Canvas

from dpmath.clipping import clipped_errors, clipping_thresholds
from dpmath.occupancy import Occupancy
from tests.paper.figure import Claim, Figure, steps
from tests.paper.style import draw_series, series_of

UPPER = 65.0
"""U, km/h."""


def geometric_collection(largest_power: int = 6) -> np.ndarray:
    """Return 2^i users with 2^(M - i) records each, for i from 0 to M."""
    powers = np.arange(largest_power + 1)
    return np.repeat(2 ** (largest_power - powers), 2**powers)


def epsilons(quick: bool) -> np.ndarray:
    """Return the range of epsilon: the papers' text does not say which; beyond 2 nobody is clipped."""
    return np.round(np.arange(0.1, 2.55, 0.1 if quick else 0.05), 2)


def one_cell(records: np.ndarray) -> Occupancy:
    """Return a single cell whose users have so many records."""
    users = np.arange(records.size)
    return Occupancy(np.zeros_like(users), users, records.astype(np.int64), 1, records.size)


def laplace_worst(records: np.ndarray, epsilon: float) -> float:
    """Return the error of the plain Laplace mechanism, the same for every dataset, km/h."""
    return UPPER * records.max() / (epsilon * records.sum())


def optimal_worst(records: np.ndarray, epsilon: float) -> float:
    """Return the worst-case error of the optimal clipping, km/h."""
    occupancy, kept = one_cell(records), np.ones(records.size, dtype=bool)
    thresholds = clipping_thresholds(occupancy, kept, float(epsilon))
    return UPPER * clipped_errors(occupancy, kept, thresholds, float(epsilon))[0]


WORST: dict[str, Callable[[np.ndarray, float], float]] = {
    "Laplace, no clipping": laplace_worst,
    "optimal clipping": optimal_worst,
}


def worst_numbers(quick: bool) -> pl.DataFrame:
    """Return the error of each mechanism on the dataset where every value is U."""
    records = geometric_collection()
    rows = [
        {"epsilon": epsilon, "mechanism": name, "error_kmh": worst(records, epsilon)}
        for name, worst in WORST.items()
        for epsilon in steps(epsilons(quick))
    ]
    return pl.DataFrame(rows)


def draw_errors(numbers: pl.DataFrame, canvas: Canvas) -> None:
    """Draw error over epsilon, on a logarithmic scale."""
    axes = canvas.subplots()
    draw_series(axes, numbers, "epsilon", "error_kmh", "mechanism")
    axes.set(xlabel="epsilon, privacy loss of a user", ylabel="error of the mean, km/h", yscale="log")


def worst_claims(numbers: pl.DataFrame) -> Iterator[Claim]:
    """Measure what the paper says of its Figure 1."""
    optimal = series_of(numbers, "optimal clipping", "error_kmh")
    yield Claim(
        "The optimal worst-case error never rises with epsilon.",
        bool(np.all(np.diff(optimal) <= 1e-12)),
        f"It falls from {optimal[0]:.1f} to {optimal[-1]:.1f} km/h over the range.",
    )


FIGURES = (
    Figure(
        "BUC figure 1",
        "Error on the worst dataset, where every value is U = 65 km/h; geometric collection, M = 6, 127 users, "
        "448 records.",
        "The error incurred by our clipping strategy is much lower, and the optimal worst-case error is "
        "monotonically decreasing with epsilon.",
        worst_numbers,
        draw_errors,
        worst_claims,
    ),
)
