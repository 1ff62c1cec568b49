// Draws a page's plots in dark colours while its reader's screen is dark, as base.html.jinja does all else, and keeps the
// place of a base map.

const pairs = [
  ["white", "#242523"], ["#ffffff", "#232422"], ["#f6f6f4", "#2d2e2b"], ["#ececea", "#343532"],
  ["#e4e4e1", "#3a3b38"], ["#d8d8d4", "#4a4b47"], ["#b9b9b4", "#63645f"], ["#767672", "#9a9a94"],
  ["#444444", "#b5b5af"], ["#1d1d1b", "#ecece8"], ["#2f5d8a", "#9cc3e8"], ["#f7edd4", "#453f2c"],
]
const dark = window.matchMedia("(prefers-color-scheme: dark)")

function* drawn() {
  for (const {_all_models} of Bokeh.documents) {
    for (const model of _all_models.values()) {
      yield model
      const view = Bokeh.index.find_one(model)
      if (model.data_source) yield view.nonselection_glyph.model  // of what is not chosen: no document has it
      view?.canvas_view?.primary.clear()  // else its edges stay light
    }
  }
}

function paint() {
  const other = new Map(dark.matches ? pairs : pairs.map(([light, night]) => [night, light]))
  for (const model of drawn()) {
    for (const property of model) {
      if (!property.attr.includes("color")) continue
      const told = property.get_value()
      const colour = other.get(told?.value ?? told)
      if (colour !== undefined) model.setv({[property.attr]: colour})
    }
  }
}

// A base map whose figure has no size for a moment, while a window is made larger, loses its place, and takes all else
// with it. So the place is kept, and the base map begins anew with it.
function keep_place(map, base) {
  const ranges = [map.x_range, map.y_range]
  const is_place = ({start, end}) => Number.isFinite(start) && Number.isFinite(end) && start < end
  let last = []
  function look() {
    if (ranges.every(is_place)) {
      last = ranges.map(({start, end}) => ({start, end}))
    } else if (last.length) {
      ranges.forEach((range, number) => range.setv(last[number]))
      Bokeh.index.find_one(base).map_initialized = false
    }
  }
  look()
  for (const range of ranges) range.change.connect(look)
}

function begin() {
  if (!window.Bokeh?.documents.length || !Bokeh.documents.every((one) => one.is_idle)) return setTimeout(begin, 20)
  const map = Bokeh.documents[0].get_model_by_name("map")
  const base = map?.renderers.find(({name}) => name === "base")
  if (base) keep_place(map, base)
  if (dark.matches) paint()
  dark.addEventListener("change", paint)
}

begin()
