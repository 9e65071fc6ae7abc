PYTHON ?= python3
BIN := .venv/bin

.PHONY: setup demo test check bench clean

setup: .venv/installed

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed, this is " + sys.version.split()[0] + ": try make PYTHON=python3.11") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch .venv/installed

demo: setup
	$(BIN)/grader batch examples/class --out demo-results

# The tests write and read file names and programs' output as UTF-8, whatever the locale says.
test: export PYTHONUTF8 = 1
test: setup
	$(BIN)/pytest tests/harness --numprocesses auto --dist loadfile --no-loadscope-reorder

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: setup
	$(BIN)/python benchmarks/throughput.py
	$(BIN)/python benchmarks/scale.py

clean:
	rm -rf .venv demo-results .pytest_cache .mypy_cache .ruff_cache
