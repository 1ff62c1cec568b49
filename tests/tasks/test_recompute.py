"""What noise changed must still follow from whole noisy sums, in every file, though every hash agrees."""

import json
import math
import re
from collections.abc import Callable
from fractions import Fraction
from io import BytesIO

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from insider import rewrite
from support import IN_BRIEF, OF_SUMS, OF_SUMS_IN_BRIEF, Dataset, choose, slow, table

from tasks.account import ledger
from tasks.account.chain import releases
from tasks.account.entry import Release
from tasks.base.errors import LedgerBroken
from tasks.base.frames import exact_series
from tasks.kinds.cell_sums.kind import OfSums
from tasks.kinds.cell_sums.statistics import statistic_frame
from tasks.kinds.cell_sums.stored_sum import stored_sums
from tasks.kinds.stored_plan import StoredPlan
from tasks.kinds.table import kind_of, load_plan
from tasks.proposals.mechanisms import PROMISING
from tasks.upkeep import verify

WITH_VARIANCE = [(mechanism, False) for mechanism in OF_SUMS] + [
    (mechanism, True) for mechanism in OF_SUMS if mechanism in PROMISING
]


def release(dataset: Dataset, mechanism: str, variance: bool) -> None:
    choose(dataset, mechanism)
    if variance:
        dataset.set(variance=True)
    dataset.run_day()


def planned(dataset: Dataset) -> tuple[StoredPlan, Release]:
    """Return the only release's plan, and its entry."""
    (entry,) = releases(ledger.read_entries(dataset.config))
    return load_plan(entry.plan, dataset.config), entry


def drawn(dataset: Dataset, mean_sums: list[int], square_sums: list[int]) -> tuple[pl.DataFrame, str | None]:
    """Return the table of a plan with some noisy sums, and what is found wrong with it."""
    plan, entry = planned(dataset)
    config, noisy = dataset.config, plan.published
    kind = kind_of(config)
    assert isinstance(kind, OfSums)
    for stored in stored_sums(plan, config):
        noisy = noisy.with_columns(**kind.drawn_again(stored, table(dataset)))
    columns = {"noisy_mean_sum": exact_series(mean_sums), "noisy_square_sum": exact_series(square_sums)}
    published = statistic_frame(noisy.with_columns(**columns), entry.release_id, config)
    return published, next(kind.problems(entry, plan, published, [], config), None)


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("mechanism", "variance"), [one if one[0] in IN_BRIEF else slow(*one) for one in WITH_VARIANCE]
)
def test_a_table_of_whole_noisy_sums_is_found_so_however_large_the_noise(
    uneven: Dataset,
    mechanism: str,
    variance: bool,
    rng: np.random.Generator,
) -> None:
    """Also where means are cut to both bounds, and intervals too."""
    release(uneven, mechanism, variance)
    assert verify.verify_ledger(uneven.config).n_releases == 1
    cells = planned(uneven)[0].published
    most = [int(divisor) * uneven.config.value.n_ticks for divisor in cells["mean_divisor"]]
    n_cut = set()
    for reach in (0.01, 1, 3, 30):
        for _ in range(6):
            sums = [round(n * (0.5 + float(rng.normal()) * reach)) for n in most]
            squares = [round(n * 10_000 * (0.5 + float(rng.normal()) * reach)) for n in most]
            published, problem = drawn(uneven, sums, squares)
            assert problem is None
            n_cut |= {mean for mean in published["mean"] if mean in (0, 100)}
    assert n_cut == {0, 100}


def found_in(dataset: Dataset) -> str:
    """Return what verify finds wrong."""
    try:
        verify.verify_ledger(dataset.config)
    except LedgerBroken as error:
        return str(error)
    return "nothing"


def between(number: float) -> float:
    return math.nextafter(number, math.inf)


