"""Which form times have: a date in the path or the owner decides between two that fit, never what comes first."""

from pathlib import Path

import pytest
from reading import ingest
from support import Dataset

from tasks.base.errors import BadInput
from tasks.records.init.proposal import propose_source
from tasks.records.init.proposed_times import TimesForm, are_iso, form_of_times, time_formats
from tasks.records.input_formats.input_format import Given

HEADER = "bus,time,lat,lon,speed\n"
MONTH_FIRST, DAY_FIRST = "%m/%d/%Y %H:%M", "%d/%m/%Y %H:%M"
HERE = Path("/data")
INSTANT = 1772427644
ISO = [
    ("2026-03-02T05:00:44Z", True, INSTANT),
    ("2026-03-02 05:00:44 UTC", True, INSTANT),
    ("2026-03-02 05:00:44+00", True, INSTANT),
    ("2026-03-02T06:00:44.250+0100", True, INSTANT),
    ("20260302T050044Z", True, INSTANT),
    ("20260302T060044.250+01:00", True, INSTANT),
    ("20260302T050044", True, INSTANT),
    ("2026-03-02T050044Z", True, INSTANT),
    ("2026-03-02T05:00:44,250Z", False, None),
    ("2026-W10-1T05:00:44", False, None),
    ("2026-061T05:00:44", False, None),
    ("2026-03-02T05Z", False, None),
]


def test_forms_of_times_with_either_order_of_day_and_month_are_told_apart_by_a_day_above_the_twelfth() -> None:
    assert time_formats(["01/02/2026 08:30 AM"]) == ["%m/%d/%Y %I:%M %p", "%d/%m/%Y %I:%M %p"]
    assert time_formats(["01/02/2026 08:30 AM", "01/15/2026 08:30 AM"]) == ["%m/%d/%Y %I:%M %p"]
    assert time_formats(["01/15/26 08:30 AM"]) == []
    assert time_formats([]) == []


def test_iso_times_are_known_by_file() -> None:
    iso, swapped, days = ["2026-01-15 08:00:00", "2026-01-15T08:00:00Z"], ["01/15/2026 08:00"], ["2026-01-15"]
    assert are_iso([iso, swapped, days, [], iso * 9 + swapped, iso + swapped]) == [
        True,
        False,
        False,
        False,
        True,
        False,
    ]


@pytest.mark.quick(2)
@pytest.mark.parametrize(("written", "is_known", "instant"), ISO)
def test_init_knows_the_iso_times_that_a_run_reads_and_no_others(
    dataset: Dataset, written: str, is_known: bool, instant: int | None
) -> None:
    file = dataset.write("buses.csv", f'{HEADER}b1,"{written}",47.0,8.3,9\n')
    assert are_iso([[written]]) == [is_known]
    ingest(dataset)
    assert dataset.query("select epoch_us(observed_at) // 1000000 from raw_record") == [(instant,)]
    if is_known:
        proposal = propose_source([file], dataset.folder, Given(timezone="UTC"))
        assert str(proposal.date) == "2026-03-02"
    else:
        with pytest.raises(BadInput, match="have no form that is recognised"):
            propose_source([file], dataset.folder, Given(timezone="UTC"))


@pytest.mark.quick(3)
@pytest.mark.parametrize(
    ("written", "given"),
    [
        ("02/03/2026 05:00:44Z", "%d/%m/%Y %H:%M:%S%z"),
        ("02/03/2026 05:00:44 +0000", "%d/%m/%Y %H:%M:%S %z"),
        ("02/03/2026 05:00:44 UTC", "%d/%m/%Y %H:%M:%S %Z"),
        ("02/03/2026 05:00:44 GMT", "%d/%m/%Y %H:%M:%S %Z"),
        ("2026-03-02T05:00:44Z", "%Y-%m-%dT%H:%M:%S%z"),
    ],
)
def test_a_zone_in_a_given_form_is_read_by_init_and_by_a_run(dataset: Dataset, written: str, given: str) -> None:
    """Read in the time zone of the dataset, the day would begin on the day before."""
    file = dataset.write("buses.csv", f"{HEADER}b1,{written},47.0,8.3,9\n")
    proposal = propose_source([file], dataset.folder, Given(time_format=given, timezone="America/Chicago"))
    assert str(proposal.date) == "2026-03-01"
    dataset.set(timezone="America/Chicago")
    dataset.set(time_format=given)
    ingest(dataset)
    assert dataset.query("select epoch(observed_at)::bigint from raw_record") == [(INSTANT,)]


