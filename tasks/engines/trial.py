"""Trial: a storage for a configuration that is not written yet, which stays only if the configuration is kept."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from tasks.base.config import Config


class Trial(NamedTuple):
    """A configuration that is tried.

    Attributes:
        config: It, with a storage of its own for the time of the trial.
        to: Its storage afterwards.
    """

    config: Config
    to: Path

    def keep(self) -> None:
        """Let what was read be the beginning of the storage, if there is none yet: it need not be read again."""
        if not self.to.exists():
            self.config.storage_path.rename(self.to)


@contextmanager
def trial(config: Config) -> Iterator[Trial]:
    """Make a storage beside the one of a configuration, and delete it afterwards, and every folder that it needed.

    Args:
        config: The configuration. Its folder need not exist yet.

    Yields:
        The configuration with that storage.
    """
    parent = config.storage_path.parent
    made = [one for one in (parent, *parent.parents) if not one.exists()]
    parent.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(dir=parent, prefix=".trial-") as folder:
            here = config.storage.model_copy(update={"path": str(Path(folder) / "store")})
            yield Trial(config.model_copy(update={"storage": here}), config.storage_path)
    finally:
        with suppress(OSError):  # a folder that is used stays
            for one in made:
                one.rmdir()
