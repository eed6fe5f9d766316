# Needs python3 (3.11 or newer, with venv), make, and a package index pip can reach.
# Everything else goes into .venv (run, test) and .venv-* (generate code, lock).

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ENVIRONMENT := command -v "$(PYTHON)" >/dev/null \
	|| { echo "error: no $(PYTHON); Python 3.11 or newer is needed" >&2; exit 1; }; \
	"$(PYTHON)" tools/environment.py
EXAMPLE ?= examples/fifty-servers.yaml
AGAINST ?= main

.DEFAULT_GOAL := help

.PHONY: help
help:  ## List the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/\1|\2/' \
		| while IFS='|' read -r name text; do printf '  %-16s %s\n' "$$name" "$$text"; done

.PHONY: setup
setup:  ## Make .venv hold what the lock files name; nothing to do when it does
	@$(ENVIRONMENT) $(VENV) --editable requirements/build.lock requirements/dev.lock

.PHONY: demo
demo: setup  ## Solve an example (EXAMPLE=file) and compare with greedy
	@$(BIN)/python -m placement solve $(EXAMPLE) --compare greedy

.PHONY: test
test: setup  ## Run the tests, all but the slow ones
	@$(BIN)/python -m pytest $(PYTEST_ARGS)

.PHONY: test-all
test-all: setup  ## Run every test
	@$(BIN)/python -m pytest -m "slow or not slow" $(PYTEST_ARGS)

.PHONY: lint
lint: setup  ## Check style, format and protos
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/buf lint protos

.PHONY: format
format: setup  ## Put the code in its format
	@$(BIN)/ruff check --fix-only
	@$(BIN)/ruff format

.PHONY: types
types: setup  ## Check types, strictly
	@$(BIN)/mypy

.PHONY: layers
layers: setup  ## Check which module may import which
	@$(BIN)/lint-imports

.PHONY: protos-setup
protos-setup:
	@$(ENVIRONMENT) .venv-protos requirements/protos.lock

.PHONY: protos
protos: protos-setup  ## Generate placement/v1 from protos/
	@.venv-protos/bin/python tools/generate_protos.py

.PHONY: protos-check
protos-check: protos-setup  ## Fail when placement/v1 is not what protos/ give
	@.venv-protos/bin/python tools/generate_protos.py --check

.PHONY: protos-breaking
protos-breaking: setup  ## Fail when protos/ break what callers of AGAINST (main) send or read
	@$(BIN)/buf breaking protos --against ".git#branch=$(AGAINST),subdir=protos"

.PHONY: check
check: lint types layers protos-check test  ## Everything a change must pass

.PHONY: lock
lock:  ## Resolve the dependencies anew (UPGRADE=--upgrade for newer versions)
	@$(PYTHON) tools/lock.py $(UPGRADE)

.PHONY: dist
dist: setup  ## Build the wheel and the source distribution
	@$(BIN)/python -m hatchling build

.PHONY: clean
clean:  ## Remove the environments, caches and builds
	rm -rf .venv .venv-* .venv*.lock build dist
	rm -rf .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find benchmarks placement solvers tests tools -type d -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true
