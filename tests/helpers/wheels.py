"""A wheel of this checkout, and environments that have it and nothing else of the checkout."""

import subprocess
import sys
import sysconfig
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Environment:
    """A virtual environment.

    Attributes:
        folder: Where it is.
    """

    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def hexveil(self) -> Path:
        return self.folder / "bin" / "hexveil"

    @property
    def packages(self) -> Path:
        return Path(sysconfig.get_path("purelib", vars={"base": str(self.folder)}))

    def create(self) -> None:
        """Make it, empty: without pip too."""
        venv.create(self.folder)

    def install(self, *what: str | Path) -> None:
        """Install by the pip of the tests, which need not be in the environment; what is used is compiled as it is."""
        pip = [sys.executable, "-m", "pip", "--python", str(self.python), "install", "--quiet", "--no-compile"]
        subprocess.run([*pip, *map(str, what)], check=True, capture_output=True, cwd=self.folder)

    def run(self, *command: str | Path, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a program of the environment in a folder, with no variable of the tests that Python or Prefect reads."""
        plain = {"PATH": f"{self.folder / 'bin'}:/usr/bin:/bin", "HOME": str(self.folder), **variables}
        return subprocess.run(
            [str(word) for word in command],
            cwd=cwd,
            env=plain,
            capture_output=True,
            text=True,
            check=False,
            timeout=900,
        )


def build_wheel(folder: Path) -> Path:
    """Build the wheel of this checkout, and return its path."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", str(folder)]
    subprocess.run([*command, str(ROOT)], check=True, capture_output=True)
    [wheel] = folder.glob("hexveil-*.whl")
    return wheel


def environment_with_the_tests_libraries(folder: Path) -> Environment:
    """Return an environment that sees the libraries of the tests, but not the checkout: no .pth file is read there."""
    made = Environment(folder)
    made.create()
    (made.packages / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return made


def rival_wheel(folder: Path, *names: str) -> Path:
    """Make the wheel of another project whose top-level packages have some names; each says RIVAL = its name."""
    path = folder / "rival-1.0-py3-none-any.whl"
    about = "rival-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        for name in names:
            wheel.writestr(f"{name}/__init__.py", f"RIVAL = {name!r}\n")
        wheel.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: rival\nVersion: 1.0\n")
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{about}/RECORD", "")
    return path
