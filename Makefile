# Every target sets up what it needs, once. `make demo` and `make test` are all a newcomer has to know.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
SIDE_BY_SIDE := -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

.PHONY: demo test test-all lint format bench docs dist results clean

demo: $(VENV)/.run
	$(BIN)/zerosnet reproduce --store demo/runs --output demo/report.html

test: $(VENV)/.test
	$(BIN)/python -m pytest $(SIDE_BY_SIDE) -m "not slow and not timing"
	$(BIN)/python -m pytest -m "timing and not slow"

test-all: $(VENV)/.test
	$(BIN)/python -m pytest $(SIDE_BY_SIDE) -m "not timing"
	$(BIN)/python -m pytest -m timing

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks

docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "Open build/site/index.html"

# the wheel, dist/zerosnet-VERSION-py3-none-any.whl
dist: $(VENV)/.run
	$(PIP) wheel --no-deps --wheel-dir dist .
	@ls dist/*.whl

# everything that is made of the records in results/runs
results: $(VENV)/.run
	$(BIN)/python -m tools.package_numbers results/runs benchmarks/results
	$(BIN)/python -m tools.fit_law
	$(BIN)/python -m tools.page_numbers
	PYTHONPATH=. $(BIN)/python docs/figures/draw.py --records
	$(BIN)/zerosnet report results/runs -o results/report.html

clean:
	rm -rf $(VENV) demo build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: pyproject.toml | $(BIN)/python
	@echo "Installing zerosnet into $(VENV) (the first time takes a few minutes: PyTorch is large)"
	$(PIP) install -e .
	@touch $@

$(VENV)/.%: pyproject.toml | $(BIN)/python
	@echo "Installing zerosnet[$*] into $(VENV) (the first time takes a few minutes: PyTorch is large)"
	$(PIP) install -e ".[$*]"
	@touch $@
