"""Whether the documentation says what the code does: pages, links, commands, settings, fields."""

import importlib.util
import json
import re
import shlex
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import jsonschema
import pytest
from typer.main import get_command

from flows.cli import app
from tasks.base.config import Config, load_config
from tasks.presence.config import load_presence
from tasks.release.formats import FORMATS

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "deploy").glob("*.md"))]
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INCLUDED = re.compile(r'^--8<-- "(.*)"$', re.MULTILINE)


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.fixture(params=PAGES, ids=named)
def page(request: pytest.FixtureRequest) -> Path:
    return request.param


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["generate"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def commands(generate: ModuleType) -> dict[str, Any]:
    return generate.commands()


def test_the_generated_pages_are_those_of_the_code(generate: ModuleType) -> None:
    stale = [name for name, text in generate.pages().items() if (REFERENCE / name).read_text() != text]
    assert stale == [], "run `make docs`"


# Links


def text_of(path: Path) -> str:
    """Return a page with what it includes."""
    return INCLUDED.sub(lambda found: (ROOT / found[1]).read_text(), path.read_text())


def anchors(path: Path) -> set[str]:
    headings = re.findall(r"^#+ +(.*)$", FENCE.sub("", text_of(path)), re.MULTILINE)
    return {re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower()) for heading in headings}


def links(path: Path) -> Iterator[str]:
    prose = re.sub(r"`[^`\n]*`", "", FENCE.sub("", path.read_text()))
    yield from (link for link in LINK.findall(prose) if not re.match(r"[a-z]+:", link))


def broken_links(path: Path) -> list[str]:
    broken = []
    for link in links(path):
        place, _, anchor = link.partition("#")
        target = (path.parent / place).resolve() if place else path
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    return broken


def test_every_link_and_picture_of_a_page_is_there(page: Path) -> None:
    assert broken_links(page) == []


def test_broken_links_are_found(tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("# A heading, here\n")
    path = tmp_path / "page.md"
    path.write_text("[a](other.md) [b](other.md#a-heading-here) [c](other.md#gone) ![d](gone.png) `[e](gone.md)`\n")
    assert broken_links(path) == ["other.md#gone", "gone.png"]


def test_pages_of_the_site_link_within_the_site_and_are_in_its_menu() -> None:
    menu = (ROOT / "mkdocs.yml").read_text().partition("\nnav:")[2]
    for path in (ROOT / "docs").rglob("*.md"):
        assert f": {path.relative_to(ROOT / 'docs').as_posix()}\n" in menu, path
        outside = [link for link in links(path) if not (path.parent / link).resolve().is_relative_to(ROOT / "docs")]
        assert outside == [], path


def test_what_pages_include_is_there() -> None:
    included = [name for path in PAGES for name in INCLUDED.findall(path.read_text())]
    assert sorted(included) == ["deploy/DECISIONS.md", "dpmath/THEOREMS.md"]
    assert all((ROOT / name).exists() for name in included)


# Commands


def shown(path: Path, program: str) -> Iterator[tuple[str, bool]]:
    """Yield what a page shows after the name of a program, and whether it is a whole command, in a block of its own."""
    text = path.read_text()
    start = rf"(?:^|[;&'] ?|/bin/){program} ([^;&'#|\n]*)"
    for language, block in FENCE.findall(text):
        if language != "python":
            yield from ((found[1], True) for found in re.finditer(start, block, re.MULTILINE))
    for span in re.findall(r"`([^`]+)`", FENCE.sub("", text)):
        yield from ((found[1], False) for found in re.finditer(start, " ".join(span.split())))


def problem_of(command: str, is_whole: bool, commands: dict[str, Any]) -> str | None:
    """Return what is wrong with the words after ``hexveil``; where they are not a whole command some may lack."""
    words = shlex.split(command)
    if words in ([name] for option in get_command(app).params for name in option.opts):
        return None
    names = [name for name in commands if words[: len(name.split())] == name.split()]
    if not names:
        return None if words in (["ledger"], ["ledger", "..."]) else f"no {' '.join(words[:2])}"
    params = commands[names[0]].params
    options = {name: option for option in params for name in option.opts}
    arguments = [one.opts[0] for one in params if one.param_type_name == "argument"]
    given, rest = set(), iter(words[len(names[0].split()) :])
    for word in rest:
        if arguments and not word.startswith("-"):
            given.add(arguments.pop(0))
            continue
        if word not in options:
            return f"no {word}"
        given.add(word)
        if not options[word].is_flag and next(rest, None) is None and is_whole:
            return f"{word} lacks its value"
    missing = [option.opts[0] for option in params if option.required and option.opts[0] not in given]
    return f"{missing[0]} is missing" if missing and is_whole else None


def test_every_command_that_a_page_shows_exists_with_its_options(page: Path, commands: dict[str, Any]) -> None:
    said = {command: problem_of(command, is_whole, commands) for command, is_whole in shown(page, "hexveil")}
    assert {command: problem for command, problem in said.items() if problem} == {}


def test_wrong_commands_are_found(commands: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text(
        "Say `hexveil publish`, or `hexveil plan --all`, or `hexveil\nrun`, `hexveil ledger` and `x --config`.\n"
        "```\n"
        ".venv/bin/hexveil ledger show --config my.toml      # fine\n"
        "sudo -u hexveil sh -c 'x; .venv/bin/hexveil run --day 3'\n"
        "hexveil plan --config my.toml --date\n"
        "hexveil ledger verify\n"
        "```\n"
    )
    said = [problem_of(*one, commands) for one in shown(path, "hexveil")]
    wrong = ["no --day", "--date lacks its value", "--config is missing", "no publish", "no --all"]
    assert [one for one in said if one] == wrong
    assert len(said) == len(wrong) + 3


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z./-]+):(?!=)", (ROOT / "Makefile").read_text(), re.MULTILINE))


