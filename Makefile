# `make demo` and `make test` are complete on a fresh machine with Python 3.11+.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PACKAGES := collect training releases qc annotation sampling project protocols

.PHONY: setup demo test lint clean
setup: $(STAMP)

# torch first and with pip: the tested pair of torch and torchvision must be chosen together.
$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=23.1"
	$(BIN)/python -m pip install --quiet -c constraints.txt torch torchvision
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[dev,postgres]"
	touch $(STAMP)

demo: setup
	PATH="$(CURDIR)/$(BIN):$$PATH" bash docs/demo.sh demo-project

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	mkdir -p .dev && ln -sfn .. .dev/pairs_to_words
	MYPYPATH=.dev $(BIN)/mypy $(foreach p,$(PACKAGES),-p pairs_to_words.$(p))

test: lint
	$(BIN)/python -m pytest -m "not slow and not gpu"

clean:
	rm -rf $(VENV) .dev build *.egg-info demo-project
