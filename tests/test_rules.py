"""The rules of the house that a linter does not know."""

import ast
import importlib
import itertools
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tasks.proposals.mechanisms import MECHANISMS as ROWS

ROOT = Path(__file__).parents[1]
THEOREM_ID = r"(?:CPL|BUCs|BUCv|STI|DAME|CKS|HV)-[A-Z]+[0-9]+(?:\.[0-9]+)?"
MECHANISMS = ("ArrayCell", "ArraySum", "ExponentialMechanism")
MODULES = {path.relative_to(ROOT / "dpmath"): path for path in (ROOT / "dpmath").rglob("[!_]*.py")}
SOURCES = sorted(path for name in ("tasks", "dpmath", "flows") for path in (ROOT / name).rglob("*.py"))


def public_results() -> Iterator[tuple[str, str]]:
    """Yield every public function, and every class that names a source or must: those that are a mechanism."""
    for relative, path in sorted(MODULES.items()):
        name = ".".join(relative.with_suffix("").parts)
        module = importlib.import_module(f"dpmath.{name}")
        for node in ast.parse(path.read_text()).body:
            if not isinstance(node, ast.FunctionDef | ast.ClassDef) or node.name.startswith("_"):
                continue
            doc = getattr(module, node.name).__doc__ or ""
            if isinstance(node, ast.FunctionDef) or "Source:" in doc or node.name in MECHANISMS:
                yield f"{name}.{node.name}", doc


def rows() -> dict[str, str]:
    table = (ROOT / "dpmath" / "THEOREMS.md").read_text()
    return dict(re.findall(rf"^\| ({THEOREM_ID}) \|(.*)$", table, re.MULTILINE))


def marked() -> set[str]:
    tests = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("*.py"))
    marks = re.findall(r"mark\.theorem\(([^)]*)\)", tests)
    return set(re.findall(THEOREM_ID, " ".join(marks)))


HELPERS = {
    "core.currency.currency_of",
    "core.accounting.exact_integers",
    "planner.primal_dual.run_lengths",
}


@pytest.mark.parametrize(("name", "doc"), list(public_results()), ids=lambda value: value[:40])
def test_every_result_has_a_source_that_the_theorems_list_with_this_function(name: str, doc: str) -> None:
    if name in HELPERS:
        return
    source = doc.partition("Source:")[2]
    ids = re.findall(THEOREM_ID, source)
    assert ids, f"{name} names no theorem"
    assert set(ids) <= set(rows())
    composed = name.startswith("cells.clip_user.")
    assert composed or any(f"`{name}`" in rows()[one] for one in ids)


def test_every_theorem_has_a_test_and_every_test_a_theorem() -> None:
    assert marked() == set(rows())


def test_releases_name_theorems_that_are_listed() -> None:
    assert {one for row in ROWS.values() for one in row.theorems} <= set(rows())


def test_every_dependency_is_pinned_by_name_and_version_alone() -> None:
    lines = (ROOT / "constraints.txt").read_text().split()
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+]+", line) for line in lines)
    assert lines == sorted(lines, key=str.lower)
    pinned = {re.sub(r"[-_.]+", "-", line.split("==")[0]).lower() for line in lines}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = project["build-system"]["requires"] + project["project"]["dependencies"]
    wanted += itertools.chain(*project["project"]["optional-dependencies"].values())
    assert {re.split(r"[^a-z0-9-]", one)[0] for one in wanted} <= pinned


def test_real_randomness_and_pseudo_randomness_each_have_one_place() -> None:
    assert [path.name for path in SOURCES if "urandom(" in path.read_text()] == ["randomness.py"]
    assert [path.name for path in SOURCES if "default_rng" in path.read_text()] == [
        "synthetic.py",
        "synthetic_people.py",
    ]


def test_modules_can_be_read_in_one_sitting() -> None:
    assert len(SOURCES) > 100
    for path in SOURCES:
        assert len(path.read_text().splitlines()) <= 300, path