def test_every_make_target_that_a_page_shows_exists(page: Path) -> None:
    assert {command.split()[0] for command, _ in shown(page, "make")} - make_targets() == set()


def test_pages_show_commands_and_targets() -> None:
    of_hexveil, of_make = (
        {command.split()[0] for path in PAGES for command, _ in shown(path, program)} for program in ("hexveil", "make")
    )
    assert {"run", "plan", "backfill", "ledger", "deploy", "forget", "backup", "resume"} <= of_hexveil
    assert {"demo", "test", "up", "down", "docs", "bench", ".venv/run"} <= of_make


# What the code has and the pages must name


def test_every_command_is_documented(commands: dict[str, Any]) -> None:
    text = (REFERENCE / "commands.md").read_text()
    assert len(commands) >= 15
    for name, command in commands.items():
        section = text.partition(f"\n## hexveil {name}\n")[2].partition("\n## ")[0]
        assert section, name
        assert all(f"| `{option.opts[0]}` |" in section for option in command.params), name
        assert command.help, name
        assert all(option.help for option in command.params), name


def test_every_setting_is_documented() -> None:
    text = (REFERENCE / "settings.md").read_text()
    sections: dict[str, Any] = {
        name: field.annotation for name, field in Config.model_fields.items() if name != "folder"
    }
    assert len(sections) == 15
    for name, model in sections.items():
        described = text.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        rows = dict(re.findall(r"^\| `(\w+)` \|.*\| ([^|]+) \|$", described, re.MULTILINE))
        assert list(rows) == list(model.model_fields), name
        assert all(len(meaning) > 10 for meaning in rows.values()), name


def test_the_schema_for_editors_knows_collections() -> None:
    schema = json.loads((REFERENCE / "settings.schema.json").read_text())
    settings = tomllib.loads((ROOT / "deploy" / "config" / "collection.toml").read_text())
    jsonschema.validate(settings, schema, jsonschema.Draft7Validator)
    dataset = tomllib.loads((ROOT / "deploy" / "config" / "demo.toml").read_text())
    for wrong in (
        {**settings, "collection": {**settings["collection"], "alpha": 0}},
        {**settings, "collection": {**settings["collection"], "device": "x"}},
        {**settings, "dataset": dataset["dataset"]},
        {**settings, "budget": dataset["budget"]},
        {name: one for name, one in settings.items() if name != "storage"},
        {**settings, "value": {name: one for name, one in settings["value"].items() if name != "name"}},
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema, jsonschema.Draft7Validator)


@pytest.mark.parametrize("name", ["phones", "fares", "scooters"])
def test_the_schema_for_editors_knows_both_models(name: str) -> None:
    schema = json.loads((REFERENCE / "settings.schema.json").read_text())
    settings = tomllib.loads((ROOT / "deploy" / "config" / f"{name}.toml").read_text())
    jsonschema.validate(settings, schema, jsonschema.Draft7Validator)
    load_presence(ROOT / "deploy" / "config" / f"{name}.toml")
    privacy, grid = settings["privacy"], settings["grid"]
    for wrong in (
        {**settings, "privacy": {key: one for key, one in privacy.items() if key != "cap"}},
        {**settings, "privacy": {**privacy, "mechanism": "planned"}},
        {**settings, "privacy": {**privacy, "protects": "values"}},
        {**settings, "grid": {key: one for key, one in grid.items() if key != "area"}},
        {**settings, "statistics": {"variance": True}},
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema, jsonschema.Draft7Validator)


