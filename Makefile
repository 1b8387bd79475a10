# Everything runs in .venv, which is built on first use and again when its inputs change.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
LOCK := requirements-dev.lock
# OpenEnv holds the MCP SDK at its first major version and verifiers at its second, and both bring
# gigabytes, so each has an environment of its own: .venv-NAME from requirements-NAME.lock. In the
# first, the agent's door is tested with that version too; in the second are all trainers.
OPENENV := .venv-openenv
TRAINING := .venv-training
SOURCES := .

# What `make demo` runs.
DEMO = $(BIN)/deskgym controls service && echo && \
  $(BIN)/deskgym run backoffice --agent careful --agent eager --seeds 1

.DEFAULT_GOAL := help
.PHONY: help demo serve learn test test-web test-adapters test-openenv test-training check bench screenshots \
  format lock clean

help: ## Say what can be made
	@echo 'make TARGET, with these targets:'
	@sed -n 's/^\([a-z-]*\):.*## /  \1\t/p' Makefile | expand -t 18
	@echo 'Another Python (3.11 or newer): make clean, then PYTHON=python3.12 make test'

demo: $(STAMP) ## Show what scripted runs and two agents earned, and which rows say so
	$(DEMO)
	@echo
	@echo 'Next: $(BIN)/deskgym show @backoffice --episode 28 steps through a recorded run,'
	@echo '$(BIN)/deskgym --help lists the commands, and README.md starts with Python.'

serve: $(STAMP) ## Open the web app, and serve episodes over HTTP, on loopback
	$(BIN)/deskgym serve --open

learn: $(TRAINING)/.installed ## Train a small policy, evaluate it and draw its curve, in some 15 minutes
	$(TRAINING)/bin/python -m examples.learn

test: $(STAMP) ## Run the tests, on every core
	$(BIN)/pytest -n auto --dist worksteal

test-web: $(STAMP) ## Run the tests of the web app that drive a browser for long
	$(BIN)/pytest -n auto --dist worksteal -m long tests/web

test-adapters: test-openenv test-training ## Run the tests that need OpenEnv or a trainer

test-openenv: $(STAMP) $(OPENENV)/.installed
	$(OPENENV)/bin/pytest -n auto --dist worksteal tests/serve/openenv tests/serve/mcp
	$(BIN)/pyright --pythonpath $(OPENENV)/bin/python src/deskgym/serve

test-training: $(STAMP) $(TRAINING)/.installed
	$(TRAINING)/bin/pytest -n auto --dist worksteal tests/adapters
	$(BIN)/pyright --pythonpath $(TRAINING)/bin/python src/deskgym/adapters

check: $(STAMP) ## Check style, types, layers and documents
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/pyright
	$(BIN)/lint-imports --no-logo
	$(BIN)/python tools/docs.py check

bench: $(STAMP) ## Print the benchmark's ratios
	$(BIN)/python -m benchmarks

screenshots: $(STAMP) ## Make the README's pictures of the web app
	$(BIN)/python -m tools.screenshots

format: $(STAMP) ## Format the code and write the generated parts of the documents
	$(BIN)/ruff check --fix $(SOURCES)
	$(BIN)/ruff format $(SOURCES)
	$(BIN)/python tools/docs.py write

lock: ## Pin the newest allowed packages in the locks
	$(call pinned,$(LOCK),'.[dev]')
	$(call pinned,requirements-openenv.lock,$(PACKAGES_openenv))
	$(call pinned,requirements-training.lock,$(PACKAGES_training))

TESTING = hypothesis pytest pytest-xdist
PACKAGES_openenv = '.[openenv,postgres]' $(TESTING)
# Newer releases of torch bring gigabytes for CUDA on every machine.
PACKAGES_training = '.[learn,trainers,postgres]' 'torch<2.14' $(TESTING)
pinned = $(PYTHON) -m venv --clear build/lock && \
  build/lock/bin/python -m pip install --quiet --disable-pip-version-check $(2) && \
  { sed -n '/^\#/p' $(1); build/lock/bin/python -m pip freeze --exclude deskgym; } > build/lock.new && \
  mv build/lock.new $(1)

clean: ## Remove what was built
	rm -rf $(VENV) $(OPENENV) $(TRAINING) build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache
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

.venv-%/.installed: requirements-%.lock pyproject.toml
	@echo 'Building .venv-$* with $(PYTHON); this takes some minutes.'
	@$(PYTHON) -m venv --clear .venv-$*
	@.venv-$*/bin/python -m pip install --quiet --disable-pip-version-check -c $< \
	  -e $(PACKAGES_$*) || { test -z "$$CI" && \
	  echo 'The locked releases do not install here; taking the newest allowed ones.' >&2 && \
	  .venv-$*/bin/python -m pip install --quiet --disable-pip-version-check -e $(PACKAGES_$*); }
	@touch $@
