"""A feed that is recorded: its address and what is sent with each request, in which secrets may be filled in."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from string import Template

from tasks.base.config_types import file_in_the_way
from tasks.base.errors import BadInput, HexveilError
from tasks.base.time_zones import zone_problem

_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_HEADER_VALUE = re.compile(r"[\x21-\x7e]([\x20-\x7e\t]*[\x21-\x7e])?|")


@dataclass(frozen=True)
class Feed:
    """What is recorded, and where to.

    Attributes:
        url: The address, with its secrets filled in. It is never logged whole.
        folder: Gets a folder for each local day.
        every: Seconds between two requests.
        timezone: The time zone of the days.
        headers: What is sent with each request, with its secrets filled in.

    Raises:
        BadInput: It could never be asked or written. The message holds no secret.
    """

    url: str
    folder: Path
    every: float
    timezone: str
    headers: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse at once what no waiting would mend."""
        if not self.host:
            raise BadInput(
                "the feed's address must begin with http:// or https:// and name a host, such as "
                "https://example.org/vehicles.pb; other schemes cannot be recorded"
            )
        if problem := zone_problem(self.timezone):
            raise BadInput(f"--timezone {self.timezone} {problem}")
        for name, value in self.headers.items():
            _check_header(name, value)
        if in_the_way := file_in_the_way(self.folder):
            raise BadInput(f"--to {self.folder}: {in_the_way} is a file; name a folder, new or its own")

    @property
    def host(self) -> str:
        """Who is asked: the part of the address that holds no secret; "" if it is no address of the web."""
        import httpx

        try:
            address = httpx.URL(self.url)
        except httpx.InvalidURL:
            return ""
        is_right = address.scheme in ("http", "https") and "%" not in address.host and (address.port or 0) < 1 << 16
        return address.host if is_right else ""


def filled_in(text: str, environment: Mapping[str, str] | None = None) -> str:
    """Return a text with `${NAME}` replaced by environment variables: secrets do not belong into command lines.

    Raises:
        HexveilError: There is no such variable.
    """
    try:
        return Template(text).substitute(os.environ if environment is None else environment)
    except KeyError as error:
        problem = f"the environment variable {error.args[0]} is not set"
    except ValueError:
        problem = "a $ in the address or a header must be written $$, or be part of ${NAME}"
    raise HexveilError(problem)


def _check_header(name: str, value: str) -> None:
    if not _HEADER_NAME.fullmatch(name):
        raise BadInput(f'--header {name!a}: the name may have letters, digits and "-" of ASCII alone')
    if not _HEADER_VALUE.fullmatch(value):
        raise BadInput(
            f"--header {name}: its value may have printable characters of ASCII alone, without line ends; check the "
            "variable that fills it in, and encode other characters as the feed's provider says"
        )
