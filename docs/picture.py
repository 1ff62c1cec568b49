"""Makes the first picture of README: the map of a day of buses, as it is published today (`make picture`)."""

import datetime as dt
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from tasks.base.config import load_config

ROOT = Path(__file__).resolve().parent.parent
CONFIG = ROOT / "deploy" / "config" / "austin.toml"
PICTURE = ROOT / "docs" / "pictures" / "map.png"
DATES = [dt.date(2016, 11, day) for day in (24, 25)]
SIZE = (1200, 900)


def publish(folder: Path) -> Path:
    """Publish the days into a folder, and return the map of the last."""
    config, text = folder / CONFIG.name, CONFIG.read_text(encoding="utf-8")
    raw, store = (f'"{name}/' for name in ("../../../shared", "../../var"))
    here = text.replace(raw, f'"{ROOT.parent}/shared/').replace(store, f'"{folder}/')
    config.write_text(here, encoding="utf-8")
    for date in DATES:
        command = [Path(sys.executable).with_name("hexveil"), "run", "--config", config, "--date", str(date)]
        subprocess.run(command, check=True)  # noqa: S603 our own command
    return load_config(config).storage_path / "published" / f"date={DATES[-1]}" / "map.html"


def take(page_file: Path) -> None:
    """Take a picture of a whole map in a browser without a window."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        page = browser.new_page(viewport={"width": SIZE[0], "height": SIZE[1]})
        page.goto(page_file.as_uri())
        page.wait_for_function("document.getElementById('reading')?.textContent !== ''")
        page.wait_for_function("window.Bokeh && Bokeh.documents[0] && Bokeh.documents[0].is_idle")
        page.screenshot(path=PICTURE, full_page=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        take(publish(Path(temporary)))
