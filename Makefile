# `make lab` opens the lessons, `make test` runs every check; `make help` lists the rest.
#
#   PYTHON=python3.12         the Python that makes .venv (default: the newest of 3.13, 3.12, 3.11 that works)
#   TORCH=cpu                 install the CPU build of PyTorch, without the CUDA packages; it stays until `make distclean`
#   GATE_ARGS="unit"          only these parts of the gate: checks, unit, solutions, browser
#   PYTEST_ARGS="-x -k name"  further arguments of pytest
#   LAB_ARGS=--no-browser     further arguments of JupyterLab
#   LESSONS="20_..."          only these for `make site` and `make slides`
#   BINDER=https://...        where exercises of `make site` open: a public copy on Binder
#   BENCH_ARGS="dm"           only these rows of `make bench`

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:

VENV := .venv
RUN := $(VENV)/bin/python -m
LAB_READY := $(VENV)/.ddlab-lab
LESSONS ?= $(basename $(notdir $(wildcard notebooks/[0-9]*.ipynb)))
TEST_READY := $(VENV)/.ddlab-test

TORCH ?= default
TORCH_CPU_INDEX ?= https://download.pytorch.org/whl/cpu
ifneq ($(TORCH),$(filter cpu default,$(TORCH)))
$(error TORCH must be cpu or default; given '$(TORCH)')
endif

# Waiting threads that spin take the second core from the kernel and the browser.
export OMP_WAIT_POLICY := PASSIVE
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# A candidate must run, not only exist (version managers leave shims behind), and be able to make an environment.
PYTHON_CHECK := import ensurepip, ssl, sys, venv; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))
PYTHON ?= $(shell for name in python3.13 python3.12 python3.11 python3; do \
	"$$name" -c '$(PYTHON_CHECK)' 2>/dev/null && echo "$$name" && break; done)

# ---------------------------------------------------------------------------------------------------- what you came for

.PHONY: help lab site slides test test-all
help: ## list the targets
	@sed -n 's/^#   /  /p' Makefile
	@echo
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{ printf "%-20s %s\n", $$1, $$2 }'

lab: $(LAB_READY) ## open the lessons in JupyterLab
	$(RUN) jupyterlab --ServerApp.root_dir=notebooks $(if $(filter 0,$(shell id -u)),--allow-root) $(LAB_ARGS)

site: $(LAB_READY) ## run lessons and make a site whose explorers answer without a kernel, in build/site
	$(RUN) ddlab.lessons.site build/site $(foreach name,$(LESSONS),$(firstword $(subst _, ,$(name)))) $(if $(BINDER),--binder $(BINDER))

slides: $(LAB_READY) ## run lessons and make slides of them, in build/slides
	DDLAB_PREDICTIONS= $(RUN) jupyter nbconvert --execute --to slides --output-dir build/slides $(foreach name,$(LESSONS),notebooks/$(name).ipynb)

test: $(TEST_READY) ## the gate: every check, test and solution, and three pages in the browser
	@$(RUN) tests.gate $(GATE_ARGS)

test-all: $(TEST_READY) ## the gate, the slow tests, and every lesson in the browser
	@$(RUN) tests.gate --all $(GATE_ARGS)

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

# ---------------------------------------------------------------------------------------------------------------- tools

.PHONY: format strip lessons pictures bench
format: $(TEST_READY) ## let ruff repair and format
	$(RUN) ruff check --fix
	$(RUN) ruff format

strip: $(TEST_READY) ## remove outputs and widget state from the notebooks
	$(RUN) nbstripout --keep-id --extra-keys "metadata.language_info.version cell.metadata.execution" \
		$(wildcard notebooks/*.ipynb notebooks/*/*.ipynb notebooks/*/*/*.ipynb)

lessons: $(TEST_READY) ## make lessons and assignments from their sources
	$(RUN) ddlab.lessons.build

pictures: $(TEST_READY) ## take the README's pictures from the lessons, in a browser
	$(RUN) tests.browser.pictures

bench: $(TEST_READY) ## measure steps of ours beside plain PyTorch
	$(RUN) tests.bench $(BENCH_ARGS)

# ------------------------------------------------------------------------------------------------------------- clean up

.PHONY: clean distclean
clean: ## remove caches and results
	rm -rf build dist test-results .pytest_cache .ruff_cache .hypothesis .ddlab-cache notebooks/.ddlab-cache
	find ddlab tests notebooks \( -name __pycache__ -o -name .ipynb_checkpoints \) -prune -exec rm -rf {} +

distclean: clean ## remove the virtual environment too
	rm -rf $(VENV)
