"""Stand-in for the class that dill keeps inside voc_final.pkl."""


class Voc:
    def __init__(self, n):
        self.idx2word = {i: f"c{i}" for i in range(n)}
        self.word2idx = {w: i for i, w in self.idx2word.items()}
