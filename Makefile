# `make demo` and `make test` need nothing but Python and this folder.
#
#   make demo      the environment, then a report on a bundled slow script
#   make test      the environment, the linters, all tests
#   make lint      ruff and mypy only
#   make bench     what the recorder costs the script it watches
#   make gpu       the sample scripts on a CUDA device
#   make samples   record the bundled samples again
#
# PYTHON chooses the interpreter of the environment: make test PYTHON=python3.12

PYTHON ?= python3
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
BIN := .venv/bin
ENVIRONMENT := .venv/.installed

.PHONY: demo test lint bench gpu samples

demo: $(ENVIRONMENT)
	$(BIN)/python -m diagnose sample_traces/input-wait/sick.py

test: lint
	$(BIN)/python -m pytest

lint: $(ENVIRONMENT)
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: $(ENVIRONMENT)
	$(BIN)/python tests/benchmarks/hooks.py

gpu: $(ENVIRONMENT)
	$(BIN)/python sample_traces/gpu.py

samples: $(ENVIRONMENT)
	$(BIN)/python sample_traces/record.py

# torch without CUDA: from wherever pip is set up to look, else from PyTorch's own index.
$(ENVIRONMENT): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q -c constraints.txt torch || $(BIN)/python -m pip install -q -c constraints.txt torch --index-url $(TORCH_INDEX)
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[dev]'
	touch $@
