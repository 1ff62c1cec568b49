"""No value decides whether a record counts: files that differ in one user's values alone come to the same day."""

from collections.abc import Callable
from pathlib import Path

import pytest
from fuzzing import BOUNDARIES, FEEDS, FORMS, IN_TWO, Case, differ, differing, draw_case, draw_feed, feed_settings
from support import CONFIG, ENGINES, Campaign, Dataset, Say, examples, slow

from tasks.base import warehouse

MakeDataset = Callable[..., Dataset]

_SET = 20
_ALL = Campaign(1)
_TEXTS = [form for form in FORMS if form != "parquet"]


@pytest.fixture
def make_dataset(tmp_path: Path) -> MakeDataset:
    """Return a maker of datasets, by engine, of whose days any share may be in quarantine."""

    def make(engine: str = "", columns: str = "", zone: str = "UTC") -> Dataset:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        lenient = "[validation]\nmax_quarantined_share = 1\n[privacy]"
        text = CONFIG.replace("[privacy]", lenient).replace('"UTC"', f'"{zone}"') + engine
        if columns:
            start, end = text.index("[columns]"), text.index("[value]")
            text = text[:start] + columns + text[end:]
        (folder / "dataset.toml").write_text(text)
        return Dataset(folder)

    return make


def small_cases(form: str, n: int, first: int = 1, campaign: Campaign = _ALL) -> list[Case]:
    return [draw_case(seed, form) for seed in campaign.of(range(first, first + n))]


def cases_across(form: str, boundaries: list[int], n_each: int = 1, campaign: Campaign = _ALL) -> list[Case]:
    trials = [(1000 * number + seed, boundary) for number, boundary in enumerate(boundaries) for seed in range(n_each)]
    return [draw_case(seed, form, boundary=boundary) for seed, boundary in campaign.of(trials)]


def assert_same(cases: list[Case], make_dataset: MakeDataset, engine: str, n_at_once: int, say: Say) -> None:
    for start in range(0, len(cases), n_at_once):
        assert differing(cases[start : start + n_at_once], make_dataset(engine)) == []
    forms = ", ".join(dict.fromkeys(case.name.partition(".")[2] for case in cases))
    n_values = sum(case.n_changed for case in cases)
    say(f"value domain, {forms}, {engine.split()[3] if engine else 'local'}: {len(cases):,} files, {n_values:,} values")


def test_no_value_changes_what_becomes_of_a_day(make_dataset: MakeDataset, say: Say) -> None:
    """Two files of each form: one that comes again with the same time, and one with another."""
    cases = [draw_case(4, form) for form in FORMS] + [draw_case(3, form) for form in reversed(FORMS)]
    assert_same(cases, make_dataset, "", len(cases), say)


def test_nor_does_one_where_workers_read_it(make_dataset: MakeDataset, say: Say) -> None:
    assert_same(small_cases("csv", 1, 3), make_dataset, ENGINES[1], _SET, say)


def test_nor_does_one_across_a_place_where_a_reader_may_begin_anew(make_dataset: MakeDataset, say: Say) -> None:
    """At the other places in the long campaign below."""
    cases = [draw_case(0, form, boundary=BOUNDARIES[0]) for form in _TEXTS if not form.endswith(".gz")]
    assert_same(cases, make_dataset, "", len(cases), say)


@pytest.mark.slow
@pytest.mark.parametrize("form", [form for form in _TEXTS if form.endswith(".gz")])
def test_nor_does_one_across_such_a_place_of_a_compressed_file(
    form: str, make_dataset: MakeDataset, campaign: Campaign, say: Say
) -> None:
    assert_same(cases_across(form, BOUNDARIES[:4], campaign=campaign), make_dataset, "", 1, say)


