# Two commands on a fresh machine with Python 3.11+ and make: `make paper` and `make test`.
# Each sets up .venv by itself.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
RUNS ?=

.PHONY: test test-long lint paper figures bench browser clean help

help:
	@echo "make paper      reproduce the paper into report/index.html; RUNS=5 for a quick look"
	@echo "make test       lint, types, import rules and all tests"
	@echo "make test-long  the full-size statistical checks (minutes)"
	@echo "make figures    the pictures of README.md and docs/, by the present code: docs/images/"
	@echo "make bench      the time of a pull beside textbook loops and other packages: bench/"
	@echo "make clean      remove .venv and what was made"

$(VENV)/.sim: pyproject.toml constraints.txt
	@echo "setting up $(VENV) ..."
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) -e '.[all]'
	@touch $@

$(VENV)/.dev: $(VENV)/.sim
	@$(PIP) -e '.[all,dev]'
	@touch $@

paper: $(VENV)/.sim
	@$(BIN)/handful paper $(if $(RUNS),--runs $(RUNS)) --out report
	@echo "the report is ready: open report/index.html in a browser"

# The leaderboard's picture is made from cached cells only: `handful leaderboard` takes an hour.
figures: $(VENV)/.sim
	@$(BIN)/python -m handful.cli.figures

lint: $(VENV)/.dev
	$(BIN)/ruff check src tests benchmarks stubs
	$(BIN)/ruff format --check src tests benchmarks stubs
	$(BIN)/mypy
	$(BIN)/lint-imports

# The report is opened in a real Chromium; Debian and Ubuntu have it as a package.
browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null \
	  || command -v google-chrome >/dev/null || { \
	  echo "installing Chromium ..."; \
	  command -v apt-get >/dev/null || { echo "please install Chromium"; exit 1; }; \
	  sudo=$$(test "$$(id -u)" = 0 || echo sudo); \
	  $$sudo apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
	    $$sudo apt-get install -y -qq --no-install-recommends chromium >/dev/null; }

test: lint browser
	$(BIN)/pytest -q -n 2 --dist loadgroup

test-long: $(VENV)/.dev
	$(BIN)/pytest -q -n 2 --dist loadgroup -m long

bench: $(VENV)/.sim
	$(BIN)/handful bench textbook growth peers

clean:
	rm -rf $(VENV) report bench build .mypy_cache .ruff_cache .pytest_cache .hypothesis