def test_a_given_form_that_a_run_could_not_read_is_refused() -> None:
    for written, given in (("2026-03-02 05:00:44 UTC", "%Y-%m-%d %H:%M:%S %z"), ("02/03/26 05:00", DAY_FIRST)):
        with pytest.raises(BadInput, match="no time in"):
            form(["a.csv"], [written], given=given)


def form(names: list[str], *times: list[str], given: str | None = None) -> str | None:
    return form_of_times([HERE / name for name in names], HERE, times, "time", given).form


ALIKE, ODD_ONE = ["03/04/2026 08:00", "03/04/2026 09:00"], ["03/04/2026 08:00"] * 9 + ["soon"]


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("name", "times", "expected"),
    [
        ("buses-2026-04-03.csv", ALIKE, DAY_FIRST),
        ("buses-2026-04-03.csv", ODD_ONE, DAY_FIRST),
        ("buses-2026-03-04.csv", ODD_ONE, MONTH_FIRST),
        ("20260403.csv", ALIKE, DAY_FIRST),
        ("2026_03_04/buses.csv", ALIKE, MONTH_FIRST),
        ("buses-2026-04-04.csv", ALIKE, DAY_FIRST),
    ],
)
def test_a_date_in_the_path_decides_on_the_order_of_day_and_month(name: str, times: list[str], expected: str) -> None:
    assert form([name], times) == form([name], times[::-1]) == expected


def test_a_day_above_the_twelfth_decides_wherever_it_stands_and_however_rare_it_is() -> None:
    times = ["03/04/2026 08:00"] * 99 + ["03/13/2026 08:00"]
    assert form(["buses.csv"], times) == form(["buses.csv"], times[::-1]) == MONTH_FIRST


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    "name",
    ["buses.csv", "buses-2026-11-30.csv", "buses-2026-04-03-2026-03-04.csv", "buses-2026-13-40.csv", "120260403.csv"],
)
def test_otherwise_both_are_shown_and_the_owner_decides(name: str) -> None:
    for times in (["03/04/2026 08:00"], ["03/04/2026 08:00", "13/13/2026 08:00"] + ["05/06/2026 10:00"] * 9):
        with pytest.raises(BadInput) as caught:
            form([name], times)
        said = str(caught.value)
        assert f'--time-format "{MONTH_FIRST}" (3 April 2026 is 04/03/2026)' in said
        assert f'--time-format "{DAY_FIRST}" (3 April 2026 is 03/04/2026)' in said
        assert "05/06" not in said
        assert form([name], times, given=DAY_FIRST) == DAY_FIRST


def test_a_day_that_both_orders_read_alike_does_not_decide() -> None:
    with pytest.raises(BadInput, match="either order of day and month"):
        form(["2026-03-03.csv"], ["03/03/2026 08:00"])


def test_days_above_the_twelfth_in_both_places_do_not_decide() -> None:
    with pytest.raises(BadInput, match="either order of day and month"):
        form(["buses.csv"], ["03/04/2026 08:00"] * 98 + ["13/04/2026 08:00", "04/13/2026 08:00"])


def test_every_file_with_a_date_must_agree() -> None:
    times = [["03/04/2026 08:00"], ["05/04/2026 08:00"]]
    assert form(["2026-04-03.csv", "2026-04-05.csv"], *times) == DAY_FIRST
    with pytest.raises(BadInput, match="either order of day and month"):
        form(["2026-04-03.csv", "2026-05-04.csv"], *times)


def test_what_is_decided_is_written_and_said(dataset: Dataset) -> None:
    file = dataset.write("buses-20260403.csv", HEADER + "b1,03/04/2026 08:00,47.0,8.3,9\n")
    found = propose_source([file], dataset.folder, Given())
    assert found.settings["columns"]["time_format"] == DAY_FIRST
    assert str(found.date) == "2026-04-03"
    assert any("read so, they are of the days in the files' paths" in reason for reason in found.reasons)
    named = propose_source([file], dataset.folder, Given(time_format=MONTH_FIRST))
    assert named.settings["columns"]["time_format"] == MONTH_FIRST
    assert str(named.date) == "2026-03-04"


def test_what_is_no_time_says_nothing_of_zones() -> None:
    form = TimesForm(None, None)
    assert not form.has_no_offset([["soon", "2026-03-02T05:00:00+01:00", "20260302T050000Z"]])
    assert form.has_no_offset([["soon", "2026-03-02T05:00:00+01:00"], ["2026-03-02 05:00"]])
