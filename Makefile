# `make demo` and `make test` need nothing but Python and this folder.
#
#   make demo      the environment, then a report on a bundled slow script
#   make test      the environment, the linters, all tests
#   make lint      ruff and mypy only
#   make fuzz      20,000 damaged and hostile traces; prints its seed (SEED=n repeats a run)
#   make docs      the pages made from data: docs/tables.md, docs/coverage.md, docs/report.schema.json, rules/README.md, …
#   make corpus    docs/corpus.md: what the rules say of the traces in TRACES
#   make bench     what the recorder costs the script it watches
#   make robustness  every shape of script that was tried, faults planted in our own code, the cost of a tick, into docs/robustness.md
#   make bench-rows  how near the rows of the ledger are to a timer, on small scripts
#   make bench-trace   what reading and judging a trace costs, as ratios; SIZE=100 stops at 100 MB
#   make bench-replay  what predicting costs, on the traces in TRACES
#   make accuracy  how often the diagnosis of the bundled samples is right, into docs/accuracy.md
#   make prediction-accuracy  how well savings are predicted, into docs/accuracy.md (TRACES: a folder of traces that others recorded)
#   make verify-samples  what the samples' fixes gain when they are made, and what is said of no change (UNCHANGED times), into docs/accuracy.md
#   make bench-queue  what is said of steps of a simulated GPU with a launch queue, over a grid
#   make bench-verdicts  how often the verdicts of `verify` are wrong, by simulation
#   make bench-compare  how often `compare` sees a change between runs of one script
#   make bench-fleet  what `fleet` costs a rank, from 8 to 256 synthetic ranks made from those in TRACES; RANKS=10000 compares summaries of so many
#   make pictures  the pictures in README.md, from recorded runs in a real browser
#   make gpu       all that a CUDA device is needed to measure, into OUT and the file PACK (PYTHON needs a torch with CUDA); BUDGET=540 stops in time; docs/gpu.md
#   make gpu-wheels  what an image with CUDA lacks beside torch, into wheels/, for a machine without a network
#   make gpu-page  what was measured there, into docs/accuracy.md, on any machine
#   make stories   the scripts of sample_traces/stories recorded, verified and told of, on this machine, into OUT
#   make samples   record the bundled samples again
#
# PYTHON chooses the interpreter of the environment: make test PYTHON=python3.12

PYTHON ?= python3
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
BIN := .venv/bin
ENVIRONMENT := .venv/.installed

.PHONY: demo test lint fuzz docs corpus bench robustness bench-rows bench-trace bench-queue bench-replay bench-verdicts bench-compare bench-fleet accuracy prediction-accuracy verify-samples pictures gpu gpu-wheels gpu-page stories samples

demo: $(ENVIRONMENT)
	$(BIN)/python -m diagnose sample_traces/input-wait/sick.py

test: lint
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile

lint: $(ENVIRONMENT)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

fuzz: $(ENVIRONMENT)
	$(BIN)/python tests/fuzz.py --count 20000 $(if $(SEED),--seed $(SEED))

docs: $(ENVIRONMENT)
	$(BIN)/python -m docs.generate

corpus: $(ENVIRONMENT)
	$(BIN)/python -m docs.corpus $(TRACES)

bench: $(ENVIRONMENT)
	$(BIN)/python -m tests.benchmarks.hooks

robustness: $(ENVIRONMENT)
	$(BIN)/python -m tests.benchmarks.robustness --write $(if $(FAULTS),--faults $(FAULTS))

bench-rows: $(ENVIRONMENT)
	$(BIN)/python -m tests.benchmarks.rows

bench-trace: $(ENVIRONMENT)
	$(BIN)/python tests/benchmarks/trace.py $(if $(SIZE),--size $(SIZE))

bench-queue: $(ENVIRONMENT)
	$(BIN)/python -m tests.benchmarks.gpu_queue

bench-replay: $(ENVIRONMENT)
	$(BIN)/python tests/benchmarks/replay.py $(wildcard $(TRACES)/*.gz)

bench-verdicts: $(ENVIRONMENT)
	$(BIN)/python tests/benchmarks/verdicts.py

bench-compare: $(ENVIRONMENT)
	$(BIN)/python -m tests.benchmarks.repeats

bench-fleet: $(ENVIRONMENT)
	$(BIN)/python -m tests.benchmarks.fleet $(TRACES) $(if $(RANKS),--ranks $(RANKS)) $(if $(COLLECTIVES),--collectives $(COLLECTIVES))

pictures: $(ENVIRONMENT)
	$(BIN)/python -m docs.pictures

accuracy: $(ENVIRONMENT)
	$(BIN)/python -m sample_traces.accuracy --write

prediction-accuracy: $(ENVIRONMENT)
	$(BIN)/python -m sample_traces.prediction --write $(if $(TRACES),--traces $(TRACES))

verify-samples: $(ENVIRONMENT)
	$(BIN)/python -m sample_traces.verified --write --unchanged $(or $(UNCHANGED),40)

# The environment of `make` has no CUDA: this one uses PYTHON as it is, which needs torch with CUDA and the package's dependencies.
gpu:
	$(PYTHON) -m sample_traces.gpu --out $(or $(OUT),diagnosis/gpu) $(if $(PACK),--pack $(PACK)) $(if $(BUDGET),--budget $(BUDGET)) $(if $(ONLY),--only $(ONLY)) \
		$(if $(WHEELS),--wheels $(WHEELS)) $(if $(REHEARSE),--rehearse)

gpu-wheels:
	for version in 3.11 3.12 3.13 3.14; do $(PYTHON) -m pip download --quiet --no-deps --only-binary=:all: --python-version $$version \
		$(foreach platform,manylinux2014 manylinux_2_17 manylinux_2_28,--platform $(platform)_$(or $(ARCHITECTURE),x86_64)) \
		-c constraints.txt -d wheels msgspec libcst || exit 1; done

gpu-page: $(ENVIRONMENT)
	$(BIN)/python -m sample_traces.gpu --write $(or $(OUT),diagnosis/gpu) $(if $(PACK),--pack $(PACK))

stories: $(ENVIRONMENT)
	$(BIN)/python -m sample_traces.storytelling --out $(or $(OUT),diagnosis/stories)

samples: $(ENVIRONMENT)
	$(BIN)/python -m sample_traces.record

# torch without CUDA: from wherever pip is set up to look, else from PyTorch's own index.
$(ENVIRONMENT): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q -c constraints.txt torch || $(BIN)/python -m pip install -q -c constraints.txt torch --index-url $(TORCH_INDEX)
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[dev]'
	touch $@
