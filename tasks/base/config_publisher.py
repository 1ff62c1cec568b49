"""The section of a configuration about who publishes: what a catalogue of data asks for."""

from typing import Self

from pydantic import Field, model_validator

from tasks.base.config_types import Section

_WEB = r"^https?://[^\s<>\"]+$"
_CONTACT = r"^(https?://[^\s<>\"]+|[^\s<>\"@:/]+@[^\s<>\"@:/]+)$"


class Publisher(Section):
    """Who publishes, for portals and readers. It is in the files of the catalogue alone, and in no ledger entry."""

    name: str | None = Field(default=None, min_length=1)
    """Who publishes, for example a transport authority. With it, `contact` and `licence` are needed, and
    `published/catalogue.jsonld` is written, for portals."""
    contact: str | None = Field(default=None, pattern=_CONTACT)
    """Whom to ask: a mail address, or a web address."""
    licence: str | None = Field(default=None, pattern=_WEB)
    """The web address of the licence, for example `https://creativecommons.org/licenses/by/4.0/`."""
    homepage: str | None = Field(default=None, pattern=_WEB)
    """The web address of the publisher."""
    address: str | None = Field(default=None, pattern=r"^https?://[^\s<>\"]+/$")
    """The web address where the folder `published/` is served, with `/` at its end. Portals that copy
    `catalogue.jsonld` need it. Without it, the addresses in that file are relative to the file."""
    theme: str = Field(default="other", pattern=r"^[a-z0-9-]+$")
    """What it is about: the last part of an address of the vocabulary `mobility-theme` of mobilityDCAT-AP."""

    @model_validator(mode="after")
    def _all_that_a_catalogue_needs(self) -> Self:
        missing = [key for key in ("name", "contact", "licence") if getattr(self, key) is None]
        if missing and any((self.name, self.contact, self.licence, self.homepage, self.address)):
            raise ValueError(f"a catalogue needs {' and '.join(missing)} too; give it, or remove the section")
        return self
