"""A device and its own account: one answer a period, the same whenever it is asked, and never more than its limit."""

import datetime as dt
import json
import os
import pty
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
from tasks.base.errors import BadInput, BudgetExceeded, HexveilError, TemporaryFailure
from tasks.device.account import DEFAULT_DAY_LIMIT, begin_account
from tasks.device.parameters import LARGEST_FILE, RoundParameters, parameters_of, read_parameters
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
        self.account.parent.mkdir()
        begin_account(self.account, "d")

    def asked(self, content: bytes, limit: Fraction | None = None, day_limit: Fraction | None = None) -> Outcome:
        self.round.write_bytes(content)
        return make_report(self.round, self.values, self.account, limit=limit, day_limit=day_limit)

    def command(self, *more: str, values: str | None = None) -> list[str]:
        files = ["--parameters", str(self.round), "--values", values or str(self.values)]
        return ["device", "report", *files, "--account", str(self.account), *more]


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


@pytest.mark.parametrize(
    "spelling", [{"alpha": "0.6"}, {"upper": "100.0", "tick": "0.10"}, {"key": key_for(1).hex().upper()}]
)
def test_another_spelling_of_the_same_parameters_gets_the_same_answer(phone: Phone, spelling: dict[str, str]) -> None:
    first = phone.asked(parameters(1))
    again = phone.asked(json.dumps(json.loads(parameters(1)) | spelling, indent=7).encode())
    assert (again.report, again.is_new) == (first.report, False)


@pytest.mark.parametrize(("first", "then"), [("2026-03-04", "2026-W10"), ("2026-W10", "2026-03-08")])
def test_a_week_and_a_day_in_it_are_not_both_answered(phone: Phone, first: str, then: str) -> None:
    phone.asked(parameters(1, first))
    with pytest.raises(HexveilError, match=f"{first} already, under other parameters"):
        phone.asked(parameters(1, then))
    assert phone.asked(parameters(1, "2026-03-09")).is_new


def test_under_other_names_nobody_gets_more_for_a_day_than_its_owner_allows(phone: Phone) -> None:
    def ask(name: str, period: str, alpha: str = "3/5", day_limit: Fraction | None = None) -> Outcome:
        stated = json.loads(parameters(1)) | {"collection": name, "period": period, "alpha": alpha}
        return phone.asked(json.dumps(stated).encode(), day_limit=day_limit)

    with pytest.raises(BudgetExceeded, match=r"cost 5, and 0 of 4 is spent for a day of the period.*--day-limit"):
        ask("greedy", "2026-03-02", alpha="5")
    for number in range(6):
        ask(f"speeds-{number}", "2026-W10" if number % 2 else "2026-03-02")
    for period in ("2026-03-02", "2026-W10"):
        with pytest.raises(BudgetExceeded, match=r"3\.6 of 4 is spent for a day"):
            ask("speeds-6", period)
    assert ask("speeds-6", "2026-03-03").is_new, "of this day only the reports of the week tell anything"
    assert ask("speeds-6", "2026-03-02", day_limit=Fraction(5)).account.day_limit == 5


def test_a_period_that_has_not_begun_is_not_answered(phone: Phone) -> None:
    today = dt.datetime.now(dt.UTC).date()
    before = phone.account.read_bytes()
    for later in (today + dt.timedelta(days=2), dt.date.max):
        with pytest.raises(BadInput, match="has not begun"):
            phone.asked(parameters(1, later.isoformat()))
    assert phone.account.read_bytes() == before
    assert phone.asked(parameters(1, today.isoformat())).is_new


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
        "print(as_line(make_report(*map(Path, sys.argv[1:4])).report))"
    )

    def ask(_: int) -> str:
        command = [sys.executable, "-c", code, str(phone.round), str(phone.values), str(phone.account)]
        return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout

    with ThreadPoolExecutor(4) as pool:
        said = set(pool.map(ask, range(8)))
    assert len(said) == 1
    assert phone.asked(parameters(2)).account.spent == PROTOCOL.alpha


def test_of_many_that_begin_an_account_at_once_one_does(tmp_path: Path) -> None:
    code = "import sys; from pathlib import Path; from tasks.device.account import begin_account\n"
    command = [sys.executable, "-c", code + "print(begin_account(Path(sys.argv[1])).device)", str(tmp_path / "account")]

    def begin(_: int) -> str:
        return subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True).stdout

    with ThreadPoolExecutor(4) as pool:
        said = "".join(pool.map(begin, range(6))).split()
    assert said == [json.loads((tmp_path / "account").read_text())["device"]]


