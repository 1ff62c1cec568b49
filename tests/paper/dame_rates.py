"""The rates of Distribution-Aware Mean Estimation, by the devices and the collector that hexveil runs."""

from collections.abc import Iterator
from fractions import Fraction
from math import ceil

import numpy as np
import polars as pl
from collections_of import Fleet, collect
from matplotlib.figure import Figure as Canvas
from users import geometric_sizes

from dpmath.local.design import crowd, expected_local_error
from dpmath.local.protocol import LocalProtocol
from dpmath.local.sizes import bin_half_width
from tests.paper.figure import Claim, Figure, steps
from tests.paper.style import draw_series

ALPHAS = (Fraction(3, 10), Fraction(3, 5), Fraction(6, 5), Fraction(12, 5))
OF_THE_PAPER = {20_000: 0.05, 200_000: 0.015}
"""The mean error at alpha 0.6 by number of devices, in the unit of values from -1 to 1."""

_RANGE, _SIZE, _THETA = 2000, 1000, 0.2
_DEVICES = (5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000)
_SIZES = geometric_sizes(_SIZE)
_SEED = 41


def protocol_for(n_devices: int, alpha: Fraction) -> LocalProtocol:
    """Return the protocol with mt = 1000, and tau by the paper's equation in ticks of 0.001."""
    tau = bin_half_width(_SIZE, n_devices, float(alpha))
    return LocalProtocol(_RANGE, alpha, _SIZE, ceil(tau * _RANGE / 2))


def errors(n_devices: int, alpha: Fraction, runs: int, rng: np.random.Generator) -> np.ndarray:
    """Return the error of each of some collections of both rounds, for values in [-1, 1]."""
    protocol = protocol_for(n_devices, alpha)
    known, truth = crowd(_SIZES, protocol), _RANGE * (1 + _THETA) / 2
    found = []
    for _ in range(runs):
        sizes = rng.choice(_SIZES.sizes, n_devices, p=_SIZES.probabilities)
        fleet = Fleet(_RANGE * rng.binomial(sizes, truth / _RANGE) / sizes, sizes)
        found.append(collect(fleet, protocol, known, rng)[0].mean - truth)
    return np.abs(found) * 2 / _RANGE


def numbers(quick: bool) -> pl.DataFrame:
    """Return the mean error over the number of devices for each alpha, measured, and as the plan expects it."""
    rng, rows = np.random.default_rng(_SEED), []
    wanted = [n for n in _DEVICES if n <= 200_000 and n in (5_000, *OF_THE_PAPER)] if quick else _DEVICES
    for n_devices in steps(wanted):
        for alpha in ALPHAS:
            protocol = protocol_for(n_devices, alpha)
            measured = errors(n_devices, alpha, 30 if quick else 100, rng)
            expected = expected_local_error(n_devices, protocol, crowd(_SIZES, protocol)) * 2 / _RANGE
            rows.append(
                {
                    "n_devices": n_devices,
                    "alpha": f"alpha {float(alpha):g}",
                    "error": measured.mean(),
                    "error_sd": measured.std(ddof=1) / np.sqrt(measured.size),
                    "planned": expected,
                }
            )
    return pl.DataFrame(rows)


def draw(frame: pl.DataFrame, canvas: Canvas) -> None:
    """Draw the errors on logarithmic scales, and what the paper's settings give as circles."""
    axes = canvas.subplots()
    draw_series(axes, frame, "n_devices", "error", "alpha")
    axes.scatter(
        list(OF_THE_PAPER), list(OF_THE_PAPER.values()), s=120, facecolors="none", edgecolors="black", zorder=3
    )
    axes.set(xlabel="devices n", ylabel="mean error, values in [-1, 1]", xscale="log", yscale="log")


def claims(frame: pl.DataFrame) -> Iterator[Claim]:
    """Measure the rates."""
    of_paper = frame.filter(alpha="alpha 0.6")
    found = dict(of_paper.select("n_devices", "error").rows())
    yield Claim(
        "At alpha 0.6 the mean error is about 0.05 with 20,000 devices and about 0.015 with 200,000.",
        all(0.6 < found[n] / wanted < 1.4 for n, wanted in OF_THE_PAPER.items()),
        ", ".join(f"{n:,} devices: {found[n]:.4f}" for n in OF_THE_PAPER),
    )
    far = frame.filter(pl.col("n_devices") >= 20_000)
    slopes = [
        float(np.polyfit(np.log(one["n_devices"]), np.log(one["error"]), 1)[0])
        for one in far.partition_by("alpha", maintain_order=True)
    ]
    yield Claim(
        "From 20,000 devices on, the error falls as the root of their number, up to the logarithm in tau.",
        all(-0.7 < slope < -0.3 for slope in slopes),
        f"Slopes on logarithmic scales, by alpha: {', '.join(f'{slope:.2f}' for slope in slopes)}.",
    )
    last = frame.filter(n_devices=frame["n_devices"].max())
    products = [float(alpha) * error for alpha, error in zip(ALPHAS, last["error"], strict=True)]
    yield Claim(
        "With many devices the error falls as 1/alpha.",
        max(products) < 2 * min(products),
        f"alpha times the error lies between {min(products):.4f} and {max(products):.4f}.",
    )
    error, error_sd, planned = (frame[name].to_numpy() for name in ("error", "error_sd", "planned"))
    share = error / planned
    yield Claim(
        "No error is above what the plan expects before anything is collected, but for chance.",
        bool(np.all(error <= planned + 4 * error_sd)),
        f"It is {share.min():.0%} to {share.max():.0%} of the expected one.",
    )


FIGURES = (
    Figure(
        "DAME rates as run",
        "Devices have geometric numbers of values with mean 1000, -1 or 1 with mean 0.2, in ticks of 0.001; mt = 1000, "
        "both rounds by dpmath.local, in whole ticks, with the probabilities of the devices; averages of 100 "
        "collections (quick: 30). Circles: 0.05 and 0.015 at alpha 0.6.",
        "The error falls with the root of n and with alpha, up to a log factor. At alpha 0.6, with geometric counts of "
        "mean 1000, it is about 0.05 with 20,000 devices and 0.015 with 200,000.",
        numbers,
        draw,
        claims,
    ),
)
