import json
import re

PAD, BOS, EOS, UNK = 0, 1, 2, 3
SPECIALS = ["<pad>", "<bos>", "<eos>", "<unk>"]
PIECE = re.compile(r"\w+|[^\w\s]")


class WordTokenizer:
    def __init__(self, words):
        self.words = words
        self.index = {w: i for i, w in enumerate(words)}

    @classmethod
    def train(cls, texts, size):
        counts = {}
        for text in texts:
            for w in PIECE.findall(text.lower()):
                counts[w] = counts.get(w, 0) + 1
        ranked = sorted(counts, key=lambda w: (-counts[w], w))
        return cls(SPECIALS + ranked[: size - len(SPECIALS)])

    @classmethod
    def load(cls, path):
        with open(path) as f:
            return cls(json.load(f))

    def save(self, path):
        with open(path, "w") as f:
            json.dump(self.words, f)

    def __len__(self):
        return len(self.words)

    def encode(self, text):
        return [self.index.get(w, UNK) for w in PIECE.findall(text.lower())]
