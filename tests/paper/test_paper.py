"""Every figure of the papers is drawn in the quick setting, and each claim is as it was found to be."""

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import polars as pl
import pytest
from matplotlib.figure import Figure as Canvas
from support import slow

from tests.paper import __main__ as program
from tests.paper.austin import FOLDER
from tests.paper.figure import Claim, Figure
from tests.paper.figures import FIGURES

Make = Callable[..., str]


@cache
def quick_numbers(figure: Figure) -> pl.DataFrame:
    return figure.numbers(True)


LONG = (
    "cpl-figure-4",
    "dame-geometric-sizes",
    "dame-heavy-tailed-sizes",
    "dame-rates-as-run",
    "sti-figure-1-sizes-like-the-paper-s",
    "sti-figure-4-sizes-like-the-paper-s",
)


@pytest.fixture(params=[slow(one) if one.file_stem in LONG else one for one in FIGURES], ids=lambda one: one.file_stem)
def figure(request: pytest.FixtureRequest) -> Figure:
    if missing := request.param.missing():
        pytest.skip(missing)
    return request.param


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Make:
    """Run the program on figures of one's own, and return the page that it wrote."""

    def run(*figures: Figure) -> str:
        monkeypatch.setattr(program, "FIGURES", figures)
        monkeypatch.setattr(sys, "argv", ["paper", "--quick", "--out", str(tmp_path)])
        program.main()
        return (tmp_path / "index.html").read_text()

    return run


def planted(holds: bool, expected: bool = True, missing: str = "") -> Figure:
    """Return a figure of one point and one claim."""

    def draw(numbers: pl.DataFrame, canvas: Canvas) -> None:
        canvas.subplots().set(xlabel="x", ylabel=f"{numbers.height} points")

    return Figure(
        "Planted figure",
        "A point.",
        "It is a point.",
        lambda _quick: pl.DataFrame({"x": [1]}),
        draw,
        lambda _numbers: [Claim("It is a point.", holds, "It was planted.", expected)],
        lambda: missing,
    )


@pytest.mark.quick(4)
def test_each_claim_of_the_paper_holds_or_is_known_not_to(figure: Figure) -> None:
    claims = list(figure.claims(quick_numbers(figure)))
    assert claims
    for claim in claims:
        assert claim.holds == claim.expected, f"{claim.statement}: {claim.why}"
        assert claim.why


@pytest.mark.quick(4)
def test_each_figure_is_drawn_with_labelled_axes(figure: Figure) -> None:
    canvas = Canvas()
    figure.draw(quick_numbers(figure), canvas)
    assert canvas.axes
    assert all(axes.get_xlabel() and axes.get_ylabel() for axes in canvas.axes)


def test_no_two_figures_share_a_file() -> None:
    assert len({figure.file_stem for figure in FIGURES}) == len(FIGURES)


def test_the_page_shows_each_figure_with_its_claims(make: Make, tmp_path: Path) -> None:
    chosen = [figure for figure in FIGURES if figure.id in {"BUC vectors figure 1", "BUC figure 1"}]
    page = make(*chosen)
    for one in chosen:
        assert (tmp_path / f"{one.file_stem}.png").read_bytes().startswith(b"\x89PNG")
        assert pl.read_csv(tmp_path / f"{one.file_stem}.csv").height
        assert f'src="{one.file_stem}.png"' in page
        assert f'href="{one.file_stem}.csv"' in page
    assert "http" not in page


@pytest.mark.parametrize(("holds", "expected"), [(False, True), (True, False)])
def test_a_claim_that_is_not_as_it_was_found_to_be_fails_the_run_and_is_named(
    make: Make, holds: bool, expected: bool
) -> None:
    with pytest.raises(SystemExit, match="It is a point"):
        make(planted(holds, expected))


@pytest.mark.parametrize("holds", [False, True])
def test_a_claim_that_is_as_it_was_found_to_be_does_not_fail_the_run(make: Make, holds: bool) -> None:
    assert ("does not hold</span>" in make(planted(holds, expected=holds))) is not holds


def test_a_figure_whose_records_are_missing_is_named_on_the_page_and_the_others_are_drawn(make: Make) -> None:
    page = make(planted(holds=False, missing="No records here."), FIGURES[0])
    assert "No records here." in page
    assert "1 could not be\ndrawn here" in page
    assert 'src="planted-figure.png"' not in page
    assert f'src="{FIGURES[0].file_stem}.png"' in page


def test_figures_look_for_the_real_records_where_the_tests_do(real_data: Path) -> None:
    assert real_data == FOLDER
