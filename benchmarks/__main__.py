"""Everything that prints a number which the documentation quotes.

    python -m benchmarks NAME [options]
    python -m benchmarks NAME --help

A benchmark is a module of this package with a `main(arguments)`, and a line in the table below.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from difflib import get_close_matches

USAGE_ERROR = 2
BENCHMARKS = {
    # the diagnosis
    "first-contact": "what is said of scripts at first contact, beside oracles written before",
    "accuracy": "how often the diagnosis of the bundled samples is right",
    "prediction": "how well savings are predicted",
    "calibrate": "how wide ranges of predictions have to be, from all that were measured",
    "verified": "what the samples' fixes gain when they are made, and what is said of no change",
    "case-studies": "what the reports on two real models say, and what doing it gains",
    "consistency": "whether each report says one thing, in few words",
    "rows": "how near the rows of the ledger are to a timer",
    "gpu-queue": "what is said of steps of a simulated GPU with a launch queue",
    "verdicts": "how often the verdicts of `verify` are wrong, by simulation",
    "diagonal-covariance": "what a diagonal matrix of covariances takes, beside independent normals",
    "forked-memory": "what writing to memory takes that a forked process shares",
    "call-costs": "what a call on a small tensor takes whatever its size",
    "fused-attention": "what attention takes on a CPU if it is fused, and what if it is written out",
    "local-attention": "what attention takes in blocks, and what with a mask over all pairs",
    "patch-convolutions": "what convolutions take that are products of patches, and what as products",
    "repeated-matrices": "what products of batches take that copy matrices, and what by einsum",
    "dot-products": "what dot products take as products of matrices, and what as sums",
    "bags-of-words": "what bags of words take in a linear layer, dense and as sparse products or lookups",
    "cell-loops": "what a recurrent module takes, beside a loop of its cells",
    "forward-alone": "what a forward without gradients takes of the training's",
    "edge-sums": "what sums over the edges of a graph take edge by edge, and what as a sparse product",
    "foreach-on-cpu": "what optimizers with foreach take on the CPU, beside the loop over parameters",
    "label-smoothing": "what smoothing labels by hand takes, beside cross_entropy",
    "weight-penalty": "what a penalty on the weights takes in the loss, beside weight decay",
    "looks": "what looking at lines costs the thread that is looked at",
    "integer-products": "what products of integer matrices take, and what of floats",
    "wide-kernels": "what convolutions take whose kernel is as wide as the picture, or wider",
    "dead-taps": "what dilated convolutions take whose kernels reach beyond what they are given",
    "solved-again": "what it takes to solve many systems with one matrix, by solve, inverse and factors",
    "sorted-rows": "what sorting rows takes of which few are taken, and what topk of as few",
    "underflow": "what exponentials take that underflow, and what with a lower bound",
    "real-transforms": "what Fourier transforms of real numbers take, whole and as half spectra",
    "row-indexing": "what picking rows takes by `x[index]` and by `index_select`",
    "duels": "how often `ab` is wrong between real commits",
    "watching": "whether slow-downs of watched runs are found, and what watching costs",
    "agent": "what an agent gets done with the tools of `mcp` alone",
    "repeats": "how often `compare` sees a change between runs of one script",
    "reference-cases": "the published cases, one change after the other, whole runs side by side",
    # costs
    "hooks": "what the recorder costs the script it watches",
    "overhead": "what the profiler costs a recorded event",
    "trace": "what reading and judging a trace costs",
    "trace-budget": "which stage of it takes how long, held against the last entry",
    "run-budget": "where the time of a run goes, from the command to the prompt",
    "replay": "what predicting costs",
    "fleet": "what `fleet` costs a rank, from 8 to 256 synthetic ranks",
    "twins": "what each disease costs: sick and healthy scripts in turns, without the recorder",
    # robustness
    "fuzz": "damaged and hostile traces by the thousand",
    "damaged": "what is said of cut and damaged traces, beside what is said of the whole ones",
    "robustness": "every shape of script that was tried, and faults planted in our own code",
    # what needs a GPU
    "gpu": "all that needs a GPU, as far as the time goes",
    "first-light": "the answers on which recordings of a GPU rest",
    # data and pages
    "record": "record the bundled samples again",
    "headlines": "whether headlines are what was written down beforehand",
    "corpus": "what the rules say of traces that others recorded, into docs/corpus.md",
    "pictures": "the pictures in README.md, from recorded runs in a real browser",
}


def main(arguments: Sequence[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__)
        print("\n".join(f"  {name:13} {what}" for name, what in BENCHMARKS.items()))
        return 0
    name, *rest = arguments
    if name not in BENCHMARKS:
        near = get_close_matches(name, BENCHMARKS, 1)
        hint = f"did you mean {near[0]}?" if near else "`python -m benchmarks` lists them"
        print(f"there is no benchmark {name}: {hint}", file=sys.stderr)
        return USAGE_ERROR
    module = importlib.import_module(f"benchmarks.{name.replace('-', '_')}")
    return module.main(rest) or 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
