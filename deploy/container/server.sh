#!/bin/sh
# Starts Prefect's server and pages. Installed as hexveil-server.
# PREFECT_SERVER_DATABASE_CONNECTION_URL   PostgreSQL; SQLite in PREFECT_HOME without it
# PREFECT_SERVER_API_AUTH_STRING           name:password for signing in
set -eu
: "${PREFECT_SERVER_API_AUTH_STRING:?set it to NAME:PASSWORD, because who can reach the server can run programs}"
case "$PREFECT_SERVER_API_AUTH_STRING ${PREFECT_SERVER_DATABASE_CONNECTION_URL:-}" in
*:\ * | *:change-me\ * | *:@* | *:change-me@*)
    echo "a password is empty or that of an example; choose others, because who can reach the server can run programs" >&2
    exit 1
    ;;
esac
here=$(dirname "$0")
set -a
. "$here/../etc/prefect.env"
set +a
exec "$here/prefect" server start --host "${HEXVEIL_HOST:-0.0.0.0}" --port "${HEXVEIL_PORT:-4200}"
