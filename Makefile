# Everything that is done with this repository. The environment in .venv is made from requirements.lock.
PYTHON ?= $(firstword $(foreach name,python3 python3.13 python3.12 python3.11,$(shell $(name) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && command -v $(name))))
BIN := .venv/bin
READY := .venv/.ready
PATHS := src tests scripts examples bench

.PHONY: help setup demo test check format bench docs lock
.DEFAULT_GOAL := help

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) ## make .venv with the daeri command in it
	@echo "Ready: .venv/bin/daeri"

$(READY): pyproject.toml requirements.lock
	@test -n "$(PYTHON)" || { echo "Daeri needs Python 3.11 or newer: install it, or say make PYTHON=/path/to/python3" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(READY) ## answer a goal with the embedded planner, tools really run
	@sh examples/demo.sh $(abspath $(BIN))

test: $(READY) ## run all tests
	$(BIN)/python -m pytest

check: $(READY) ## lint, types, imports, sizes
	$(BIN)/ruff check $(PATHS)
	$(BIN)/ruff format --check $(PATHS)
	$(BIN)/basedpyright
	$(BIN)/lint-imports --no-cache
	$(BIN)/python scripts/check_sizes.py $(PATHS)

format: $(READY) ## put the code in its form
	$(BIN)/ruff check --fix $(PATHS)
	$(BIN)/ruff format $(PATHS)

bench: $(READY) ## measure (ratios to named peers in the same run)
	$(BIN)/python bench/store.py
	$(BIN)/python bench/boundary.py
	$(BIN)/python bench/policy.py

docs: $(READY) ## run every snippet of README and docs
	$(BIN)/python -m pytest tests/docs

lock: ## choose the versions anew (needs .venv)
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --extra all --group dev pyproject.toml \
		--output-file requirements.lock --generate-hashes --no-header --no-emit-index-url --no-emit-find-links
