"""CPL's Figures 3 to 8: what CLIP-USER saves of the privacy loss, and what pseudo-users save of the error."""

from collections.abc import Iterator
from functools import cache, partial

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Canvas

from tests.paper.cpl import EPSILONS, GAMMAS, N_COLLECTIONS, Row, measured
from tests.paper.figure import Claim, Figure, steps
from tests.paper.style import draw_series, plain_numbers, series_of

ORIGINAL, IMPROVED = "every user kept", "after CLIP-USER and pseudo-users"
SETTING = "G = 12 cells, L = 4095 users, q = 0.01, mean and variance released, U = 65 km/h"


@cache
def rows_of(gamma: int, quick: bool) -> list[Row]:
    """Return the averages for one gamma; the same draws underlie all three."""
    epsilons = EPSILONS[::3] if quick else EPSILONS
    rng = np.random.default_rng(2405_06261)
    return list(steps(measured(gamma, rng, 2 if quick else N_COLLECTIONS, epsilons)))


def numbers(gamma: int, quantity: str, quick: bool) -> pl.DataFrame:
    """Return a quantity, "loss" or "error", over the loss of one cell, before and after."""
    series = ((ORIGINAL, f"original_{quantity}"), (IMPROVED, quantity))
    columns = [
        {"epsilon": row["epsilon"], "series": name, quantity: row[key]}
        for name, key in series
        for row in rows_of(gamma, quick)
    ]
    return pl.DataFrame(columns)


def draw(quantity: str, label: str, shown: pl.DataFrame, canvas: Canvas) -> None:
    """Draw a quantity over the loss of one cell; errors, as in the paper, on a logarithmic scale."""
    axes = canvas.subplots()
    draw_series(axes, shown, "epsilon", quantity, "series")
    scale = "log" if quantity == "error" else "linear"
    axes.set(xlabel="epsilon of one cell", ylabel=label, xscale="log", yscale=scale)
    plain_numbers(axes.xaxis)
    if scale == "log":
        plain_numbers(axes.yaxis)


def loss_claims(shown: pl.DataFrame) -> Iterator[Claim]:
    """Measure what the paper says of the privacy loss."""
    shares = series_of(shown, IMPROVED, "loss", "series") / series_of(shown, ORIGINAL, "loss", "series")
    yield Claim(
        "Suppression clearly improves the privacy loss: to less than half, at every epsilon.",
        bool(np.all(shares < 0.5)),
        f"To {shares.min():.0%} to {shares.max():.0%} of it.",
    )


def error_claims(shown: pl.DataFrame) -> Iterator[Claim]:
    """Measure what the paper says of the worst-case error."""
    gain = series_of(shown, ORIGINAL, "error", "series") / series_of(shown, IMPROVED, "error", "series")
    yield Claim(
        "Pseudo-users lower the worst-case error at every epsilon.",
        bool(np.all(gain > 1.05)),
        f"By a factor of {gain.min():.2f} to {gain.max():.2f}.",
    )
    yield Claim(
        "The gain is the larger, the smaller epsilon is.",
        bool(np.all(np.diff(gain) < 0)),
        "Less noise leaves less to win.",
    )


def _figures() -> Iterator[Figure]:
    kinds = (
        (3, "loss", "privacy loss of the worst user", "There are clear improvements of the privacy loss.", loss_claims),
        (
            6,
            "error",
            "worst-case error, (11): km/h and (km/h)^2 added",
            "The pseudo-user step lowers the error.",
            error_claims,
        ),
    )
    for first, quantity, label, paper, claims in kinds:
        for number, gamma in enumerate(GAMMAS, start=first):
            yield Figure(
                f"CPL figure {number}",
                f"{label[0].upper()}{label[1:]}; gamma = {gamma}, {SETTING}; averages of 10 collections (quick: 2).",
                paper,
                partial(numbers, gamma, quantity),
                partial(draw, quantity, label),
                claims,
            )


FIGURES = tuple(_figures())
