"""Feeds as people have them: from files in the forms of real sources to a map, by `init` and `run` alone."""

import re

import pytest
from real_forms import FORMS, KEPT, files_of
from support import Dataset, Hexveil, slow

from tasks.base.config import load_config

QUANTITIES = {
    **{"mds_trips": "duration", "gbfs": "range", "fares": "fare"},
    **{"openaq": "value", "sensor_community": "pm10", "sensors_by_local_clock": "pm10"},
}
"""What is measured where it is no speed."""
EACH_WAY = ("gtfs_rt_without_speeds", "ais_denmark", "readsb", "siri_xml", "geolife", "mds_trips")


@pytest.mark.quick(1)
@pytest.mark.parametrize("form", [one if one in EACH_WAY else slow(one) for one in FORMS])
def test_files_of_a_real_form_become_a_map_by_two_commands(form: str, dataset: Dataset, hexveil: Hexveil) -> None:
    pattern, options = FORMS[form](dataset)
    path = dataset.folder / "mine.toml"
    made = hexveil("init", *files_of(dataset, pattern), "--to", path, "--name", "mine", "--yes", *options)
    assert made.returncode == 0, made.stderr
    assert f" was read: {KEPT} rows kept" in made.stdout, made.stdout
    assert load_config(path).value.name == QUANTITIES.get(form, "speed")
    next_command = re.findall(r"hexveil (run .*?) +#", made.stdout)[0].split()
    ran = hexveil(*next_command)
    assert ran.returncode == 0, ran.stderr
    assert f"{KEPT} of {KEPT} records, 100.0%" in ran.stdout
    assert list(dataset.folder.glob("mine-store/published/*/map.html"))
