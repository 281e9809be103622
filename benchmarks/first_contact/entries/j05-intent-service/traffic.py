"""Synthetic help-desk messages with a realistic spread of lengths."""
import random
from dataclasses import dataclass, field

INTENTS = ["refund", "delivery", "login", "invoice", "cancel", "upgrade", "outage", "greeting",
           "complaint", "address", "warranty", "discount"]


@dataclass
class Request:
    id: int
    text: str
    arrived: float = 0.0
    answer: dict = field(default_factory=dict)


def vocabulary(size, seed=0):
    r = random.Random(seed)
    syllables = ["ka", "to", "mi", "re", "lu", "san", "ber", "del", "fo", "gin", "pa", "qu", "shi", "vor", "ne"]
    words = set()
    while len(words) < size:
        words.add("".join(r.choice(syllables) for _ in range(r.randint(2, 4))))
    return sorted(words)


def messages(n, words, seed=1):
    r = random.Random(seed)
    marks = ["", "", "", "", ",", ".", "!", "?", "..."]
    for i in range(n):
        length = max(3, min(70, int(r.lognormvariate(2.9, 0.4))))
        text = " ".join(r.choice(words) + r.choice(marks) for _ in range(length))
        yield Request(i, text.capitalize() if i % 3 else text)
