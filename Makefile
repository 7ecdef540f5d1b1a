# DPMC Lab: `make run` opens the app, `make test` checks everything. Both make their own .venv from nothing.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: run test audit format bench clean

run: $(VENV)/.run-ready
	$(BIN)/streamlit run app.py

test: $(VENV)/.dev-ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal  # two processes with two threads each would wait for one another on two cores

format: $(VENV)/.dev-ready
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.dev-ready
	$(BIN)/python -m dpmc_core bench

audit: $(VENV)/.dev-ready
	$(BIN)/pip-audit --progress-spinner off --desc off

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(BIN)/python:
	$(PYTHON) -c "import sys; sys.exit(0 if (3, 11) <= sys.version_info[:2] <= (3, 13) else 'DPMC Lab needs Python 3.11, 3.12 or 3.13; choose one with: make PYTHON=python3.12 ...')"
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "On Debian and Ubuntu: apt-get install python3-venv"; exit 1; }

$(VENV)/.run-ready: requirements.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --upgrade -r requirements.txt
	touch $@

$(VENV)/.dev-ready: requirements.txt requirements-dev.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --upgrade -r requirements-dev.txt
	touch $@ $(VENV)/.run-ready
