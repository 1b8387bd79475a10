# Everything runs in .venv, which is built on first use and again when its inputs change.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
LOCK := requirements-dev.lock
SOURCES := .

# What `make demo` runs.
DEMO = $(BIN)/deskgym controls service && echo && \
  $(BIN)/deskgym run backoffice --agent careful --agent eager --seeds 1

.DEFAULT_GOAL := help
.PHONY: help demo test check bench format lock clean

help: ## Say what can be made
	@echo 'make TARGET, with these targets:'
	@sed -n 's/^\([a-z]*\):.*## /  \1\t/p' Makefile | expand -t 12
	@echo 'Another Python (3.11 or newer): make clean, then PYTHON=python3.12 make test'

demo: $(STAMP) ## Show what scripted runs and two agents earned, and which rows say so
	$(DEMO)
	@echo
	@echo 'Next: $(BIN)/deskgym show @backoffice --episode 28 steps through a recorded run,'
	@echo '$(BIN)/deskgym --help lists the commands, and README.md starts with Python.'

test: $(STAMP) ## Run the tests, on every core
	$(BIN)/pytest -n auto --dist worksteal

check: $(STAMP) ## Check style, types, layers and documents
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/pyright
	$(BIN)/lint-imports --no-logo
	$(BIN)/python tools/docs.py check

bench: $(STAMP) ## Print the benchmark's ratios
	$(BIN)/python -m benchmarks

format: $(STAMP) ## Format the code and write the generated parts of the documents
	$(BIN)/ruff check --fix $(SOURCES)
	$(BIN)/ruff format $(SOURCES)
	$(BIN)/python tools/docs.py write

lock: ## Pin the newest allowed development packages in the lock
	$(PYTHON) -m venv --clear build/lock
	build/lock/bin/python -m pip install --quiet --disable-pip-version-check '.[dev]'
	{ sed -n '/^#/p' $(LOCK); build/lock/bin/python -m pip freeze --exclude deskgym; } > build/lock.new
	mv build/lock.new $(LOCK)

clean: ## Remove what was built
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A newer Python than the locked releases know may need newer ones; CI holds to the lock.
$(STAMP): pyproject.toml $(LOCK)
	@command -v $(PYTHON) >/dev/null || \
	  { echo 'deskgym needs Python 3.11 or newer, and $(PYTHON) is not there.' >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "deskgym needs Python 3.11 or newer, and $(PYTHON) is $$($(PYTHON) -V 2>&1)." \
	    'Name another one: PYTHON=python3.12 make test' >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo '$(PYTHON) has no venv or pip. On Debian: apt-get install python3-venv' >&2; exit 1; }
	@echo 'Building $(VENV) with $(PYTHON); this takes about a minute.'
	@$(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c $(LOCK) -e '.[dev]' || { \
	  test -z "$$CI" && \
	  echo 'The locked releases do not install here; taking the newest allowed ones.' >&2 && \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'; }
	@touch $@
