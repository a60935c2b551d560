# Apportion's tasks; `make help` lists them. Everything is installed into .venv, nothing elsewhere.

PYTHON ?= python3
UV ?= uv
UVFLAGS ?=
VENV := .venv
BIN := $(VENV)/bin
LOCK := .ci/requirements.lock
PIP := $(BIN)/python -m pip install -q --disable-pip-version-check
PYTEST := $(BIN)/python -m pytest -q
# Two processes or more share the tests; each begins with a stretch of its own, as tests of one file share fixtures.
SHARED := -n logical --maxprocesses 8 --dist worksteal
# Hundreds of tests start a command, and pytest rewrites each file: both are quick from bytecode that is kept.
unexport PYTHONDONTWRITEBYTECODE

.DELETE_ON_ERROR:
.PHONY: help demo test slow cores coverage lint kernels verify bench versions clean lock

help:  ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /  make \1	/p' Makefile

demo: $(VENV)/.ok  ## set up, then the whole loop on this machine, in about two minutes
	@$(BIN)/apportion quickstart

test: $(VENV)/.ok  ## set up, then lint, types and all tests but those of `slow`, `verify` and `bench`
	@$(MAKE) --no-print-directory -j2 lint kernels
	@$(PYTEST) $(SHARED)

slow: $(VENV)/.ok  ## the tests that take long and give the same everywhere, in 30 minutes on two cores
	@$(PYTEST) $(SHARED) -m slow --durations=25

kernels: $(VENV)/.ok
	@$(BIN)/python -m tests.support.kernels

cores: $(VENV)/.ok  ## the tests of models and choices as other processors compute: three core types of OpenBLAS
	@$(BIN)/python -m tests.core_types

coverage: $(VENV)/.ok  ## how often stated intervals hold: bands, then 500 made-up clusters, calm and upset; two hours
	@$(BIN)/python -m tests.coverage_study --band
	@$(BIN)/python -m tests.coverage_study
	@$(BIN)/python -m tests.coverage_study --upset

lint: $(VENV)/.ok  ## ruff (rules and format) and mypy
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check .
	@$(BIN)/mypy --no-error-summary simulator advisor

verify: $(VENV)/.ok  ## the tests that measure real time, one after another, best on a quiet machine, in 15 minutes
	@$(PYTEST) -m real --durations=10

bench: $(VENV)/.ok  ## engines beside SimPy and SimGrid (a table and out/bench.json), then the other benchmarks
	@$(BIN)/python -m tests.benchmarks.bench
	@$(PYTEST) -m benchmark

versions:  ## all tests but the slow ones at the lowest and the newest versions that pyproject.toml takes; once per release
	@command -v $(UV) >/dev/null || { echo 'error: uv is missing: pip install uv (or: make versions UV=PATH)' >&2; exit 1; }
	@set -e; for resolution in lowest-direct highest; do \
		echo "Versions: $$resolution" >&2; \
		$(UV) venv --quiet --clear --python $(PYTHON) out/versions/$$resolution; \
		VIRTUAL_ENV=out/versions/$$resolution $(UV) pip install --quiet --resolution $$resolution --prerelease disallow -e '.[dev]'; \
		PATH="$$PWD/out/versions/$$resolution/bin:$$PATH" out/versions/$$resolution/bin/python -m pytest -q; \
	done

clean:  ## remove what was installed, built and cached
	@rm -rf $(VENV) build dist out .mypy_cache .pytest_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

lock:  ## write the lock anew, keeping what still fits (newest of everything: make lock UVFLAGS=--upgrade)
	@command -v $(UV) >/dev/null || { echo 'error: uv is missing: pip install uv (or: make lock UV=PATH)' >&2; exit 1; }
	@echo hatchling | $(UV) pip compile --quiet --universal --python-version 3.11 --fork-strategy fewest \
		--generate-hashes --no-emit-index-url --no-header $(UVFLAGS) --extra dev -o $(LOCK) pyproject.toml -

# Two stamps, each written last: an interrupted installation leaves none and is done again from scratch.
$(VENV)/.ok: $(VENV)/.locked pyproject.toml
	@$(PIP) --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.locked: $(LOCK)
	@command -v $(PYTHON) >/dev/null || \
		{ echo 'error: $(PYTHON) is missing: apt install python3 python3-venv' >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "error: $$($(PYTHON) -V) found, 3.11 or newer needed (another one: make PYTHON=python3.12)" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
		{ echo 'error: Python cannot make virtual environments here: apt install $(notdir $(PYTHON))-venv' >&2; exit 1; }
	@echo 'Setting up $(VENV), once; this takes a minute or two ...' >&2
	@rm -rf $(VENV)
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) --require-hashes -r $(LOCK)
	@touch $@
