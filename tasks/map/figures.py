"""The parts of the map page as Bokeh models: map, slider, list of hexagons, and the day of one hexagon."""

import importlib.resources
from typing import Any

from bokeh.document import Document
from bokeh.events import DocumentReady
from bokeh.models import (
    BoxAnnotation,
    CategoricalSlider,
    ColumnDataSource,
    CustomJS,
    FixedTicker,
    InlineStyleSheet,
    PlainText,
    Range1d,
    Select,
)

from tasks.base.config import Config
from tasks.map.data import MapDay
from tasks.map.parts import (
    BLUE,
    DARK_GREY,
    EDGE,
    FAINT,
    FONT,
    GREY,
    INK,
    RED,
    begin_map,
    colour_bar,
    colours,
    finish_map,
    hover,
    page_figure,
    patches,
)
from tasks.map.places import Places
from tasks.map.sources import map_sources, place_sources
from tasks.map.words import (
    AREA_WORDS,
    OVER_TILES,
    Look,
    decimals,
    measured,
    published_tip,
    withheld_tip,
)

Sources = dict[str, ColumnDataSource]

_SLIDER_STYLE = f"""
.bk-slider-title {{ font: 600 16px {FONT}; color: var(--ink); margin-bottom: 16px; }}
.noUi-target {{ background: var(--edge); border: 0; box-shadow: none; }}
.noUi-target.noUi-horizontal {{ height: 10px; width: calc(100% - 32px); margin: 0 16px 12px; }}
.noUi-horizontal .noUi-handle {{ width: 32px; height: 32px; right: -16px; top: -12px; border-radius: 16px; }}
.noUi-handle:focus-visible {{ outline: 3px solid var(--ink); outline-offset: 2px; }}
"""
_SELECT_STYLE = f"""
label {{ font: 600 16px {FONT}; color: var(--ink); margin-bottom: 6px; }}
select.bk-input {{ font: 16px {FONT}; min-height: 44px; }}
select:not([multiple]).bk-input {{ appearance: auto; background-image: none; }}
select.bk-input {{ color: var(--ink); background-color: var(--card); border-color: var(--edge); }}
select.bk-input:focus-visible {{ outline: 3px solid var(--ink); outline-offset: 2px; }}
"""


def map_document(day: MapDay, places: Places, config: Config, zones: Places | None = None) -> Document:
    """Return the document, with the owner's places and zones drawn over the hexagons.

    Its roots are the slots, map, hexagons and curve; one callback connects them.
    """
    sources, look = map_sources(day), Look.of(day.published, config)
    slider, select = _slider(day), _select(day)
    now = BoxAnnotation(fill_color="#f7edd4", fill_alpha=1, line_color=None, level="underlay")
    curve = _curve(sources, day, config)
    curve.add_layout(now)
    glue = CustomJS(
        code=importlib.resources.files("tasks.map").joinpath("map.js").read_text("utf-8"),
        args={
            **sources,
            **{"slider": slider, "select": select, "now": now, "title": curve.title},
            **{"unit": config.value.unit, "decimals": decimals(config.value.span)},
            **{"about": look.about, "expected_error": look.expected_error},
            "areas": list(AREA_WORDS.values()),
        },
    )
    for model, name in ((slider, "value"), (select, "value"), (sources["hexagons"].selected, "indices")):
        model.js_on_change(name, glue)
    document = Document()
    over = place_sources(places, day), place_sources(zones or Places(), day)
    roots = [_map(sources, *over, day, config), select, curve]
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
        bar_color=BLUE,
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


def _map(sources: Sources, places: Sources, zones: Sources, day: MapDay, config: Config) -> Any:
    plot, look = begin_map(config), Look.of(day.published, config)
    mapper = colours(sources["all_published"])
    backed = FAINT if config.publish.tiles is None else None
    everywhere = patches(plot, sources["hexagons"], fill_color=backed, line_color=EDGE)
    hatch = {"hatch_pattern": "right_diagonal_line", "hatch_color": "#b9b9b4", "hatch_scale": 7, "hatch_weight": 1}
    withheld = patches(plot, sources["withheld"], fill_color=GREY, line_color="white", **hatch)
    fill: dict[str, Any] = {"fill_color": {"field": "mean", "transform": mapper}}
    if not look.promises:
        fill |= {"fill_alpha": "certainty"}
    elif config.publish.tiles is not None:
        fill |= {"fill_alpha": OVER_TILES}
    if look.may_be_coarse:
        fill |= {"hatch_pattern": "hatch", "hatch_color": "white", "hatch_scale": 9, "hatch_alpha": 0.8}
    published = patches(plot, sources["published"], line_color="white", **fill)
    if look.has_typical:
        patches(plot, sources["unusual"], fill_color=None, line_color=RED, line_width=3)
    for colour, width in (("white", 6), (INK, 3)):
        patches(plot, sources["outline"], fill_color=None, line_color=colour, line_width=width)
    _draw_places(plot, places)
    _draw_places(plot, zones, "dashed")
    finish_map(plot, everywhere, colour_bar(mapper, measured(look.named(config), config.value.unit)))
    plot.add_tools(hover(published_tip("cell", look, config), published), hover(withheld_tip("cell"), withheld))
    return plot


def _draw_places(plot: Any, places: Sources, dash: str = "solid") -> None:
    """Draw lines and names over the hexagons, with a white edge, so that they can be read on any colour."""
    for colour, width, drawn in (("white", 3, "solid"), (INK, 1, dash)):
        if "lines" in places:
            plot.multi_line("xs", "ys", source=places["lines"], line_color=colour, line_width=width, line_dash=drawn)
    look = {"text_font": {"value": FONT}, "text_font_size": "12px", "text_align": "center", "text_baseline": "middle"}
    for edge in ({"text_outline_color": "white", "text_outline_width": 4}, {}):
        if "names" in places:
            plot.text("x", "y", text="name", source=places["names"], text_color=INK, **look, **edge)


def _curve(sources: Sources, day: MapDay, config: Config) -> Any:
    published, n_slots, look = sources["all_published"].data, len(day.slots), Look.of(day.published, config)
    low, high = float(min(published["low"])), float(max(published["high"]))
    room = (high - low) * 0.08
    plot = page_figure("curve", title="Hexagon", toolbar_location=None, min_border_right=12)
    plot.x_range, plot.y_range = Range1d(start=0, end=n_slots), Range1d(start=low - room, end=high + room)
    interval = plot.vbar("x", 0.8, "high", "low", source=sources["curve"], fill_color=BLUE, fill_alpha=0.25)
    interval.glyph.line_color = None
    if look.has_typical:
        plot.line("x", "typical", source=sources["curve"], line_color=INK, line_width=2, line_dash="dashed")
    plot.line("x", "mean", source=sources["curve"], line_color=BLUE, line_width=2)
    plot.scatter("x", "mean", source=sources["curve"], color=BLUE, size=8)
    mark = {"marker": "x", "size": 8, "line_width": 2, "line_color": DARK_GREY}
    gaps = plot.scatter("x", low - room / 2, source=sources["gaps"], **mark)
    plot.add_tools(hover(published_tip("time", look, config), interval), hover(withheld_tip("time"), gaps))
    plot.xaxis.ticker = FixedTicker(ticks=list(day.hours))
    plot.xaxis.major_label_overrides = day.hours
    plot.xaxis.axis_label = PlainText(text=f"hour in {config.dataset.timezone}")
    plot.yaxis.axis_label = PlainText(text=measured(config.value.name, config.value.unit))
    return plot
