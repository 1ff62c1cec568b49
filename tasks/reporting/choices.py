"""Draws what settings would be worth as a picture: one panel for each epsilon, resolution by slot."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from tasks.base.config import Config
from tasks.base.config_types import file_in_the_way
from tasks.base.errors import HexveilError
from tasks.planning.explore import Choice, Exploration

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable

FORMATS = (".png", ".svg", ".pdf")
_WORST = "worse than a constant"


def check_picture(path: Path) -> None:
    """Refuse a file that the picture cannot be written to, before the long work.

    Raises:
        HexveilError: Its name has another ending, or it cannot be written there.
    """
    if in_the_way := file_in_the_way(path.parent):
        raise HexveilError(f"--picture {path}: {in_the_way} is a file and no folder; name another place")
    there = next(one for one in (path, *path.absolute().parents) if one.exists())
    if path.is_dir() or not os.access(there, os.W_OK):
        raise HexveilError(f"--picture {path} cannot be written: name a file in a folder that you may write to")
    if path.suffix not in FORMATS:
        raise HexveilError(f"{path}: the picture's name must end in one of {', '.join(FORMATS)}")


def draw_choices(explored: Exploration, path: Path, title: str, config: Config) -> None:
    """Write the picture: a colour says what part of a constant's error is left, a number the error itself.

    Args:
        explored: What was explored.
        path: The file; its ending says the format.
        title: Stands above.
        config: Gives the value's unit.
    """
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure

    epsilons = sorted({one.epsilon for one in explored.choices})
    figure = Figure(figsize=(2.1 + 2.9 * len(epsilons), 3.6), layout="constrained")
    colours = ScalarMappable(Normalize(0, 1), "cividis_r")
    for number, axes in enumerate(figure.subplots(1, len(epsilons), squeeze=False)[0]):
        of_epsilon = [one for one in explored.choices if one.epsilon == epsilons[number]]
        _panel(axes, of_epsilon, colours)
        year = of_epsilon[0]
        axes.set_title(
            f"epsilon {epsilons[number]:g} a day\na year: {year.year_pure:.4g} pure, {year.year_zcdp:.3g} in zCDP",
            fontsize="small",
        )
        axes.set(xlabel="slot, minutes", ylabel="" if number else "resolution of hexagons")
    kind = explored.error
    figure.suptitle(
        f"{title}: {kind} error over all records, {config.value.unit}; crossed out: {_WORST}", fontsize="medium"
    )
    figure.colorbar(colours, ax=figure.axes, label="part of a constant's error", shrink=0.8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


def _panel(axes: "Axes", choices: list[Choice], colours: "ScalarMappable") -> None:
    resolutions = sorted({one.h3_resolution for one in choices})
    slots = sorted({one.slot_minutes for one in choices})
    for one in choices:
        at = (slots.index(one.slot_minutes), resolutions.index(one.h3_resolution))
        part = min(1.0, one.error_over_all_records / one.constant_error)
        colour = colours.cmap(part)
        axes.bar(at[0], 1, 0.98, at[1] - 0.5, color=colour, hatch="xx" if one.worse_than_constant else None)
        ink = "white" if part > 0.55 else "black"
        text = f"{one.error_over_all_records:.3g}\n{one.share_within_target:.0%}"
        axes.text(*at, text, ha="center", va="center", fontsize="x-small", color=ink)
    axes.set_xticks(range(len(slots)), [str(slot) for slot in slots])
    axes.set_yticks(range(len(resolutions)), [str(resolution) for resolution in resolutions])
    axes.set_xlim(-0.5, len(slots) - 0.5)
    axes.set_ylim(len(resolutions) - 0.5, -0.5)
