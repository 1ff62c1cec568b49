"""How the figures look: colours that the colour-blind can tell apart, and a marker for each series besides."""

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import LogLocator, NullFormatter

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""The palette of Okabe and Ito, the darker ones first."""
MARKERS = "osD^vPX"
LINES = ("-", "--", "-.", ":")


def draw_series(axes: Axes, numbers: pl.DataFrame, x: str, y: str, series: str) -> None:
    """Draw one line for each value of the column ``series``, in the order of first appearance."""
    for i, (name,) in enumerate(numbers.select(series).unique(maintain_order=True).iter_rows()):
        rows = numbers.filter(pl.col(series) == name).sort(x)
        axes.plot(
            rows[x],
            rows[y],
            color=COLOURS[i % len(COLOURS)],
            marker=MARKERS[i % len(MARKERS)],
            linestyle=LINES[i % len(LINES)],
            markersize=4,
            markevery=max(1, rows.height // 12),
            label=name,
        )
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.legend(frameon=False)


def legend_above(canvas: Canvas) -> None:
    """Move the legend, the same for all axes, out of them: where lines are everywhere it would hide some."""
    for axes in canvas.axes:
        if legend := axes.get_legend():
            legend.remove()
    handles = canvas.axes[0].get_legend_handles_labels()
    canvas.legend(*handles, loc="outside upper center", ncols=3, frameon=False)


def plain_numbers(axis: Axis) -> None:
    """Write 1, 2 and 5 of each decade as plain numbers on a logarithmic axis; powers would take more room."""
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


def series_of(numbers: pl.DataFrame, name: str, value: str, column: str = "mechanism") -> np.ndarray:
    """Return one series as an array, in the order of the rows."""
    return numbers.filter(pl.col(column) == name)[value].to_numpy()
