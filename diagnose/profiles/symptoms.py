"""Which rule advises on what costs time in a recording of the CPU alone.

Rules that are about calls (`[events]` in their files) bring their own pattern; the others stand here.
"""

from __future__ import annotations

import re
from functools import lru_cache

from diagnose.judge.rules import load_rules
from diagnose.measure.areas.user_code import CALLS

AT_LEAST = 0.05  # of the recording: as for rules, below it a gain is lost in noise

# By functions, as `Site.callee` has them.
_FUNCTIONS = {
    "input-wait-no-workers": r"^torch/utils/data/_utils/fetch\.py: fetch$",
    "input-wait": r"^torch/utils/data/dataloader\.py: (_try_get_data|_get_data)$",
    "sync-scalar-read": r"^<built-in method (item|__bool__|__float__|__int__) of torch\._C\.Tensor object>",
    "sync-tensor-download": r"^<built-in method (cpu|tolist|numpy) of torch\._C\.Tensor object>",
    "sync-explicit": r"^torch/cuda/(__init__|streams)\.py: synchronize$|_cuda_synchronize>",
    "sync-empty-cache": r"^torch/cuda/memory\.py: empty_cache$|_cuda_emptyCache>",
    "sync-gradient-clipping": r"^torch/nn/utils/clip_grad\.py: ",
    "blocking-htod-copies": r"^<built-in method (to|cuda) of torch\._C\.Tensor object>",
    "optimizer-single-tensor": r"^torch/optim/\w+\.py: _single_tensor_",
    "row-loop": r"^pandas/core/frame\.py: (iterrows|itertuples)$",
    "data-parallel": r"^torch/nn/parallel/(replicate|scatter_gather|parallel_apply)\.py: ",
}
# By the text of a line in which time is spent itself.
OF_LINES = {
    "sync-scalar-read": r"\.item\(\)",
    "sync-tensor-download": r"\.(cpu|tolist|numpy)\(\)",
    "sync-explicit": r"\bsynchronize\(\)",
    "sync-empty-cache": r"\bempty_cache\(\)",
    "sync-gradient-clipping": r"\bclip_grad_norm_\(",
    "blocking-htod-copies": r"\.(to|cuda)\(",
    "sleep-in-loop": r"\bsleep\(",
    "print-every-step": r"\bprint\(",
    "checkpoint-in-loop": r"\btorch\.save\(",
    "deepcopy-in-loop": r"\bdeepcopy\(",
    "row-loop": r"\.(iterrows|itertuples)\(",
    "file-io-in-loop": r"(?<![\w.])open\(|\b(json|pickle)\.(load|dump)s?\(|\.write\(",
}
# Of the rules on calls those whose work also happens outside of loops.
_LEFT_OUT = {"tensor-from-list", "queue-wait"}


@lru_cache(maxsize=1)
def symptoms() -> dict[str, re.Pattern[str]]:
    """By rule: what is called there."""
    of_calls = {
        rule.id: CALLS[rule.selector].pattern
        for rule in load_rules().values()
        if rule.selector in CALLS and rule.id not in _LEFT_OUT
    }
    return {rule: re.compile(pattern) for rule, pattern in (_FUNCTIONS | of_calls).items()}
