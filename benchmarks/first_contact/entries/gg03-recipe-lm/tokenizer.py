import json
import re
import string

SPLIT = re.compile(r" ?[A-Za-z]+| ?\d+|[^\w\s]|\n")
SPECIAL = ["<pad>", "<bos>", "<eos>"]


class BPETokenizer:
    def __init__(self, merges_file):
        with open(merges_file) as f:
            merges = [tuple(json.loads(line)) for line in f]
        self.ranks = {pair: i for i, pair in enumerate(merges)}
        alphabet = sorted(set(string.printable))
        self.tokens = SPECIAL + alphabet + ["".join(pair) for pair in merges]
        self.ids = {}
        for i, token in enumerate(self.tokens):
            self.ids.setdefault(token, i)
        self.pad, self.bos, self.eos = range(len(SPECIAL))

    def __len__(self):
        return len(self.tokens)

    def bpe(self, word):
        parts = list(word)
        while len(parts) > 1:
            pairs = set(zip(parts, parts[1:]))
            best = min(pairs, key=lambda pair: self.ranks.get(pair, float("inf")))
            if best not in self.ranks:
                break
            merged, i = [], 0
            while i < len(parts):
                if i < len(parts) - 1 and (parts[i], parts[i + 1]) == best:
                    merged.append(parts[i] + parts[i + 1])
                    i += 2
                else:
                    merged.append(parts[i])
                    i += 1
            parts = merged
        return parts

    def encode(self, text):
        ids = [self.bos]
        for word in SPLIT.findall(text):
            ids.extend(self.ids[part] for part in self.bpe(word))
        ids.append(self.eos)
        return ids

    def decode(self, ids):
        return "".join(self.tokens[i] for i in ids if i >= len(SPECIAL))