LIES: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "a last bit": lambda t: t.with_columns(mean=pl.col("mean").map_elements(between, pl.Float64)),
    "no whole sum": lambda t: t.with_columns(pl.col("mean", "mean_ci95_low", "mean_ci95_high") + 1e-6),
    "a mean": lambda t: t.with_columns(mean=pl.col("mean") * 0.9 + 1 / 3),
    "an interval beside its mean": lambda t: t.with_columns(mean_ci95_low=pl.lit(99.0), mean_ci95_high=pl.lit(99.5)),
    "a narrow interval": lambda t: t.with_columns(mean_ci95_high=pl.col("mean_ci95_high") * 0.5 + 1 / 3),
    "above the range": lambda t: t.with_columns(mean_ci95_high=pl.lit(101.0)),
    "nan": lambda t: t.with_columns(mean=pl.lit(float("nan"))),
    "minus zero": lambda t: t.with_columns(mean=pl.lit(-0.0)),
}


@pytest.mark.parametrize("mechanism", OF_SUMS_IN_BRIEF)
def test_a_table_with_other_means_or_intervals_is_named_though_every_hash_agrees(
    uneven: Dataset,
    mechanism: str,
) -> None:
    release(uneven, mechanism, variance=False)
    honest = table(uneven)
    rewrite(uneven, honest)
    assert verify.verify_ledger(uneven.config).n_releases == 1, "of an insider who changes nothing"
    for name, lie in LIES.items():
        rewrite(uneven, lie(honest))
        assert re.search(r"entry 1 .*mean\S* follows from no whole noisy sum", found_in(uneven)), name


@pytest.mark.parametrize("name", ["variance", "variance_ci95_low", "variance_ci95_high"])
def test_another_variance_is_named_too(uneven: Dataset, name: str) -> None:
    release(uneven, "planned", variance=True)
    honest = table(uneven)
    rewrite(uneven, honest.with_columns(pl.col(name) * 0.75 + 1))
    with pytest.raises(LedgerBroken, match=r"entry 1 .*variance\S* follows from no whole noisy sum"):
        verify.verify_ledger(uneven.config)


def test_another_whole_sum_cannot_be_told_from_the_one_that_was_drawn(uneven: Dataset) -> None:
    """The limit of it: who rewrites all may write down another draw, and only a line noted elsewhere tells."""
    release(uneven, "planned", variance=False)
    cells = planned(uneven)[0].published
    divisors = [int(one) for one in cells["mean_divisor"]]
    means = zip(table(uneven)["mean"], divisors, strict=True)
    sums = [round(Fraction(mean) * 100 * divisor) + 1 for mean, divisor in means]
    other, problem = drawn(uneven, sums, [0] * len(sums))
    assert problem is None
    assert not other.equals(table(uneven))


def test_a_row_that_is_missing_is_named(uneven: Dataset) -> None:
    release(uneven, "planned", variance=False)
    rewrite(uneven, table(uneven)[1:])
    with pytest.raises(LedgerBroken, match=r"entry 1 .*cells published are not those"):
        verify.verify_ledger(uneven.config)


def json_with(change: Callable[[dict], object]) -> Callable[[bytes], bytes]:  # type: ignore[type-arg]
    def changed(content: bytes) -> bytes:
        value = json.loads(content)
        change(value)
        return json.dumps(value).encode()

    return changed


def parquet_with(change: Callable[[pa.Table], pa.Table]) -> Callable[[bytes], bytes]:
    def changed(content: bytes) -> bytes:
        buffer = BytesIO()
        pq.write_table(change(pq.read_table(BytesIO(content))), buffer)
        return buffer.getvalue()

    return changed


def moved(found: pa.Table) -> pa.Table:
    """Return the outlines in the reverse order of the rows, which are one hexagon; so a corner is moved instead."""
    shapes = [one[:-1] + bytes([one[-1] ^ 1]) for one in found["geometry"].to_pylist()]
    return found.set_column(found.num_columns - 1, "geometry", pa.array(shapes, pa.binary()))


def with_mean(found: pa.Table) -> pa.Table:
    return found.set_column(found.column_names.index("mean"), "mean", pa.array([50.0] * found.num_rows))


