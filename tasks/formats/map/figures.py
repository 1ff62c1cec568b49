"""The parts of the map page as Bokeh models: map, slider, list of hexagons, and the day of one hexagon."""

import importlib.resources
from typing import Any

from bokeh.document import Document
from bokeh.events import DocumentReady
from bokeh.models import (
    BoxAnnotation,
    CategoricalSlider,
    ColorBar,
    ColumnDataSource,
    CustomJS,
    FixedTicker,
    GlyphRenderer,
    HoverTool,
    InlineStyleSheet,
    LinearColorMapper,
    PanTool,
    PlainText,
    Range1d,
    ResetTool,
    Select,
    TapTool,
    WheelZoomTool,
    ZoomInTool,
    ZoomOutTool,
)
from bokeh.palettes import Viridis256
from bokeh.plotting import figure

from tasks.base.config import Config
from tasks.formats.map.day import MapDay
from tasks.formats.map.places import Places
from tasks.formats.map.sources import map_sources, place_sources
from tasks.formats.map.words import (
    AREA_WORDS,
    FORMATTED,
    decimals,
    expected_error,
    may_be_coarse,
    measured,
    published_tip,
    withheld_tip,
)

Sources = dict[str, ColumnDataSource]

_FAINT, _EDGE, _GREY, _DARK_GREY, _INK, _BLUE, _RED = (
    "#f6f6f4",
    "#d8d8d4",
    "#e4e4e1",
    "#767672",
    "#1d1d1b",
    "#2f5d8a",
    "#d1382c",
)
_FONT = "system-ui, -apple-system, Segoe UI, Roboto, Helvetica, Arial, sans-serif"
_SLIDER_STYLE = f"""
.bk-slider-title {{ font: 600 16px {_FONT}; margin-bottom: 16px; }}
.noUi-target {{ background: #e2e2de; border: 0; box-shadow: none; }}
.noUi-target.noUi-horizontal {{ height: 10px; width: calc(100% - 32px); margin: 0 16px 12px; }}
.noUi-horizontal .noUi-handle {{ width: 32px; height: 32px; right: -16px; top: -12px; border-radius: 16px; }}
.noUi-handle:focus-visible {{ outline: 3px solid {_INK}; outline-offset: 2px; }}
"""
_SELECT_STYLE = f"""
label {{ font: 600 16px {_FONT}; margin-bottom: 6px; }}
select.bk-input {{ font: 16px {_FONT}; min-height: 44px; }}
select.bk-input:focus-visible {{ outline: 3px solid {_INK}; outline-offset: 2px; }}
"""


def map_document(day: MapDay, places: Places, config: Config) -> Document:
    """Return the document, with the owner's places drawn over the hexagons.

    Its roots are the slots, map, hexagons and curve; one callback connects them.
    """
    sources = map_sources(day)
    slider, select = _slider(day), _select(day)
    now = BoxAnnotation(fill_color="#f7edd4", fill_alpha=1, line_color=None, level="underlay")
    curve = _curve(sources, day, config)
    curve.add_layout(now)
    glue = CustomJS(
        code=importlib.resources.files("tasks.formats.map").joinpath("map.js").read_text("utf-8"),
        args={
            **sources,
            **{"slider": slider, "select": select, "now": now, "title": curve.title},
            **{"unit": config.value.unit, "decimals": decimals(config.value.span)},
            "expected_error": expected_error(config),
            "areas": list(AREA_WORDS.values()),
        },
    )
    for model, name in ((slider, "value"), (select, "value"), (sources["hexagons"].selected, "indices")):
        model.js_on_change(name, glue)
    document = Document()
    roots = [_map(sources, place_sources(places, day), config), select, curve]
    with document.models.freeze():  # so Bokeh collects the models once for all roots
        for root in [slider, *roots] if len(day.slots) > 1 else roots:  # a slider needs two steps
            document.add_root(root)
    document.js_on_event(DocumentReady, glue)
    return document


def _slider(day: MapDay) -> CategoricalSlider:
    return CategoricalSlider(
        name="slots",
        title="Local time",
        categories=day.slots,
        value=day.slots[day.fullest_slot],
        bar_color=_BLUE,
        sizing_mode="stretch_width",
        margin=0,
        stylesheets=[InlineStyleSheet(css=_SLIDER_STYLE)],
    )


def _select(day: MapDay) -> Select:
    options: Any = [
        (str(number), f"{cell}: {n_published} published, {n_withheld} withheld")
        for number, (cell, n_published, n_withheld) in enumerate(day.hexagons.iter_rows())
    ]
    return Select(
        name="hexagons",
        title="Hexagon",
        options=options,
        value=str(day.first_hexagon),
        sizing_mode="stretch_width",
        margin=0,
        stylesheets=[InlineStyleSheet(css=_SELECT_STYLE)],
    )


