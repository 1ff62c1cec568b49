"""Which form times have: a date in the path or the owner decides between two that fit, never what comes first."""

from pathlib import Path

import pytest
from support import Dataset

from tasks.base.errors import BadInput
from tasks.records.looks import Given
from tasks.records.proposal import propose_source
from tasks.records.proposed_times import form_of_times

HEADER = "bus,time,lat,lon,speed\n"
MONTH_FIRST, DAY_FIRST = "%m/%d/%Y %H:%M", "%d/%m/%Y %H:%M"
HERE = Path("/data")


def form(names: list[str], *times: list[str], given: str | None = None) -> str | None:
    return form_of_times([HERE / name for name in names], HERE, times, "time", given).form


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("buses-2026-04-03.csv", DAY_FIRST),
        ("buses-2026-03-04.csv", MONTH_FIRST),
        ("20260403.csv", DAY_FIRST),
        ("2026_03_04/buses.csv", MONTH_FIRST),
        ("buses-2026-04-04.csv", DAY_FIRST),
    ],
)
@pytest.mark.parametrize("times", [["03/04/2026 08:00", "03/04/2026 09:00"], ["03/04/2026 08:00"] * 9 + ["soon"]])
def test_a_date_in_the_path_decides_on_the_order_of_day_and_month(name: str, times: list[str], expected: str) -> None:
    assert form([name], times) == form([name], times[::-1]) == expected


def test_a_day_above_the_twelfth_decides_wherever_it_stands_and_however_rare_it_is() -> None:
    times = ["03/04/2026 08:00"] * 99 + ["03/13/2026 08:00"]
    assert form(["buses.csv"], times) == form(["buses.csv"], times[::-1]) == MONTH_FIRST


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
