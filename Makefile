# DPMC Lab: `make run` opens the app, `make test` tests it. Both make their own .venv.
#   make test PYTHON=python3.12    another interpreter (3.11, 3.12 or 3.13)
#   make test VERSIONS=latest      what the registry serves today, in the place of the lock files
#   make test TESTS=all            also browsers, servers, clusters and many runs
#   make test TESTS=no-browser     the same without browsers
#   make test TESTS=nightly        all there is: also many trials, notebooks, commands
#   make test TESTS=rare           only what that has beyond TESTS=all
#   make audit OFFLINE=1           known vulnerabilities, as far as they can be asked for
#   make docs                      the documents as a site, in docs/_build
#   make lock                      write the lock files anew
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
VERSIONS ?= locked
TESTS ?= short
RUN_FILE := $(if $(filter latest,$(VERSIONS)),requirements.txt,requirements.lock)
DEV_FILE := $(if $(filter latest,$(VERSIONS)),requirements-dev.txt,requirements-dev.lock)
PARTS := $(wildcard requirements/*.txt)
MARKS_short := -m "not browser and not long and not nightly"
MARKS_no-browser := -m "not browser and not nightly"
MARKS_all := -m "not nightly"
MARKS_rare := -m nightly
ifeq ($(filter $(TESTS),short no-browser all nightly rare),)
  $(error TESTS = $(TESTS): it must be short, no-browser, all, nightly or rare)
endif
# uv needs seconds where pip needs minutes; of pip's settings it knows the index alone, and like pip
# it compiles what it installs, once and not in every process of an environment that writes nothing
INDEX := $(if $(PIP_INDEX_URL),--default-index $(PIP_INDEX_URL))
install = { $(BIN)/python -m pip install --quiet --only-binary :all: uv && \
  $(BIN)/uv pip install --quiet --upgrade --compile-bytecode $(INDEX) \
  --python $(BIN)/python -r $(1); } || \
  $(BIN)/python -m pip install --quiet --upgrade -r $(1)
OLD_PYTHON := DPMC Lab needs Python 3.11, 3.12 or 3.13: make PYTHON=python3.12 ...

.PHONY: run test lint audit format bench docs lock clean

run: $(VENV)/.run-$(VERSIONS)
	$(BIN)/streamlit run app.py

test: lint
# two processes on one thread each: on two cores more would wait for one another
	OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= \
	  $(BIN)/python -m pytest -n 2 --dist worksteal $(MARKS_$(TESTS))

lint: $(VENV)/.dev-$(VERSIONS)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(VENV)/.dev-$(VERSIONS)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.dev-$(VERSIONS)
	$(BIN)/python -m benchmarks.kernel

# fails where a package could not be looked up, too; OFFLINE=1: where that is expected
audit: $(VENV)/.dev-$(VERSIONS)
	$(BIN)/pip-audit --progress-spinner off --desc off $(if $(OFFLINE),,--strict)

docs: $(VENV)/.dev-$(VERSIONS)
	PYTHONPATH=. $(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build

lock: $(VENV)/.dev-latest
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --upgrade \
	  --custom-compile-command "make lock" requirements.txt -o requirements.lock
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --upgrade \
	  --custom-compile-command "make lock" requirements-dev.txt -c requirements.lock \
	  -o requirements-dev.lock

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(BIN)/python:
	$(PYTHON) -c "import sys; sys.exit((3, 11) > sys.version_info[:2] or (3, 13) < sys.version_info[:2])" \
	  || { echo "$(OLD_PYTHON)"; exit 1; }
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	  echo "On Debian and Ubuntu: apt-get install python3-venv"; exit 1; }

$(VENV)/.run-$(VERSIONS): $(RUN_FILE) $(PARTS) | $(BIN)/python
	rm -f $(VENV)/.run-* $(VENV)/.dev-*
	$(call install,$(RUN_FILE))
	touch $@

$(VENV)/.dev-$(VERSIONS): $(DEV_FILE) $(RUN_FILE) $(PARTS) | $(BIN)/python
	rm -f $(VENV)/.run-* $(VENV)/.dev-*
	$(call install,$(DEV_FILE))
	touch $@ $(VENV)/.run-$(VERSIONS)
