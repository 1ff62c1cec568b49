"""The image and the compose file, as far as they can be checked where no container engine is."""

import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from compose_spec import PyCompose
from image import FOLDER, copied
from wheels import ROOT

VARIABLE = re.compile(r"\$\{(\w+)\}")
SCRIPTS = ("install.sh", "server.sh", "worker.sh")


@pytest.fixture(scope="module")
def example() -> dict[str, str]:
    lines = (FOLDER / "compose.env").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


@pytest.fixture(scope="module")
def compose(example: dict[str, str]) -> dict[str, Any]:
    return yaml.safe_load(filled((FOLDER / "compose.yaml").read_text(), example))


def filled(text: str, variables: dict[str, str]) -> str:
    return VARIABLE.sub(lambda found: variables[found[1]], text)


def test_the_compose_file_is_valid_and_a_wrong_one_is_not(example: dict[str, str]) -> None:
    text = filled((FOLDER / "compose.yaml").read_text(), example)
    assert sorted(PyCompose.from_yaml(text).service_names()) == ["database", "files", "server", "worker"]
    with pytest.raises(ValueError, match="healthchek"):
        PyCompose.from_yaml(text.replace("healthcheck:", "healthchek:"))


def test_every_variable_of_the_compose_file_is_in_the_example_and_used(example: dict[str, str]) -> None:
    assert set(VARIABLE.findall((FOLDER / "compose.yaml").read_text())) == set(example)


def test_what_services_refer_to_is_there(compose: dict[str, Any]) -> None:
    services = compose["services"]
    volumes = [volume.split(":") for one in services.values() for volume in one.get("volumes", [])]
    assert {name for name, *_ in volumes if re.fullmatch(r"\w+", name)} == set(compose["volumes"])
    assert all((FOLDER / name).exists() for name, *_ in volumes if name.startswith("."))
    assert {name for one in services.values() for name in one.get("depends_on", ())} <= set(services)
    build = services["server"]["build"]
    assert (FOLDER / build["context"] / build["dockerfile"]).samefile(FOLDER / "Dockerfile")
    assert {services[name]["image"] for name in ("server", "worker")} == {"hexveil"}
    commands = {services[name]["command"][0] for name in ("server", "worker")}
    assert commands == set(re.findall(r'"\$folder/bin/(hexveil-\w+)"', (FOLDER / "install.sh").read_text()))


def test_only_the_published_files_and_the_pages_are_reached_from_this_machine_alone(compose: dict[str, Any]) -> None:
    ports = {name: one.get("ports", []) for name, one in compose["services"].items()}
    assert {name for name, some in ports.items() if some} == {"server", "files"}
    assert all(port.startswith("127.0.0.1:") for some in ports.values() for port in some)
    assert [volume for volume in compose["services"]["files"]["volumes"] if not volume.endswith(":ro")] == []


def test_the_image_copies_all_that_the_wheel_is_made_of() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]
    needed = {*wheel, "pyproject.toml", "constraints.txt", project["project"]["readme"], "LICENSE"}
    sources = {name for names, _ in copied() for name in names}
    assert sources == needed
    allowed = (FOLDER / "Dockerfile.dockerignore").read_text().splitlines()
    assert {line.removeprefix("!") for line in allowed if line.startswith("!")} == needed


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_scripts_can_be_read_by_a_plain_shell(name: str) -> None:
    assert subprocess.run(["sh", "-n", FOLDER / name], check=False).returncode == 0


def test_a_server_without_a_password_does_not_start(tmp_path: Path) -> None:
    bare = {"PATH": os.environ["PATH"]}
    command = ["sh", FOLDER / "server.sh"]
    refused = subprocess.run(command, env=bare, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert refused.returncode != 0
    assert "set it to NAME:PASSWORD" in refused.stderr


@pytest.mark.parametrize("password", ["", "change-me"])
def test_an_empty_password_and_that_of_an_example_start_nothing(password: str, tmp_path: Path) -> None:
    database = "postgresql+asyncpg://prefect:{}@database:5432/prefect"
    for signed_in, of_database in ((password, "of-the-test"), ("of-the-test", password)):
        bare = {"PATH": os.environ["PATH"], "PREFECT_SERVER_API_AUTH_STRING": f"admin:{signed_in}"}
        bare |= {"PREFECT_SERVER_DATABASE_CONNECTION_URL": database.format(of_database)}
        command = ["sh", FOLDER / "server.sh"]
        refused = subprocess.run(command, env=bare, capture_output=True, text=True, cwd=tmp_path, check=False)
        assert refused.returncode == 1
        assert "a password is empty or that of an example" in refused.stderr


def test_the_examples_name_no_password_and_compose_asks_for_each(example: dict[str, str]) -> None:
    passwords = [name for name in example if "PASSWORD" in name]
    assert {example[name] for name in passwords} == {""}
    text = (FOLDER / "compose.yaml").read_text()
    assert all(f"${{{name}:?" in text for name in passwords)
    assert ":change-me" not in (ROOT / "deploy" / "systemd" / "hexveil.env").read_text()


def test_the_worker_of_the_kubernetes_page_is_one_and_has_the_image_s_user_and_folders() -> None:
    page = (ROOT / "docs" / "how-to" / "containers.md").read_text()
    [block] = re.findall(r"^```yaml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    claim, workers = yaml.safe_load_all(block)
    assert claim["spec"]["accessModes"] == ["ReadWriteOncePod"]
    pod = workers["spec"]["template"]["spec"]
    assert (workers["kind"], workers["spec"]["replicas"]) == ("StatefulSet", 1)
    [container] = pod["containers"]
    dockerfile = (FOLDER / "Dockerfile").read_text()
    assert f"--uid {pod['securityContext']['runAsUser']} " in dockerfile
    assert {"/var/lib/hexveil", "/etc/hexveil"} == {mount["mountPath"] for mount in container["volumeMounts"]}
    assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}
    claimed = {volume["persistentVolumeClaim"]["claimName"] for volume in pod["volumes"] if "configMap" not in volume}
    assert claimed == {claim["metadata"]["name"]}
