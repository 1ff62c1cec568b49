"""Reads a publication as anybody can: a folder `published`, or the address of one."""

import datetime as dt
import json
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import httpx
import polars as pl

from tasks.base.durable import sha256
from tasks.base.errors import HexveilError
from tasks.base.progress import progress
from tasks.base.storage import MANIFEST, PACKAGE
from tasks.output_formats.hindsight import day_of
from tasks.output_formats.joint import JOINT, JOINT_SHARES

_AT_ONCE = 8
_SECONDS = 60.0


@dataclass(frozen=True)
class Published:
    """A publication.

    Attributes:
        place: The folder, or an address that begins with http:// or https://.
    """

    place: str

    def days(self, dates: list[dt.date], name: str) -> Iterator[pl.DataFrame]:
        """Yield a joint table of each of some days, in their order, as it was released.

        Args:
            dates: The days.
            name: The name of its file.

        Raises:
            HexveilError: A day has none, or it cannot be read or is damaged.
        """
        return self._tables(self._files_of(dates, name))

    def means(self, dates: list[dt.date]) -> Iterator[pl.DataFrame]:
        """Yield the joint table of each of some days, in their order: as known when its week was over, if it is.

        Raises:
            HexveilError: A day has none, or it cannot be read or is damaged.
        """
        released = zip(dates, self._files_of(dates, JOINT), strict=True)
        return self._tables([self._later.get(date, own) for date, own in released])

    def n_known_later(self, dates: list[dt.date]) -> int:
        """Return how many of some days are known better than when they were released."""
        return len(self._later.keys() & set(dates))

    @cached_property
    def _later(self) -> dict[dt.date, str]:
        """The files that say of days what was learned of them when their week was over."""
        return {day: path for path in self._files if (day := day_of(path.rpartition("/")[2]))}

    def _files_of(self, dates: list[dt.date], name: str) -> list[str]:
        found = self._named(name)
        for date in dates:
            if date not in found and name == JOINT_SHARES:
                raise HexveilError(
                    f"{date} has no shares above limits: the publisher had set none then. Ask about other days; "
                    f"{min(found)} to {max(found)} have some"
                )
            if date not in found:
                raise HexveilError(
                    f"{date} has no {name}: it was released by a mechanism that gives each cell an error of its own. "
                    "Ask about other days, or add its cells up yourself"
                )
        return [found[date] for date in dates]

    def _tables(self, names: list[str]) -> Iterator[pl.DataFrame]:
        with ThreadPoolExecutor(_AT_ONCE) as readers:
            waiting = deque(readers.submit(self._released, name) for name in names[:_AT_ONCE])
            for number, name in enumerate(progress(names, "reading days"), _AT_ONCE):
                content = waiting.popleft().result()
                if number < len(names):
                    waiting.append(readers.submit(self._released, names[number]))
                try:
                    yield pl.read_parquet(BytesIO(content), hive_partitioning=False)
                except pl.exceptions.PolarsError:
                    raise HexveilError(f"{name} of {self.place} is damaged") from None

    @cached_property
    def dates(self) -> list[dt.date]:
        """The days that have a release, in their order."""
        if not self._folders:
            raise HexveilError(f"{self.place} has no day yet")
        return sorted(self._folders)

    @cached_property
    def zone(self) -> ZoneInfo:
        """The time zone of its days."""
        return ZoneInfo(self._manifest["period"]["timezone"])

    @property
    def unit(self) -> str:
        """The unit of its values."""
        return str(self._manifest["value"]["unit"])

    @property
    def quantity(self) -> str:
        """The name of its values."""
        return str(self._manifest["value"]["name"])

    def grids(self, dates: list[dt.date]) -> dict[dt.date, tuple[int, int]]:
        """Return the H3 resolution and the minutes of a slot of each of some days."""
        of_each = [one["grid"] for one in self.manifests(dates)]
        grids = [(int(one["h3_resolution"]), int(one["slot_minutes"])) for one in of_each]
        return dict(zip(dates, grids, strict=True))

    def limits(self, dates: list[dt.date]) -> list[Decimal]:
        """Return the limits above which shares of the records of all of some days are published, rising."""
        of_each = [one["settings"]["statistics"].get("limits", ()) for one in self.manifests(dates)]
        return sorted(set.intersection(*({Decimal(str(limit)) for limit in limits} for limits in of_each)))

    def bounds(self, dates: list[dt.date]) -> tuple[Decimal, Decimal]:
        """Return the widest bounds of the values of some days."""
        values = [one["settings"]["value"] for one in self.manifests(dates)]
        return min(Decimal(one["lower"]) for one in values), max(Decimal(one["upper"]) for one in values)

    def check_one_value(self, dates: list[dt.date]) -> None:
        """Refuse days whose values are of different quantities or units.

        Raises:
            HexveilError: They are.
        """
        about = [f"{one['value']['name']} in {one['value']['unit']}" for one in self.manifests(dates)]
        for date, other in zip(dates, about, strict=True):
            if other != about[0]:
                one_side = "ask about days on one side of the change"
                raise HexveilError(f"{dates[0]} is about {about[0]}, and {date} about {other}: {one_side}")

    def manifests(self, dates: list[dt.date]) -> list[dict[str, Any]]:
        """Return the manifest of each of some days, in their order."""
        missing = [date for date in dates if date not in self._manifests]
        with ThreadPoolExecutor(_AT_ONCE) as readers:
            names = [f"{self._folders[date]}/{MANIFEST}" for date in missing]
            self._manifests.update(zip(missing, readers.map(self._manifest_of, names), strict=True))
        return [self._manifests[date] for date in dates]

    def _manifest_of(self, name: str) -> dict[str, Any]:
        manifest = _json(self._released(name), MANIFEST)
        if not {"period", "value", "grid", "settings"} <= manifest.keys():
            raise HexveilError(f"{name} of {self.place} is damaged: it is no {MANIFEST}")
        return manifest

    @cached_property
    def _manifests(self) -> dict[dt.date, dict[str, Any]]:
        """Those that were read."""
        return {}

    @cached_property
    def _manifest(self) -> dict[str, Any]:
        """The manifest of the latest day."""
        return self.manifests(self.dates[-1:])[0]

    @cached_property
    def _files(self) -> dict[str, str]:
        """The files of days, and the hash of each; empty if none is said."""
        package = _json(self._read(PACKAGE), PACKAGE)
        try:
            said = {str(one["path"]): str(one.get("hash", "")) for one in package["resources"]}
            files = {path: one for path, one in said.items() if path.startswith("date=")}
            for path in files:
                _date(path)
        except (AttributeError, KeyError, TypeError, ValueError):
            raise HexveilError(f"{PACKAGE} of {self.place} is damaged: it names no files") from None
        return files

    @cached_property
    def _folders(self) -> dict[dt.date, str]:
        """The folder of the first release of each day."""
        return {_date(path): path.rpartition("/")[0] for path in self._files if path.count("/") == 1}

    def _named(self, name: str) -> dict[dt.date, str]:
        return {_date(path): path for path in self._files if path.count("/") == 1 and path.endswith(f"/{name}")}

    def has(self, name: str) -> bool:
        """Return whether any day has a file of a name."""
        return bool(self._named(name))

    def _released(self, name: str) -> bytes:
        """Return a file of a day, which must be the one that was released."""
        content, expected = self._read(name), self._files.get(name)
        if expected and expected != f"sha256:{sha256(content)}":
            raise HexveilError(
                f"{name} of {self.place} is damaged: it is not the file that {PACKAGE} names; copy the folder again"
            )
        return content

    def _read(self, name: str) -> bytes:
        try:
            if self.place.startswith(("http://", "https://")):
                found = self._client.get(f"{self.place.rstrip('/')}/{name}")
                found.raise_for_status()
                return found.content
            return (Path(self.place) / name).read_bytes()
        except (OSError, httpx.HTTPError) as error:
            why = "it is not there" if isinstance(error, FileNotFoundError) else str(error)
            if isinstance(error, httpx.HTTPStatusError):
                why = f"the server answers {error.response.status_code}"
            raise HexveilError(
                f"cannot read {name} of {self.place}: {why}. Give the folder `published` of a storage, or its address"
            ) from None

    @cached_property
    def _client(self) -> httpx.Client:
        return httpx.Client(timeout=_SECONDS, follow_redirects=True)


def _json(content: bytes, name: str) -> dict[str, Any]:
    try:
        return dict(json.loads(content))
    except (TypeError, ValueError):
        raise HexveilError(f"{name} is not a file of a publication: it is no JSON") from None


def _date(path: str) -> dt.date:
    return dt.date.fromisoformat(path.partition("/")[0].removeprefix("date="))
