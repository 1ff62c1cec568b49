"""The published files of a collection's period: every format says the same, and the page says it to people."""

import json
from io import BytesIO
from pathlib import Path

import polars as pl
import pytest
from collected import CELLS, Collected

from tasks.base.durable import sha256
from tasks.collect.areas import areas_page
from tasks.collect.formats import FORMATS
from tasks.collect.results import COLUMNS

NAMED, HEXAGONS = ("north", "south"), CELLS[:2]


@pytest.fixture(scope="module", params=[NAMED, HEXAGONS], ids=["names", "hexagons"])
def areas(request: pytest.FixtureRequest) -> tuple[str, ...]:
    return request.param


@pytest.fixture(scope="module")
def published(areas: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    collected = Collected(tmp_path_factory.mktemp("published"))
    if areas is HEXAGONS:
        collected.change('"north", "south", "empty"', '"{}", "{}", "{}"'.format(*CELLS))
    collected.whole()
    return collected.published()


def test_every_format_says_the_same(published: dict[str, bytes], areas: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "means.parquet").write_bytes(published["means.parquet"])
    table = pl.read_parquet(tmp_path / "means.parquet")
    assert table["area"].to_list() == list(areas)
    assert {*table.columns, "geometry"} == COLUMNS.keys()
    wanted = {one.name for one in FORMATS if areas is HEXAGONS or "geo" not in one.name}
    others = {"round-1.json", "round-2.json", "votes.json", "sums.json", "manifest.json"}
    assert published.keys() == wanted | others
    moved = table.with_columns(mean=pl.col("mean") + 1e-6)
    compared = [one for one in FORMATS if one.says_the_same is not None and one.name in wanted]
    assert len(compared) == (3 if areas is HEXAGONS else 1)
    for one in compared:
        assert one.says_the_same is not None
        assert one.says_the_same(published[one.name], table)
        assert not one.says_the_same(published[one.name], moved)


def test_the_manifest_names_the_files_and_states_the_guarantee(published: dict[str, bytes]) -> None:
    manifest = json.loads(published["manifest.json"])
    assert manifest["guarantee"]["epsilon_per_period"] == "4"
    assert manifest["files"].keys() == published.keys() - {
        "manifest.json",
        "round-1.json",
        "round-2.json",
        "votes.json",
    }
    assert all(sha256(published[name]) == found for name, found in manifest["files"].items())


def test_the_same_table_always_gives_the_same_page(tmp_path: Path) -> None:
    collected = Collected(tmp_path)
    collected.change('"north", "south", "empty"', """'"id":"p1003"', '{"p1003":"part-1"}'""")
    collected.whole()
    means = pl.read_parquet(BytesIO(collected.published()["means.parquet"]))
    page = areas_page(means, "2026-03-02", collected.config)
    assert page == areas_page(means, "2026-03-02", collected.config) == collected.published()["map.html"]
    assert all(f"&#34;p1003{end}".encode() in page for end in ("&#34;", "&#34;:&#34;part-1&#34;}"))
    assert b'\\"id\\":\\"p1003\\"' in page


def test_the_page_has_every_area_in_a_table_that_needs_no_script(published: dict[str, bytes]) -> None:
    page = published["map.html"].decode()
    table = page[page.index("<table>") : page.index("</table>")]
    means = [line.split(",")[2] for line in published["means.csv"].decode().splitlines()[1:]]
    assert all(f"<td>{float(mean):.1f}</td>" in table for mean in means)
    assert "from 900 devices. Each answered one of the two rounds" in page