@pytest.mark.parametrize("name", ["austin", "demo"])
def test_the_schema_for_editors_accepts_our_configurations(name: str) -> None:
    schema = json.loads((REFERENCE / "settings.schema.json").read_text())
    settings = tomllib.loads((ROOT / "deploy" / "config" / f"{name}.toml").read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    jsonschema.validate(settings, schema, jsonschema.Draft7Validator)
    for section, key, value in (
        ("privacy", "epsilon", 1),
        ("privacy", "epsilon_per_day", "2"),
        ("privacy", "mechanism", "best"),
        ("grid", "h3_resolution", 16),
        ("value", "tick", 0),
    ):
        wrong = {**settings, section: {**settings[section], key: value}}
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema, jsonschema.Draft7Validator)


def test_the_example_of_a_configuration_is_one(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "how-to" / "own-data.md").read_text()
    (example,) = [block for language, block in FENCE.findall(page) if language == "toml"]
    (tmp_path / "my.toml").write_text(example)
    assert load_config(tmp_path / "my.toml").dataset.name == "buses"


def test_every_mechanism_is_explained(generate: ModuleType) -> None:
    page = (ROOT / "docs" / "explanation" / "mechanisms.md").read_text()
    mechanisms = generate.settings_schema()["properties"]["privacy"]["properties"]["mechanism"]["enum"]
    assert sorted(re.findall(r"^\| `([\w-]+)` \|", page, re.MULTILINE)) == sorted(mechanisms)


def test_every_published_file_is_documented() -> None:
    section = (
        (REFERENCE / "files.md").read_text().partition("\n## Published files\n")[2].partition("\n\nThese files")[0]
    )
    described = [name for names in re.findall(r"^\| (`[^|]*`) \|", section, re.MULTILINE) for name in names.split(", ")]
    further = [
        "hindsight-YYYY-MM-DD.parquet",
        "joint.parquet",
        "joint_shares.parquet",
        "manifest.json",
        "measurements.parquet",
        "typical.parquet",
        "zones.csv",
        "zones.geojson",
    ]
    assert sorted(described) == sorted(f"`{name}`" for name in (*further, *(one.name for one in FORMATS)))


def test_the_rooms_of_the_tasks_are_those_that_the_linter_knows() -> None:
    page = (ROOT / "docs" / "explanation" / "pipeline.md").read_text()
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (rooms,) = [one["layers"] for one in contracts if one.get("containers") == ["tasks"]]
    shown = re.findall(r"^\| \d+[^|]*\| ([^|]*) \|", page, re.MULTILINE)
    assert [re.findall(r"`(\w+)`", line) for line in shown] == [line.split(" | ") for line in rooms]


def test_every_table_is_documented_with_its_grain_and_columns() -> None:
    page = (REFERENCE / "tables.md").read_text()
    made = [
        found
        for path in (ROOT / "sql").rglob("*.sql")
        if (found := re.search(r"create table if not exists (\w+) \((.*)\)", path.read_text(), re.DOTALL))
    ]
    assert len(made) >= 16
    for table in made:
        section = page.partition(f"\n### {table[1]}\n")[2].partition("\n### ")[0]
        assert "- **Grain**: one row per" in section, table[1]
        assert "- **Privacy**: " in section, table[1]
        assert not re.search(r"\*\*(Written|Read) by\*\*: none", section), table[1]
        columns = re.findall(r"^    (\w+) [a-z]+", table[2], re.MULTILINE)
        columns = [column for column in columns if column not in ("unique", "primary")]
        assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == columns


def test_the_fields_of_the_ledger_are_those_of_real_entries() -> None:
    page = (REFERENCE / "ledger.md").read_text()
    table = page.partition("\n## The fields of a release\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`[^|]*`) \|", table, re.MULTILINE)
    described = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    entries = [
        json.loads(line)
        for path in (ROOT / "tests" / "golden").glob("*.jsonl")
        for line in path.read_text().splitlines()
    ]
    assert len(entries) >= 12
    assert sorted(described) == sorted(set().union(*entries))


def test_every_field_that_the_published_rows_have_is_documented() -> None:
    page = (REFERENCE / "columns.md").read_text()
    (statistic,) = (ROOT / "sql").rglob("schema/statistic.sql")
    columns = re.findall(r"^    (\w+) [a-z]", statistic.read_text(), re.MULTILINE)
    assert len(columns) >= 19
    for column in columns:
        assert f"`{column}`" in page or (column.startswith("variance_") and "`variance_...`" in page), column
