// Shows a slot and a hexagon. The body of one Bokeh callback, run when the page is ready and whenever the slider,
// the list or a click on the map changes; its variables are the models and numbers that tasks/map/figures.py names.

const slot = slider.categories.indexOf(slider.value)

function rows(table, column, number) {
  const here = []
  table[column].forEach((value, row) => { if (value === number) here.push(row) })
  return Object.fromEntries(Object.entries(table).map(([name, values]) => [name, here.map((row) => values[row])]))
}

function with_areas(table) {
  const {area} = table
  if (!area) return table
  return {...table, area: area.map((number) => areas[number]), hatch: area.map((number) => number > 0 ? "dot" : "blank")}
}

function with_outlines(table) {
  const {xs, ys, cell} = hexagons.data
  const of_each = (values) => table.hexagon.map((hexagon) => values[hexagon])
  return {...table, xs: of_each(xs), ys: of_each(ys), cell: of_each(cell)}
}

function over_the_day(table) {
  const day = Object.fromEntries(Object.keys(table).map((name) => [name, slider.categories.map(() => NaN)]))
  table.slot.forEach((at, row) => { for (const name in table) day[name][at] = table[name][row] })
  return {...day, x: slider.categories.map((_, at) => at + 0.5), time: slider.categories}
}

function reading(published, withheld) {
  const amount = (number) => number.toFixed(decimals)
  const size = ({n_users, n_records}, row) => `users: ${n_users[row]}, records: ${n_records[row]}.`
  const at = published.slot.indexOf(slot)
  if (at >= 0) {
    const {mean, error, low, high, epsilon, typical, unusual, area} = published
    const usually = typical ? `; such a day usually ${amount(typical[at])}${unusual[at] ? ", so this is unusual" : ""}` : ""
    return `${about} ${amount(mean[at])}${unit && ` ${unit}`}, ${expected_error} ${amount(error[at])}, 95 % interval ` +
      `${amount(low[at])} to ${amount(high[at])}${usually}${area ? `; value of ${area[at]}` : ""}; epsilon about ${epsilon[at].toPrecision(3)}${about === "users" ? "." : `; ${size(published, at)}`}`
  }
  const hidden = withheld.slot.indexOf(slot)
  return hidden < 0 ? "no records." : `withheld, no number of use could be promised within the budget; ${size(withheld, hidden)}`
}

function show(chosen) {
  hexagons.selected.indices = [chosen]
  published.data = with_outlines(with_areas(rows(all_published.data, "slot", slot)))
  if (published.data.unusual) {
    const {hexagon} = published.data
    unusual.data = with_outlines({hexagon: hexagon.filter((_, row) => published.data.unusual[row] === 1)})
  }
  withheld.data = with_outlines(rows(all_withheld.data, "slot", slot))
  outline.data = with_outlines({hexagon: [chosen]})
  const kept = with_areas(rows(all_published.data, "hexagon", chosen))
  const hidden = rows(all_withheld.data, "hexagon", chosen)
  curve.data = over_the_day(kept)
  gaps.data = {...hidden, x: hidden.slot.map((at) => at + 0.5), time: hidden.slot.map((at) => slider.categories[at])}
  now.left = slot
  now.right = slot + 1
  title.text = `Hexagon ${hexagons.data.cell[chosen]}`
  document.getElementById("reading").textContent = `${slider.value}: ${reading(kept, hidden)}`
}

const [clicked] = hexagons.selected.indices
if (cb_obj === hexagons.selected && clicked !== undefined && select.value !== String(clicked)) {
  select.value = String(clicked)
} else {
  show(Number(select.value))
}
