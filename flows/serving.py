"""The commands about Prefect's server and worker: they start and stop these, and deploy flows."""

import os
from pathlib import Path
from typing import Annotated

import typer

from flows import interrupts, show
from flows.options import DEPLOY, HOME, ConfigOption, HomeOption
from flows.owners import load_either, schedule_of
from flows.show import out
from tasks.base.errors import HexveilError
from tasks.base.owner import Owner
from tasks.base.progress import part


def up(
    config: ConfigOption,
    port: Annotated[
        int | None, typer.Option("--port", min=1, max=65534, help="Of the pages, 4200 at first; files are on the next.")
    ] = None,
    home: HomeOption = HOME,
) -> None:
    """Start Prefect's server and a worker on this machine, and deploy the dataset's flows there."""
    from flows import services

    settings = load_either(config)
    folder = home.resolve()
    with interrupts.said("interrupted; `hexveil down` stops what was started"), services.exclusive_services(folder):
        local = services.open_services(folder, port)
        environment = local.environment(DEPLOY / "prefect.env")
        with part("start the server", local.url):
            services.start_server(local, environment)
        os.environ.update(environment)
        with part(f"deploy the flows of {settings.name}", ", ".join(schedule_of(settings).flows)):
            _deploy(config, settings)
        with part("serve the published files", local.files_url.format(dataset=settings.name)):
            services.serve_files(local, settings)
        if not services.is_running("worker", folder):
            with part("start the worker", ""):
                resume()
                services.start_worker(local, environment)
    show.show_services(local, schedule_of(settings).flows, settings)


def resume() -> None:
    """Restart the runs that a worker left when it ended; use this only while no worker runs, before you start one."""
    _check_address()
    from flows.deployments import resume_interrupted

    for name in resume_interrupted():
        out.print(f"{name} was interrupted and goes on.")


def deploy(config: ConfigOption) -> None:
    """Deploy the dataset's flows, pool, queue and automations to the server that PREFECT_API_URL names."""
    _check_address()
    _deploy(config, load_either(config))


def down(home: HomeOption = HOME) -> None:
    """Stop what `hexveil up` started; a run in progress goes on after the next `hexveil up`."""
    from flows import services

    folder = home.resolve()
    with services.exclusive_services(folder):
        stopped = services.stop(folder)
    out.print(f"Stopped: {', '.join(stopped)}." if stopped else "Nothing was running.")


def _deploy(config_file: Path, config: Owner) -> None:
    from flows import services
    from flows.deployments import arrange_server  # Prefect reads the environment when it is imported
    from flows.notifications import begin_to_watch

    arrange_server(DEPLOY / "automations.yaml", config)
    services.deploy(DEPLOY, config_file, config)
    begin_to_watch(config)


def _check_address() -> None:
    """Refuse to go on without a server: Prefect would start its own, without a password."""
    if not os.environ.get("PREFECT_API_URL"):
        raise HexveilError("PREFECT_API_URL is not set; set it to the server's address, or start one with `hexveil up`")
