#!/bin/sh
# Installs hexveil from a clone into a folder of its own: install.sh CLONE FOLDER
set -eu
clone=$1 folder=$2

python3 -m venv "$folder"
export PIP_CONSTRAINT="$clone/constraints.txt" PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
"$folder/bin/pip" wheel --quiet --no-deps --wheel-dir "$folder/wheel" "$clone"
"$folder/bin/pip" install --quiet "$folder"/wheel/hexveil-*.whl
rm -r "$folder/wheel"

install -d "$folder/etc"
install -m 644 "$clone/deploy/prefect.env" "$folder/etc/prefect.env"
install -m 755 "$clone/deploy/container/server.sh" "$folder/bin/hexveil-server"
install -m 755 "$clone/deploy/container/worker.sh" "$folder/bin/hexveil-worker"
