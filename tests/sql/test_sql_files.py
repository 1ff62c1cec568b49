import re
from pathlib import Path

import duckdb
import pytest

from tasks.base import tables
from tasks.collect.reports import TABLES as COLLECTED

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "sql").rglob("*.sql"))
SOURCES = "\n".join(path.read_text() for path in (ROOT / "tasks").rglob("*.py"))
KINDS = {
    "schema": {"CREATE"},
    "read": {"SELECT"},
    "write": {"INSERT", "UPDATE", "DELETE", "COPY", "DROP", "ALTER"},
    "scratch": {"CREATE", "DROP"},
    "checks": {"SELECT"},
}
FORMS = {
    "schema": r"create (table|view) if not exists {stem} ?(\(|as\n)",
    "read": r"(select|with)\s",
    "write": r"(insert (or \w+ )?into|update|delete from|alter table) ({schema})\b|copy |drop table ({schema})$",
    "scratch": r"create or replace temp (table|view|macro) |drop table ({scratch})$",
    "checks": r"(select|with)\s",
}
KEYS = ["Grain", "Reads", "Params", "Units", "Privacy"]


def split(path: Path) -> tuple[str, str]:
    lines = path.read_text().splitlines()
    head = [line for line in lines if line.startswith("--")]
    assert lines[: len(head)] == head, "comments stand in the head alone"
    return "\n".join(head), "\n".join(lines[len(head) :])


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT / "sql").with_suffix(""))


def made(path: Path) -> list[str]:
    """Return the table, view or macro that a file makes, if it makes one."""
    return re.findall(r"^create .*?(?:table|view|macro) (?:if not exists )?(\w+)", split(path)[1])


def said_of(key: str, head: str) -> str:
    return " ".join(re.findall(rf"^-- {key} +(.*(?:\n--  .*)*)", head, re.MULTILINE))


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


def parameters(text: str) -> set[str]:
    return set(re.findall(r"\$(\w+)", text))


SCHEMA = {name for path in FILES if path.parent.name == "schema" for name in made(path)}
SCRATCH = {name for path in FILES if path.parent.name == "scratch" for name in made(path)}
TABLES = SCHEMA | SCRATCH | {"any_table"}


@pytest.fixture(params=FILES, ids=name_of)
def sql_file(request: pytest.FixtureRequest) -> Path:
    return request.param


def test_there_are_files_to_test_in_every_folder() -> None:
    assert {path.parent.relative_to(ROOT / "sql").as_posix() for path in FILES} == set(KINDS)
    assert len(FILES) > 100
    assert {"raw_record", "statistic", "held_row"} <= SCHEMA
    assert {"record", "incoming", "box"} <= SCRATCH
    assert not SCHEMA & SCRATCH


def test_it_is_one_statement(sql_file: Path) -> None:
    assert len(duckdb.extract_statements(sql_file.read_text())) == 1


def test_it_does_what_its_folder_says(sql_file: Path) -> None:
    folder, (_, body) = sql_file.parent.name, split(sql_file)
    assert duckdb.extract_statements(body)[0].type.name in KINDS[folder]
    names = {"schema": "|".join(SCHEMA | {"any_table"}), "scratch": "|".join(SCRATCH)}
    assert re.match(FORMS[folder].format(stem=sql_file.stem, **names), body)


def test_no_two_files_say_the_same() -> None:
    bodies = [split(path)[1] for path in FILES]
    assert [body for body in bodies if bodies.count(body) > 1] == []


def test_its_head_has_the_form_of_all_heads(sql_file: Path) -> None:
    head, body = split(sql_file)
    first, keys = head.splitlines()[0], re.findall(r"^-- (\w+)  ", head, re.MULTILINE)
    assert re.fullmatch(r"-- \S.*\.", first), "the first line says what it is"
    assert keys == [key for key in KEYS if key in keys]
    assert "Grain" in keys
    assert "Privacy" in keys or sql_file.parent.name == "checks"
    assert all(len(line) <= 120 for line in head.splitlines())
    assert parameters(body) == parameters(said_of("Params", head)) == parameters(head)


def test_its_first_line_names_what_it_makes_or_changes(sql_file: Path) -> None:
    head, body = split(sql_file)
    changed = re.findall(
        r"^(?:insert (?:or \w+ )?into|update|delete from|drop table|alter table|copy(?! \())\s+(\w+)", body
    )
    for name in made(sql_file) + changed:
        assert re.match(rf"-- {name}(\(\))?: \S", head)


def test_a_macro_stands_in_the_one_file_of_its_name() -> None:
    """So who reads a statement finds what it calls, and no other text can take its place."""
    macros = [path for path in FILES if re.match(r"create .*\bmacro ", split(path)[1])]
    assert len(macros) > 8
    assert [path.stem for path in macros] == [name for path in macros for name in made(path)]


def test_its_head_names_the_tables_that_it_reads_and_no_other(sql_file: Path) -> None:
    head, body = split(sql_file)
    own = set(re.findall(r"^(?:with )?\s*(\w+) as \($", body, re.MULTILINE))
    used = set(re.findall(r"\b(?:from|join|into|update|copy|drop table)\s+(\w+)", body)) & TABLES
    reads = words(said_of("Reads", head))
    assert used - own <= reads | words(head.splitlines()[0])
    assert reads & TABLES <= used


def test_it_is_used_by_one_of_the_steps(sql_file: Path) -> None:
    if sql_file.parent.name == "schema":
        assert sql_file.stem in tables.PRIVATE + tables.MIRRORED + COLLECTED + tables.VIEWS
    else:
        assert f'"{name_of(sql_file)}"' in SOURCES


def test_the_steps_use_no_file_that_is_not_there() -> None:
    used = set(re.findall(rf'"((?:{"|".join(KINDS)})/\w+)"', SOURCES))
    assert len(used) > 100
    assert used <= {name_of(path) for path in FILES}


def test_the_names_of_the_tables_are_those_of_the_schema() -> None:
    views = {path.stem for path in FILES if split(path)[1].startswith("create view")}
    assert set(tables.VIEWS) == views
    assert sorted(tables.PRIVATE + tables.MIRRORED + COLLECTED) == sorted(SCHEMA - views)


def test_no_statement_hides_in_the_python_sources() -> None:
    hidden = re.findall(r'"\s*(?:select|insert|delete|create table|update)\s', SOURCES)
    assert hidden == []
