import re


class WordPiece:
    """Greedy longest-match word pieces."""

    def __init__(self, vocab_file):
        with open(vocab_file) as f:
            self.vocab = {line.rstrip("\n"): i for i, line in enumerate(f)}
        self.pad, self.unk, self.cls = (self.vocab[t] for t in ("[PAD]", "[UNK]", "[CLS]"))
        self.longest = max(len(t) for t in self.vocab)

    def __len__(self):
        return len(self.vocab)

    def pieces(self, word):
        out, start = [], 0
        while start < len(word):
            end = min(len(word), start + self.longest)
            while end > start:
                piece = word[start:end] if start == 0 else "##" + word[start:end]
                if piece in self.vocab:
                    out.append(self.vocab[piece])
                    break
                end -= 1
            if end == start:
                return [self.unk]
            start = end
        return out

    def encode(self, text, max_length):
        text = re.sub(r"[0-9a-f]{7,40}\b", "sha", text.lower())
        ids = [self.cls]
        for word in re.findall(r"[a-z0-9_]+|[^\sa-z0-9_]", text):
            ids.extend(self.pieces(word))
        ids = ids[:max_length]
        mask = [1] * len(ids) + [0] * (max_length - len(ids))
        return ids + [self.pad] * (max_length - len(ids)), mask