def test_many_that_ask_for_other_rounds_at_once_never_get_more_than_the_limit(phone: Phone) -> None:
    """Each asks under another name: together they would cost 4.8, and a day may cost 4."""
    code = (
        "import sys; from pathlib import Path; from tasks.device.report import as_line, make_report\n"
        "print(as_line(make_report(*map(Path, sys.argv[1:4])).report))"
    )

    def ask(number: int) -> str:
        asked = phone.round.with_name(f"round-{number}.json")
        asked.write_text(json.dumps(json.loads(parameters(1)) | {"collection": f"speeds-{number}"}))
        command = [sys.executable, "-c", code, str(asked), str(phone.values), str(phone.account)]
        return subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True).stdout

    with ThreadPoolExecutor(4) as pool:
        said = [json.loads(line) for line in pool.map(ask, range(8)) if line]
    answers = json.loads(phone.account.read_text())["answers"]
    assert len(said) == len(answers) == 6
    assert {one["collection"] for one in said} == {one["collection"] for one in answers}


def test_the_account_is_on_disk_before_a_report_is_known(phone: Phone, monkeypatch: pytest.MonkeyPatch) -> None:
    """A device that dies while it writes has shown nothing: it draws again, and nobody saw the first draw."""
    from tasks.device import report

    phone.asked(parameters(2, key=key_for(1)))

    def full(*_: object) -> None:
        raise OSError(28, "no space left")

    monkeypatch.setattr(report, "write_account", full)
    with pytest.raises(TemporaryFailure, match="No space left"):
        phone.asked(parameters(1))
    monkeypatch.undo()
    assert phone.asked(parameters(1)).is_new


def test_an_account_cut_anywhere_is_never_begun_anew(phone: Phone) -> None:
    phone.asked(parameters(1))
    whole = phone.account.read_bytes()
    for size in range(len(whole.rstrip())):
        phone.account.write_bytes(whole[:size])
        with pytest.raises(BadInput, match=r"damaged.*Do not restore an older copy"):
            phone.asked(parameters(1))
        assert phone.account.read_bytes() == whole[:size]


@pytest.mark.parametrize(
    "damage",
    [
        {"answers": {}},
        {"answers": ""},
        {"answers": [{}]},
        {"answers": [7]},
        {"device": 7},
        {"limit": "-1"},
        {"limit": "x"},
    ],
)
def test_an_account_that_does_not_say_what_was_answered_is_damaged(phone: Phone, damage: dict[str, object]) -> None:
    phone.account.write_text(json.dumps(json.loads(phone.account.read_text()) | damage))
    with pytest.raises(BadInput, match="damaged"):
        phone.asked(parameters(1))


@pytest.mark.parametrize(("part", "value"), [("alpha", "-3/5"), ("alpha", "0"), ("period", "x"), ("report", "x")])
def test_an_answer_that_cannot_be_one_is_damage(phone: Phone, part: str, value: str) -> None:
    phone.asked(parameters(1))
    stated = json.loads(phone.account.read_text())
    stated["answers"][0][part] = value
    phone.account.write_text(json.dumps(stated))
    with pytest.raises(BadInput, match="damaged"):
        phone.asked(parameters(1, "2026-03-03"))


def test_an_account_that_is_lost_or_renamed_is_not_begun_by_a_report(phone: Phone) -> None:
    """Otherwise it would answer the same period again, with other noise, under the name that it was given."""
    phone.asked(parameters(1))
    phone.account.rename(phone.account.with_name("renamed"))
    with pytest.raises(BadInput, match=r"there is no account .* If its account was lost"):
        phone.asked(parameters(1))
    assert not phone.account.exists()


def test_an_account_that_is_lost_is_not_begun_anew(phone: Phone, tmp_path: Path) -> None:
    phone.asked(parameters(1))
    phone.account.unlink()
    (tmp_path / "link").symlink_to(phone.account)
    for path in (phone.account, tmp_path / "link"):
        with pytest.raises(BadInput, match=r"is lost.*another file name and another device name"):
            begin_account(path, "d")
    assert not phone.account.exists()
    assert begin_account(phone.account.with_name("another"), "e").device == "e"


def test_a_report_without_an_account_does_not_make_it_look_lost(phone: Phone) -> None:
    phone.round.write_bytes(parameters(1))
    path = phone.account.with_name("new")
    with pytest.raises(BadInput, match="there is no account"):
        make_report(phone.round, phone.values, path)
    assert begin_account(path, "e").device == "e"


