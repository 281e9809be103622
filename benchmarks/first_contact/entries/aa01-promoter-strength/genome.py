import gzip

import numpy as np
import torch

BASES = b"ACGT"


class Genome:
    """Random access to a compressed FASTA through its .fai index."""

    def __init__(self, path):
        self.index = {}
        with open(path + ".fai") as f:
            for line in f:
                name, length, offset, bases, width = line.split("\t")
                self.index[name] = int(length), int(offset), int(bases), int(width)
        self.file = gzip.open(path, "rb")

    def fetch(self, chrom, start, length):
        size, offset, bases, width = self.index[chrom]
        end = min(start + length, size)
        first = offset + start // bases * width + start % bases
        last = offset + end // bases * width + end % bases
        self.file.seek(first)
        return self.file.read(last - first).replace(b"\n", b"")

    def close(self):
        self.file.close()


class Windows:
    """Measured windows of one split: coordinates, activities and their sequences."""

    def __init__(self, genome, table, length=256):
        self.genome = genome
        self.chrom = table["chrom"].tolist()
        self.start = table["start"].tolist()
        self.activity = torch.tensor(table["activity"].to_numpy(), dtype=torch.float32)
        self.length = length
        code = np.full(256, 4, np.uint8)
        code[list(BASES)] = np.arange(4)
        self.code = code
        self.rows = torch.cat([torch.eye(4), torch.full((1, 4), 0.25)])

    def __len__(self):
        return len(self.start)

    def encode(self, sequences):
        letters = np.frombuffer(b"".join(sequences), np.uint8)
        codes = torch.from_numpy(self.code[letters]).long()
        onehot = self.rows[codes].view(len(sequences), self.length, 4)
        return onehot.transpose(1, 2).contiguous()

    def batch(self, picks):
        sequences = [self.genome.fetch(self.chrom[i], self.start[i], self.length) for i in picks]
        return self.encode(sequences), self.activity[picks]

    def batches(self, size, generator):
        order = torch.randperm(len(self), generator=generator)
        for i in range(0, len(self) - size + 1, size):
            yield self.batch(order[i:i + size].tolist())


def reverse_complement(onehot):
    """Channels are A C G T, so complement and reversal are both flips."""
    return onehot.flip(1, 2)
