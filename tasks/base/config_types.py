"""The types that the sections of a configuration use: numbers, places, and the base class of a section."""

import re
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
)

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def is_remote(place: str) -> bool:
    """Return whether a place is an fsspec address, such as ``s3://bucket/folder``, and not a path."""
    return "://" in place


_SERVERS = ("ftp", "http", "https", "sftp", "smb", "ssh", "webdav", "webhdfs")


def _known_address(place: str) -> str:
    if not is_remote(place):
        return place
    from fsspec.registry import known_implementations

    protocol, _, path = place.partition("://")
    if protocol not in known_implementations:
        raise ValueError(f"{protocol}:// is no address that fsspec knows")
    if protocol in _SERVERS:
        raise ValueError(f"{protocol}:// names a server, which the paths of files lack; take an object store")
    if "@" in path.partition("/")[0] and not protocol.startswith("ab"):
        raise ValueError("an address holds no credentials, for it is written down; they come from the environment")
    return place


def _finite_decimal(value: Any) -> Any:
    return Decimal(value) if isinstance(value, int) and not isinstance(value, bool) else value


Number = Annotated[Decimal, BeforeValidator(_finite_decimal), Field(allow_inf_nan=False)]
Positive = Annotated[Number, Field(gt=0)]
Place = Annotated[str, Field(min_length=1), AfterValidator(_known_address)]


def shown(text: str) -> str:
    """Return a text with its control characters escaped. Without this they would control the terminal."""
    return _CONTROL.sub(lambda found: repr(found[0])[1:-1], text)


_TEXT = {"type": ["string", "integer"]}
_TEXTS = {"type": ["string", "integer", "array"], "items": _TEXT, "minItems": 1}
TextsOfColumns = Annotated[
    dict[str, tuple[str, ...]], WithJsonSchema({"type": "object", "additionalProperties": _TEXTS})
]
"""Some texts of each of some columns; a file may say one text, or a whole number."""


def as_texts(column: str, texts: Any) -> tuple[str, ...]:
    """Return the texts of a column, of which a file may say one, or whole numbers.

    Raises:
        ValueError: They are none, or of another type.
    """
    some = texts if isinstance(texts, list | tuple) else [texts]
    if not column or not some or not all(type(one) in (str, int) and str(one).strip() for one in some):
        raise ValueError(
            f'"{column}" must have a text, or a list of texts, as files have them: {{ "{column}" = ["pm25", "pm10"] }}'
        )
    if any(str(one) != shown(str(one)) for one in (column, *some)):
        raise ValueError("must hold no control characters")
    return tuple(dict.fromkeys(str(one).strip() for one in some))


def file_in_the_way(folder: Path) -> Path | None:
    """Return the file that stands where a folder, or a folder above it, would be; None if there is none."""
    return next((place for place in (folder, *folder.parents) if place.exists() and not place.is_dir()), None)


TILES = r"^https?://[A-Za-z0-9.-]+(:[0-9]+)?/[^\s'\";<>]*\{z\}[^\s'\";<>]*$"
"""The form of the address of a base map's tiles. Its host stands in the page's security policy."""


class Section(BaseModel):
    """The base class of every section: frozen, strict about names and types, without control characters."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    @field_validator("*")
    @classmethod
    def _shown(cls, value: Any, info: ValidationInfo) -> Any:
        texts = [text for text in (value if isinstance(value, tuple) else [value]) if isinstance(text, str)]
        if info.field_name != "delimiter" and any(
            _CONTROL.search(text.replace("\n", "").replace("\t", "")) for text in texts
        ):
            raise ValueError("must hold no control characters")
        return value
