# worldloom: `make run` evaluates a model, `make test` runs the tests; both first build .venv from the lock.
#
#   make run ARGS="my_scenario.yaml --model ..."     arguments of `worldloom run`
#   make test ARGS="tests/core -k canonical"         arguments of pytest
#   make ... PYTHON=python3.12                        the interpreter that .venv is built from

PYTHON ?= python3
UV ?= uv
ARGS ?=

VENV := .venv
LOCK := locks/worldloom.lock
PIP_LOCK := locks/pip.lock
BIN := $(VENV)/bin
# Written last, inside the environment: an interrupted install leaves none behind.
INSTALLED := $(VENV)/installed.stamp
LINKED := $(VENV)/linked.stamp

# Without this, Python puts the working directory on sys.path and the folders agents/, tools/ … would
# become importable under their bare names.
export PYTHONSAFEPATH := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Twice quiet: warnings about the user's own pip settings are none of ours; errors are still shown.
# Not compiled ahead: most of litellm and botocore is never imported, and compiling all takes a minute.
PIP_INSTALL := $(BIN)/python -m pip install -qq --no-input --no-compile --no-deps
PIP_INSTALL_LOCKED := $(PIP_INSTALL) --require-hashes --only-binary :all: --requirement

.DEFAULT_GOAL := help
.PHONY: help run test test-slow test-vllm check format build lock clean

help:
	@echo "make run        evaluate a real language model in four worlds (ARGS=... as for 'worldloom run')"
	@echo "make test       run the tests"
	@echo "make test-slow  run the slow tests, among them those of the built wheel"
	@echo "make test-vllm  run the tests of back ends on a real vLLM (WORLDLOOM_VLLM, WORLDLOOM_VLLM_MODEL)"
	@echo "make check      lint, formatting, types, floors"
	@echo "make format     sort imports and format"
	@echo "make build      sdist and wheel into dist/"
	@echo "make lock       resolve the dependencies anew (needs uv)"
	@echo "make clean      remove the environment and everything built"

run: $(LINKED)
	@$(BIN)/worldloom run $(ARGS)

test: $(LINKED)
	@$(BIN)/python -m pytest $(ARGS)

test-slow: $(LINKED)
	@$(BIN)/python -m pytest -m slow $(ARGS)

# It starts `worldloom serve` itself. Outside .ci/run: vLLM takes 3.5 GB and an environment of its own.
test-vllm: $(LINKED)
	@test -x "$$WORLDLOOM_VLLM" -a -d "$$WORLDLOOM_VLLM_MODEL" || { \
	    echo "set WORLDLOOM_VLLM=/path/to/vllm/bin/vllm and WORLDLOOM_VLLM_MODEL=/path/to/folder (docs/serving.md)" >&2; exit 1; }
	@$(BIN)/python -m pytest -m vllm tests/models/conformance $(ARGS)

check: $(LINKED)
	@echo "check: ruff"
	@$(BIN)/ruff check --quiet --output-format concise
	@$(BIN)/ruff format --check
	@echo "check: mypy"
	@$(BIN)/mypy
	@echo "check: import-linter"
	@$(BIN)/lint-imports --no-cache

format: $(LINKED)
	@$(BIN)/ruff check --quiet --fix --select I
	@$(BIN)/ruff format --quiet

# The wheel is built from the sdist, by the back end that the lock names.
build: $(LINKED)
	@echo "build: sdist and wheel into dist/"
	@rm -rf dist
	@$(BIN)/python -m build --no-isolation --outdir dist .

# One resolution for every platform and every Python from 3.11 on; it names no index.
UV_COMPILE = $(UV) pip compile --quiet --no-config --upgrade --universal --python-version 3.11 \
    --fork-strategy fewest --generate-hashes --no-build --custom-compile-command "make lock"
lock:
	@command -v $(UV) >/dev/null || { echo "make lock needs uv: install it, or pass UV=/path/to/uv" >&2; exit 1; }
	@echo "lock: resolving into $(LOCK) and $(PIP_LOCK)"
	@$(UV_COMPILE) --extra embedded --extra plot --extra dev --output-file $(LOCK) pyproject.toml
	@echo pip | $(UV_COMPILE) --no-annotate --output-file $(PIP_LOCK) -

clean:
	@rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(LINKED): pyproject.toml $(INSTALLED)
	@echo "environment: linking worldloom into $(VENV)"
	@$(PIP_INSTALL) --no-build-isolation --editable .
	@touch $@

# Built from nothing whenever a lock changes, so that it holds what the locks name and no more. pip goes
# first: the one that comes with Python 3.11 takes twice as long for the rest.
$(INSTALLED): $(LOCK) $(PIP_LOCK)
	@command -v $(PYTHON) >/dev/null || { echo "no $(PYTHON) here: pass PYTHON=/path/to/python3.11 or newer" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "worldloom needs Python 3.11 or newer, and $(PYTHON) is $$($(PYTHON) -V 2>&1): pass PYTHON=python3.12, say" >&2; exit 1; }
	@echo "environment: making $(VENV) from $$($(PYTHON) -V 2>&1)"
	@$(PYTHON) -m venv --clear $(VENV)
	@echo "environment: installing $(LOCK) (about a minute)"
	@$(PIP_INSTALL_LOCKED) $(PIP_LOCK)
	@$(PIP_INSTALL_LOCKED) $(LOCK)
	@touch $@
