"""The sections of a configuration on its source: which files hold the records, their form, and their columns."""

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from tasks.base.config_presets import Preset
from tasks.base.config_types import Place, Section, TextsOfColumns, as_texts
from tasks.base.file_patterns import is_of_path, pattern_problem
from tasks.base.names import NAME
from tasks.base.time_formats import time_format_problem
from tasks.base.time_zones import known_zone

Format = Literal["csv", "parquet", "ndjson", "json", "xml", "gtfs-rt", "plt"]
TimeUnit = Literal["s", "ms", "us", "ns"]
ROLES = ("user", "time", "latitude", "longitude", "value")
"""The columns that are read, by what they mean."""
PLACES = ("latitude", "longitude", "h3", "geometry")
"""The columns that a place may have."""
DELIMITER = r'^[^"\r\n]$'
"""What the character between the fields of CSV files looks like."""
UserIs = Literal["record", "day", "spelling"]
WHO: dict[UserIs | None, str] = {
    None: "user",
    "spelling": "user, as its id is written",
    "day": "user of one day",
    "record": "record",
}
"""Whom the guarantee protects, by what `columns.user_is` says; who is protected most comes first."""
SPEED = "{speed}"
"""What `columns.value` says where the value is the speed from the fix before."""
OF_FILE = "{file}"
"""What `columns.user` says where a file's name is the user of its records."""
FOLDERS = ("{folder}", "{folder/..}")
"""The same where the name of its folder is, or that of the folder above: the position is how far above."""
OF_PATH = (OF_FILE, *FOLDERS)


