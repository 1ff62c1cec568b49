"""What the image is made of, as its Dockerfile says."""

from dockerfile_parse import DockerfileParser
from wheels import ROOT

FOLDER = ROOT / "deploy" / "container"


def copied() -> list[tuple[list[str], str]]:
    """Return the sources and the target of each COPY of the image."""
    parsed = DockerfileParser(str(FOLDER / "Dockerfile")).structure
    words = [one["value"].split() for one in parsed if one["instruction"] == "COPY"]
    return [(one[:-1], one[-1]) for one in words]
