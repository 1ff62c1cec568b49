"""The forms of four real feeds, from their files to a release with no script in between."""

import pytest
from feeds import FEEDS, MIDNIGHT, N_BUSES, N_PINGS, configure, pings, snapshot
from reading import rows_of
from support import DATE, Dataset, table

from tasks.base.errors import BadInput


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("name", "n_missing", "row"),
    [
        ("austin", sum(speed == 20 for *_, speed in pings()), ("2003", 1768500003 + 600, 30.2672, -97.7431, 33.0)),
        ("san_francisco", 0, ("new_cab3", 1768500003 + 600, 37.77493, -122.41942, 1.0)),
        ("warsaw", 0, ("2003", 1768500003 + 600, 52.2297, 21.0122, 33.0)),
        (
            "buffalo",
            sum(not speed % 5 or not speed % 7 for *_, speed in pings()),
            ("2003", 1768500003 + 600, pytest.approx(42.8864), pytest.approx(-78.8784), 16.5),
        ),
    ],
)
def test_a_feed_is_published_as_it_comes_and_its_records_mean_what_they_say(
    name: str, n_missing: int, row: tuple[object, ...], dataset: Dataset
) -> None:
    configuration, write = FEEDS[name]
    configure(dataset, configuration)
    write(dataset)
    dataset.run_day()
    assert table(dataset)["n_records"].sum() == N_BUSES * N_PINGS
    assert table(dataset)["n_users"].max() == N_BUSES
    assert row in rows_of(dataset)
    assert dataset.query(f"select sum(n_missing)::int from user_cell where local_date = '{DATE}'") == [(n_missing,)]


@pytest.mark.parametrize(("name", "fails"), [("buffalo", False), ("austin", True)])
def test_only_in_snapshots_the_reports_of_another_day_do_not_count_as_unusable(
    name: str, fails: bool, dataset: Dataset
) -> None:
    configuration, write = FEEDS[name]
    configure(dataset, configuration.replace("raw/*", "raw/{date}*"))
    write(dataset)
    stale = [(f"{bus}", MIDNIGHT - 86400, 11) for bus in range(1000)]
    if name == "buffalo":
        dataset.write("stale.pb", snapshot(stale))
    else:
        lines = [f"{bus},801,01/14/2026 12:00:00 AM,11,30.2672,-97.7431" for bus, *_ in stale]
        with (dataset.folder / "raw" / "vehicles.csv").open("a") as file:
            file.writelines(f"{line}\n" for line in lines)
    for path in list((dataset.folder / "raw").iterdir()):
        path.rename(path.with_name(f"{DATE}-{path.name}"))
    if fails:
        with pytest.raises(BadInput, match="1000 time_outside_day"):
            dataset.prepare()
    else:
        dataset.prepare()
        assert dataset.query("select count(*) from quarantine where reason = 'time_outside_day'") == [(1000,)]
