from collections import Counter


class SubtokenScores:
    """Precision, recall and F1 over the sub-tokens of method names."""

    def __init__(self, targets):
        self.parts = [name.split("|") for name in targets.itos]
        self.reset()

    def reset(self):
        self.hit = self.said = self.true = self.exact = self.top5 = self.n = 0

    def update(self, logits, targets):
        top = logits.topk(5, dim=1).indices.tolist()
        for candidates, target in zip(top, targets.tolist()):
            self.exact += candidates[0] == target
            self.top5 += target in candidates
            said, true = self.parts[candidates[0]], self.parts[target]
            self.hit += sum((Counter(said) & Counter(true)).values())
            self.said += len(said)
            self.true += len(true)
            self.n += 1

    def result(self):
        precision, recall = self.hit / max(self.said, 1), self.hit / max(self.true, 1)
        f1 = 2 * precision * recall / max(precision + recall, 1e-9)
        return {"precision": precision, "recall": recall, "f1": f1, "acc": self.exact / self.n, "top5": self.top5 / self.n}
