#!/bin/sh
# Deploys every dataset of a folder, lets interrupted runs go on, and starts the worker. Installed as hexveil-worker.
# Only one may run for one storage: it takes over the runs of the one before it.
# PREFECT_API_URL, PREFECT_API_AUTH_STRING   the server, and name:password
# HEXVEIL_CONFIGS                            the folder with the datasets' TOML files
set -eu
here=$(dirname "$0")
set -a
. "$here/../etc/prefect.env"
set +a
for config in "${HEXVEIL_CONFIGS:-/etc/hexveil}"/*.toml; do
    "$here/hexveil" deploy --config "$config"
done
"$here/hexveil" resume
exec "$here/prefect" worker start --pool hexveil --type process
