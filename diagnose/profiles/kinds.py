"""What time goes to: kinds of work, told by the functions on the stack, or by a line's text.

Of several kinds on a stack the one of the highest rank counts, and of these the innermost: a file that is
read while a batch is loaded is a file that is read.
"""

from __future__ import annotations

import re
from typing import NamedTuple

OWN, OTHER = "own", "other"
TITLES = {
    "loader": "Waiting for a batch of the DataLoader",
    "decoding": "Decoding images, video and audio (PIL, OpenCV, torchvision …)",
    "reads": "Reading results (`.item()`, `.cpu()`, `.tolist()`, `synchronize()`)",
    "copies": "Copies (`.to()`, `.cuda()`)",
    "forward": "Forward (calls of modules)",
    "backward": "Backward",
    "optimizer": "Optimizer",
    "operators": "Operators of torch outside of these",
    "files": "Files, pickle and JSON",
    "tables": "NumPy, pandas, SciPy, scikit-learn",
    "telling": "Printing, logging, figures",
    "saving": "Checkpoints (`torch.save`)",
    "starting": "Imports and compilation",
    "waiting": "Locks, sleep, other processes",
    OWN: "Your own Python code",
    OTHER: "Other libraries, and what is not known",
}


class Kind(NamedTuple):
    name: str
    rank: int
    callees: re.Pattern[str]  # as `Site.callee` has them


def _kind(name: str, rank: int, *callees: str) -> Kind:
    return Kind(name, rank, re.compile("|".join(callees)))


KINDS = (
    _kind(
        "starting",
        4,
        r"^<frozen importlib\._bootstrap>: _find_and_load$",
        r"^importlib/__init__\.py: import_module$",
        r"^<built-in function (__import__|compile)>",
        r"^torch/_dynamo/convert_frame\.py: ",
    ),
    _kind("saving", 4, r"^torch/serialization\.py: save$"),
    _kind(
        "reads",
        3,
        r"^<built-in method (item|cpu|tolist|numpy|__bool__|__float__|__int__) of torch\._C\.Tensor object>",
        r"^torch/cuda/(__init__|streams)\.py: synchronize$",
        r"_cuda_synchronize>",
    ),
    _kind(
        "copies",
        3,
        r"^<built-in method (to|cuda|copy_|pin_memory) of torch\._C\.Tensor object>",
        r"^torch/nn/modules/module\.py: (to|cuda|cpu)$",
    ),
    _kind(
        "decoding",
        3,
        r"^(PIL|cv2|torchaudio|decord|imageio|albumentations|av|skimage)/",
        r"^torchvision/(io|transforms|datasets)/",
        r"\b(cv2|Imaging\w+)\b",
    ),
    _kind(
        "telling",
        3,
        r"^(matplotlib|seaborn|plotly|tensorboard|wandb|mlflow|loguru|rich|tqdm|logging)/",
        r"^torch/utils/tensorboard/",
        r"^<built-in function print>",
    ),
    _kind("tables", 3, r"^(pandas|sklearn|scipy|numpy|pyarrow|polars)/", r"\b(numpy|pandas)\.", r"\bnumpy$"),
    _kind(
        "files",
        3,
        r"^<built-in function (open|open_code|l?stat|scandir|listdir|replace|rename|fsync|loads?|dumps?)>",
        r"^<built-in method (read|write|flush|close)\w* of _io\.",
        r"^<built-in method (load|dump) of _pickle\.",
        r"^(json|csv|pathlib|gzip|zipfile|tarfile|shutil|h5py|lmdb|yaml)(/|\.py: )",
        r"^(pickle|_pickle)\.py: ",
    ),
    _kind("loader", 2, r"^torch/utils/data/"),
    _kind(
        "backward",
        2,
        r"^torch/_tensor\.py: backward$",
        r"^torch/autograd/(__init__|graph)\.py: (backward|grad|_engine_run_backward)$",
        r"^<built-in method run_backward of torch",
    ),
    _kind("optimizer", 2, r"^torch/optim/"),
    _kind("forward", 2, r"^torch/nn/modules/module\.py: (_call_impl|_wrapped_call_impl|__call__)$"),
    _kind("operators", 1, r"^<built-in method \w+ of torch\b", r"^<built-in method torch\b", r"^torch/"),
    _kind(
        "waiting",
        1,
        r"^<built-in function (sleep|system|waitpid|select)>",
        r"^<built-in method (acquire|__enter__|wait|poll|recv\w*|get) of (_thread|select|_socket|_queue)\b",
        r"^(threading|queue|selectors|subprocess|socket|ssl)\.py: ",
        r"^(multiprocessing|concurrent/futures|asyncio|requests|urllib3|httpx)/",
    ),
)
RANKS = tuple(sorted({kind.rank for kind in KINDS}, reverse=True))

# What a line does itself, by its text, where what it calls in C is not recorded. The first that fits.
_LINES = (
    ("backward", r"\.backward\(|autograd\.grad\("),
    ("optimizer", r"\b\w*optim\w*\.(step|zero_grad)\(|\bopt\.(step|zero_grad)\(|\bscaler\.step\("),
    ("saving", r"\btorch\.save\("),
    ("reads", r"\.(item|tolist|cpu|numpy)\(\)|\bsynchronize\(\)"),
    ("copies", r"\.(to|cuda)\(|\bcopy_\("),
    ("waiting", r"\bsleep\(|\.(acquire|join)\("),
    ("telling", r"\bprint\(|\bplt\.|\.add_scalar\(|\bwandb\.|\blogg(er|ing)\.\w+\("),
    ("decoding", r"\bImage\.\w+\(|\bcv2\.|\bread_image\(|\bdecode_\w+\("),
    ("loader", r"^for\b.*\bin\b.*\b\w*load\w*\b|\bDataLoader\(|\bnext\(\w*(load|iter)\w*\)"),
    ("files", r"(?<![\w.])open\(|\b(json|pickle)\.(load|dump)s?\(|\.(read|write)\("),
    ("tables", r"\b(np|numpy|pd|pandas|sklearn)\."),
    ("starting", r"^(import|from)\b|\btorch\.compile\("),
    ("forward", r"\b(self\.)?(model|net|network|module|criterion)\("),
    ("operators", r"\btorch\.|\bF\.\w+\("),
)
_BY_TEXT = [(kind, re.compile(pattern)) for kind, pattern in _LINES]


def kind_of(callee: str) -> Kind | None:
    """What is called so; None if nothing tells."""
    return next((kind for kind in KINDS if kind.callees.search(callee)), None)


def kind_of_line(text: str) -> str:
    """What a line of the user's does itself."""
    text = text.strip()
    return next((kind for kind, pattern in _BY_TEXT if pattern.search(text)), OWN)