def needed_roles(columns: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the roles that need a column, where some have one: of a cell or a point latitude and longitude do not."""
    alone = [role for role in ("h3", "geometry") if role in columns]
    return ROLES if not alone else ("user", "time", *alone, "value")


class Dataset(Section):
    """Which files hold the records, and the time zone of their days."""

    name: str = Field(pattern=NAME)
    """Name of the dataset: small letters, digits, `_` and `-`. It is a part of each release id."""
    files: tuple[Place, ...] = Field(min_length=1)
    """Patterns of the input files, relative to this file. The end of a name says its format: `.csv`, `.tsv`,
    `.parquet`, `.ndjson`, `.jsonl`, `.json`, `.xml`, `.gpx`, `.plt` or `.pb`, and all but Parquet also with `.gz` or
    `.zst`. An archive, `.tar`, `.tar.gz`, `.tgz`, `.tar.zst` or `.zip`, is one file with the rows of all in it. Texts
    are in UTF-8. With `{date}` in a pattern each file holds one local day, and a row of another day in it is
    quarantined; `{date:%Y%m%d}` is a date that is written otherwise, and `{hour}` an hour. A pattern may be an address
    such as `s3://bucket/folder/*.parquet`."""
    timezone: str
    """IANA time zone. Days are days of this zone. So are times without an offset, unless `columns.time_zone` is set."""
    purpose: str = "not stated"
    """What the publication is for. The text is public: it is in every ledger entry."""
    delimiter: str = Field(default=",", pattern=DELIMITER)
    """The character between the fields of CSV files."""
    preset: Preset | None = Field(default=None, exclude=True)
    """A published form of data, which fills in what this file leaves out of `[dataset]`, `[columns]` and `[value]`:
    `gtfs-rt` (VehiclePositions of GTFS-Realtime), `tides` (vehicle_locations), `mds` (telemetry of 2.0), `mds-trips`,
    `iudx` (live positions of transit), `siri-vm` (JSON or XML), `gbfs` (vehicle_status of 3), `gbfs-2`
    (free_bike_status), `gpx`, `gpx-speed`, `gpx-garmin`, `geolife`, `fare-taps` (fare_transactions of TIDES with
    places), `ais` (of MarineCadastre), `ais-2025`, `ais-denmark`, `adsb` (OpenSky's CSV), `opensky-states` (its API),
    `adsb-traffic`, `readsb`, `dump1090`, `nextbus`, `openaq` or `sensor-community`. For a speed in `km/h`, `mph`, `kn`
    or `m/s` it also fills in `value.factor`."""
    # reading depends on the next four; the ledger records them where they are set
    format: Format | None = Field(default=None, exclude_if=lambda one: one is None)
    """The format of all files, whatever their names end in. `ndjson` has one JSON object per line; `json` is a document
    with a list of them; `xml` has an element for each; `gtfs-rt` has vehicle positions as protobuf; `plt` has tracks of
    OziExplorer and GeoLife. Without it each name's end says it."""
    records: str | None = Field(default=None, min_length=1, exclude_if=lambda one: one is None)
    """For `json`: the path to the list of records, such as `result` or `data.vehicles`, or to many lists, such as
    `routes[*].buses`. Without it the document itself is the list. For `xml`: the name of the element of each record,
    such as `trkpt`, or a path that ends in it."""
    header: tuple[str, ...] = Field(default=(), exclude_if=lambda names: not names)
    """The names of all columns of CSV files that have no header, in order: `["id", "time", "lat", "lon", "speed"]`."""
    decimal: Literal[".", ","] = Field(default=".", exclude_if=lambda mark: mark == ".")
    """The decimal mark of numbers that are written as text. With `,` a number may not have dots between its digits."""

    @field_validator("files", "header", mode="before")
    @classmethod
    def _as_tuple(cls, value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value

    @field_validator("files")
    @classmethod
    def _placeholders(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in value:
            if problem := pattern_problem(pattern):
                raise ValueError(f"{pattern} {problem}")
        return value

    @field_validator("timezone")
    @classmethod
    def _known_zone(cls, value: str) -> str:
        return known_zone(value)


class Columns(Section):
    """The names of the columns that are read from the source, and the form of its times and places.

    Each of user, time, place and value is needed. In all formats but CSV and tracks a name may be a path, such as
    `location.coordinates[1]`. Where JSON records are lists it begins with a position, such as `[3]`.
    """

    user: str
    """Name of the column of the user. The guarantee protects whoever this column identifies. Where each file holds one
    user's records it may be `{file}`: the file's name without ending and date is the user. `{folder}` is the name of
    the file's folder, and `{folder/..}` of the one above. Parquet and GTFS-Realtime need a column."""
    time: str | tuple[str, str]
    """Name of the column of the time. Times are ISO 8601 or seconds, milli-, micro- or nanoseconds since 1970. Of two
    columns, the second is the time of day, or the number of an hour, of the date in the first: `["date", "hour"]`. If
    it is a whole time, it counts where the first has none: `["timestamp", "header.timestamp"]`. In JSON a path that
    records do not have may lead to a time beside their list. `{date}` and `{hour}` are those of the file's path, in one
    form, `{date}T{hour}`, or as one of two: `["{date}", "hour"]`."""
    # the ledger records of places what is set
    latitude: str | None = Field(default=None, min_length=1, exclude_if=lambda name: name is None)
    """Name of the column of the latitude, in degrees. A place is `latitude` and `longitude`, or `h3`, or `geometry`."""
    longitude: str | None = Field(default=None, min_length=1, exclude_if=lambda name: name is None)
    """Name of the column of the longitude, in degrees."""
    h3: str | None = Field(default=None, min_length=1, exclude_if=lambda name: name is None)
    """Name of the column of H3 cells, as text such as `87489e346ffffff` or as whole numbers. A cell lies in the hexagon
    that H3 says is its parent; one larger than the hexagons of `grid.h3_resolution` is quarantined."""
    geometry: str | None = Field(default=None, min_length=1, exclude_if=lambda name: name is None)
    """Name of the column of points, as WKB, as WKT such as `POINT (8.3 47.05)`, or as GeoJSON: longitude first, in
    degrees. GeoParquet's geometries are WKB. What is no point is quarantined."""
    per_degree: int = Field(default=1, ge=1, exclude_if=lambda n: n == 1)
    """How many of their units make a degree in `latitude` and `longitude`: 10000000 for E7, as in 473456789."""
    longitude_to: Literal[180, 360] = Field(default=180, exclude_if=lambda degrees: degrees == 180)
    """360 if longitudes go from 0 to 360 and not from -180 to 180: then those above 180 lie in the west."""
    value: str
    """Name of the column of the measured value. `{speed}` is the speed from the same user's fix before: the
    great-circle distance over the time between, in a `value.unit` of `m/s`, `km/h`, `mph` or `kn`. See
    `value.longest_gap`. Then places inside hexagons are private: see the guarantee."""
    # the ledger records the next eight where they are set
    only: TextsOfColumns = Field(default={}, exclude_if=lambda only: not only)
    """Which rows count, by what other columns have: `{ parameter = "pm25" }` are those with the text `pm25` in the
    column `parameter`, `{ parameter = ["pm25", "pm10"] }` those with either. A whole number is the same with `.0`
    behind it. Of several columns each must have one of its texts. All other rows are left out, also those that lack the
    column, and are counted. Where values are protected, which rows count is public: such a column may not be the value,
    nor say anything that follows from it."""
    age: str | None = Field(default=None, min_length=1, exclude_if=lambda name: name is None)
    """Name of the column with how many seconds before the time the place was taken, as `seen_pos` beside `now`. It is
    taken off the time; a record without it keeps its time. Snapshots round both, so a user's records at one place that
    follow each other within a second are one fix, which counts once; if they go on so for longer, one a second counts.
    If values are speeds from places, this holds of those in one hexagon."""
    time_else: str | None = Field(default=None, min_length=1, exclude_if=lambda name: name is None)
    """For GTFS-Realtime only: the field with the time of a vehicle that gives none. `header.timestamp` is that of the
    feed."""
    user_is: UserIs | None = Field(default=None, exclude_if=lambda one: one is None)
    """What `user` names if it is not somebody who comes back: `record` if each record has a name of its own, `day` if
    names change with the day; and `spelling` if `A7`, `a7` and `a07` are different users. The guarantee then protects
    each record, each user of one day, or each id as it is written, and says so. Without it such a day is refused. After
    the first release it may only be weakened, from nothing to `spelling` to `day` to `record`."""
    time_zone: str | None = Field(default=None, exclude_if=lambda zone: zone is None)
    """IANA time zone of times without an offset, such as `UTC`. Without it they are of `dataset.timezone`, and those of
    Parquet's INT96 of UTC."""
    time_unit: TimeUnit | None = Field(default=None, exclude_if=lambda unit: unit is None)
    """For times that are numbers since 1970, of the years 1990 to 2100: what they count, `s`, `ms`, `us` or `ns`.
    Without it the unit is recognised from the range of a file's first times."""
    time_format: str | None = Field(default=None, min_length=2, exclude_if=lambda form: form is None)
    """For times that are written otherwise: their form, for example `%m/%d/%Y %I:%M %p`. `%Y %m %d %H %M %S` are year,
    month, day, hour, minute and second, `%b` is Jan, `%I` and `%p` are hours to 12 and AM or PM, `%z` is the
    offset or Z, and `%Z` is UTC, GMT, a name such as `Europe/Paris`, or an abbreviation that the clock of the times'
    own zone has, such as CET and CEST."""
    value_type: Literal["number", "text"] | None = Field(default=None, exclude_if=lambda kind: kind is None)
    """For Parquet only: whether the values must be stored as numbers or as text. If a file has another type, the day
    fails before anything is spent. Without it both are read."""

    @field_validator("time", mode="before")
    @classmethod
    def _as_tuple(cls, value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value

    @field_validator("only", mode="before")
    @classmethod
    def _texts(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            raise ValueError('must name columns and their texts, as in { parameter = "pm25" }')
        return {name: as_texts(name, texts) for name, texts in value.items()}

    @field_validator("time_zone")
    @classmethod
    def _known_zone(cls, value: str | None) -> str | None:
        return None if value is None else known_zone(value)

    @field_validator("time_format")
    @classmethod
    def _readable_format(cls, value: str | None) -> str | None:
        problem = None if value is None else time_format_problem(value)
        if problem is not None:
            raise ValueError(problem)
        return value

    @model_validator(mode="after")
    def _one_form_of_times(self) -> Self:
        if self.time_unit is not None and self.time_format is not None:
            raise ValueError("time_unit is for numbers and time_format for texts: give one of them")
        return self

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        names = [self.user, *self.of_time, *self.of_place.values(), self.value]
        if self.time_else in names:
            raise ValueError("time_else must name another column than the five")
        if self.value in self.only:
            raise ValueError(f"only must not name {self.value}, the value: which rows count is public")
        if len({*names, *self._further.values()}) < len(names) + len(self._further):
            raise ValueError("must name different columns")
        if of_path := next((name for name in (*names[1:], *self._further.values()) if name in OF_PATH), None):
            raise ValueError(f"only user may be {of_path}")
        if of_path := next((name for name in self._further.values() if is_of_path(name)), None):
            raise ValueError(f"only time may be {of_path}")
        if SPEED in names[:-1] or SPEED in self._further.values():
            raise ValueError(f"only value may be {SPEED}")
        if self.is_speed and self.user_is == "record":
            raise ValueError(f"value = {SPEED} needs a user with several records: user_is must not be record")
        return self

    @model_validator(mode="after")
    def _one_form_of_places(self) -> Self:
        given = [role for role in PLACES if getattr(self, role) is not None]
        if given not in (["latitude", "longitude"], ["h3"], ["geometry"]):
            named = " and ".join(given) or "none of them"
            raise ValueError(f"a place must be latitude and longitude, or h3, or geometry: given is {named}")
        if given != ["latitude", "longitude"] and (self.per_degree, self.longitude_to) != (1, 180):
            raise ValueError("per_degree and longitude_to are for latitude and longitude: remove them")
        if self.h3 is not None and self.is_speed:
            raise ValueError(f"value = {SPEED} needs positions, and h3 gives cells: name latitude and longitude")
        return self

    @property
    def users_return(self) -> bool:
        """Whether the same id is the same user on another day."""
        return self.user_is in (None, "spelling")

    @property
    def is_speed(self) -> bool:
        """Whether the value is the speed from the fix before."""
        return self.value == SPEED

    @property
    def is_of_path(self) -> bool:
        """Whether the user is named by the path of a file."""
        return self.user in OF_PATH

    @property
    def of_time(self) -> tuple[str, ...]:
        """The columns of the time: one, or those of date and time."""
        return (self.time,) if isinstance(self.time, str) else self.time

    @property
    def by_role(self) -> dict[str, str]:
        """The name of each role's column; ``clock`` is that of the time where the date has a column of its own."""
        named = {"user": self.user, **dict(zip(("time", "clock"), self.of_time, strict=False))}
        return {**named, **self.of_place, "value": self.value, **self._further}

    @property
    def of_only(self) -> dict[str, tuple[str, ...]]:
        """The texts of the rows that count, by the role of the column that has them."""
        return {f"only_{number}": texts for number, texts in enumerate(self.only.values())}

    @property
    def _further(self) -> dict[str, str]:
        """The columns that not every source has, by their roles."""
        return {**({"age": self.age} if self.age else {}), **dict(zip(self.of_only, self.only, strict=True))}

    @property
    def of_place(self) -> dict[str, str]:
        """The columns of the place by their roles: latitude and longitude, or one that has both."""
        named = {role: getattr(self, role) for role in PLACES}
        return {role: name for role, name in named.items() if name is not None}
