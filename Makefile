# `make demo` and `make test` need nothing but Python and this folder.
#
#   make demo         the environment, then a report on a bundled slow script
#   make test         the environment, the linters, the tests
#   make test-long    the tests that take long, and whose subject others test too
#   make test-quick   the linters, and the tests that start no script and no browser
#   make lint         ruff and mypy only
#   make docs         the pages made from data: docs/tables.md, docs/coverage.md, docs/report.schema.json, rules/README.md, …
#   make bench        the benchmarks that there are: what prints the numbers in the documentation
#   make bench NAME=accuracy ARGS='--write'     one of them, with its options (ARGS=--help lists those)
#   make gpu          all that a CUDA device is needed to measure, into OUT and the file PACK (PYTHON needs a torch with CUDA); BUDGET=540 stops in time; docs/gpu.md
#   make gpu-wheels   what an image with CUDA lacks beside torch, into wheels/, for a machine without a network
#   make gpu-page     what was measured there, into docs/accuracy.md, on any machine
#
# PYTHON chooses the interpreter of the environment: make test PYTHON=python3.12

PYTHON ?= python3
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
BIN := .venv/bin
ENVIRONMENT := .venv/.installed
# what pip compiles one file after the other is compiled afterwards, on all cores
INSTALL := $(BIN)/python -m pip install -q --no-compile -c constraints.txt
# Hundreds of tests start Python anew: without bytecode each of them would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE
PYTEST := $(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

.PHONY: demo test test-long test-quick lint docs bench gpu gpu-wheels gpu-page

demo: $(ENVIRONMENT)
	$(BIN)/python -m diagnose sample_traces/input-wait/sick.py

test: lint
	$(PYTEST)

test-long: $(ENVIRONMENT)
	$(PYTEST) -m long

test-quick: lint
	$(PYTEST) -m 'not live'

lint: $(ENVIRONMENT)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(ENVIRONMENT)
	$(BIN)/python -m docs.generate

bench: $(ENVIRONMENT)
	$(BIN)/python -m benchmarks $(NAME) $(ARGS)

# The environment of `make` has no CUDA: this one uses PYTHON as it is, which needs torch with CUDA and the package's dependencies.
gpu:
	$(PYTHON) -m benchmarks gpu --out $(or $(OUT),diagnosis/gpu) $(if $(PACK),--pack $(PACK)) $(if $(BUDGET),--budget $(BUDGET)) $(if $(ONLY),--only $(ONLY)) \
		$(if $(WHEELS),--wheels $(WHEELS)) $(if $(REHEARSE),--rehearse)

gpu-wheels:
	for version in 3.11 3.12 3.13 3.14; do $(PYTHON) -m pip download --quiet --no-deps --only-binary=:all: --python-version $$version \
		$(foreach platform,manylinux2014 manylinux_2_17 manylinux_2_28,--platform $(platform)_$(or $(ARCHITECTURE),x86_64)) \
		-c constraints.txt -d wheels msgspec libcst || exit 1; done

gpu-page: $(ENVIRONMENT)
	$(BIN)/python -m benchmarks gpu --write $(or $(OUT),diagnosis/gpu) $(if $(PACK),--pack $(PACK))

# torch without CUDA: from wherever pip is set up to look, else from PyTorch's own index.
$(ENVIRONMENT): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(INSTALL) torch || $(INSTALL) torch --index-url $(TORCH_INDEX)
	$(INSTALL) -e '.[dev]'
	$(BIN)/python -m compileall -q -j 0 .venv/lib >/dev/null || true
	touch $@
