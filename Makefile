PYTHON ?= python3
VENV ?= .venv
JOBS ?= 2
TESTS ?= tests
# make setup EXTRAS="train dev check serve lsp" is shorter: tests of what is missing are skipped
EXTRAS ?= train dev check serve lsp pretrained plot baselines errant
SPREAD := -n $(JOBS) --dist loadfile --no-loadscope-reorder --durations 10

BIN := $(abspath $(VENV))/bin
STAMP := $(VENV)/.complete
# for recipes that run what is installed; not exported, or `python3` in setup would be the environment's own
RUN := PATH="$(BIN):$$PATH"
# processes share the cores better than threads do
export OMP_NUM_THREADS ?= 1

.DEFAULT_GOAL := help
.PHONY: help setup test test-all lint format docs demo bench release check-pythons check-machines clean

# an environment whose Python is gone (moved, upgraded, half-made) does not count as complete
ifneq ($(shell "$(BIN)/python" -m pip --version >/dev/null 2>&1 && echo works),works)
.PHONY: $(STAMP)
endif

help:  ## what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{ printf "%-15s %s\n", $$1, $$2 }'

setup: $(STAMP)  ## .venv with everything; PYTHON=python3.12 chooses another Python, VENV=dir another folder, EXTRAS="train dev" less
	@echo 'setup: $(VENV) is complete'

$(STAMP): setup.py constraints.txt scripts/setup.sh scripts/needs.py
	@bash scripts/setup.sh "$(PYTHON)" "$(VENV)" $(EXTRAS)
	@touch "$@"

test: setup  ## every unit and parity test, and each task from end to end, in minutes; TESTS=tests/unit chooses some
	$(RUN) python -m pytest $(TESTS) -m "not gpu and not slow" $(SPREAD)

test-all: setup  ## all tests that need no GPU: also the examples and every command of the documentation
	$(RUN) python -m pytest $(TESTS) -m "not gpu" $(SPREAD)

lint: setup  ## ruff, mypy, which folder may import which (import-linter), and the typos in our own texts
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) mypy
	$(RUN) lint-imports
	$(RUN) lev-plugins check

format: setup  ## let ruff repair what it can
	$(RUN) ruff check --fix .
	$(RUN) ruff format .

docs: setup  ## write docs/reference.md from the code
	$(RUN) python scripts/reference.py

demo: setup  ## repair typos with a model trained here: 5 to 8 minutes on two cores
	$(RUN) bash examples/english/demo.sh

bench: setup  ## decoding speed beside fairseq's own Levenshtein Transformer, as JSON
	$(RUN) python bench/decode.py

release: setup  ## the packages as they are published, in dist/; EDITOR=FOLDER: that model as a package, too, named en or NAME=
	rm -rf dist
	$(RUN) python -m build --no-isolation --outdir dist
	$(if $(EDITOR),$(RUN) python scripts/model_wheel.py $(EDITOR) $(or $(NAME),en))
	$(RUN) python -m twine check --strict dist/*

check-pythons:  ## install, train and decode on every Python 3.10 to 3.13 found, also beside fairseq 0.12.2, and edit on 3.10 to 3.15
	bash scripts/check_pythons.sh

check-machines:  ## the quick tests on one busy core, as another user, in a path with blanks, with little on PATH; ON="core bare" only these
	bash scripts/check_machines.sh $(ON)

clean:  ## remove what make made
	rm -rf "$(VENV)" build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
