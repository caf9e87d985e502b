# `make lab` opens the lessons, `make test` runs every check; `make help` lists the rest.
#
#   PYTHON=python3.12         the Python that makes .venv (default: the newest of 3.13, 3.12, 3.11 that works)
#   TORCH=cpu                 install the CPU build of PyTorch, without the CUDA packages; it stays until `make distclean`
#   PYTEST_ARGS="-x -k name"  further arguments of pytest
#   LAB_ARGS=--no-browser     further arguments of JupyterLab
#   HTML_ARGS="20_..."        only these lessons for `make html`
#   BENCH_ARGS="..."          arguments of `ddlab bench`

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:

VENV := .venv
RUN := $(VENV)/bin/python -m
LAB_READY := $(VENV)/.ddlab-lab
TEST_READY := $(VENV)/.ddlab-test

TORCH ?= default
TORCH_CPU_INDEX ?= https://download.pytorch.org/whl/cpu
ifneq ($(TORCH),$(filter cpu default,$(TORCH)))
$(error TORCH must be cpu or default; given '$(TORCH)')
endif

# Waiting threads that spin take the second core from the kernel and the browser.
export OMP_WAIT_POLICY := PASSIVE
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

# A candidate must run, not only exist (version managers leave shims behind), and be able to make an environment.
PYTHON_CHECK := import ensurepip, ssl, sys, venv; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))
PYTHON ?= $(shell for name in python3.13 python3.12 python3.11 python3; do \
	"$$name" -c '$(PYTHON_CHECK)' 2>/dev/null && echo "$$name" && break; done)

# ---------------------------------------------------------------------------------------------------- what you came for

.PHONY: help lab html reference test
help: ## list the targets
	@sed -n 's/^#   /  /p' Makefile
	@echo
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{ printf "%-20s %s\n", $$1, $$2 }'

lab: $(LAB_READY) ## open the lessons in JupyterLab
	$(RUN) jupyterlab --ServerApp.root_dir=notebooks $(if $(filter 0,$(shell id -u)),--allow-root) $(LAB_ARGS)

html: reference ## run every lesson and make pages for reading without a kernel: build/html/index.html
	$(RUN) ddlab lessons html $(HTML_ARGS)

reference: $(LAB_READY) ## of these only the pages of all public names: build/html/reference/index.html
	$(RUN) tests.public_api --reference build/html/reference

test: lint types stripped in-step pytest ## run every check and test

# --------------------------------------------------------------------------------------------------------- installation

define make_environment
@if [ ! -e $(VENV)/bin/python ]; then \
	if ! "$(PYTHON)" -c '$(PYTHON_CHECK)' 2>/dev/null; then \
		echo "ddlab needs Python 3.11, 3.12 or 3.13 with its venv module (Debian: apt install python3-venv);" \
			"found '$(PYTHON)'. Name another one with PYTHON=..." >&2; \
		exit 1; \
	fi; \
	echo "Making $(VENV) with $(PYTHON)"; \
	"$(PYTHON)" -m venv $(VENV); \
elif ! $(VENV)/bin/python -c '$(PYTHON_CHECK)' 2>/dev/null; then \
	echo "$(VENV) holds a Python that ddlab does not run on; remove it with 'make distclean'." >&2; \
	exit 1; \
fi
@$(RUN) pip --version >/dev/null 2>&1 || $(RUN) ensurepip --upgrade
endef

# Without dependencies: the CPU index mirrors only some versions of them, the next command gets the locked ones.
define install_cpu_torch
$(if $(filter cpu,$(TORCH)),$(RUN) pip install --upgrade --no-deps --constraint constraints.txt \
	--index-url $(TORCH_CPU_INDEX) torch torchvision)
endef

# JupyterLab would ask about its news over the first lesson, and look for updates on the network.
QUIET_LAB = $(RUN) jupyter labextension disable --level=sys_prefix "@jupyterlab/apputils-extension:announcements" \
	2>/dev/null

$(LAB_READY): pyproject.toml constraints.txt
	$(make_environment)
	$(install_cpu_torch)
	$(RUN) pip install --constraint constraints.txt --editable '.[lab]'
	@$(QUIET_LAB)
	@touch $@

$(TEST_READY): pyproject.toml constraints.txt
	$(make_environment)
	$(install_cpu_torch)
	$(RUN) pip install --constraint constraints.txt --editable '.[lab,test]'
	@$(QUIET_LAB)
	@touch $(LAB_READY) $@

.PHONY: install lock
install: $(TEST_READY) ## install everything into .venv without running anything

lock: ## write constraints.txt anew: the newest versions that pyproject.toml allows
	"$(PYTHON)" -m venv build/lock
	build/lock/bin/python -m pip install --quiet uv
	build/lock/bin/uv pip compile pyproject.toml --all-extras --universal --python-version 3.11 --upgrade --quiet \
		--no-annotate --no-header --no-emit-index-url --no-emit-find-links --output-file build/lock/pins.txt
	@{ echo "# Exact versions for Python 3.11 to 3.13 and all extras of pyproject.toml; every install here uses them."; \
		echo "# Made by 'make lock'; not edited by hand."; cat build/lock/pins.txt; } > constraints.txt

# --------------------------------------------------------------------------------------------------------------- checks

.PHONY: lint format types stripped strip in-step lessons api mutants pytest unit quick solutions browser bench
lint: $(TEST_READY) ## ruff: rules and format
	$(RUN) ruff check
	$(RUN) ruff format --check

format: $(TEST_READY) ## let ruff repair and format
	$(RUN) ruff check --fix
	$(RUN) ruff format

