# `make help` lists the targets. Everything runs in .venv, which is made when it is missing.
.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := .venv/bin

.PHONY: help demo quick test check bench clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: .venv/core ## adapt to a new entity type, tag unseen text, show and score it
	$(BIN)/adaptner demo -o demo

quick: .venv/all ## run the tests that are not marked slow (about a minute)
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow"

test: .venv/all ## install everything and run the whole test suite
	$(BIN)/python -m pytest -n 2 --dist loadfile

check: .venv/all ## lint, formatting and types
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/core ## speed of a meta-step against a plain reference
	$(BIN)/python benchmarks/meta_step.py

clean: ## remove the environment and what the demo wrote
	rm -rf .venv demo

.venv/core: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "adaptner needs Python 3.11 or newer; set PYTHON=python3.11")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

.venv/all: .venv/core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@