def test_an_account_that_could_not_be_written_may_be_begun_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "no space left")

    monkeypatch.setattr("tasks.device.account.write_whole", full)
    with pytest.raises(TemporaryFailure, match="No space left"):
        begin_account(tmp_path / "account")
    monkeypatch.undo()
    assert begin_account(tmp_path / "account").answers == ()


@pytest.mark.parametrize("size", [246, 255, 256, 5000])
def test_a_file_name_that_is_too_long_is_said_in_words(phone: Phone, size: int) -> None:
    path = phone.account.with_name("x" * size)
    phone.round.write_bytes(parameters(1))
    for refused in (lambda: begin_account(path), lambda: make_report(phone.round, phone.values, path)):
        with pytest.raises(BadInput, match="file name of --account must have at most 245 bytes"):
            refused()
    begin_account(phone.account.with_name("x" * 245))


def test_a_cost_just_above_a_limit_is_not_said_to_be_the_limit(phone: Phone) -> None:
    stated = json.loads(parameters(1)) | {"alpha": "4.000000000000001"}
    with pytest.raises(BudgetExceeded, match=r"cost 4\.000000000000001, and 0 of 4 is spent"):
        phone.asked(json.dumps(stated).encode())


def test_an_account_is_not_begun_over_another(phone: Phone, tmp_path: Path) -> None:
    phone.asked(parameters(1))
    before = phone.account.read_bytes()
    (tmp_path / "link").symlink_to(phone.account)
    for path in (phone.account, tmp_path / "link"):
        with pytest.raises(BadInput, match="exists already"):
            begin_account(path, "e")
    assert phone.account.read_bytes() == before


def test_an_account_with_a_second_name_is_refused_because_that_would_miss_the_answer(phone: Phone) -> None:
    second = phone.account.with_name("second")
    second.hardlink_to(phone.account)
    for path in (phone.account, second):
        phone.round.write_bytes(parameters(1))
        with pytest.raises(BadInput, match="second name"):
            make_report(phone.round, phone.values, path)
    second.unlink()
    assert phone.asked(parameters(1)).is_new


def test_an_account_of_before_there_was_a_limit_for_a_day_has_the_usual_one(phone: Phone) -> None:
    stated = json.loads(phone.account.read_text())
    del stated["day_limit"]
    phone.account.write_text(json.dumps(stated))
    assert phone.asked(parameters(1)).account.day_limit == DEFAULT_DAY_LIMIT


@pytest.mark.parametrize("name", ["", "x" * 65, "\udcff", "a\nb", "\x1b[2J"])
def test_a_name_that_no_collector_takes_is_refused_before_it_costs_anything(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInput, match="--device must have 1 to 64 printable characters"):
        begin_account(tmp_path / "account", name)
    assert list(tmp_path.iterdir()) == []


def test_an_account_behind_a_link_is_the_account_that_the_link_names(phone: Phone, tmp_path: Path) -> None:
    first = phone.asked(parameters(1)).report
    link = tmp_path / "link"
    link.symlink_to(phone.account)
    again = make_report(phone.round, phone.values, link)
    assert (again.report, again.is_new) == (first, False)
    later = parameters(1, period="2026-03-03")
    phone.round.write_bytes(later)
    by_link = make_report(phone.round, phone.values, link)
    assert link.is_symlink()
    assert phone.asked(later).report == by_link.report


def test_values_or_an_account_that_is_no_file_is_refused_at_no_cost(phone: Phone, tmp_path: Path) -> None:
    phone.round.write_bytes(parameters(1))
    before = phone.account.read_bytes()
    empty = "must be a file. If this device has no values, make an empty one"
    for values, account, said in (
        (tmp_path / "none", phone.account, empty),
        (tmp_path, phone.account, empty),
        (phone.values, tmp_path, "must be a file in a folder"),
    ):
        with pytest.raises(BadInput, match=said):
            make_report(phone.round, values, account)
    assert phone.account.read_bytes() == before


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
        ("collection", "Speeds"),
        ("collection", "speeds "),
        ("collection", ""),
        ("period", "2026-3-2"),
        ("period", "2026-03-02 "),
        ("period", "20260302"),
        ("period", "2026-02-30"),
        ("period", "2026-W54"),
        ("period", "\u0662026-03-02"),
        ("period", "p1"),
        ("key", "00" * 31),
        ("alpha", "101"),
        ("lower", "\u0661"),
        ("areas", {"": None}),
        ("areas", {"\x1b[2J": None}),
        ("areas", {"\ud800": None}),
        ("areas", {"x" * 65: None}),
        ("areas", ["all"]),
    ],
)
def test_parameters_that_are_not_sound_are_refused_and_nothing_is_sent(phone: Phone, part: str, value: object) -> None:
    stated = json.loads(parameters(1)) | {part: value}
    before = phone.account.read_bytes()
    with pytest.raises(BadInput, match="cannot be used as the parameters"):
        phone.asked(json.dumps(stated).encode())
    assert phone.account.read_bytes() == before


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
    command = phone.command()
    first, again = (CliRunner().invoke(app, command) for _ in range(2))
    assert first.exit_code == 0
    assert first.stdout == again.stdout
    assert set(json.loads(first.stdout)) == {"collection", "period", "round", "area", "device", "ballot"}
    assert first.stderr == "Spent 0.6 of 10 in 1 periods.\n", (
        "how many values there are is protected, and a file may keep this"
    )
    assert "same answer" in again.stderr
    phone.round.write_bytes(parameters(2, key=key_for(1)))
    other = CliRunner().invoke(app, command)
    assert other.stdout == ""
    assert "answers round 1" in other.stderr
    assert CliRunner().invoke(app, [*command, "--limit", "x"]).exit_code == 1


