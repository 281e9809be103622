"""The answer to "what if": as a document for programs and as lines for a terminal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from diagnose.document import text
from diagnose.measure.ledger import TITLES
from diagnose.predict.whatif import Answer, Asked, Together

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console
    from rich.text import Text

DONE = {"remove": "is gone", "unblock": "is no longer waited for"}
AHEAD = 1.05  # from which a steady step is said to take longer than the recorded ones
SMALLEST_SHARE = 0.0005  # of the step: what would show as 0.0 %


def whatif_document(answer: Answer, target: str) -> dict[str, Any]:
    """Times in ms of a plain step; the ledger's rows add up to the step, now and then."""
    rows = sorted(
        {**answer.rows_now_ms, **answer.rows_then_ms}, key=lambda row: -answer.rows_now_ms.get(row, 0.0)
    )
    return {
        "schema": 1,
        "target": target,
        "asked": [_asked(one) for one in answer.asked],
        "recorded_step_ms": answer.recorded_ms,
        "step_ms": answer.now_ms,
        "step_ms_then": answer.then_ms,
        "step_ms_range": list(answer.range_ms) if answer.range_ms else None,
        "seldom_ms": answer.seldom_ms,
        "saved_ms": answer.now_ms - answer.then_ms,
        "saved_share": _share(answer.now_ms - answer.then_ms, answer.now_ms),
        "self_replay_error": answer.error,
        "replayed_steps": answer.replayed_steps,
        "step_count": answer.step_count,
        "ledger": [
            {
                "row": row,
                "title": TITLES[row][0],
                "ms": answer.rows_now_ms.get(row, 0.0),
                "ms_then": answer.rows_then_ms.get(row, 0.0),
            }
            for row in rows
            if answer.rows_now_ms.get(row) or answer.rows_then_ms.get(row)
        ],
    }


def _asked(asked: Asked) -> dict[str, Any]:
    question = asked.question
    workers = question.kind == "workers"
    return {
        "change": question.kind,
        "name": None if workers else question.name,
        "ratio": question.ratio if question.kind in ("shrink", "scale_kernels") else None,
        "workers": int(question.name) if workers else None,
        "is_fix": asked.is_fix,
        "ms": asked.now_ms,
    }


def ranks_document(answer: Together, targets: Sequence[str]) -> dict[str, Any]:
    """Times in ms of a step as recorded: of all ranks together, and of each as if the others did not
    matter.
    """
    return {
        "schema": 1,
        "step_ms": answer.now_ms,
        "step_ms_then": answer.then_ms,
        "saved_share": _share(answer.now_ms - answer.then_ms, answer.now_ms),
        "ranks": [
            {"target": target, "step_ms": now_ms, "step_ms_then": then_ms}
            for target, (now_ms, then_ms) in zip(targets, answer.alone_ms, strict=True)
        ],
    }


def print_ranks(document: dict[str, Any], console: Console) -> None:
    """The step of the whole job, and each rank's own below it."""
    from rich.text import Text

    ranks = document["ranks"]
    console.print(
        Text(f"{text.count(len(ranks))} ranks replayed together: {_step(document)}", style="bold"),
        soft_wrap=True,
    )
    alone = "A collective waits for the last rank. Each rank alone, if the others keep their times:"
    console.print(Text(alone, style="dim"), soft_wrap=True)
    for rank in ranks:
        console.print(
            Text(
                f"  {text.clean(rank['target'])}: {text.ms(rank['step_ms'])} → "
                f"{text.ms(rank['step_ms_then'])}"
            ),
            soft_wrap=True,
        )


def whatif_json(document: dict[str, Any]) -> str:
    return json.dumps(document, ensure_ascii=False, allow_nan=False)


def stdout_console() -> Console:
    """Colours in a terminal, plain text elsewhere; respects NO_COLOR."""
    from rich.console import Console

    return Console(highlight=False, emoji=False)


def print_whatif(document: dict[str, Any], console: Console) -> None:
    """What was asked, the step now and then, the ledger beside it, and how far a replay can be trusted
    here.
    """
    for line in _lines(document):
        console.print(line, soft_wrap=True)


