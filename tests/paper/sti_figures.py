"""STI's Figures 1 to 5: one cell in arrays, at the sizes of Austin's busiest cell and at sizes like the paper's."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import MaxNLocator

from tests.paper import sti, sti_claims
from tests.paper.austin import FOLDER, missing
from tests.paper.figure import Figure
from tests.paper.sti_claims import CLIPPING
from tests.paper.style import COLOURS, draw_series, legend_above, plain_numbers

Compute = Callable[[sti.Sample, np.random.Generator, int], list[sti.Row]]


class Sizes(NamedTuple):
    """Whose numbers of records the figures are drawn for.

    Attributes:
        name: Says it in the figure's id.
        records: Says it in the caption.
        values: Says in the caption where the values of Figures 1 and 2 are from.
        sample: Returns the records and values.
        missing: Says which records are not here.
    """

    name: str
    records: str
    values: str
    sample: Callable[[], sti.Sample]
    missing: Callable[[], str]


def sample_like_the_papers() -> sti.Sample:
    """Return sizes like the paper's with values of the paper's distribution."""
    return sti.projected_gaussian(sti.records_like_the_papers(), np.random.default_rng(2))


GAUSSIAN = "values of a Gaussian with mean 20.66769 and variance 115.135 projected to [0, 65] km/h"
AUSTIN = Sizes(
    "Austin's sizes",
    "Austin's hexagon-hour with the most buses: 71 users, 192 records, 1 to 5 of each",
    "their speeds, cut to [0, 100] km/h",
    lambda: sti.austin(FOLDER),
    missing,
)
PAPERS = Sizes(
    "sizes like the paper's",
    "sizes like the paper's: 217 users, 17,550 records (the paper: 17,166), median 46, at most 417",
    GAUSSIAN,
    sample_like_the_papers,
    lambda: "",
)


def numbers(compute: Compute, sizes: Sizes, quick: bool) -> pl.DataFrame:
    """Return the errors, averaged over drawn intervals; the noise's mean absolute value is by formula."""
    return pl.DataFrame(compute(sizes.sample(), np.random.default_rng(2401_15906), 60 if quick else 1000))


def lengths(sizes: Sizes, quick: bool) -> pl.DataFrame:
    """Return the minimax array lengths."""
    return pl.DataFrame(sti.minimax_lengths(sizes.sample(), 60 if quick else 240))


def draw_groupings(shown: pl.DataFrame, canvas: Canvas) -> None:
    """Draw error over epsilon, one panel for each mechanism and one line for each grouping."""
    panels = canvas.subplots(2, 2, sharex=True, sharey=True)
    for axes, name in zip(panels.flat, CLIPPING, strict=True):
        draw_series(axes, shown.filter(pl.col("mechanism") == name), "epsilon", "error", "grouping")
        axes.set(title=name, xlabel="epsilon", ylabel="error, km/h", yscale="log")
        plain_numbers(axes.yaxis)
    for axes in panels[0]:
        axes.xaxis.label.set_visible(False)
    for axes in panels[:, 1]:
        axes.yaxis.label.set_visible(False)
    legend_above(canvas)


def draw_mechanisms(shown: pl.DataFrame, canvas: Canvas) -> None:
    """Draw error over epsilon, one line for each mechanism."""
    axes = canvas.subplots()
    draw_series(axes, shown, "epsilon", "error", "mechanism")
    axes.set(xlabel="epsilon, privacy loss of a user", ylabel="mean absolute error of the mean, km/h", yscale="log")
    plain_numbers(axes.yaxis)
    legend_above(canvas)


def draw_lengths(shown: pl.DataFrame, canvas: Canvas) -> None:
    """Draw the array length over epsilon, as steps."""
    axes = canvas.subplots()
    axes.step(shown["epsilon"], shown["array_length"], where="post", color=COLOURS[0])
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.set(xlabel="epsilon, privacy loss of a user", ylabel="minimax array length m(epsilon), records", xscale="log")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    plain_numbers(axes.xaxis)


def figures(sizes: Sizes) -> Iterator[Figure]:
    """Return the five figures for some sizes."""
    in_austin = sizes is AUSTIN
    drawn = "averages over 1,000 drawn intervals (quick: 60), the Laplace noise by formula; gamma = 0.2 for Levy"
    scaled = f"{GAUSSIAN}; BestFit; {drawn}"
    fixed = "For Array-Averaging arrays have the length (9), too"
    of_errors = (
        (
            f"Error under each grouping; {sizes.records}; {sizes.values}; {drawn}. OptimizedQuantile is ours to add.",
            "While for the Array-Averaging algorithm, the performance of the two grouping strategies is similar, for "
            "the Levy and Quantile algorithms, the BestFit strategy performs much better than the WrapAround strategy.",
            sti.compared_groupings,
            draw_groupings,
            sti_claims.of_groupings,
        ),
        (
            f"Error of each mechanism; {sizes.records}; {sizes.values}; BestFit; {drawn}.",
            "Clipping of the number of samples per user and the speed values results in much better performance than "
            "the naive Baseline approach. However, there is very little difference between the performance of the "
            "other algorithms.",
            sti.compared_mechanisms,
            draw_mechanisms,
            sti_claims.of_mechanisms,
        ),
        (
            f"Error when every user has ten times the samples; {sizes.records} before that; {scaled}.",
            "Baseline performs much poorer than the clipping algorithms, as expected. However, interestingly, the Levy "
            "algorithm performs better than all other algorithms.",
            sti.sample_scaling,
            draw_mechanisms,
            sti_claims.of_sample_scaling,
        ),
        (
            f"Error with ten times the users; {sizes.records} before that; {scaled}. {fixed}.",
            "The FixedQuantile subroutine outperforms all the other algorithms. Furthermore, Array-Averaging performs "
            "second-best.",
            sti.user_scaling,
            draw_mechanisms,
            sti_claims.of_user_scaling,
        ),
    )
    for number, (caption, paper, compute, draw, claims) in enumerate(of_errors, start=1):
        yield Figure(
            f"STI figure {number}, {sizes.name}",
            caption,
            paper,
            partial(numbers, compute, sizes),
            draw,
            partial(claims, in_austin),
            sizes.missing,
        )
    yield Figure(
        f"STI figure 5, {sizes.name}",
        f"The smallest array length with the least worst-case error (15); {sizes.records}; 240 epsilons (quick: 60).",
        "This minimizer appears to be a staircase function of epsilon and is non-decreasing in epsilon.",
        partial(lengths, sizes),
        draw_lengths,
        sti_claims.of_lengths,
        sizes.missing,
    )


FIGURES = tuple(figure for pair in zip(figures(PAPERS), figures(AUSTIN), strict=True) for figure in pair)
