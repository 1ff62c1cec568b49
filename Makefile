# From nothing: Python 3.11+ and make. Everything is installed into .venv, pinned by constraints.txt.
PYTHON ?= python3
BIN := .venv/bin
INSTALL := DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --no-install-recommends

# Many tests wait for servers, so they run in one process more than there are cores; those of one file stay together,
# and the files begin in the order of tests/conftest.py: the longest first.
WORKERS := $(shell n=$$(getconf _NPROCESSORS_ONLN); echo $$((n < 3 ? n + 1 : 4)))
PARALLEL := -n $(WORKERS) --dist loadfile --no-loadscope-reorder

# What Python compiles is kept, whatever the machine says: else each process of the tests compiles every module anew.
unexport PYTHONDONTWRITEBYTECODE

# Tests flush thousands of small files, and a disk takes longer for that than all else: so they are in memory, if there
# is room for 4 GB.
ROOM := $(shell [ "$$(df --output=avail /dev/shm 2>/dev/null | tail -n 1)" -gt 4000000 ] 2>/dev/null && echo /dev/shm)
test test-slow: export TMPDIR := $(or $(ROOM),$(TMPDIR))

# The share of each long campaign of the tests that is done, drawn anew at each run.
CAMPAIGN ?= 1

# The dataset that `make up` deploys.
CONFIG ?= deploy/config/demo.toml

.PHONY: demo up down test test-slow browser services lint bench bench-quick paper paper-quick docs picture clean

demo: .venv/run
	@$(BIN)/hexveil demo

up: .venv/run
	@$(BIN)/hexveil up --config $(CONFIG)

down:
	@$(BIN)/hexveil down

test: .venv/test browser
	@$(BIN)/pytest -m "not slow" --campaign $(CAMPAIGN) $(PARALLEL)

test-slow: .venv/test services
	@$(BIN)/pytest -m slow --campaign $(CAMPAIGN) $(PARALLEL)

# Programs that some tests need, from the system's packages: without them, these tests are skipped.
browser: PACKAGE := chromium
browser: FOUND := command -v chromium
services: PACKAGE := postgresql nginx-light
services: FOUND := ls -d /usr/lib/postgresql/*/bin/initdb /usr/sbin/nginx
browser services:
	@$(FOUND) >/dev/null 2>&1 || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
		{ $(INSTALL) $(PACKAGE) || { apt-get update -q && $(INSTALL) $(PACKAGE); }; }; } >/dev/null 2>&1 || \
		echo "$(PACKAGE) is not installed, so the tests that need it are skipped"

lint: .venv/test
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/lint-imports
	@$(BIN)/pyright

bench: .venv/test
	@PYTHONPATH=tests/helpers $(BIN)/python -m tests.bench

bench-quick: .venv/test
	@PYTHONPATH=tests/helpers $(BIN)/python -m tests.bench --quick

paper: .venv/test
	@PYTHONPATH=tests/helpers $(BIN)/python -m tests.paper

paper-quick: .venv/test
	@PYTHONPATH=tests/helpers $(BIN)/python -m tests.paper --quick

# The reference is written from the code, then the site is built into var/docs: open var/docs/index.html.
docs: .venv/docs
	@$(BIN)/python docs/generate.py
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

# The first picture of README, of a day of buses in Austin: docs/explanation/benchmarks.md says where the files come from.
picture: .venv/test browser
	@$(BIN)/python docs/picture.py

clean:
	rm -rf .venv var

# Said before anything is installed: pip would only find no version of this or that for an older Python.
OLD := sys.version_info < (3, 11) and "hexveil needs Python 3.11 or newer, and $(PYTHON) is " + sys.version.split()[0] + \
	": install a newer one, then say make PYTHON=python3.11"

.venv/run: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit($(OLD))'
	@echo "Installing the pinned dependencies into .venv; the first time this takes about a minute."
	@$(PYTHON) -m venv .venv
	@PIP_CONSTRAINT=$(CURDIR)/constraints.txt $(BIN)/pip install --quiet --disable-pip-version-check --editable .
	@touch $@

.venv/test: .venv/run
	@PIP_CONSTRAINT=$(CURDIR)/constraints.txt $(BIN)/pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@

.venv/docs: .venv/run
	@PIP_CONSTRAINT=$(CURDIR)/constraints.txt $(BIN)/pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@
