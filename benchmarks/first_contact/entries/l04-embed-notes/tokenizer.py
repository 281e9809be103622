"""Byte-pair encoding: learns its merges from a sample of the text, then encodes lines."""
import re
from collections import Counter

WORD = re.compile(r"[a-z]+|[0-9]|[^\sa-z0-9]")
PAD, CLS, UNK = 0, 1, 2


def pairs_of(symbols):
    return zip(symbols[:-1], symbols[1:])


class BPETokenizer:
    def __init__(self, max_tokens=128):
        self.max_tokens = max_tokens
        self.ranks = {}
        self.ids = {}

    def fit(self, lines, num_merges=600, max_words=800):
        counts = Counter(w for line in lines for w in WORD.findall(line.lower()))
        alphabet = sorted({c for w in counts for c in w})
        words = {tuple(w[:-1]) + (w[-1] + "</w>",): n for w, n in counts.most_common(max_words)}
        symbols = alphabet + [c + "</w>" for c in alphabet]
        for rank in range(num_merges):
            tally = Counter()
            for word, n in words.items():
                for pair in pairs_of(word):
                    tally[pair] += n
            if not tally:
                break
            best = tally.most_common(1)[0][0]
            self.ranks[best] = rank
            symbols.append(best[0] + best[1])
            words = {self._merge(word, best): n for word, n in words.items()}
        self.ids = {s: i + 3 for i, s in enumerate(dict.fromkeys(symbols))}
        return self

    @staticmethod
    def _merge(word, pair):
        out, i = [], 0
        while i < len(word):
            if i + 1 < len(word) and word[i] == pair[0] and word[i + 1] == pair[1]:
                out.append(pair[0] + pair[1])
                i += 2
            else:
                out.append(word[i])
                i += 1
        return tuple(out)

    def _segment(self, word):
        symbols = tuple(word[:-1]) + (word[-1] + "</w>",)
        while len(symbols) > 1:
            pair = min(pairs_of(symbols), key=lambda p: self.ranks.get(p, 1 << 30))
            if pair not in self.ranks:
                break
            symbols = self._merge(symbols, pair)
        return symbols

    def encode(self, line):
        tokens = [CLS]
        for word in WORD.findall(line.lower()):
            tokens.extend(self.ids.get(s, UNK) for s in self._segment(word))
            if len(tokens) >= self.max_tokens:
                break
        return tokens[: self.max_tokens]

    @property
    def vocab_size(self):
        return len(self.ids) + 3
