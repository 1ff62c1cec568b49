"""The page of an answer in a real browser, from the file, as a reader opens it."""

from pathlib import Path

import pytest
from estimates import day, write_day
from playwright.sync_api import Browser
from support import SCREENSHOTS, Dataset

from tasks.answers.ask import ask
from tasks.answers.page import answer_page


@pytest.mark.quick(1)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [(1366, 900), (375, 740)])
def test_an_answer_is_on_one_page_that_asks_for_nothing_and_fits_a_phone(
    browser: Browser, dataset: Dataset, tmp_path: Path, scheme: str, size: tuple[int, int]
) -> None:
    dataset.set(mechanism="estimated", target_error=None, epsilon_per_day=4.0, epsilon_total=40.0)
    write_day(dataset, day(0))
    dataset.run_day(day(0))
    path, asked, said = tmp_path / "answer.html", [], []
    answer = ask(dataset.folder / "store" / "published", by="area")
    path.write_bytes(answer_page(answer))
    page = browser.new_page(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme)  # type: ignore[arg-type]
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.goto(path.as_uri())
    shown = page.locator("path")
    assert shown.count() == answer.table.height
    boxes = [shown.nth(number).bounding_box() for number in range(shown.count())]
    assert all(box is not None and box["width"] > 5 and box["x"] >= 0 for box in boxes)
    assert page.evaluate("document.documentElement.scrollWidth") == size[0]
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, background[4:-1].split(","))) < 300) == (scheme == "dark")
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"test-answer-{scheme}-{size[0]}.png", full_page=True)
    assert (asked, said) == ([path.as_uri()], [])
    page.close()
