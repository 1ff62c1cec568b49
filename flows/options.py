"""The folders that the command line uses, and the options that several commands share."""

import datetime as dt
import re
from pathlib import Path
from typing import Annotated

import typer

PROJECT = Path(__file__).resolve().parent.parent
DEPLOY = PROJECT / "deploy"
VAR = (PROJECT if (PROJECT / "pyproject.toml").exists() else Path.cwd()) / "var"
"""What commands write of themselves: in a checkout there, otherwise in the current folder."""
HOME = VAR / "prefect"

DAY = ["%Y-%m-%d"]
_ITS_FOLDER = re.compile(r'"\.\./\.\./var/[^/"]+/')
"""How an example of a checkout begins the paths of its data."""

ConfigOption = Annotated[Path, typer.Option("--config", help="The dataset's TOML file.", show_default=False)]
DateOption = Annotated[
    dt.datetime,
    typer.Option("--date", formats=DAY, help="A local day of the dataset.", show_default=False),
]
HomeOption = Annotated[
    Path, typer.Option("--home", envvar="HEXVEIL_HOME", help="Where logs and Prefect's own database lie.")
]
UpOption = Annotated[
    Path,
    typer.Option(
        "--home", envvar="HEXVEIL_HOME", help="That of `hexveil up`: while its server runs, this is a flow run there."
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
VerboseOption = Annotated[bool, typer.Option("--verbose", help="Show log lines, in place of a line for each step.")]


def packaged_config(name: str, folder: Path) -> Path:
    """Return an example configuration: in a checkout its own file, otherwise a copy of it beside its data.

    Args:
        name: The name of the file, without its ending.
        folder: The folder in ``var`` where the example's data are.
    """
    packaged = DEPLOY / "config" / f"{name}.toml"
    if packaged.parents[2] == VAR.parent:
        return packaged
    folder.mkdir(parents=True, exist_ok=True)
    for other in packaged.parent.glob("*.geojson"):
        (folder / other.name).write_bytes(other.read_bytes())
    copy = folder / packaged.name
    copy.write_text(_ITS_FOLDER.sub('"', packaged.read_text(encoding="utf-8")), encoding="utf-8")
    return copy
