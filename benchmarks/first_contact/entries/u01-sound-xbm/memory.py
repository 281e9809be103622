"""Cross-batch memory: embeddings and tags of the most recent clips."""
import torch


class CrossBatchMemory:
    def __init__(self, size, dim, tags):
        self.size = size
        self.vectors = torch.zeros(0, dim)
        self.tags = torch.zeros(0, tags, dtype=torch.long)

    def __len__(self):
        return len(self.vectors)

    def push(self, vectors, tags):
        self.vectors = torch.cat([self.vectors, vectors.detach()])[-self.size:]
        self.tags = torch.cat([self.tags, tags])[-self.size:]

    def get(self):
        return self.vectors, self.tags
