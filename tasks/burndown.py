"""The burn-down of the budget as a picture, from the ledger alone."""

import base64
import io
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from tasks.config import Config

_LINE, _LOW = "#00204d", "#b3541e"


def burndown(entries: list[dict[str, Any]], config: Config) -> str:
    """Return a picture of what the worst user had left after each release, as the address of a PNG in itself."""
    total = float(config.budget.epsilon_total)
    left = [total, *(float(entry["epsilon_left"]) for entry in entries)]
    left.append(left[-1])
    figure = Figure(figsize=(8, 2.8), layout="constrained")
    axes = figure.subplots()
    axes.step(range(len(left)), left, where="post", color=_LINE, linewidth=2, label="left to the worst user")
    if config.budget.window_days is None:
        low = config.monitoring.budget_low_days
        level = low * float(config.privacy.epsilon_per_day)
        axes.axhline(level, color=_LOW, linestyle="--", label=f"what {low} days cost at most")
    axes.set(xlabel="releases made", ylabel="epsilon", xlim=(0, len(entries) + 1), ylim=(0, 1.05 * total))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(alpha=0.3)
    axes.legend(loc="lower left", frameon=False)
    return _address(figure)


def _address(figure: Figure) -> str:
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=100)
    return "data:image/png;base64," + base64.b64encode(content.getvalue()).decode()
