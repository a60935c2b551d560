# Apportion's tasks; `make help` lists them. Everything is installed into .venv, nothing elsewhere.

PYTHON ?= python3
UVFLAGS ?=
SLOW_LIMIT ?= 2h
VENV := .venv
BIN := $(VENV)/bin
LOCK := .ci/requirements.lock
UV := out/uv/bin/uv
PIP := $(BIN)/python -m pip install -q --disable-pip-version-check
PYTEST := $(BIN)/python -m pytest -q
NEWEST := out/newest/bin/python
# The tests of README's commands, of what writes and reads files, and of the extras for Parquet and MPI.
FILES := tests/test_readme.py tests/golden tests/simulator/base tests/simulator/results tests/simulator/models tests/simulator/scenario_file tests/advisor/rerun tests/test_tutorial_series.py tests/simulator/experiments/sweep/test_parquet.py tests/simulator/calibration/test_mpi_ping_pong.py
# Two processes or more share the tests; each begins with a stretch of its own, as tests of one file share fixtures.
SHARED := -n logical --maxprocesses 8 --dist worksteal
# Tests that fail beside others are tried once more, one after another; both are printed. 1: tests failed.
ALONE := --last-failed --last-failed-no-failures none --maxfail 20
# Hundreds of tests start a command, and pytest rewrites each file: both are quick from bytecode that is kept.
unexport PYTHONDONTWRITEBYTECODE

.DELETE_ON_ERROR:
.PHONY: help demo test slow cores coverage lint kernels verify bench pythons newest clean lock

help:  ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /  make \1	/p' Makefile

demo: $(VENV)/.ok  ## set up, then the whole loop on this machine, in about two minutes
	@$(BIN)/apportion quickstart

test: $(VENV)/.ok  ## set up, then lint, types and all tests but those of `slow`, `verify` and `bench`
	@$(MAKE) --no-print-directory -j2 lint kernels
	@$(PYTEST) $(SHARED) || { [ $$? -eq 1 ] && $(PYTEST) $(ALONE); }

# What is installed from a wheel is looked at by `newest`.
slow: $(VENV)/.ok  ## the tests that take long and give the same everywhere, in 30 minutes on two cores
	@timeout --signal=INT $(SLOW_LIMIT) $(PYTEST) $(SHARED) -m slow --durations=25 --ignore tests/test_wheel.py \
		|| { [ $$? -eq 1 ] && $(PYTEST) -m slow $(ALONE); }

kernels: $(VENV)/.ok
	@$(BIN)/python -m tests.support.kernels

cores: $(VENV)/.ok  ## the tests of models and choices as other processors compute: three core types of OpenBLAS
	@$(BIN)/python -m tests.core_types

coverage: $(VENV)/.ok  ## how often stated intervals hold: bands, then 500 made-up clusters, calm and upset; two hours
	@$(BIN)/python -m tests.studies.coverage_study --band
	@$(BIN)/python -m tests.studies.coverage_study
	@$(BIN)/python -m tests.studies.coverage_study --upset

lint: $(VENV)/.ok  ## ruff (rules and format) and mypy
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check .
	@$(BIN)/mypy --no-error-summary simulator advisor

verify: kernels  ## the tests that measure real time, one after another, best on a quiet machine, in 15 minutes
	@$(PYTEST) -m real --durations=10

bench: $(VENV)/.ok  ## engines beside SimPy and SimGrid (a table and out/bench.json), then the other benchmarks
	@$(BIN)/python -m tests.benchmarks.bench
	@$(PYTEST) -m benchmark

pythons: $(UV)  ## all tests but the slow ones under each Python that is here, at the lowest and the newest versions; once per release
	@set -e; for python in $$(.ci/pythons); do for versions in lowest-direct highest; do \
		echo "$$($$python -V), $$versions versions" >&2; \
		$(UV) venv --quiet --clear --python $$python out/pythons; \
		VIRTUAL_ENV=out/pythons $(UV) pip install --quiet --resolution $$versions --prerelease disallow -e '.[dev]'; \
		out/pythons/bin/python -m tests.support.kernels; \
		out/pythons/bin/python -m pytest -q $(SHARED) --newest-versions; \
	done; done

newest: $(VENV)/.ok  ## pip install . under the newest Python that is here: what is installed, and all that writes or reads files
	@$$(.ci/pythons | tail -1) -m venv --clear out/newest
	@$(NEWEST) -m pip install -q --disable-pip-version-check .
	@$(PYTEST) -m "" --installed out/newest/bin/apportion tests/test_wheel.py
	@$(NEWEST) -m pip install -q --disable-pip-version-check '.[dev,mpi,parquet]'
	@$(NEWEST) -m tests.support.kernels
	@$(NEWEST) -m pytest -q $(SHARED) --newest-versions $(FILES) \
		|| { [ $$? -eq 1 ] && $(NEWEST) -m pytest -q --newest-versions $(ALONE); }

clean:  ## remove what was installed, built and cached
	@rm -rf $(VENV) build dist out .mypy_cache .pytest_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

lock: $(UV)  ## write the lock anew, keeping what still fits (newest of everything: make lock UVFLAGS=--upgrade)
	@echo hatchling | $(UV) pip compile --quiet --universal --python-version 3.11 --fork-strategy fewest \
		--generate-hashes --no-emit-index-url --no-header $(UVFLAGS) --extra dev -o $(LOCK) pyproject.toml -

$(UV):
	@$(PYTHON) -m venv out/uv
	@out/uv/bin/python -m pip install -q --disable-pip-version-check uv

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
