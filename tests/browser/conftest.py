"""A real browser without a window, and pages in it that must neither ask the network for anything nor complain."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page
from support import SCREENSHOTS

DESKTOP, PHONE = (1366, 900), (375, 740)

_PLACE = """([root, layer, row]) => {
    const plot = Bokeh.documents[0].get_model_by_name(root)
    const view = Bokeh.index.find_one(plot)
    const {xs, ys} = plot.renderers[layer].data_source.data
    const middle = (corners) => corners.reduce((sum, corner) => sum + corner, 0) / corners.length
    const {left, top} = view.canvas_view.el.getBoundingClientRect()
    return [left + view.frame.x_scale.compute(middle(xs[row])), top + view.frame.y_scale.compute(middle(ys[row]))]
}"""


_TILE = '<svg xmlns="http://www.w3.org/2000/svg" width="256" height="256"><path fill="#cde" d="M0 0h256v256H0z"/></svg>'


@dataclass
class MapPage:
    """A map that is open in the browser, with what it asked for and complained of."""

    page: Page
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def open(self, path: Path) -> None:
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", self._listen)
        self.page.goto(path.as_uri())
        self.page.wait_for_function("window.Bokeh && Bokeh.documents[0] && Bokeh.documents[0].is_idle")
        self.page.wait_for_function("document.getElementById('reading')?.textContent !== ''")

    def _listen(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def layer(self, number: int, root: str = "map") -> dict[str, Any]:
        """Return the numbers that a layer draws: of the map 0 is all hexagons, 1 withheld ones, 2 published ones."""
        return self.page.evaluate(
            """([root, layer]) => {
                const {data} = Bokeh.documents[0].get_model_by_name(root).renderers[layer].data_source
                return Object.fromEntries(Object.entries(data).map(([name, values]) => [name, Array.from(values)]))
            }""",
            [root, number],
        )

    def point_at(self, layer: int, row: int, click: bool = False) -> None:
        """Move the mouse to the middle of a hexagon of a layer, and click if wanted."""
        x, y = self.page.evaluate(_PLACE, ["map", layer, row])
        self.page.mouse.move(x, y)
        if click:
            self.page.wait_for_timeout(400)  # two clicks sooner after each other are a double click, wherever they are
            self.page.mouse.click(x, y)

    def tap(self, layer: int, row: int) -> None:
        """Touch the middle of a hexagon of a layer."""
        self.page.wait_for_timeout(400)
        self.page.touchscreen.tap(*self.page.evaluate(_PLACE, ["map", layer, row]))

    def press(self, where: str, key: str) -> None:
        self.page.locator(where).focus()
        self.page.keyboard.press(key)

    @property
    def title_of_curve(self) -> str:
        return self.page.evaluate("Bokeh.documents[0].get_model_by_name('curve').title.text")

    @property
    def time(self) -> str:
        return self.page.locator(".bk-slider-title").inner_text()

    @property
    def reading(self) -> str:
        return self.page.locator("#reading").inner_text()

    def picture(self, selector: str = ".map") -> bytes:
        return self.page.locator(selector).screenshot()

    def keep(self, name: str) -> None:
        """Keep a picture of the whole page for people to look at."""
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)


OpenMap = Callable[..., MapPage]


@pytest.fixture
def open_map(browser: Browser) -> Iterator[OpenMap]:
    """Return what opens a map; at the end no map that was opened may have asked for more or complained.

    Only what is at the address ``tiles`` may be asked for, and is answered here.
    """
    opened: list[tuple[MapPage, Path, str]] = []

    def open_(path: Path, size: tuple[int, int] = DESKTOP, tiles: str = "", **options: Any) -> MapPage:
        page = browser.new_page(viewport={"width": size[0], "height": size[1]}, **options)
        page.set_default_navigation_timeout(120_000)  # the browser may begin while all cores are busy
        if tiles:
            answer = {"body": _TILE, "content_type": "image/svg+xml", "headers": {"Access-Control-Allow-Origin": "*"}}
            page.route(f"{tiles}**", lambda route: route.fulfill(**answer))
        opened.append((MapPage(page), path, tiles))
        opened[-1][0].open(path)
        return opened[-1][0]

    yield open_
    for shown, path, tiles in opened:
        of_tiles = [one for one in shown.requests if tiles and one.startswith(tiles)]
        assert [one for one in shown.requests if one not in of_tiles] == [path.as_uri()]
        assert bool(of_tiles) == bool(tiles)
        assert shown.complaints == []
        shown.page.close()