FORGERIES: list[tuple[str, str, Callable[[bytes], bytes]]] = [
    ("statistics.csv", "a number", lambda b: b.replace(b",100.0", b",99.0").replace(b",0.0", b",1.0")),
    ("statistics.csv", "a row less", lambda b: b"".join(b.splitlines(keepends=True)[:-1])),
    ("statistics.csv", "a row more", lambda b: b + b.splitlines(keepends=True)[-1]),
    ("statistics.csv", "names", lambda b: b.replace(b"mean_ci95_low,mean_ci95_high", b"mean_ci95_high,mean_ci95_low")),
    ("statistics.csv", "a time", lambda b: b.replace(b"T08:", b"T07:")),
    ("statistics.csv", "no table", lambda _: b"\xff"),
    ("statistics.geojson", "a number", json_with(lambda v: v["features"][0]["properties"].update(mean=50.0))),
    ("statistics.geojson", "a property", json_with(lambda v: v["features"][0]["properties"].update(true_mean=1))),
    ("statistics.geojson", "a place", json_with(lambda v: v["features"][0]["geometry"]["coordinates"][0].pop())),
    ("statistics.geojson", "no hexagon", json_with(lambda v: v["features"][0]["geometry"].update(type="Point"))),
    ("statistics.geojson", "a repeated member", lambda c: c.replace(b'"n_users":', b'"mean":1.25,"n_users":', 1)),
    ("manifest.json", "a repeated member", lambda c: c.replace(b'"epsilon":', b'"epsilon": "0.1",\n  "epsilon":', 1)),
    ("statistics.geojson", "a feature less", json_with(lambda v: v["features"].pop())),
    ("statistics.geojson", "coordinates", json_with(lambda v: v.update(crs={"type": "name"}))),
    ("statistics.geoparquet", "a number", parquet_with(with_mean)),
    ("statistics.geoparquet", "a place", parquet_with(moved)),
    ("statistics.geoparquet", "a row less", parquet_with(lambda t: t.slice(1))),
    ("statistics.geoparquet", "a column less", parquet_with(lambda t: t.drop_columns("epsilon"))),
    ("statistics.geoparquet", "no metadata", parquet_with(lambda t: t.replace_schema_metadata({"geo": "{}"}))),
    ("manifest.json", "epsilon", json_with(lambda v: v.update(epsilon="0.1"))),
    ("manifest.json", "a column", json_with(lambda v: v["columns"].update(mean="the exact mean"))),
    ("manifest.json", "a hash", json_with(lambda v: v["files"].update({"statistics.csv": "0" * 64}))),
    ("manifest.json", "a field", json_with(lambda v: v.pop("guarantee"))),
]


def test_a_file_that_says_something_else_than_the_table_is_named_though_every_hash_agrees(
    uneven: Dataset,
) -> None:
    release(uneven, "planned", variance=True)
    honest = table(uneven)
    for name, what, forge in FORGERIES:
        rewrite(uneven, honest, {name: forge})
        assert f"{name} does not say what the ledger and its table say" in found_in(uneven), what
    rewrite(uneven, honest)
    assert verify.verify_ledger(uneven.config).n_releases == 1


def test_the_same_content_in_other_bytes_agrees(uneven: Dataset) -> None:
    """As another version of a library would write it."""
    release(uneven, "planned", variance=False)
    same = {
        "statistics.csv": lambda b: b.replace(b"\n", b"\r\n"),
        "statistics.geojson": json_with(lambda _: None),
        "statistics.geoparquet": parquet_with(lambda t: t),
        "manifest.json": json_with(lambda _: None),
    }
    before = ledger.read_entries(uneven.config)[0].stated["files"]
    rewrite(uneven, table(uneven), same)
    after = ledger.read_entries(uneven.config)[0].stated["files"]
    assert all(before[name] != after[name] for name in same if name != "statistics.geoparquet")
    assert verify.verify_ledger(uneven.config).n_releases == 1


def test_a_sum_of_more_digits_than_a_float_leads_to_the_same_row(uneven: Dataset) -> None:
    """A million ticks to the range: squares have sixty bits."""
    uneven.set(tick=0.0001)
    release(uneven, "planned", variance=True)
    cells = planned(uneven)[0].published
    scale = 10**6
    for share in (0.1234567890123456789, 0.5, 0.9):
        sums = [round(int(one) * scale * share) + 1 for one in cells["mean_divisor"]]
        squares = [int(one) * scale**2 // 3 + 12_345_678_901 for one in cells["square_divisor"]]
        assert drawn(uneven, sums, squares)[1] is None
