import re
from pathlib import Path

import duckdb
import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "sql").rglob("*.sql"))
SOURCES = "\n".join(path.read_text() for path in (ROOT / "tasks").rglob("*.py"))


@pytest.fixture(params=FILES, ids=lambda path: str(path.relative_to(ROOT / "sql")))
def sql_file(request: pytest.FixtureRequest) -> Path:
    return request.param


def split(path: Path) -> tuple[str, str]:
    lines = path.read_text().splitlines()
    head = [line for line in lines if line.startswith("--")]
    assert lines[: len(head)] == head, "comments stand in the head alone"
    return "\n".join(head), "\n".join(lines[len(head) :])


def test_it_is_one_statement(sql_file: Path) -> None:
    assert len(duckdb.extract_statements(sql_file.read_text())) == 1


def test_its_head_names_its_grain_and_its_parameters(sql_file: Path) -> None:
    head, body = split(sql_file)
    assert re.search(r"^-- Grain    \S", head, re.MULTILINE)
    assert set(re.findall(r"\$(\w+)", body)) == set(re.findall(r"\$(\w+)", head))


def test_whatever_reads_private_tables_says_how_private_it_is(sql_file: Path) -> None:
    head, body = split(sql_file)
    if "checks" not in sql_file.parts and re.search(
        r"\b(from|join|into) (raw_record|record|user_cell|quarantined_record)\b", body
    ):
        assert re.search(r"^-- Privacy  \S", head, re.MULTILINE)


def test_it_is_used_by_one_of_the_steps(sql_file: Path) -> None:
    name = str(sql_file.relative_to(ROOT / "sql").with_suffix(""))
    folder, stem = name.split("/")
    used = {f'"{name}"'}
    if folder == "schema" or False:
        used |= {f'"{stem}"'}
    assert any(one in SOURCES for one in used)


def test_no_statement_hides_in_the_python_sources() -> None:
    hidden = re.findall(r'"\s*(?:select|insert|delete|create table|update)\s', SOURCES)
    assert hidden == []
