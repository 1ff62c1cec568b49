"""What people see: the scheduler's pages in a real browser, and the map behind their link."""

import re
from collections.abc import Iterator

import pytest
from deployed import FIRST, Deployed
from playwright.sync_api import Browser, Page, expect
from support import SCREENSHOTS

pytestmark = pytest.mark.slow


@pytest.fixture
def page(browser: Browser, deployed: Deployed) -> Iterator[Page]:
    """Return a page that may ask for nothing but the deployed, and must not complain."""
    asked: list[str] = []
    page = browser.new_page(viewport={"width": 1366, "height": 900})
    page.set_default_timeout(60_000)
    page.on("request", lambda request: asked.append(request.url))
    page.goto(deployed.url)
    page.get_by_role("textbox").fill(deployed.password)
    page.keyboard.press("Enter")
    expect(page.get_by_text("Dashboard").first).to_be_visible()
    yield page
    elsewhere = [
        url
        for url in asked
        if not re.match(rf"http://127\.0\.0\.1:({deployed.port}|{deployed.port + 1})/|data:|blob:", url)
    ]
    assert elsewhere == []
    page.close()


@pytest.fixture(scope="module")
def run_id(deployed: Deployed) -> str:
    run_id = deployed.start("daily", date=FIRST)
    assert deployed.ended(run_id)["state"]["type"] == "COMPLETED"
    return run_id


def keep(page: Page, name: str) -> None:
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{name}.png")


def test_the_page_of_a_run_shows_its_name_its_steps_and_what_they_said(
    page: Page, deployed: Deployed, run_id: str
) -> None:
    page.goto(f"{deployed.url}/runs/flow-run/{run_id}")
    expect(page.get_by_text(f"daily test {FIRST}").first).to_be_visible()
    expect(page.get_by_text("Completed").first).to_be_visible()
    expect(page.get_by_text("published release=test-").first).to_be_visible()
    page.wait_for_timeout(3000)  # the graph is drawn on a canvas
    keep(page, "ui-run")


def test_the_summary_of_a_day_is_readable_and_leads_to_the_map(page: Page, deployed: Deployed, run_id: str) -> None:
    page.goto(f"{deployed.url}/artifacts/artifact/{deployed.artifacts(run_id)['day-test']['id']}")
    expect(page.get_by_role("heading", name=f"test {FIRST}")).to_be_visible()
    for told in ("withheld at no cost", "worst promised error, km/h", "of this day, worst user", "step of this run"):
        expect(page.get_by_text(told).first).to_be_visible()
    keep(page, "ui-day")
    link = page.get_by_role("link", name="map.html")
    page.goto(str(link.get_attribute("href")))
    page.wait_for_function("window.Bokeh && Bokeh.documents[0] && Bokeh.documents[0].is_idle")
    expect(page.get_by_role("heading", level=1)).to_contain_text("test")


def test_the_budget_page_draws_its_burn_down(page: Page, deployed: Deployed, run_id: str) -> None:
    page.goto(f"{deployed.url}/artifacts/artifact/{deployed.artifacts(run_id)['budget-test']['id']}")
    expect(page.get_by_role("heading", name="The budget of test")).to_be_visible()
    picture = page.get_by_alt_text("what the worst user had left after each release")
    expect(picture).to_be_visible()
    assert picture.evaluate("picture => picture.naturalWidth") > 500
    keep(page, "ui-budget")


def test_a_backfill_can_be_started_from_a_form(page: Page, deployed: Deployed) -> None:
    with deployed.api as api:
        deployment = api.get("/deployments/name/backfill/backfill-test").raise_for_status().json()["id"]
    page.goto(f"{deployed.url}/deployments/deployment/{deployment}/run")
    for told in ("The first local day.", "The last local day.", "What to do if the budget does not pay"):
        expect(page.get_by_text(told).first).to_be_visible()
    keep(page, "ui-form")
