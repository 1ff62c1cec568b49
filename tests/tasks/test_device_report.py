"""A device and its own account: one answer a period, the same whenever it is asked, and never more than its limit."""

import json
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dpmath.local.device import round_of
from dpmath.local.protocol import LocalProtocol
from flows.cli import app
from tasks.base.errors import BadInput, BudgetExceeded, HexveilError
from tasks.device.parameters import RoundParameters, parameters_of, read_parameters
from tasks.device.report import Outcome, drawn_report, make_report, numbers

ROOT = Path(__file__).parents[2]
PROTOCOL = LocalProtocol(1000, Fraction(3, 5), 3, 60)


def key_for(number: int, device: str = "d") -> bytes:
    """Return a key under which a device answers the round of a number."""
    return next(key for key in (bytes([i]) * 32 for i in range(256)) if round_of(key, device) == number)


def parameters(number: int = 1, period: str = "2026-03-02", area: str = "all", key: bytes | None = None) -> bytes:
    bins = {area: None if number == 1 else 2}
    return RoundParameters(
        collection="speeds",
        period=period,
        round=number,
        key=key or key_for(number),
        quantity="speed",
        unit="km/h",
        lower=Fraction(0),
        upper=Fraction(100),
        tick=Fraction(1, 10),
        protocol=PROTOCOL,
        bins=bins,
    ).as_file()


class Phone:
    """A device with its files in a folder."""

    def __init__(self, folder: Path) -> None:
        self.round, self.values, self.account = folder / "round.json", folder / "values", folder / "own" / "account"
        self.values.write_text("31\n32.5\n\nnot a number\n33\n")

    def asked(self, content: bytes, limit: Fraction | None = None) -> Outcome:
        self.round.write_bytes(content)
        return make_report(self.round, self.values, self.account, device="d", limit=limit)


@pytest.fixture
def phone(tmp_path: Path) -> Phone:
    return Phone(tmp_path)


@pytest.mark.parametrize("number", [1, 2])
def test_whoever_asks_again_gets_the_same_answer_even_when_the_values_changed(phone: Phone, number: int) -> None:
    first = phone.asked(parameters(number))
    assert first.is_new
    for _ in range(20):
        phone.values.write_text("99\n" * 50)
        again = phone.asked(parameters(number))
        assert again.report == first.report
        assert not again.is_new
        assert again.account.spent == PROTOCOL.alpha
    assert first.report is not None
    assert len(first.report["ballot"]) == PROTOCOL.n_bins if number == 1 else "estimate" in first.report


@pytest.mark.parametrize("changed", ["area", "key", "alpha", "round"])
def test_a_different_answer_for_the_same_period_is_refused(phone: Phone, changed: str) -> None:
    phone.asked(parameters(1))
    stated = json.loads(parameters(1))
    if changed == "area":
        stated["areas"] = {"elsewhere": None}
    elif changed == "key":
        stated["key"] = next(k for k in (bytes([i]) * 32 for i in range(255, 0, -1)) if round_of(k, "d") == 1).hex()
    elif changed == "alpha":
        stated["alpha"] = "1/2"
    else:  # the collector changes the key so that the device belongs to the other half now
        stated |= {"round": 2, "key": key_for(2).hex(), "areas": {"all": 1}}
    before = phone.account.read_bytes()
    with pytest.raises(HexveilError, match="second, different answer"):
        phone.asked(json.dumps(stated).encode())
    assert phone.account.read_bytes() == before


def test_the_other_round_is_not_answered_and_costs_nothing(phone: Phone) -> None:
    outcome = phone.asked(parameters(2, key=key_for(1)))
    assert (outcome.report, outcome.round, outcome.account.spent) == (None, 1, 0)
    assert phone.asked(parameters(1)).is_new
    assert phone.asked(parameters(2, key=key_for(1))).report is None


def test_the_sum_over_periods_is_limited_and_the_owner_may_raise_it(phone: Phone) -> None:
    limit = Fraction(2)
    spent = [phone.asked(parameters(1, f"2026-03-{day:02}"), limit).account.spent for day in range(1, 4)]
    assert spent == [Fraction(3, 5), Fraction(6, 5), Fraction(9, 5)]
    with pytest.raises(BudgetExceeded, match=r"0\.6, and 1\.8 of 2 is spent"):
        phone.asked(parameters(1, "2026-03-04"))
    assert not phone.asked(parameters(1, "2026-03-03")).is_new, "an old answer costs nothing"
    assert phone.asked(parameters(1, "2026-03-04"), Fraction(3)).account.spent == Fraction(12, 5)


def test_many_that_ask_at_once_get_one_answer(phone: Phone) -> None:
    phone.round.write_bytes(parameters(2))
    code = (
        "import sys; from pathlib import Path; from tasks.device.report import as_line, make_report\n"
        "print(as_line(make_report(*map(Path, sys.argv[1:4]), device='d').report))"
    )

    def ask(_: int) -> str:
        command = [sys.executable, "-c", code, str(phone.round), str(phone.values), str(phone.account)]
        return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout

    with ThreadPoolExecutor(4) as pool:
        said = set(pool.map(ask, range(8)))
    assert len(said) == 1
    assert phone.asked(parameters(2)).account.spent == PROTOCOL.alpha


def test_the_account_is_on_disk_before_a_report_is_known(phone: Phone, monkeypatch: pytest.MonkeyPatch) -> None:
    """A device that dies while it writes has shown nothing: it draws again, and nobody saw the first draw."""
    from tasks.device import report

    phone.asked(parameters(2, key=key_for(1)))

    def full(*_: object) -> None:
        raise OSError(28, "no space left")

    monkeypatch.setattr(report, "write_account", full)
    with pytest.raises(OSError, match="no space"):
        phone.asked(parameters(1))
    monkeypatch.undo()
    assert phone.asked(parameters(1)).is_new


