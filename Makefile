PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
USABLE := $(VENV)/.usable
INSTALLED := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help setup demo test slow docs lowest pythons wheel release format clean

help:  ## list these targets
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 10

setup: $(INSTALLED)  ## make .venv and install captionbias in it

demo: $(USABLE)  ## measure a planted bias, start to end
	$(BIN)/captionbias demo

test: $(INSTALLED)  ## formatting, lint, types, doctests and tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/pytest --numprocesses auto --dist loadfile

slow: $(INSTALLED)  ## the tests that take long, of processes, kills and neural attackers
	$(BIN)/pytest --numprocesses auto --dist loadfile -m slow

lowest: $(INSTALLED)  ## the tests with the lowest versions that pyproject.toml allows; LOWEST=3.10 names a Python
	$(BIN)/uv venv --quiet --clear --python $(or $(LOWEST),$(PYTHON)) build/lowest
	$(BIN)/uv pip install --quiet --python build/lowest --resolution lowest-direct --editable '.[dev]'
	build/lowest/bin/python -m pytest --numprocesses auto --dist loadfile

pythons: $(INSTALLED)  ## what reads and scores captions, on each other Python that this machine has
	.ci/pythons

wheel: $(INSTALLED)  ## build sdist and wheel, install the wheel alone and use it
	PYTHON=$(PYTHON) .ci/wheel

release: $(INSTALLED)  ## build and check in dist/ what a release uploads, with its notes: ADDRESS=https://...
	ADDRESS=$(ADDRESS) TAG=$(TAG) PYTHON=$(PYTHON) .ci/release

docs: $(INSTALLED)  ## the site, into site/; a warning is an error
	ADDRESS=$(ADDRESS) $(BIN)/mkdocs build --strict

format: $(INSTALLED)  ## format the code and mend what lint can mend
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:  ## remove .venv, caches and build outputs
	rm -rf $(VENV) build dist site .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(USABLE): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || { \
	  echo "captionbias needs Python 3.10 or newer, and '$(PYTHON)' is not: name one that is, as in 'make $(or $(MAKECMDGOALS),setup) PYTHON=python3.12'" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "'$(PYTHON)' has no venv module: install it (Debian, Ubuntu: apt install python3-venv), or name another Python with PYTHON=" >&2; exit 1; }
	$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check --quiet uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python --editable '.[vectors]'
	@touch $@

$(INSTALLED): $(USABLE) pyproject.toml constraints.txt
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --editable '.[dev]' --constraint constraints.txt
	@$(BIN)/python -c 'import torchvision' 2>/dev/null || { \
	  echo "torchvision is for another build of torch, without which transformers loads nothing: removed" >&2; \
	  $(BIN)/python -m pip uninstall --disable-pip-version-check --quiet --yes torchvision; }
	@touch $@
