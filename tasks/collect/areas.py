"""The page of a collection: its areas on a map if they are hexagons, beside each other, and in a table."""

from typing import Any

import polars as pl
from bokeh.document import Document
from bokeh.models import ColumnDataSource, FactorRange, PlainText
from bokeh.plotting import figure

from tasks.collect.config import CollectionConfig
from tasks.map.parts import (
    BLUE,
    EDGE,
    INK,
    begin_map,
    colour_bar,
    colours,
    finish_map,
    hover,
    page_figure,
    patches,
)
from tasks.map.sources import outlines
from tasks.map.template import whole_page, with_own_ids
from tasks.map.words import certainty, decimals, inert, means_rounded_outwards, measured, tip

_BESIDE_A_MAP, _AXIS_HEIGHT, _ROW_HEIGHT = 380, 120, 26
"""Of the figure with all areas, in pixels."""


def areas_page(means: pl.DataFrame, period: str, config: CollectionConfig) -> bytes:
    """Return the page of a collection's period.

    It is computed from the published table only.

    Args:
        means: The published table.
        period: The period, for example ``2026-03-02`` or ``2026-W10``.
        config: The configuration that the period was collected with.

    Returns:
        HTML in UTF-8, which contains all scripts, styles and numbers.
    """
    shown = means_rounded_outwards(means, decimals(config.value.span)).sort("area")
    shown = shown.with_columns(certainty=certainty(shown))
    source = _source(shown, config)
    document = Document()
    if config.collection.cells:
        document.add_root(_map(source, config))
    document.add_root(_intervals(source, config))
    return with_own_ids(whole_page(document, "areas.html.jinja", _words(shown, period, config), "tasks.collect"))


def _source(shown: pl.DataFrame, config: CollectionConfig) -> ColumnDataSource:
    names = {"mean": "mean", "error": "mean_error", "low": "mean_ci95_low", "high": "mean_ci95_high"}
    columns: dict[str, Any] = {short: shown[name].to_list() for short, name in names.items()}
    columns |= {name: shown[name].to_list() for name in ("area", "certainty", "n_round_1", "n_round_2")}
    if config.collection.cells:
        columns["xs"], columns["ys"] = zip(*outlines(shown["area"]), strict=True)
    return ColumnDataSource(columns)


def _map(source: ColumnDataSource, config: CollectionConfig) -> Any:
    plot, mapper = begin_map(), colours(source)
    fill = {"fill_color": {"field": "mean", "transform": mapper}, "fill_alpha": "certainty"}
    published = patches(plot, source, line_color="white", **fill)
    published.selection_glyph = published.glyph.clone(line_color=INK, line_width=4)
    finish_map(plot, published, colour_bar(mapper, measured(f"mean {config.value.name}", config.value.unit)))
    plot.add_tools(hover(_tip(config), published))
    return plot


def _intervals(source: ColumnDataSource, config: CollectionConfig) -> Any:
    """Return the figure of all areas; what is chosen on the map is chosen here too."""
    areas: Any = FactorRange(factors=list(reversed(source.data["area"])))
    plot: figure = page_figure("intervals", y_range=areas, toolbar_location=None, min_border_right=12)
    interval = plot.hbar("area", left="low", right="high", height=0.6, source=source, fill_color=BLUE, fill_alpha=0.25)
    interval.glyph.line_color = None
    interval.nonselection_glyph = None
    interval.selection_glyph = interval.glyph.clone(line_color=INK, line_width=2)
    plot.scatter("mean", "area", source=source, color=BLUE, size=8).nonselection_glyph = None
    plot.add_tools(hover(_tip(config), interval))
    plot.xaxis.axis_label = PlainText(text=measured(f"mean {config.value.name}", config.value.unit))
    plot.ygrid.grid_line_color = None
    plot.xgrid.grid_line_color = EDGE
    return plot


def _tip(config: CollectionConfig) -> str:
    unit, digits = inert(config.value.unit), decimals(config.value.span)
    return tip(
        f"<strong>mean {inert(config.value.name)} @mean{{%.{digits}f}} {unit}</strong>",
        f"95 % interval @low{{%.{digits}f}} to @high{{%.{digits}f}} {unit}",
        "devices: @n_round_1 in round 1, @n_round_2 in round 2",
        "@area",
    )


def _words(shown: pl.DataFrame, period: str, config: CollectionConfig) -> dict[str, Any]:
    digits, first = decimals(config.value.span), config.first_day(period)
    day = f"on {first:%A}, {first.day} {first:%B %Y}"
    rows = [
        (
            row["area"],
            *(f"{row[name]:.{digits}f}" for name in ("mean", "mean_ci95_low", "mean_ci95_high")),
            f"{row['n_round_1']:,}",
            f"{row['n_round_2']:,}",
            f"{row['one_device_moves']:.2g}",
        )
        for row in shown.iter_rows(named=True)
    ]
    return {
        "title": f"{config.collection.name}: {config.value.name} "
        + (day if config.collection.period == "day" else f"in the week {period}"),
        "quantity": measured(config.value.name, config.value.unit),
        "unit": config.value.unit,
        "period": config.collection.period,
        "epsilon": str(config.collection.alpha),
        "n_devices": f"{sum(map(sum, shown.select('n_round_1', 'n_round_2').rows())):,}",
        "has_map": bool(config.collection.cells),
        "height": max(_BESIDE_A_MAP if config.collection.cells else 0, _AXIS_HEIGHT + _ROW_HEIGHT * shown.height),
        "release_id": shown["release_id"][0],
        "rows": rows,
    }