types: $(TEST_READY) ## pyright
	$(RUN) pyright --pythonpath $(VENV)/bin/python

# The version of Python that last ran a notebook and the times of its cells are outputs too.
STRIP := $(RUN) nbstripout --keep-id --extra-keys "metadata.language_info.version cell.metadata.execution"
NOTEBOOKS = $(wildcard notebooks/*.ipynb notebooks/solutions/*.ipynb notebooks/assignments/*.ipynb \
	notebooks/assignments/instructor/*.ipynb)

stripped: $(TEST_READY) ## check that notebooks are stored without outputs
	$(STRIP) --verify $(NOTEBOOKS)

strip: $(TEST_READY) ## remove outputs and widget state from the notebooks
	$(STRIP) $(NOTEBOOKS)

in-step: $(TEST_READY) ## check that lessons and assignments follow from their sources
	$(RUN) ddlab lessons build --check

lessons: $(TEST_READY) ## make lessons and assignments from their sources
	$(RUN) ddlab lessons build

api: $(TEST_READY) ## write tests/public_names.txt and tests/settings.txt, the lists of public names, defaults and ranges
	$(RUN) tests.public_api
	$(RUN) tests.settings

# Half an hour on an idle core, and cosmic-ray and coverage beside what is installed: how good the tests are, not whether they pass.
MUTANTS_ARGS =
mutants: $(TEST_READY) ## change one token of 300 lines, one after the other, and count how often the tests notice: build/mutants.json
	@mkdir -p build && rm -f build/lines.json
	OMP_NUM_THREADS=1 $(RUN) tests.mutants measure build/lines.json $(addprefix tests/,methods runs training evaluation theory) \
		tests/contract/test_processes.py tests/test_settings.py tests/test_public_api.py tests/test_draws.py
	OMP_NUM_THREADS=1 $(RUN) tests.mutants judge build/lines.json build/mutants.json $(MUTANTS_ARGS)

# Four pytest runs, and a last line that counts all: tests and doctests, solution notebooks, lessons and pages without a kernel in the
# browser, each in two processes of one thread, whole files to a process; and explorers on their own pages, whose milliseconds are
# looked at, one by one.
UNIT_TESTS = $(wildcard tests/test_*.py) \
	$(filter-out tests/browser tests/benchmarks tests/__pycache__,$(patsubst %/,%,$(wildcard tests/*/)))
UNIT = --doctest-modules $(UNIT_TESTS) ddlab
TOGETHER = --numprocesses=2 --dist=loadfile
SOLUTIONS = --nbval-lax --nbval-current-env --nbval-cell-timeout=180 notebooks/solutions \
	notebooks/assignments/instructor/your_own_method.ipynb notebooks/assignments/instructor/recover_and_relabel.ipynb
LESSON_PAGES = $(wildcard tests/browser/test_lesson_*.py) $(addprefix tests/browser/test_,html.py html_alive.py slides.py)
OWN_PAGES = $(filter-out $(LESSON_PAGES),$(wildcard tests/browser/test_*.py))
REPORTS = $(patsubst %,test-results/%.xml,unit solutions pages lessons)

pytest: $(TEST_READY)
	@mkdir -p test-results && rm -f $(REPORTS)
	-OMP_NUM_THREADS=1 $(RUN) pytest $(TOGETHER) $(UNIT) --junitxml=test-results/unit.xml $(PYTEST_ARGS)
	-OMP_NUM_THREADS=1 LOKY_MAX_CPU_COUNT=1 DDLAB_SOLUTIONS=1 $(RUN) pytest $(TOGETHER) $(SOLUTIONS) --junitxml=test-results/solutions.xml $(PYTEST_ARGS)
	-OMP_NUM_THREADS=1 $(RUN) pytest $(OWN_PAGES) --junitxml=test-results/pages.xml $(PYTEST_ARGS)
	-OMP_NUM_THREADS=1 $(RUN) pytest $(TOGETHER) $(LESSON_PAGES) --junitxml=test-results/lessons.xml $(PYTEST_ARGS)
	$(RUN) tests.totals $(REPORTS)

unit: $(TEST_READY) ## tests and doctests without notebooks and browser
	OMP_NUM_THREADS=1 $(RUN) pytest $(TOGETHER) $(UNIT) $(PYTEST_ARGS)

quick: $(TEST_READY) ## the same without the slow ones
	OMP_NUM_THREADS=1 $(RUN) pytest $(TOGETHER) $(UNIT) -m "not slow" $(PYTEST_ARGS)

solutions: $(TEST_READY) ## run the solution notebooks
	OMP_NUM_THREADS=1 LOKY_MAX_CPU_COUNT=1 DDLAB_SOLUTIONS=1 $(RUN) pytest $(TOGETHER) $(SOLUTIONS) $(PYTEST_ARGS)

browser: $(TEST_READY) ## run the lessons in Chromium, one page at a time
	$(RUN) pytest tests/browser $(PYTEST_ARGS)

bench: $(TEST_READY) ## measure speed and memory
	$(RUN) ddlab bench $(BENCH_ARGS)

# ------------------------------------------------------------------------------------------------------------- clean up

.PHONY: clean distclean
clean: ## remove caches and results
	rm -rf build dist test-results .pytest_cache .ruff_cache .hypothesis .ddlab-cache notebooks/.ddlab-cache
	find ddlab tests notebooks \( -name __pycache__ -o -name .ipynb_checkpoints \) -prune -exec rm -rf {} +

distclean: clean ## remove the virtual environment too
	rm -rf $(VENV)
