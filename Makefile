# Each target makes its virtual environment and installs what it needs the first time.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
BIN := $(VENV)/bin
WORKERS ?= 2

# Two OpenMP threads beside another busy process are up to fifty times slower than one.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
export MKL_NUM_THREADS ?= 1

.PHONY: demo test lint docs bench study clean

demo: $(VENV)/.installed-train
	$(BIN)/nht demo -o demo

test: lint
	$(BIN)/pytest -n $(WORKERS) --dist loadfile

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo --no-cache

docs: $(VENV)/.installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --site-dir site

bench: $(VENV)/.installed-dev
	$(BIN)/pytest tests/benchmarks --benchmark-enable --benchmark-only --import-mode=importlib

# make study NAME=weight_decay, or make study weight_decay; OPTIONS="--toy", "steps=200" and the like.
STUDY := $(or $(NAME),$(if $(filter study,$(firstword $(MAKECMDGOALS))),$(wordlist 2,9,$(MAKECMDGOALS))))

study: $(VENV)/.installed-train
	$(BIN)/python -m validation.studies $(STUDY) --workers $(WORKERS) $(OPTIONS)

ifneq ($(filter study,$(firstword $(MAKECMDGOALS))),)
.PHONY: $(wordlist 2,9,$(MAKECMDGOALS))
$(wordlist 2,9,$(MAKECMDGOALS)):
	@:
endif

clean:
	rm -rf $(VENV) build dist site .pytest_cache .mypy_cache .ruff_cache

$(BIN)/pip:
	@$(PYTHON) -c 'import sys; sys.exit("nht needs Python 3.11 or later; found %s at %s: call make PYTHON=/path/to/python3.11" % (sys.version.split()[0], sys.executable) if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

# Byte-compiling all of torch costs a minute; Python compiles what the demo imports.
$(VENV)/.installed-train: $(BIN)/pip pyproject.toml
	$(BIN)/pip install --no-compile -e '.[train]'
	@touch $@

$(VENV)/.installed-dev: $(BIN)/pip pyproject.toml
	$(BIN)/pip install -e '.[dev]'
	@touch $@ $(VENV)/.installed-train

$(VENV)/.installed-docs: $(BIN)/pip pyproject.toml
	$(BIN)/pip install -e '.[train,docs]'
	@touch $@ $(VENV)/.installed-train