def _map(sources: Sources, places: Sources, config: Config) -> Any:
    plot = _figure("map", x_axis_type="mercator", y_axis_type="mercator", match_aspect=True)
    mapper = _colours(sources["all_published"])
    everywhere = _patches(plot, sources["hexagons"], fill_color=_FAINT, line_color=_EDGE)
    hatch = {"hatch_pattern": "right_diagonal_line", "hatch_color": "#b9b9b4", "hatch_scale": 7, "hatch_weight": 1}
    withheld = _patches(plot, sources["withheld"], fill_color=_GREY, line_color="white", **hatch)
    fill: dict[str, Any] = {"fill_color": {"field": "mean", "transform": mapper}}
    if config.privacy.planned_by.estimates:
        fill |= {"fill_alpha": "certainty"}
    if may_be_coarse(config):
        fill |= {"hatch_pattern": "hatch", "hatch_color": "white", "hatch_scale": 9, "hatch_alpha": 0.8}
    published = _patches(plot, sources["published"], line_color="white", **fill)
    if config.privacy.planned_by.estimates:
        _patches(plot, sources["unusual"], fill_color=None, line_color=_RED, line_width=3)
    for colour, width in (("white", 6), (_INK, 3)):
        _patches(plot, sources["outline"], fill_color=None, line_color=colour, line_width=width)
    _draw_places(plot, places)
    plot.xaxis.ticker.desired_num_ticks = 4
    plot.x_range.renderers = plot.y_range.renderers = [everywhere]
    plot.add_layout(_colour_bar(mapper, config), "below")
    wheel = WheelZoomTool()
    plot.add_tools(PanTool(), wheel, ZoomInTool(), ZoomOutTool(), ResetTool(), TapTool(renderers=[everywhere]))
    plot.add_tools(_hover(published_tip("cell", config), published), _hover(withheld_tip("cell"), withheld))
    plot.toolbar.active_scroll = wheel
    return plot


def _draw_places(plot: Any, places: Sources) -> None:
    """Draw lines and names over the hexagons, with a white edge, so that they can be read on any colour."""
    for colour, width in (("white", 3), (_INK, 1)):
        if "lines" in places:
            plot.multi_line("xs", "ys", source=places["lines"], line_color=colour, line_width=width)
    look = {"text_font": {"value": _FONT}, "text_font_size": "12px", "text_align": "center", "text_baseline": "middle"}
    for edge in ({"text_outline_color": "white", "text_outline_width": 4}, {}):
        if "names" in places:
            plot.text("x", "y", text="name", source=places["names"], text_color=_INK, **look, **edge)


def _figure(name: str, **how: Any) -> Any:
    """Return an empty figure in the page's style. It is untyped, because Bokeh's types for its parts are too wide."""
    plot: Any = figure(name=name, tools=[], sizing_mode="stretch_both", outline_line_color=None, **how)
    plot.toolbar.logo = None
    plot.title.update(text_font=_FONT, text_font_size="15px")
    plot.grid.grid_line_color = "#ececea"
    for axis in plot.axis:
        axis.update(axis_line_color=None, minor_tick_line_color=None, major_tick_line_color=_EDGE)
        axis.update(axis_label_text_font=_FONT, axis_label_text_font_style="normal", axis_label_text_font_size="13px")
        axis.update(major_label_text_font=_FONT, major_label_text_font_size="12px")
    return plot


def _patches(plot: Any, source: ColumnDataSource, **look: Any) -> GlyphRenderer:
    patches = plot.patches("xs", "ys", source=source, **look)
    patches.nonselection_glyph = patches.selection_glyph = None
    return patches


def _colours(published: ColumnDataSource) -> LinearColorMapper:
    """Return the day's colours. They span at least twice the promised error, because smaller differences are noise."""
    low, high = (float(edge(published.data["mean"])) for edge in (min, max))
    short = max(0.0, float(max(published.data["error"])) - (high - low) / 2)
    return LinearColorMapper(palette=Viridis256, low=low - short, high=high + short)


def _colour_bar(mapper: LinearColorMapper, config: Config) -> ColorBar:
    bar = ColorBar(color_mapper=mapper, title=PlainText(text=measured(f"mean {config.value.name}", config)))
    bar.update(height=14, bar_line_color=None, title_text_font=_FONT, title_text_font_style="normal")
    bar.update(title_text_font_size="13px", major_label_text_font=_FONT, major_label_text_font_size="12px")
    return bar


def _curve(sources: Sources, day: MapDay, config: Config) -> Any:
    published, n_slots = sources["all_published"].data, len(day.slots)
    low, high = float(min(published["low"])), float(max(published["high"]))
    room = (high - low) * 0.08
    plot = _figure("curve", title="Hexagon", toolbar_location=None, min_border_right=12)
    plot.x_range, plot.y_range = Range1d(start=0, end=n_slots), Range1d(start=low - room, end=high + room)
    interval = plot.vbar("x", 0.8, "high", "low", source=sources["curve"], fill_color=_BLUE, fill_alpha=0.25)
    interval.glyph.line_color = None
    if config.privacy.planned_by.estimates:
        plot.line("x", "typical", source=sources["curve"], line_color=_INK, line_width=2, line_dash="dashed")
    plot.line("x", "mean", source=sources["curve"], line_color=_BLUE, line_width=2)
    plot.scatter("x", "mean", source=sources["curve"], color=_BLUE, size=8)
    mark = {"marker": "x", "size": 8, "line_width": 2, "line_color": _DARK_GREY}
    gaps = plot.scatter("x", low - room / 2, source=sources["gaps"], **mark)
    plot.add_tools(_hover(published_tip("time", config), interval), _hover(withheld_tip("time"), gaps))
    plot.xaxis.ticker = FixedTicker(ticks=list(day.hours))
    plot.xaxis.major_label_overrides = day.hours
    plot.xaxis.axis_label = PlainText(text=f"hour in {config.dataset.timezone}")
    plot.yaxis.axis_label = PlainText(text=measured(config.value.name, config))
    return plot


def _hover(tip: str, renderer: GlyphRenderer) -> HoverTool:
    formatters: Any = {f"@{name}": "printf" for name in FORMATTED}
    return HoverTool(tooltips=tip, renderers=[renderer], formatters=formatters, visible=False)