def test_a_damaged_account_is_never_begun_anew(phone: Phone) -> None:
    phone.asked(parameters(1))
    phone.account.write_text(phone.account.read_text()[:40])
    with pytest.raises(BadInput, match=r"damaged.*Do not restore an older copy"):
        phone.asked(parameters(1))


def test_an_account_behind_a_link_is_the_account_that_the_link_names(phone: Phone, tmp_path: Path) -> None:
    first = phone.asked(parameters(1)).report
    link = tmp_path / "link"
    link.symlink_to(phone.account)
    again = make_report(phone.round, phone.values, link, device="d")
    assert (again.report, again.is_new) == (first, False)
    later = parameters(1, period="2026-03-03")
    phone.round.write_bytes(later)
    by_link = make_report(phone.round, phone.values, link, device="d")
    assert link.is_symlink()
    assert phone.asked(later).report == by_link.report


def test_values_or_an_account_that_is_no_file_is_refused_at_no_cost(phone: Phone, tmp_path: Path) -> None:
    phone.round.write_bytes(parameters(1))
    for values, account in ((tmp_path / "none", phone.account), (tmp_path, phone.account), (phone.values, tmp_path)):
        with pytest.raises(BadInput, match="must be a file"):
            make_report(phone.round, values, account, device="d")
    assert not phone.account.exists()


def test_the_account_is_for_its_owner_s_eyes_only(phone: Phone) -> None:
    phone.asked(parameters(1))
    assert phone.account.stat().st_mode & 0o077 == 0


def test_a_device_imports_the_standard_library_alone() -> None:
    """It runs without any installed package, in a Python that does not look for them."""
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); import tasks.device.report\n"
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], check=True, capture_output=True, text=True)
    assert set(done.stdout.split()) - set(sys.stdlib_module_names) <= {"tasks", "dpmath", "__main__", "encodings"}


def test_lines_that_are_no_numbers_are_left_out_and_far_ones_count_as_the_bound() -> None:
    found = list(numbers(["1", " 2.5 \n", "x", "", "nan", "inf", "1e300", "1e-999999999", "-7"]))
    assert found[:2] == [1, Fraction(5, 2)]
    asked = parameters_of(json.loads(parameters(1)))
    assert [asked.in_ticks(one) for one in found] == [10, 25, 1000, 0, 0]


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("format", 2),
        ("round", 3),
        ("round", True),
        ("alpha", "0"),
        ("alpha", "1e9999999"),
        ("alpha", 0.6),
        ("tick", "1/100000000"),
        ("half_width", 0),
        ("key", "zz"),
        ("areas", {}),
        ("areas", {"all": 1}),
        ("upper", "99.95"),
    ],
)
def test_parameters_that_are_not_sound_are_refused_and_nothing_is_sent(phone: Phone, part: str, value: object) -> None:
    stated = json.loads(parameters(1)) | {part: value}
    with pytest.raises(BadInput, match="cannot be used as the parameters"):
        phone.asked(json.dumps(stated).encode())
    assert not phone.account.exists()


def test_parameters_are_the_same_after_a_file(tmp_path: Path) -> None:
    path = tmp_path / "round.json"
    for number in (1, 2):
        path.write_bytes(parameters(number))
        assert read_parameters(path).as_file() == parameters(number)
    path.write_bytes(b"\xff")
    with pytest.raises(BadInput):
        read_parameters(path)


def test_the_command_prints_the_report_alone_and_says_what_was_spent(phone: Phone) -> None:
    phone.round.write_bytes(parameters(1))
    options = ["--parameters", phone.round, "--values", phone.values, "--account", phone.account, "--device", "d"]
    command = ["device", "report", *map(str, options)]
    first, again = (CliRunner().invoke(app, command) for _ in range(2))
    assert first.exit_code == 0
    assert first.stdout == again.stdout
    assert set(json.loads(first.stdout)) == {"collection", "period", "round", "area", "device", "ballot"}
    assert "Values: 3; lines that are no number: 1.\nSpent 0.6 of 10 in 1 periods" in first.stderr
    assert "same answer" in again.stderr
    assert "Values" not in again.stderr
    phone.round.write_bytes(parameters(2, key=key_for(1)))
    other = CliRunner().invoke(app, command)
    assert other.stdout == ""
    assert "answers round 1" in other.stderr
    assert CliRunner().invoke(app, [*command, "--limit", "x"]).exit_code == 1


def test_reports_say_no_more_than_the_protocol_lets_them() -> None:
    """Ballots of devices that have one value each, 0 or 100: each bit is 1 as often as the protocol says, both ways."""
    asked = parameters_of(json.loads(parameters(1)))
    for value in (0, 100):
        ballots = [drawn_report(asked, "all", "d", [10 * value] * 3)["ballot"] for _ in range(2000)]
        ones = Counter(bit for ballot in ballots for bit in range(PROTOCOL.n_bins) if ballot[bit] == "1")
        near = {0, 1} if value == 0 else {PROTOCOL.n_bins - 2, PROTOCOL.n_bins - 1}
        flip = float(PROTOCOL.flip_probability)
        for bit in range(PROTOCOL.n_bins):
            expected = 2000 * (1 - flip if bit in near else flip)
            assert abs(ones[bit] - expected) < 6.4 * (2000 / 4) ** 0.5, "once in 1e9"
