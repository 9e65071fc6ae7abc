PYTHON ?= python3
BIN := .venv/bin
# A room of tests/harness, as in `make test ONLY=intake`; none: all of them.
ONLY ?=
# Seconds after which `make sweep` begins no other test.
BUDGET ?= 7200
# More options for pytest in `make sweep`.
OPTIONS ?=
PYTEST := $(BIN)/pytest tests/harness/$(ONLY) -p no:logging --dist loadfile --no-loadscope-reorder
# Two processes share the unit tests: these rooms and the others take equally long. With pytest-xdist
# they would take a quarter more.
UNITS := $(BIN)/pytest --quiet -p no:logging --numprocesses 0 --kind unit
HALF := core explain sandbox testing worker

.PHONY: setup demo quick test sweep check format lint types units half rest sentences bench clean

setup: .venv/installed

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed, this is " + sys.version.split()[0] + ": try make PYTHON=python3.11") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch .venv/installed

demo: setup
	$(BIN)/grader batch examples/class --out demo-results

quick: setup
	@$(MAKE) --no-print-directory --jobs 3 check units

# The tests write and read file names and programs' output as UTF-8, whatever the locale says. Each of
# their processes computes on one processor, and keeps what it compiled for the next one.
test sweep half rest: export PYTHONUTF8 = 1
test sweep half rest: export OMP_NUM_THREADS = 1
test sweep half rest: export PYTHONDONTWRITEBYTECODE =
ifdef ONLY
test: setup
	$(PYTEST) --numprocesses auto --kind unit --kind process
else
test: setup
	@$(MAKE) --no-print-directory --jobs 2 units
	$(PYTEST) --numprocesses auto --kind process
endif

sweep: setup
	$(PYTEST) --numprocesses auto --kind slow --budget $(BUDGET) $(OPTIONS)

check: format lint types

format: setup
	$(BIN)/ruff format --check .

lint: setup
	$(BIN)/ruff check .

types: setup
	$(BIN)/mypy

units: half rest

half: setup
	$(UNITS) $(HALF:%=tests/harness/%)

rest: setup
	$(UNITS) tests/harness $(HALF:%=--ignore=tests/harness/%)

sentences: setup
	$(BIN)/python -m tests.harness.sentences

bench: setup
	$(BIN)/python benchmarks/throughput.py
	$(BIN)/python benchmarks/scale.py

clean:
	rm -rf .venv demo-results .pytest_cache .mypy_cache .ruff_cache