@pytest.mark.quick(1)
@examples(1, 15)
@pytest.mark.parametrize("form", FORMS)
def test_nor_does_one_change_what_is_said_of_a_file_that_is_broken_elsewhere(
    form: str, n_examples: int, make_dataset: MakeDataset, campaign: Campaign, say: Say
) -> None:
    n_files = -(-n_examples // 3) if form.endswith(".gz") else n_examples
    seeds = campaign.of(range(2_000_000, 2_000_000 + n_files))
    cases = [draw_case(seed, form, is_broken=True) for seed in seeds]
    assert_same(cases, make_dataset, "", 1, say)


@pytest.mark.quick(1)
@examples(2, 200)
@pytest.mark.parametrize("odd", FEEDS)
def test_nor_does_any_number_of_a_feed(
    odd: str, n_examples: int, make_dataset: MakeDataset, campaign: Campaign, say: Say
) -> None:
    cases = [draw_feed(seed, odd) for seed in campaign.of(range(n_examples))]
    columns = feed_settings(odd)
    for start in range(0, len(cases), _SET):
        assert differing(cases[start : start + _SET], make_dataset(columns=columns)) == []
    say(f"value domain, GTFS-Realtime, {odd}: {len(cases):,} files, {sum(case.n_changed for case in cases):,} values")


@examples(2, 200)
@pytest.mark.parametrize("form", ["csv", slow("csv.gz")])
@pytest.mark.parametrize("zone", ["Europe/Zurich", slow("UTC")])
def test_nor_does_one_beside_a_time_in_two_columns(
    zone: str, form: str, n_examples: int, make_dataset: MakeDataset, campaign: Campaign, say: Say
) -> None:
    cases = [draw_case(seed, form, in_two=True) for seed in campaign.of(range(4_000_003, 4_000_003 + n_examples))]
    for start in range(0, len(cases), _SET):
        assert differing(cases[start : start + _SET], make_dataset(columns=IN_TWO, zone=zone)) == []
    say(f"value domain, two columns, {zone}: {len(cases):,} files, {sum(case.n_changed for case in cases):,} values")


@pytest.mark.quick(1)
@examples(1, 40)
@pytest.mark.parametrize(
    ("zone", "form"), [("America/St_Johns", "csv"), ("Asia/Kathmandu", "ndjson"), ("Africa/Casablanca", "parquet")]
)
def test_nor_does_one_in_another_zone(
    zone: str, form: str, n_examples: int, make_dataset: MakeDataset, campaign: Campaign
) -> None:
    assert differing(small_cases(form, n_examples, 3_000_001, campaign), make_dataset(zone=zone)) == []


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES, ids=["local", "dask"])
@pytest.mark.parametrize("form", FORMS)
def test_nor_do_thousands(form: str, engine: str, make_dataset: MakeDataset, campaign: Campaign, say: Say) -> None:
    is_plain = engine == "" and not form.endswith(".gz")  # a compressed file is read by the same statements
    cases = small_cases(form, 120 if is_plain else 20, 1_000_000, campaign)
    assert_same(cases, make_dataset, engine, _SET, say)
    if form in _TEXTS and is_plain:
        assert_same(cases_across(form, BOUNDARIES, 3, campaign), make_dataset, engine, 1, say)


@pytest.mark.parametrize(
    ("form", "statement", "fix", "without"),
    [
        ("csv", "scratch/incoming_csv", "parallel = false", "parallel = true"),
        slow("csv.gz", "scratch/incoming_csv", "parallel = false", "parallel = true"),
        ("ndjson", "scratch/readable_json", "when json_valid(line) then line", "when true then line"),
    ],
)
def test_the_fuzzer_finds_each_break_again_where_its_fix_is_taken_out(
    form: str,
    statement: str,
    fix: str,
    without: str,
    make_dataset: MakeDataset,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text, original = warehouse.statement(statement), warehouse.statement
    assert fix in text
    monkeypatch.setattr(
        warehouse, "statement", lambda name: text.replace(fix, without) if name == statement else original(name)
    )
    across = [draw_case(seed, form, boundary=BOUNDARIES[0]) for seed in (1, 6)]
    cases = small_cases(form, 2, 2) if form == "ndjson" else across
    assert differ(cases, make_dataset())
