"""The files that answer: only those that were released, and what each says of the days that it learned from."""

import http.server
import json
import shutil
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from estimates import day, restate, say_again, write_day
from support import Dataset

from tasks.answers.ask import ask
from tasks.answers.published import Published
from tasks.answers.sums import Sums, chains_of, means_of, together, with_link
from tasks.base.errors import HexveilError
from tasks.output_formats.joint import JOINT


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("joint.parquet", b""),
        ("joint.parquet", b"PAR1PAR1"),
        ("manifest.json", b"{}"),
        ("manifest.json", b"[]"),
        ("../datapackage.json", b'{"resources": []}'),
        ("../datapackage.json", b"{}"),
    ],
)
def test_a_damaged_file_is_named(published: Path, name: str, content: bytes) -> None:
    (published / f"date={day(1)}" / name).write_bytes(content)
    with pytest.raises(HexveilError, match=rf"{name.removeprefix('../')}|has no day yet"):
        ask(published)


def test_a_file_that_is_not_the_released_one_is_refused_though_it_can_be_read(published: Path) -> None:
    """Such as one of a copy that was broken off, or that somebody changed."""
    folders = [published / f"date={day(number)}" for number in range(2)]
    own = (folders[1] / JOINT).read_bytes()
    shutil.copy(folders[0] / JOINT, folders[1])
    with pytest.raises(HexveilError, match=rf"date={day(1)}/{JOINT} .* is damaged: .*; copy the folder again"):
        ask(published)
    (folders[1] / JOINT).write_bytes(own)
    restate(published, day(1), lambda stated: stated.update(more=1))
    assert ask(published).table.height == 1
    (folders[1] / "manifest.json").write_bytes((folders[0] / "manifest.json").read_bytes())
    with pytest.raises(HexveilError, match=rf"date={day(1)}/manifest.json .* is damaged"):
        ask(published)


def test_a_package_of_before_names_files_without_hashes(published: Path) -> None:
    said = json.loads((published / "datapackage.json").read_text())
    for one in said["resources"]:
        del one["hash"]
    (published / "datapackage.json").write_text(json.dumps(said))
    assert ask(published).table.height == 1
    said["resources"].append({"path": "date=2026-13-45/joint.parquet"})
    (published / "datapackage.json").write_text(json.dumps(said))
    with pytest.raises(HexveilError, match=r"datapackage.json .* is damaged"):
        ask(published)


def test_a_day_whose_errors_are_not_published_is_refused(dataset: Dataset) -> None:
    write_day(dataset, day(0))
    dataset.set(mechanism="clip-user")
    dataset.run_day()
    with pytest.raises(HexveilError, match=r"has no joint\.parquet"):
        ask(dataset.folder / "store" / "published")
    with pytest.raises(HexveilError, match=r"cannot read datapackage\.json"):
        ask(dataset.folder / "store")


@pytest.fixture
def address(published: Path) -> Iterator[str]:
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=str(published))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_an_address_answers_as_its_folder_does(published: Path, address: str) -> None:
    assert ask(address, by="day").table.equals(ask(published, by="day").table)
    with pytest.raises(HexveilError, match=r"cannot read datapackage\.json of .*: the server answers 404\. Give"):
        ask(f"{address}/nowhere")


@pytest.mark.parametrize("again", ["much", None, "nan", "0.5", "-3", "inf", [2]])
def test_a_manifest_that_says_no_number_of_users_who_come_again_is_refused(published: Path, again: object) -> None:
    say_again(published, day(1), again)
    with pytest.raises(HexveilError, match="again must be a number of at least 1"):
        ask(published)


def test_a_manifest_that_says_nothing_of_users_who_come_again_counts_none(published: Path) -> None:
    (table,) = Published(str(published)).days([day(2)], JOINT)
    assert with_link(means_of(table), 3, {}).again == 1


def test_days_of_different_chains_have_no_error_in_common() -> None:
    days = [Sums(10, 5.0, 4.0, 3.9, 1, 1), Sums(10, 7.0, 4.2, 4.1, 1, 1)]
    apart = [replace(day, chain=number) for number, day in enumerate(days)]
    _, variance = together(days, np.array([-1.0, 1.0]))
    _, without = together(apart, np.array([-1.0, 1.0]))
    assert (variance, without) == (pytest.approx(0.3, abs=0.2), pytest.approx(8.2))
    settings = {"grid": 7, "value": {"upper": 80}}
    other = {"grid": 7, "value": {"upper": 60}}
    stated: list[dict[str, Any]] = [
        {"settings": settings, "learned_from": 0, "model": 1},
        {"settings": settings, "learned_from": 1, "model": 1},
        {"settings": other, "learned_from": 0, "model": 1},
        {"settings": settings, "learned_from": 2, "model": 1},
        {"settings": settings, "learned_from": 3, "model": 2},
        {"settings": settings, "model": 2},
    ]
    assert chains_of(stated) == [0, 0, 1, 0, 2, 2], "whose settings are as before goes on with the days before"
    assert chains_of([stated[1], stated[3]]) == [0, 0]


@pytest.mark.parametrize(
    ("changed", "chains"),
    [
        ({"covariates": ["road"]}, [0, 1]),
        ({"settings": {"estimate": {"similar_cells": False}}}, [0, 1]),
        ({"settings": {"dataset": {"timezone": "UTC"}}}, [0, 1]),
        ({"settings": {"columns": {"only": {"type": ["bus"]}}}}, [0, 1]),
        ({"settings": {"value": {"upper": "60"}}}, [0, 1]),
        ({"settings": {"value": {"upper": "80", "typical": "20"}}}, [0, 0]),
        ({"settings": {"statistics": {"limits": ["30"]}}}, [0, 0]),
        ({"kind": "presence", "settings": {"privacy": {"cap": 2}}}, [0, 1]),
    ],
)
def test_a_chain_begins_where_the_first_day_of_it_is_not_asked_about(changed: dict, chains: list[int]) -> None:
    settings = {"value": {"upper": "80"}}
    after = {"model": 1, "learned_from": 5, **changed, "settings": settings | changed.get("settings", {})}
    before = {"model": 1, "learned_from": 3, "settings": settings, "kind": after.get("kind")}
    assert chains_of([before, after]) == chains
    assert chains_of([{**after, "kind": "presence"}, {**after, "kind": "presence"}]) == [0, 0]


def test_counts_of_people_begin_anew_without_means() -> None:
    days = [{"kind": "presence", "settings": {"statistics": {"mean": mean}}} for mean in (True, False, True)]
    assert chains_of(days) == [0, 1, 0]
