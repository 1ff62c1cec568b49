"""The commands that help to choose settings before anything is spent."""

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.box import SIMPLE
from rich.table import Table

from flows import show
from flows.options import ConfigOption, DateOption
from flows.show import out
from tasks.base.config import Config, load_config
from tasks.base.errors import HexveilError

if TYPE_CHECKING:
    from tasks.planning.explore import Choice, Exploration

_WORSE = "x"


def explore(
    config: ConfigOption,
    date: DateOption,
    resolution: Annotated[
        list[int] | None,
        typer.Option("--resolution", min=0, max=15, help="A resolution of hexagons; repeat it. Without it: 6 to 9."),
    ] = None,
    slot: Annotated[
        list[int] | None,
        typer.Option("--slot", min=1, max=1440, help="Minutes of a slot; repeat it. Without it: 15 to 180."),
    ] = None,
    epsilon: Annotated[
        list[float] | None,
        typer.Option(
            "--epsilon",
            min=0.001,
            max=1000,
            help="An epsilon of a day; repeat it. Without it: a quarter to four times epsilon_per_day.",
        ),
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option("--picture", help="Where to draw it: .png, .svg or .pdf. Without it: in the storage."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Show what a day would be worth with other hexagons, slots and epsilons; reads no value and spends nothing."""
    settings = load_config(config)
    from tasks.engines.prepare_here import prepared_here
    from tasks.planning.explore import RESOLUTIONS, SHARES_OF_EPSILON, SLOTS, explore_day
    from tasks.reporting.choices import check_picture, draw_choices

    day, slots = date.date(), sorted({*(slot or SLOTS)})
    path = picture or settings.storage_path / "explored" / f"{day}.png"
    check_picture(path)
    if wrong := [one for one in slots if 1440 % one]:
        raise HexveilError(f"--slot {wrong[0]} must divide a day of 1440 minutes")
    usual = [share * settings.privacy.epsilon_per_day for share in SHARES_OF_EPSILON]
    epsilons = sorted({Decimal(str(one)) for one in epsilon}) if epsilon else usual
    with prepared_here(day, settings) as prepared:
        explored = explore_day(day, sorted({*(resolution or RESOLUTIONS)}), slots, epsilons, settings, prepared)
    draw_choices(explored, path, f"{settings.dataset.name} {day}", settings)
    if as_json:
        show.print_json(
            {
                "target": explored.target,
                "spread": explored.spread,
                "choices": explored.rows,
                "cautions": explored.cautions,
            }
        )
        return
    if guess := _guess(explored.choices, settings):
        out.print(guess)
    for caution in explored.cautions:
        out.print(f"Caution: {caution}")
    _show_choices(explored, settings)
    if settings.engine.name != "local":
        out.print("The records are on a cluster, so the day was read once more here, with the local engine.")
    out.print(f"The picture is {show.shown(path)}. Nothing was spent.")


def _show_choices(explored: "Exploration", config: Config) -> None:
    """Print one line for each grid with the errors and shares of all epsilons, and what a year adds up to."""
    grids: dict[tuple[int, int], list[Choice]] = {}
    for one in explored.choices:
        grids.setdefault((one.h3_resolution, one.slot_minutes), []).append(one)
    of_epsilons = next(iter(grids.values()))
    names = ("resolution", "slot", "cells", "a constant", *(f"epsilon {one.epsilon:g}" for one in of_epsilons))
    table = Table(*names, box=SIMPLE)
    for (resolution, minutes), choices in grids.items():
        constant = choices[0].constant_error
        cells = (f"{choices[0].cells:,}", "-" if constant is None else f"{constant:.3g}")
        table.add_row(str(resolution), str(minutes), *cells, *map(_in_words, choices))
    for name in ("year_pure", "year_zcdp"):
        definition = name.removeprefix("year_").replace("zcdp", "zCDP")
        table.add_row("a year", definition, "", "", *(f"{getattr(one, name):.4g}" for one in of_epsilons))
    out.print(table)
    unit, privacy = config.value.unit, config.privacy
    out.print(
        f"Errors are over all records, in {unit}, {explored.error} under "
        f"definition {privacy.definition}; behind them the share of records in cells that keep {explored.target:g} "
        f"{unit}. {_WORSE} is no better than a constant, the best single number for the whole day."
    )
    known = (
        "how much values differ is what is usual, because nothing is released yet"
        if explored.spread is None
        else f"earlier releases show that a constant errs {explored.spread:.3g} {unit} in the present grid"
    )
    if config.value.screen:
        out.print(_screening(of_epsilons))
    out.print(f"All settings are compared as for a day of which little is known; {known}. A year is 365 such days.")


def _guess(choices: "Sequence[Choice]", config: Config) -> str | None:
    """Return that a map with the present settings is a guess, and the least epsilon that was tried at which it is not.

    None if it is none, or was not tried.
    """
    grid, epsilon = config.grid, float(config.privacy.epsilon_per_day)
    here = [one for one in choices if (one.h3_resolution, one.slot_minutes) == (grid.h3_resolution, grid.slot_minutes)]
    present = next((one for one in here if one.epsilon == epsilon), None)
    if present is None or not present.worse_than_constant:
        return None
    enough = min((one.epsilon for one in here if not one.worse_than_constant), default=None)
    remedy = "no epsilon that was tried is enough" if enough is None else f"epsilon {enough:g} would be enough"
    return (
        f"With the present settings a map is a guess, no better than the best single number for the whole day: "
        f"{remedy}, or larger cells, or more users."
    )


def _screening(choices: "Sequence[Choice]") -> str:
    """Return in words what the count that screens the day takes at each epsilon."""
    asked, idle = ([f"{one.epsilon:g}" for one in choices if one.is_screened == is_screened] for is_screened in (1, 0))
    takes = f"value.screen takes a hundredth of epsilon at epsilon {', '.join(asked)}."
    nothing = f"At epsilon {', '.join(idle)} value.screen takes nothing: its count could tell nothing of so few users."
    return " ".join([takes] * bool(asked) + [nothing] * bool(idle))


def _in_words(one: "Choice") -> str:
    return f"{one.error_over_all_records:.3g} {one.share_within_target:.0%}" + (
        f" {_WORSE}" * bool(one.worse_than_constant)
    )
