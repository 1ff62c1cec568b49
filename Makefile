# From nothing: Python 3.11+ and make. Everything is installed into .venv, pinned by constraints.txt.
PYTHON ?= python3
BIN := .venv/bin
CHROMIUM := DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --no-install-recommends chromium

# Tests run in as many processes as there are cores; those of one file stay together.
PARALLEL := -n auto --maxprocesses 4 --dist loadfile

# The dataset that `make up` deploys.
CONFIG ?= deploy/config/demo.toml

.PHONY: demo up down test test-slow browser lint bench bench-quick paper paper-quick docs clean

demo: .venv/run
	@$(BIN)/hexveil demo

up: .venv/run
	@$(BIN)/hexveil up --config $(CONFIG)

down:
	@$(BIN)/hexveil down

test: .venv/test browser
	@$(BIN)/pytest -m "not slow" $(PARALLEL)

test-slow: .venv/test
	@$(BIN)/pytest -m slow $(PARALLEL)

browser:
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
		{ $(CHROMIUM) || { apt-get update -q && $(CHROMIUM); }; }; } >/dev/null 2>&1 || \
		echo "chromium is not installed, so the tests in a browser are skipped"

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

clean:
	rm -rf .venv var

.venv/run: pyproject.toml constraints.txt
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
