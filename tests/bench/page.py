"""The page of `make bench`: one HTML file with its plots inside, made of the numbers beside it."""

import base64
import io
from pathlib import Path
from typing import Any

import polars as pl
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup
from matplotlib.figure import Figure

from tests.bench import answers, large, map_tables, quantities, secret_presence, tables, year, year_of_maps
from tests.bench.peers.run import CELLS_PER_USER, PEERS, RECORDS_PER_CELL

TEMPLATE = Path(__file__).with_name("page.html.jinja")
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""The palette of Okabe and Ito, which the colour-blind can tell apart."""

_AXES = {"records": "n_records", "users": "n_users", "cells": "n_cells"}
_STEPS = ("ingest_records", "validate_records", "build_occupancy", "plan_release", "release_statistics")
_PLANNER_TABLES = (
    "planner_against_HiGHS",
    "a_city_of_300_users",
    "planner_growth",
    "planner_growth_of_most_cells",
    "growth_of_CLIP-USER",
)


def write_page(out: Path, python: str) -> Path:
    """Write the page of all numbers that are there, and return its path; what was not measured is left out.

    Args:
        out: The folder of the numbers.
        python: Its version, for the page to say.
    """
    runs, growth, days, peer_rows = (_read(out, name) for name in ("runs", "growth", "days", "peers"))
    in_turn = _read(out, "days_in_turn")
    backfill = _read(out, "backfill")
    missing = _read(out, "peers_missing")
    maps, groups = read_maps(out)
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["quantity"] = _quantity
    page = environment.from_string(TEMPLATE.read_text("utf-8")).render(
        python=python,
        claims=read_claims(out),
        sizes=tables.sizes(runs).to_dicts() if runs.height else [],
        steps=_by_size(runs, ("step", "part")),
        statements=_by_size(runs, ("statement",), least_share=0.01),
        growth=_picture(_draw_growth(growth)) if growth.height else None,
        days=_picture(_draw_days(days)) if days.height else None,
        days_compared=year.days_compared(in_turn).to_dicts() if in_turn.height else [],
        days_after=year.AFTER,
        backfill=backfill.row(0, named=True) if backfill.height else None,
        maps=_maps_tables(maps, groups) if maps.height else {},
        maps_picture=_picture(map_tables.draw(maps, groups)) if maps.height else None,
        scale=_read(out, "scale").to_dicts(),
        collection=_read(out, "collection").to_dicts(),
        year=_read(out, "year_of_maps").to_dicts(),
        months=read_months(out).to_dicts(),
        peers=tables.peers(peer_rows).to_dicts() if peer_rows.height else [],
        about=PEERS,
        missing=dict(missing.iter_rows()) if missing.height else {},
        bounds=(CELLS_PER_USER, RECORDS_PER_CELL),
        planner={name: _read(out, name).to_dicts() for name in _PLANNER_TABLES if (out / f"{name}.csv").exists()},
        planner_growth=_embedded((out / "planner_growth.png").read_bytes())
        if (out / "planner_growth.png").exists()
        else None,
    )
    path = out / "index.html"
    path.write_text(page, "utf-8")
    return path


def read_claims(out: Path) -> list[tables.Claim]:
    """Return what was asked for, measured on the numbers that are there."""
    return tables.claims(*(_read(out, name) for name in ("runs", "growth", "days_in_turn", "peers", "scale")))


def read_maps(out: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the numbers of the maps and of their groups; empty if they were not measured."""
    maps, groups = _read(out, "maps"), _read(out, "maps_groups")
    return (maps.with_columns(pl.col("date").str.to_date()) if maps.height else maps), groups


def read_months(out: Path) -> pl.DataFrame:
    """Return the means of the months of the year of maps; empty if it was not measured."""
    days = _read(out, "year_of_maps_days")
    return year_of_maps.by_month(days.with_columns(pl.col("date").str.to_date())) if days.height else days


