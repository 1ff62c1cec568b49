"""Where init writes, and what git shall not take."""

import subprocess

from support import DATE, HEADER, Dataset, Hexveil

SPEEDS = HEADER + f"bus1,{DATE}T08:00:00Z,47.05,8.31,30\n"
USUAL = ("--yes", "--unit", "km/h", "--upper", "80", "--epsilon", "1", "--total", "9")


def test_in_a_folder_the_configuration_has_the_name_of_the_data_and_git_does_not_take_what_is_private(
    dataset: Dataset, hexveil: Hexveil
) -> None:
    file, mine = dataset.write("buses-2026.csv", SPEEDS), dataset.folder / "mine"
    for name in ("buses", "trams"):
        made = hexveil("init", file, "--to", mine, "--name", name, *USUAL)
        assert made.returncode == 0, made.stderr
        assert ".gitignore to keep private/ out of git." in made.stdout
    again = hexveil("init", file, "--to", mine, "--name", "trams", *USUAL, "--force")
    assert again.returncode == 0, again.stderr
    assert (mine / ".gitignore").read_text() == "/buses-store/private/\n/trams-store/private/\n"
    subprocess.run(["git", "init", "--quiet", mine], check=True)
    taken = subprocess.run(["git", "add", "--all", "--verbose"], cwd=mine, capture_output=True, text=True, check=True)
    assert "buses.toml" in taken.stdout
    assert "private" not in taken.stdout


def test_lines_of_a_gitignore_that_is_there_stay(dataset: Dataset, hexveil: Hexveil) -> None:
    file = dataset.write("buses.csv", SPEEDS)
    (dataset.folder / ".gitignore").write_text("*.log")
    made = hexveil("init", file, "--to", dataset.folder / "a.toml", *USUAL)
    assert made.returncode == 0, made.stderr
    assert (dataset.folder / ".gitignore").read_text() == "*.log\n/a-store/private/\n"
