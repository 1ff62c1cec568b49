"""Draws the burn-down of the budget as a picture, from the ledger only."""

import base64
import io
from typing import TYPE_CHECKING

from tasks.account.chain import charges
from tasks.account.entry import Entry
from tasks.base.config import Config

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LINE, _LOW = "#00204d", "#b3541e"
_MARGINS = {"left": 0.085, "right": 0.985, "bottom": 0.17, "top": 0.9}  # a layout engine would draw everything twice


def burndown(entries: list[Entry], config: Config) -> str:
    """Return a picture of what today's limit left the worst user after each release, as the data URL of a PNG.

    It is in the unit that adds up: epsilon, or rho in zCDP.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    currency = config.privacy.currency
    name = "epsilon" if currency.name == "pure" else "rho"
    unit = 2.0**-currency.unit_bits
    limit = unit * currency.within(config.budget.epsilon_total)
    counted = charges(entries)
    left = [limit, *(max(0.0, limit - unit * entry.loss_used_after) for entry in counted)]
    figure = Figure(figsize=(8, 2.8))
    axes = figure.subplots(gridspec_kw=_MARGINS)
    axes.step(
        range(len(left) + 1), [*left, left[-1]], where="post", color=_LINE, linewidth=2, label="left to the worst user"
    )
    if config.budget.window_days is None:
        n_days = config.monitoring.budget_low_days
        level = n_days * unit * config.privacy.loss_per_day
        axes.axhline(level, color=_LOW, linestyle="--", label=f"what {n_days} days cost at most")
        limit = max(limit, level)
    axes.set(xlabel="releases made", ylabel=name, xlim=(0, len(left)), ylim=(0, 1.05 * limit))
    released = max((entry.loss_total_after for entry in counted), default=0)
    axes.set_title(
        f"everything released so far together: {currency.in_words(released)}", fontsize="medium", loc="right"
    )
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(alpha=0.3)
    axes.legend(loc="lower left", frameon=False)
    return _address(figure)


def _address(figure: "Figure") -> str:
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=100)
    return "data:image/png;base64," + base64.b64encode(content.getvalue()).decode()
