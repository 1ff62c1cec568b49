"""Every figure of the papers is drawn in the quick setting, and each claim is as it was found to be."""

from functools import cache

import polars as pl
import pytest
from matplotlib.figure import Figure as Canvas

from tests.paper.__main__ import draw_all, write_page
from tests.paper.figure import Figure
from tests.paper.figures import FIGURES


@cache
def quick_numbers(figure: Figure) -> pl.DataFrame:
    return figure.numbers(True)


@pytest.fixture(params=FIGURES, ids=lambda figure: figure.file_stem)
def figure(request: pytest.FixtureRequest) -> Figure:
    return request.param


def test_each_claim_of_the_paper_holds_or_is_known_not_to(figure: Figure) -> None:
    claims = list(figure.claims(quick_numbers(figure)))
    assert claims
    for claim in claims:
        assert claim.holds == claim.expected, f"{claim.statement}: {claim.why}"
        assert claim.why


def test_each_figure_is_drawn_with_labelled_axes(figure: Figure) -> None:
    canvas = Canvas()
    figure.draw(quick_numbers(figure), canvas)
    assert canvas.axes
    assert all(axes.get_xlabel() and axes.get_ylabel() for axes in canvas.axes)


def test_no_two_figures_share_a_file() -> None:
    assert len({figure.file_stem for figure in FIGURES}) == len(FIGURES)


def test_the_page_shows_each_figure_with_its_claims(tmp_path) -> None:
    from rich.progress import Progress

    chosen = [figure for figure in FIGURES if figure.id == "BUC figure 1"]
    with Progress(disable=True) as progress:
        page = write_page(draw_all(chosen, tmp_path, True, progress), tmp_path, True).read_text()
    for one in chosen:
        assert (tmp_path / f"{one.file_stem}.png").read_bytes().startswith(b"\x89PNG")
        assert pl.read_csv(tmp_path / f"{one.file_stem}.csv").height
        assert f'src="{one.file_stem}.png"' in page
        assert f'href="{one.file_stem}.csv"' in page
    assert "http" not in page
