"""The parts that every map page is drawn with: figures in its style, hexagons, colours, and tips."""

from typing import Any

from bokeh.models import (
    ColorBar,
    ColumnDataSource,
    GlyphRenderer,
    HoverTool,
    LinearColorMapper,
    PanTool,
    PlainText,
    ResetTool,
    TapTool,
    WheelZoomTool,
    WMTSTileSource,
    ZoomInTool,
    ZoomOutTool,
)
from bokeh.palettes import Viridis256
from bokeh.plotting import figure

from tasks.base.config import Config
from tasks.map.words import FORMATTED

FAINT, EDGE, GREY, DARK_GREY, INK, BLUE, RED = (
    "#f6f6f4",
    "#d8d8d4",
    "#e4e4e1",
    "#767672",
    "#1d1d1b",
    "#2f5d8a",
    "#d1382c",
)
FONT = "system-ui, -apple-system, Segoe UI, Roboto, Helvetica, Arial, sans-serif"


def page_figure(name: str, **how: Any) -> Any:
    """Return an empty figure in the page's style. It is untyped, because Bokeh's types for its parts are too wide."""
    plot: Any = figure(name=name, tools=[], sizing_mode="stretch_both", outline_line_color=None, **how)
    plot.toolbar.logo = None
    plot.title.update(text_font=FONT, text_font_size="15px")
    plot.grid.grid_line_color = "#ececea"
    for axis in plot.axis:
        axis.update(axis_line_color=None, minor_tick_line_color=None, major_tick_line_color=EDGE)
        axis.update(axis_label_text_font=FONT, axis_label_text_font_style="normal", axis_label_text_font_size="13px")
        axis.update(major_label_text_font=FONT, major_label_text_font_size="12px")
    return plot


def begin_map(config: Config | None = None) -> Any:
    """Return an empty map, over the owner's base map if there is one."""
    plot = page_figure("map", x_axis_type="mercator", y_axis_type="mercator", match_aspect=True)
    if config is not None and config.publish.tiles is not None:
        address = config.publish.tiles
        for place in "xyz":
            address = address.replace(f"{{{place}}}", f"{{{place.upper()}}}")
        plot.add_tile(WMTSTileSource(url=address), name="base")
    return plot


def tiles_words(config: Config) -> dict[str, str]:
    """Return the host that a page asks for the tiles of its base map, "" if it asks none, and who made the map."""
    tiles = config.publish.tiles
    host = "" if tiles is None else "/".join(tiles.split("/")[:3])
    return {"tiles_host": host, "tiles_credit": config.publish.tiles_credit}


def finish_map(plot: Any, everywhere: GlyphRenderer, bar: ColorBar) -> None:
    """Let a map show all its hexagons, and add its colour bar and its tools.

    Args:
        plot: The map.
        everywhere: All its hexagons. They can be chosen.
        bar: What its colours mean.
    """
    plot.xaxis.ticker.desired_num_ticks = 4
    plot.x_range.renderers = plot.y_range.renderers = [everywhere]
    plot.add_layout(bar, "below")
    wheel = WheelZoomTool()
    plot.add_tools(PanTool(), wheel, ZoomInTool(), ZoomOutTool(), ResetTool(), TapTool(renderers=[everywhere]))
    plot.toolbar.active_scroll = wheel


def patches(plot: Any, source: ColumnDataSource, **look: Any) -> GlyphRenderer:
    """Draw hexagons; all look alike, whichever is chosen."""
    drawn = plot.patches("xs", "ys", source=source, **look)
    drawn.nonselection_glyph = drawn.selection_glyph = None
    return drawn


def colours(published: ColumnDataSource) -> LinearColorMapper:
    """Return the day's colours. They span at least twice the promised error, because smaller differences are noise."""
    low, high = (float(edge(published.data["mean"])) for edge in (min, max))
    short = max(0.0, float(max(published.data["error"])) - (high - low) / 2)
    return LinearColorMapper(palette=Viridis256, low=low - short, high=high + short)


def colour_bar(mapper: LinearColorMapper, title: str) -> ColorBar:
    """Return the bar that says what the colours mean."""
    bar = ColorBar(color_mapper=mapper, title=PlainText(text=title))
    bar.update(height=14, bar_line_color=None, title_text_font=FONT, title_text_font_style="normal")
    bar.update(title_text_font_size="13px", major_label_text_font=FONT, major_label_text_font_size="12px")
    return bar


def hover(tip: str, renderer: GlyphRenderer) -> HoverTool:
    """Return what shows a tip where something is pointed at; its template may use the columns of ``FORMATTED``."""
    formatters: Any = {f"@{name}": "printf" for name in FORMATTED}
    return HoverTool(tooltips=tip, renderers=[renderer], formatters=formatters, visible=False)