def test_odd_files_of_parameters_are_refused_in_words(phone: Phone) -> None:
    for content in (
        b"[" * 100_000,
        b"",
        b"null",
        b"7",
        b"[]",
        b" " * (LARGEST_FILE + 1),
        b'{"period": 1' + b"0" * 5000,
    ):
        with pytest.raises(BadInput, match="cannot be used as the parameters"):
            phone.asked(content)


def test_an_area_that_was_not_asked_is_refused(phone: Phone) -> None:
    phone.round.write_bytes(parameters(1))
    for area in ("elsewhere", "", "\udcff"):
        done = CliRunner().invoke(app, phone.command("--area", area))
        assert (done.stdout, type(done.exception)) == ("", HexveilError)
        assert "--area must be one of the 1 areas" in str(done.exception)
    assert json.loads(phone.account.read_text())["answers"] == []


def test_a_device_without_values_reports_like_any_other(phone: Phone) -> None:
    phone.values.write_bytes(b"")
    made = phone.asked(parameters(2))
    assert (made.is_new, made.n_values) == (True, 0)


RUN = [sys.executable, "-m", "flows.cli"]


def test_values_may_come_through_a_pipe(phone: Phone) -> None:
    phone.round.write_bytes(parameters(1))
    command = [*RUN, *phone.command(values="/dev/stdin")]
    done = subprocess.run(command, input="1\n2\n", cwd=ROOT, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["device"] == "d"
    assert done.stderr == "Spent 0.6 of 10 in 1 periods.\n"


def test_how_many_values_were_read_is_said_at_a_terminal(phone: Phone) -> None:
    """A person at the device sees that the file was understood; no log and no script does."""
    phone.round.write_bytes(parameters(1))
    person, terminal = pty.openpty()
    done = subprocess.run([*RUN, *phone.command()], cwd=ROOT, stdout=subprocess.PIPE, stderr=terminal, check=True)
    os.close(terminal)
    assert json.loads(done.stdout)["device"] == "d"
    assert "Values: 3; lines that are no number: 1." in os.read(person, 4096).decode()
    os.close(person)


@pytest.mark.parametrize("stdout", ["/dev/full", None], ids=["full", "closed"])
def test_a_report_that_could_not_be_written_is_said_to_be_made_and_is_given_again(
    phone: Phone, stdout: str | None
) -> None:
    phone.round.write_bytes(parameters(1))
    ending = f"> {stdout}" if stdout else ">&-"
    lost = subprocess.run(
        ["sh", "-c", f'"$@" {ending}', "sh", *RUN, *phone.command()],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert lost.returncode == 1
    assert "could not be written to standard output. Run the command again" in lost.stderr
    assert "Exception" not in lost.stderr
    (answer,) = json.loads(phone.account.read_text())["answers"]
    again = subprocess.run([*RUN, *phone.command()], cwd=ROOT, capture_output=True, text=True, check=True)
    assert json.loads(again.stdout) == answer["report"]
    assert "The same answer as before" in again.stderr


def test_an_account_that_cannot_be_locked_sends_nothing(phone: Phone) -> None:
    phone.account.with_name(".account.lock").unlink()
    phone.account.with_name(".account.lock").mkdir()
    before = phone.account.read_bytes()
    phone.round.write_bytes(parameters(1))
    done = CliRunner().invoke(app, phone.command())
    assert (done.stdout, type(done.exception)) == ("", TemporaryFailure)
    assert phone.account.read_bytes() == before


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
