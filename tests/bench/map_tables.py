"""What the released maps add up to: tables in Markdown and a picture, for the page and for the documentation."""

import re
from pathlib import Path

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tests.paper.style import COLOURS, LINES, MARKERS

DOCS = Path(__file__).parents[2] / "docs"
PAGE, PICTURE = DOCS / "explanation" / "benchmarks.md", DOCS / "pictures" / "estimate.png"
MARKS = "<!-- begin: {}, by python -m tests.bench --docs -->", "<!-- end -->"

_SHOWN = "Austin, four days"
_ORDER = (
    "estimated",
    "estimated, screened",
    "yesterday's release",
    "James-Stein",
    "precision-weighted constant",
    "planned",
    "best constant",
)


def tables(rows: pl.DataFrame, groups: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Return the tables by what each shows."""
    n_draws = rows["draw"].n_unique()
    drawn = "means over days and one draw" if n_draws == 1 else f"means over days and {n_draws} draws"
    return {
        f"Skill / mean absolute error in km/h, over all records; {drawn}": guesses(rows),
        "Skill of the estimate on each day, with the worst draw's": by_day(rows),
        "What `planned` publishes in a day": planned(rows),
        "Cells whose interval holds the true mean": coverage(groups),
    }


def guesses(rows: pl.DataFrame) -> pl.DataFrame:
    """Return one row for each city and guess: skill and error at each epsilon."""
    order = pl.col("guess").replace_strict({name: n for n, name in enumerate(_ORDER)}, return_dtype=pl.Int64)
    means = rows.group_by("city", "guess", "epsilon", maintain_order=True).agg(pl.col("skill", "error").mean())
    shown = means.with_columns(pl.format("{} / {}", pl.col("skill").round(2), pl.col("error").round(1)).alias("shown"))
    wide = shown.pivot("epsilon", index=["city", "guess"], values="shown").fill_null("")
    city = pl.col("city").rank("dense", descending=False)
    return wide.sort(city, order).select("city", "guess", pl.exclude("city", "guess").name.map(_at_epsilon))


def by_day(rows: pl.DataFrame) -> pl.DataFrame:
    """Return one row for each city, epsilon and setting: mean skill of the estimate on each day, and its worst."""
    mine = rows.filter(pl.col("guess").str.starts_with("estimated"))
    number = (pl.col("date") - pl.col("date").min().over("city")).dt.total_days() + 1
    means = mine.with_columns(day=pl.format("day {}", number)).group_by(
        "city", "epsilon", "guess", "day", maintain_order=True
    )
    skill = pl.col("skill")
    shown = means.agg(pl.format("{} ({})", skill.mean().round(2), skill.min().round(2)).alias("skill"))
    return shown.pivot("day", index=["city", "epsilon", "guess"], values="skill").fill_null("")


def planned(rows: pl.DataFrame) -> pl.DataFrame:
    """Return one row for each city and epsilon: cells and records that the planner publishes, and the error there."""
    means = (
        rows.filter(guess="planned")
        .group_by("city", "epsilon", maintain_order=True)
        .agg(
            pl.col("cells").mean().round(0).cast(pl.Int64),
            (100 * pl.col("covered_records").mean()).round(1).alias("records, %"),
            pl.col("covered_error").mean().round(1).alias("error there, km/h"),
        )
    )
    return means.cast(pl.String).fill_null("")


def coverage(groups: pl.DataFrame) -> pl.DataFrame:
    """Return one row for each city, epsilon and kind of group: coverage from the first group to the last."""
    held = _pooled(groups).with_columns(shown=(100 * pl.col("held")).round(0).cast(pl.Int64).cast(pl.String))
    fifths = held.filter(pl.col("by") != "hour").group_by("city", "epsilon", "by", maintain_order=True)
    named = pl.format("fifths by {}, least to most", "by").alias("groups")
    of_fifths = fifths.agg(pl.col("shown").str.join(", ").alias("of cells, %")).with_columns(named).drop("by")
    hours = held.filter(by="hour").group_by("city", "epsilon", maintain_order=True)
    span = pl.format("{} to {}", *(pl.col("held").mul(100).round(0).cast(pl.Int64).sort().get(n) for n in (0, -1)))
    of_hours = hours.agg(span.alias("of cells, %")).with_columns(pl.lit("hours, lowest to highest").alias("groups"))
    columns = ["city", "epsilon", "groups", "of cells, %"]
    return pl.concat([of_fifths.select(columns), of_hours.select(columns)]).sort("city", "epsilon", maintain_order=True)


def draw(rows: pl.DataFrame, groups: pl.DataFrame) -> Figure:
    """Draw the skill of each guess over the days of one city, and the coverage of the estimate by fifths."""
    city = _SHOWN if _SHOWN in rows["city"] else rows["city"][0]
    rows, groups = rows.filter(city=city), groups.filter(city=city)
    figure = Figure(figsize=(12, 5), layout="constrained")
    skill, by_mean, by_size = figure.subplots(1, 3)
    _draw_skill(skill, rows)
    for axes, name in ((by_mean, "published mean"), (by_size, "records")):
        _draw_coverage(axes, _pooled(groups.filter(by=name)), name)
    figure.suptitle(city)
    figure.legend(*skill.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    return figure


def _draw_skill(axes: Axes, rows: pl.DataFrame) -> None:
    """Draw the estimate at each epsilon, and the best of the other guesses at the middle one."""
    epsilons = rows["epsilon"].unique().sort().to_list()
    middle = epsilons[len(epsilons) // 2]
    series = [("estimated", epsilon) for epsilon in epsilons]
    series += [(name, middle) for name in ("yesterday's release", "James-Stein", "planned")]
    first = rows["date"].min()
    for number, (guess, epsilon) in enumerate(series):
        days = rows.filter(guess=guess, epsilon=epsilon).group_by("date").agg(pl.col("skill").mean()).sort("date")
        axes.plot(
            (days["date"] - first).dt.total_days() + 1,
            days["skill"].clip(-0.5),
            color=COLOURS[number],
            marker=MARKERS[number],
            linestyle=LINES[0] if guess == "estimated" else LINES[1],
            label=f"{guess}, epsilon {epsilon:g}",
        )
    axes.axhline(0, color="#777777", linewidth=0.8)
    axes.set(xlabel="day", ylabel="skill (0: the best constant; below -0.5 cut)", xticks=range(1, _n_days(rows) + 1))
    axes.grid(color="#dddddd", linewidth=0.6)


def _draw_coverage(axes: Axes, held: pl.DataFrame, name: str) -> None:
    for number, ((epsilon,), part) in enumerate(held.group_by("epsilon", maintain_order=True)):
        label = f"epsilon {epsilon:g}"
        axes.plot(part["group"] + 1, part["held"], color=COLOURS[number], marker=MARKERS[number], label=label)
    axes.axhline(0.95, color="#777777", linewidth=0.8)
    axes.set(xlabel=f"fifth of the cells by {name}", ylabel="share of intervals that hold", ylim=(0.7, 1.005))
    axes.set_xticks(range(1, 6))
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.legend(frameon=False, fontsize=8)


def write_docs(rows: pl.DataFrame, groups: pl.DataFrame, others: dict[str, tuple[str, pl.DataFrame]]) -> None:
    """Write the picture and the tables of what was measured into the documentation.

    Args:
        rows: Of the maps; empty if they were not measured.
        groups: Of their cells.
        others: For each of the page's other marks, a table and what it shows.
    """
    if rows.height:
        draw(rows, groups).savefig(PICTURE, dpi=130)
        _write_between("maps", "\n\n".join(_in_markdown(*one) for one in tables(rows, groups).items()))
    for name, (caption, table) in others.items():
        if table.height:
            _write_between(name, _in_markdown(caption, table))


def _write_between(name: str, content: str) -> None:
    """Replace what stands between two marks of the page."""
    begin, end = (mark.format(name) for mark in MARKS)
    text = PAGE.read_text("utf-8")
    marked = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    if not marked.search(text):
        raise ValueError(f"{PAGE.name} must have the marks of {name} around its tables")
    PAGE.write_text(marked.sub(lambda _: f"{begin}\n\n{content}\n\n{end}", text), "utf-8")


def _pooled(groups: pl.DataFrame) -> pl.DataFrame:
    """Return the coverage of each group over all days and draws."""
    held = (pl.col("coverage_of_cells") * pl.col("cells")).sum() / pl.col("cells").sum()
    keys = ["city", "epsilon", "by"]
    return groups.group_by(*keys, "group").agg(held=held).sort(*keys, "group")


def _n_days(rows: pl.DataFrame) -> int:
    return rows["date"].n_unique()


def _at_epsilon(column: str) -> str:
    return f"epsilon {float(column):g}"


def _in_markdown(caption: str, table: pl.DataFrame) -> str:
    lines = [f"{caption}:", "", "| " + " | ".join(table.columns) + " |", "|" + " --- |" * table.width]
    lines += ["| " + " | ".join(str(value) for value in row) + " |" for row in table.iter_rows()]
    return "\n".join(lines)