def tables_of_docs(out: Path) -> dict[str, tuple[str, pl.DataFrame]]:
    """Return the tables that stand in the documentation beside those of the maps, each with what it shows."""
    days, kinds, files, asked = (_read(out, name) for name in ("large", "quantities", "many_files", "answers"))
    secret = _read(out, "presence")
    return {
        "year": ("Means over the days of each month", read_months(out)),
        "large": ("Medians", large.table(days) if days.height else days),
        "quantities": (quantities.caption(kinds), quantities.table(kinds)) if kinds.height else ("", kinds),
        "answers": (answers.caption(asked), answers.table(asked)) if asked.height else ("", asked),
        "presence": (secret_presence.caption(secret), secret_presence.table(secret)) if secret.height else ("", secret),
        "many_files": (
            "CPU seconds to read a day, the fastest of the runs",
            files.with_columns(pl.col(pl.Float64).round(2)),
        ),
    }


def _maps_tables(maps: pl.DataFrame, groups: pl.DataFrame) -> dict[str, list[dict[str, Any]]]:
    return {caption: table.to_dicts() for caption, table in map_tables.tables(maps, groups).items()}


def _read(out: Path, name: str) -> pl.DataFrame:
    path = out / f"{name}.csv"
    if not path.exists() or not path.read_text().strip():
        return pl.DataFrame()
    return pl.read_csv(path, infer_schema_length=None)


def _by_size(runs: pl.DataFrame, kinds: tuple[str, ...], least_share: float = 0.0) -> list[dict[str, Any]]:
    """Return the parts of each size, the parts of a step below the steps."""
    if not runs.height:
        return []
    found = pl.concat(tables.parts(runs, kind).with_columns(kind=pl.lit(kind)) for kind in kinds)
    found = found.filter(pl.col("share") >= least_share)
    whole = found.partition_by("kind_of_file", "n_records", maintain_order=True)
    return [{**part.row(0, named=True), "rows": part.to_dicts()} for part in whole]


def _draw_growth(growth: pl.DataFrame) -> Figure:
    figure = Figure(figsize=(12, 4.6), layout="constrained")
    for axes, (name, column) in zip(figure.subplots(1, 3), _AXES.items(), strict=True):
        medians = growth.filter(axis=name).group_by(column).agg(pl.col("limit", "whole", *_STEPS).median()).sort(column)
        for colour, part in zip(COLOURS, ("whole", "limit", *_STEPS), strict=True):
            line = "-" if part in ("whole", "limit") else ":"
            axes.loglog(medians[column], medians[part], line, marker="o", markersize=3, color=colour, label=part)
        proportion = medians["whole"][0] * medians[column] / medians[column][0]
        axes.loglog(medians[column], proportion, "--", color="grey", linewidth=0.8, label="in proportion")
        axes.set(xlabel=name, ylabel="seconds")
        axes.grid(color="#dddddd", linewidth=0.6)
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    return figure


def _draw_days(days: pl.DataFrame) -> Figure:
    figure = Figure(figsize=(8, 3.6), layout="constrained")
    axes = figure.subplots()
    whole = days.group_by("n_released").agg(pl.col("cpu_seconds").sum()).sort("n_released")
    axes.plot(whole["n_released"], whole["cpu_seconds"], ".", color=COLOURS[0], label="the whole day")
    for colour, ((step,), part) in zip(COLOURS[1:], days.group_by("step", maintain_order=True), strict=False):
        axes.plot(part["n_released"], part["cpu_seconds"], ".", markersize=2, color=colour, label=step)
    axes.set(xlabel="days released before", ylabel="CPU seconds for a day", ylim=(0, None))
    axes.grid(color="#dddddd", linewidth=0.6)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside right center", frameon=False)
    return figure


def _picture(figure: Figure) -> Markup:
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=130, format="png")
    return _embedded(buffer.getvalue())


def _embedded(png: bytes) -> Markup:
    return Markup("data:image/png;base64,") + base64.b64encode(png).decode()


def _quantity(value: float | None) -> str:
    """Return a number with about three digits that matter."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.3g}"
