"""What ``docs/reference/ledger.md`` gives to strangers holds: each field, and a program that checks an export."""

import json
import re
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest
from insider import forged
from support import CLIP_USER, DATE, Dataset, later_day

from dpmath.core.currency import Concentrated
from tasks.account import chain, ledger
from tasks.account.amendments import amend_budget
from tasks.account.budgets import Account
from tasks.account.entry import Stated
from tasks.base.durable import canonical_json
from tasks.upkeep.verify import verify_ledger


def document() -> str:
    return (Path(__file__).parents[2] / "docs" / "reference" / "ledger.md").read_text()


@pytest.fixture
def exported(busy_dataset: Dataset, tmp_path: Path) -> Path:
    """Return the export of three releases, one of them a revision, under a limit that binary fractions do not meet."""
    busy_dataset.set(**CLIP_USER | {"target_error": 49.0}, epsilon_total=5.3)
    busy_dataset.run_day()
    busy_dataset.run_day(revision="again")
    busy_dataset.run_day(later_day(busy_dataset, 1))
    path = tmp_path / "export.jsonl"
    path.write_text("".join(ledger.export(busy_dataset.config)))
    return path


def documented_check(export: Path) -> subprocess.CompletedProcess[str]:
    """Run the programme that the document gives to strangers, without anything of this project."""
    program = document().partition("```python\n")[2].partition("```")[0]
    command = [sys.executable, "-I", "-S", "-c", program, str(export)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_stranger_checks_an_export_with_nothing_but_the_document(exported: Path) -> None:
    ended = documented_check(exported)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("3 releases; the worst user has lost 5.2")
    lines = exported.read_bytes().splitlines(keepends=True)
    forgeries = [
        [lines[0], lines[2]],
        [lines[1], lines[0], lines[2]],
        [lines[0].replace(b'"epsilon":"1', b'"epsilon":"0'), *lines[1:]],
        [*lines, lines[2]],
        [forged(lines[0], epsilon="2.5")],
        [forged(lines[0], epsilon_left="5")],
        [forged(lines[0], epsilon_total_after="1")],
    ]
    for forgery in forgeries:
        exported.write_bytes(b"".join(forgery))
        assert "AssertionError: line" in documented_check(exported).stderr


def test_the_document_describes_every_field_and_no_other(amended: Path) -> None:
    entry, amendment = (json.loads(amended.read_bytes().splitlines()[number]) for number in (0, 3))
    releases, others = document().split("## The fields of an amendment")
    of_release = releases.partition("## The further fields of an estimate")[0]
    of_amendment = others
    assert sorted(described_in(of_release)) == sorted(entry)
    assert sorted(set(amendment) - set(entry)) == sorted(described_in(of_amendment))
    assert set(amendment) & set(entry) == set(re.findall(r"`(\w+)`", of_amendment.partition("|")[0])) - {"budget"}


def described_in(text: str) -> list[str]:
    rows = re.findall(r"^\| (`[^|]*`) \|", text, re.MULTILINE)
    return [name for row in rows for name in re.findall(r"`(\w+)`", row)]


@pytest.fixture
def in_zcdp(busy_dataset: Dataset, tmp_path: Path) -> Path:
    """Return the export of two releases in zCDP."""
    busy_dataset.set(**CLIP_USER | {"definition": "zcdp"}, noise="gaussian")
    busy_dataset.run_day()
    busy_dataset.run_day(later_day(busy_dataset, 1))
    path = tmp_path / "export.jsonl"
    path.write_text("".join(ledger.export(busy_dataset.config)))
    return path


def test_a_stranger_checks_what_is_released_in_zcdp(in_zcdp: Path) -> None:
    ended = documented_check(in_zcdp)
    assert ended.returncode == 0, ended.stderr
    assert re.match(r"2 releases; the worst user has lost rho \S+: epsilon \S+ at delta 0.000001\n", ended.stdout)
    first, second = in_zcdp.read_bytes().splitlines(keepends=True)
    last = json.loads(second)
    pure_settings = {**last["settings"], "privacy": {"epsilon_per_day": "2.0"}}
    forgeries = [
        forged(second, definition="pure", delta=None),
        forged(second, loss_total_after=str(int(last["loss"]) // 2)),
        forged(second, epsilon_total_after="0.5"),
        forged(second, loss=str(int(last["loss"]) * 2)),
        forged(second, epsilon="1.0"),
        forged(second, loss_left="7"),
        forged(second, delta="0.0000001"),
        forged(second, loss_unit="2^-50"),
        forged(second, loss_total_limit=str(int(last["loss_total_limit"]) * 100)),
        forged(second, epsilon_left="999"),
        forged(second, epsilon_total_limit="1"),
        forged(second, settings=pure_settings),
        second + forged(first, number=3, previous_hash=last["hash"]),
        rechained(second, second),
    ]
    for forgery in forgeries:
        in_zcdp.write_bytes(first + forgery)
        assert "AssertionError: line" in documented_check(in_zcdp).stderr, forgery[-3000:]


@pytest.mark.slow
def test_a_stranger_checks_what_gaussian_noise_alone_costs(busy_dataset: Dataset, tmp_path: Path) -> None:
    busy_dataset.set(definition="gaussian", epsilon_total=4.0)
    for number in range(2):
        busy_dataset.run_day(later_day(busy_dataset, number) if number else DATE)
    assert verify_ledger(busy_dataset.config).n_releases == 2
    path = tmp_path / "export.jsonl"
    path.write_text("".join(ledger.export(busy_dataset.config)))
    ended = documented_check(path)
    assert ended.returncode == 0, ended.stderr
    assert re.match(r"2 releases; the worst user has lost rho \S+: epsilon 2\.\d+ at delta 0.000001\n", ended.stdout)
    lines = path.read_bytes().splitlines(keepends=True)
    entry = json.loads(lines[1])
    assert (entry["definition"], entry["epsilon"]) == ("gaussian", "2")
    assert "HV-L73" in entry["theorems"]
    assert int(entry["loss"]) > 1.13 * Concentrated(Decimal("1e-6")).within(Decimal(2))
    path.write_bytes(lines[0] + forged(lines[1], epsilon="1.9"))
    assert "AssertionError: line 2" in documented_check(path).stderr


def rechained(line: bytes, before: bytes) -> bytes:
    """Return a line that was made to follow another one."""
    previous = json.loads(before)
    return forged(line, number=previous["number"] + 1, previous_hash=previous["hash"])


def test_a_stranger_is_told_the_rho_of_one_release(busy_dataset: Dataset, tmp_path: Path) -> None:
    busy_dataset.set(**CLIP_USER | {"definition": "zcdp"})
    busy_dataset.run_day()
    path = tmp_path / "export.jsonl"
    path.write_text("".join(ledger.export(busy_dataset.config)))
    assert documented_check(path).stdout.startswith("1 releases; the worst user has lost rho 0.0879")


@pytest.fixture
def amended(exported: Path, busy_dataset: Dataset) -> Path:
    """Return the export after the budget was loosened and a fourth release was made under it."""
    busy_dataset.set(epsilon_total=50.0, window_days=90)
    amend_budget("a decision of the board", busy_dataset.config)
    busy_dataset.run_day(later_day(busy_dataset, 2))
    exported.write_text("".join(ledger.export(busy_dataset.config)))
    return exported


def test_a_stranger_checks_amendments_of_the_budget_too(amended: Path) -> None:
    ended = documented_check(amended)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("4 releases; ")
    lines = [json.loads(line) for line in amended.read_bytes().splitlines()]
    no_amendment = [*lines[:3], lines[4]]
    without_format = {key: value for key, value in lines[4].items() if key != "format"}
    of_another = lines[3] | {"budget_before": {"epsilon_total": "6", "window_days": None}}
    of_nothing = lines[3] | {"budget": lines[3]["budget_before"]}
    for forgery, said in (
        (no_amendment, "line 4: a looser budget unsaid"),
        ([*no_amendment[:3], without_format], "line 4 has another format"),
        ([lines[3], *lines[:3], lines[4]], "line 1 amends a budget that was not in force"),
        ([*lines[:3], of_another, lines[4]], "line 4 amends a budget that was not in force"),
        ([*lines[:3], of_nothing, lines[4]], "line 4 loosens nothing"),
        ([*lines[:3], lines[3] | {"reason": " "}, lines[4]], "line 4 gives no reason"),
    ):
        amended.write_bytes(chained_anew(forgery))
        assert f"AssertionError: {said}" in documented_check(amended).stderr


def chained_anew(entries: list[Stated]) -> bytes:
    """Return a ledger by someone who knows how to hash and chain."""
    written: list[Stated] = []
    for one in entries:
        written.append(chain.chained(one, written[-1] if written else None))
    return b"".join(canonical_json(one) + b"\n" for one in written)


def test_an_export_is_the_ledger_byte_for_byte_and_names_no_user_and_no_value(
    exported: Path, busy_dataset: Dataset
) -> None:
    assert exported.read_bytes() == ledger.ledger_path(busy_dataset.config).read_bytes()
    assert b"bus0" not in exported.read_bytes()
    assert not any(
        user.encode() in exported.read_bytes()
        for user in Account(ledger.read_entries(busy_dataset.config), busy_dataset.config).total
    )
