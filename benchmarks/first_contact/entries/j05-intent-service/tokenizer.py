import re

PATTERN = re.compile(r"[a-z]+|[.,!?]+")


class Tokenizer:
    PAD, UNKNOWN, START = 0, 1, 2

    def __init__(self, words):
        self.ids = {w: i + 8 for i, w in enumerate(words)}
        self.ids.update({",": 3, ".": 4, "!": 5, "?": 6, "...": 7})

    @property
    def size(self):
        return len(self.ids) + 3

    def encode(self, text, max_length):
        found = PATTERN.findall(text.lower())
        ids = [self.START] + [self.ids.get(t, self.UNKNOWN) for t in found]
        return ids[:max_length]

    def batch(self, texts, max_length):
        """Token ids and padding mask, both (batch, max_length)."""
        rows, mask = [], []
        for text in texts:
            ids = self.encode(text, max_length)
            missing = max_length - len(ids)
            rows.append(ids + [self.PAD] * missing)
            mask.append([False] * len(ids) + [True] * missing)
        return rows, mask