def _lines(document: dict[str, Any]) -> list[Text]:
    from rich.text import Text

    return [
        Text.assemble("What if, in ", (text.clean(document["target"]), "bold")),
        *(Text(f"  {_question(one)}") for one in document["asked"]),
        Text(),
        Text(_step(document), style="bold"),
        *([Text(_range(document))] if document["step_ms_range"] else []),
        Text(),
        Text(f"{'':<22} {'now':>11} {'then':>11} {'change':>12}", style="dim"),
        *(
            Text(_row(row["title"], row["ms"], row["ms_then"]))
            for row in document["ledger"]
            if _shows(row, document["step_ms"])
        ),
        Text(_row(*_step_row(document)), style="bold"),
        Text(),
        Text(_trust(document), style="dim"),
    ]


def _question(one: dict[str, Any]) -> str:
    name, attributed = text.clean(str(one["name"]), text.LONGEST_NAME), text.ms(one["ms"])
    if one["change"] == "workers":
        loads, them = (
            ("worker process loads", "it") if one["workers"] == 1 else ("worker processes load", "them")
        )
        return (
            f"{text.count(one['workers'])} {loads} the batches ({attributed} of a step wait for {them} now)"
        )
    if one["change"] == "scale_kernels":
        return (
            f"kernels named like {name} take {text.share(one['ratio'])} of their time ({attributed} of a "
            "step now)"
        )
    if one["is_fix"]:
        return f"the fix of {name} is made (it finds {attributed} of a step now)"
    part = (
        f"takes {text.share(one['ratio'])} of its time" if one["change"] == "shrink" else DONE[one["change"]]
    )
    return f"{name} {part} ({attributed} of a step now)"


def _step(document: dict[str, Any]) -> str:
    now_ms, then_ms, saved = document["step_ms"], document["step_ms_then"], document["saved_share"]
    if abs(saved) < SMALLEST_SHARE:
        return f"A step still takes {text.ms(now_ms)}: other work takes that long all the same."
    takes = "A step takes on average" if document.get("seldom_ms") else "A step takes"
    return (
        f"{takes} {text.ms(then_ms)} instead of {text.ms(now_ms)}, {text.ms(now_ms - then_ms)} "
        f"({text.share(saved)}) less."
    )


def _step_row(document: dict[str, Any]) -> tuple[str, float, float]:
    """The sum of the rows, which are of a usual step; and of what only some have, if that is asked about."""
    title = "The average step" if document.get("seldom_ms") else "The step"
    return title, document["step_ms"], document["step_ms_then"]


def _range(document: dict[str, Any]) -> str:
    best, worst = document["step_ms_range"]
    return f"From {text.ms(best)} to {text.ms(worst)}, depending on how well these fixes work."


def _row(title: str, now_ms: float, then_ms: float) -> str:
    change = then_ms - now_ms
    sign = "−" if change < 0 else "+"
    is_same = text.significant(now_ms) == text.significant(then_ms) or abs(change) < text.LEAST
    shown = "" if is_same else f"{sign}{text.ms(abs(change))}"
    return f"{title:<22} {text.ms(now_ms):>11} {text.ms(then_ms):>11} {shown:>12}".rstrip()


def _shows(row: dict[str, Any], step_ms: float) -> bool:
    return bool(max(row["ms"], row["ms_then"]) >= SMALLEST_SHARE * step_ms)


def _trust(document: dict[str, Any]) -> str:
    replayed, whole = document["replayed_steps"], document["step_count"]
    some = f"{text.count(replayed)} of the {text.count(whole)} recorded steps"
    which = "the recorded step" if whole == 1 else "the recorded steps" if replayed == whole else some
    trust = (
        f"Predicted by replaying {which}; replayed unchanged, a step ends "
        f"{text.share(document['self_replay_error'])} off the recording."
    )
    if document["step_ms"] > AHEAD * document["recorded_step_ms"]:
        ahead = "the host ran ahead, and the GPU could not keep up"
        trust += f"\nThe recorded steps took {text.ms(document['recorded_step_ms'])} only: {ahead}."
    return trust + ("\nWhat only the other steps take stays as it is." if replayed < whole else "")


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0
