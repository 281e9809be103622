"""The first minutes on a GPU: eleven questions, a process each, whose answers
decide what recordings are worth there.

    python -m benchmarks first-light --out FOLDER [question …]

FOLDER/answers.jsonl holds an answer a line, the last of a question counts; small traces lie beside it. In the
order of what goes wrong if the answer is not what the recorder takes for granted.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.options import parser
from benchmarks.tasks import TRACEBACK_CHARACTERS, called, environment_here

ANSWERS = "answers.jsonl"
ANSWER = "ANSWER "
MARGIN_S = 90.0  # beyond what a question is guessed to take


@dataclass(frozen=True)
class Question:
    """``asks``: the function of `questions.py`; ``variables``: of the process that is asked."""

    name: str
    asks: str
    guess_s: float
    needs_gpu: bool = False
    variables: Mapping[str, str] = field(default_factory=dict)


QUESTIONS = (
    Question("environment", "environment", 12),
    Question("cpu-session-first", "cpu_session_first", 8),
    Question(
        "cpu-session-first-nvml", "cpu_session_first", 8, variables={"PYTORCH_NVML_BASED_CUDA_CHECK": "1"}
    ),
    Question("ahead", "ahead", 15),
    Question("sessions", "sessions", 18),
    Question("after-a-session", "after_a_session", 10),
    Question("after-a-session-teardown", "after_a_session", 10, variables={"TEARDOWN_CUPTI": "1"}),
    Question("queue", "queue", 10, needs_gpu=True),
    Question("waits", "waits", 12),
    Question("kernel-names", "kernel_names", 15),
    Question("graphs", "graphs", 8, needs_gpu=True),
    Question("synchronisation-events", "synchronisation_events", 8),
    Question("compiled", "compiled", 45, needs_gpu=True),
)


def answered(question: Question, folder: Path, seconds: float) -> str:
    """Ask, write the answer down, and return it as a line. Raises RuntimeError if there is none."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "benchmarks.questions", question.asks, str(folder.resolve())]
    began = time.monotonic()
    done = called(
        command,
        Path.cwd(),
        {**environment_here(), **question.variables},
        min(seconds, question.guess_s + MARGIN_S),
    )
    line = next((line for line in done.stdout.splitlines() if line.startswith(ANSWER)), None)
    if line is None:
        raise RuntimeError(f"no answer, exit code {done.returncode}\n{done.stderr[-TRACEBACK_CHARACTERS:]}")
    answer = json.loads(line.removeprefix(ANSWER))
    told = {"question": question.name, "seconds": round(time.monotonic() - began, 1), "answer": answer}
    with (folder / ANSWERS).open("a", encoding="utf-8") as file:
        file.write(json.dumps(told, ensure_ascii=False) + "\n")
    return json.dumps(answer, ensure_ascii=False)


def answers(folder: Path) -> dict[str, Any]:
    """By question; a line that cannot be read counts for nothing."""
    found = {}
    try:
        lines = (folder / ANSWERS).read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    for line in lines:
        try:
            told = json.loads(line)
            found[told["question"]] = told["answer"]
        except (ValueError, KeyError, TypeError):
            continue
    return found


def page(folder: Path) -> str:
    """Every question and its answer, in Markdown."""
    from benchmarks import questions

    found = answers(folder)
    parts = ["# First light"]
    for one in QUESTIONS:
        asked = (getattr(questions, one.asks).__doc__ or "").strip()
        variables = "".join(f" With `{name}={value}`." for name, value in one.variables.items())
        answer = (
            f"```json\n{json.dumps(found[one.name], ensure_ascii=False)}\n```"
            if one.name in found
            else "Not answered yet."
        )
        parts.append(f"**{one.name}**: {asked}{variables}\n\n{answer}")
    return "\n\n".join(parts)


def main(arguments: Sequence[str]) -> int:
    options = parser("first-light", __doc__)
    options.add_argument(
        "names", nargs="*", metavar="question", help=f"only these: {', '.join(one.name for one in QUESTIONS)}"
    )
    options.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    given = options.parse_args(arguments)
    failed = False
    for question in [one for one in QUESTIONS if one.name in given.names or not given.names]:
        try:
            print(
                f"{question.name}: {answered(question, given.out, question.guess_s + MARGIN_S)}", flush=True
            )
        except RuntimeError as error:
            print(f"{question.name}: {error}", file=sys.stderr, flush=True)
            failed = True
    return int(failed)
