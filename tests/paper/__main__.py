"""`make paper`: draws every figure of the papers and one page that shows them beside what the papers claim."""

import argparse
import platform
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

import matplotlib as mpl
from jinja2 import Environment, StrictUndefined
from matplotlib.figure import Figure as Canvas
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tests.paper.figure import Figure, tracked_by
from tests.paper.figures import FIGURES

OUT = Path("var/paper")
TEMPLATE = Path(__file__).with_name("page.html.jinja")
PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
IN_DOCS = {"dame-rates-as-run": "devices.png"}
"""The figures that the documentation shows, and the names of their pictures there."""
Step = TypeVar("Step")


def draw(figure: Figure, out: Path, quick: bool) -> dict[str, Any]:
    """Compute and draw one figure, if what it needs is here; return what the page shows of it."""
    if missing := figure.missing():
        return {"figure": figure, "missing": missing, "rows": 0, "claims": []}
    numbers = figure.numbers(quick)
    numbers.write_csv(out / f"{figure.file_stem}.csv")
    canvas = Canvas(figsize=(6.4, 4.2), layout="constrained")
    figure.draw(numbers, canvas)
    canvas.savefig(out / f"{figure.file_stem}.png", dpi=150)
    return {"figure": figure, "missing": "", "rows": numbers.height, "claims": list(figure.claims(numbers))}


def draw_all(figures: Iterable[Figure], out: Path, quick: bool, progress: Progress) -> list[dict[str, Any]]:
    """Draw the figures one after the other, with one bar for them and one for the steps of each."""
    figures = list(figures)
    shown = []
    whole = progress.add_task("all figures", total=len(figures))
    for figure in figures:

        def tracker(todo: list[Step], name: str = figure.id) -> Iterable[Step]:
            part = progress.add_task(f"  {name}")
            yield from progress.track(todo, task_id=part, total=len(todo))
            progress.remove_task(part)

        with tracked_by(tracker):
            shown.append(draw(figure, out, quick))
        progress.advance(whole)
    return shown


def write_page(shown: list[dict[str, Any]], out: Path, quick: bool) -> Path:
    """Write the page beside its pictures."""
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    claims = [claim for one in shown for claim in one["claims"]]
    page = environment.from_string(TEMPLATE.read_text("utf-8")).render(
        shown=shown,
        quick=quick,
        n_missing=sum(bool(one["missing"]) for one in shown),
        n_claims=len(claims),
        n_held=sum(claim.holds for claim in claims),
        python=platform.python_version(),
    )
    path = out / "index.html"
    path.write_text(page, "utf-8")
    return path


def main() -> None:
    """Draw the figures that were asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.paper", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions and points: minutes in all")
    parser.add_argument("--only", default="", help="draw only figures whose id contains this")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--docs", action="store_true", help="copy the pictures that docs/ shows there")
    arguments = parser.parse_args()
    mpl.use("agg")
    arguments.out.mkdir(parents=True, exist_ok=True)
    console = Console()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    chosen = [figure for figure in FIGURES if arguments.only.lower() in figure.id.lower()]
    with Progress(*columns, console=console) as progress:
        shown = draw_all(chosen, arguments.out, arguments.quick, progress)
    for one in shown:
        if one["missing"]:
            console.print(f"{one['figure'].id}: [yellow]not drawn[/]  {one['missing']}", highlight=False)
        for claim in one["claims"]:
            mark = "[green]holds[/]" if claim.holds else "[red]does not hold[/]"
            console.print(f"{one['figure'].id}: {mark}  {claim.statement}", highlight=False)
    if arguments.docs:
        for stem, name in IN_DOCS.items():
            shutil.copyfile(arguments.out / f"{stem}.png", PICTURES / name)
    console.print(f"page  {write_page(shown, arguments.out, arguments.quick)}", highlight=False)
    surprises = [claim for one in shown for claim in one["claims"] if claim.holds != claim.expected]
    if surprises:
        sys.exit(
            f"{len(surprises)} claims are not as they were found to be: {[claim.statement for claim in surprises]}"
        )


if __name__ == "__main__":
    main()
