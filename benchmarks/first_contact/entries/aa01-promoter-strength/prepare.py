"""Writes the assembly (bgzip-free FASTA.gz + .fai) and the table of measured windows."""
import gzip
import os

import numpy as np

WIDTH = 60
MOTIFS = {b"TATAAA": 0.9, b"GCGATGAG": 1.4, b"CACGTG": 0.7, b"TGACTC": -0.8, b"CCGTACA": 1.1}


def main(folder="data", sizes=(120_000, 96_000, 84_000), windows=6000, length=256, seed=11):
    os.makedirs(folder, exist_ok=True)
    rng = np.random.default_rng(seed)
    chroms = {}
    for i, n in enumerate(sizes):
        seq = rng.choice(np.frombuffer(b"ACGT", np.uint8), n, p=(0.31, 0.19, 0.19, 0.31))
        for motif in MOTIFS:
            for at in rng.integers(0, n - 20, n // 400):
                seq[at:at + len(motif)] = np.frombuffer(motif, np.uint8)
        chroms[f"chr{i + 1}"] = seq.tobytes()

    offset, fai, body = 0, [], []
    for name, seq in chroms.items():
        head = f">{name}\n".encode()
        offset += len(head)
        fai.append(f"{name}\t{len(seq)}\t{offset}\t{WIDTH}\t{WIDTH + 1}")
        lines = b"".join(seq[i:i + WIDTH] + b"\n" for i in range(0, len(seq), WIDTH))
        body += [head, lines]
        offset += len(lines)
    with gzip.open(os.path.join(folder, "assembly.fa.gz"), "wb") as f:
        f.write(b"".join(body))
    with open(os.path.join(folder, "assembly.fa.gz.fai"), "w") as f:
        f.write("\n".join(fai) + "\n")

    names = list(chroms)
    with open(os.path.join(folder, "windows.tsv"), "w") as f:
        f.write("chrom\tstart\tactivity\n")
        for _ in range(windows):
            name = names[rng.choice(len(names), p=np.array(sizes) / sum(sizes))]
            start = int(rng.integers(0, len(chroms[name]) - length))
            seq = chroms[name][start:start + length]
            y = sum(w * seq.count(m) for m, w in MOTIFS.items()) + 0.3 * rng.normal()
            f.write(f"{name}\t{start}\t{y:.4f}\n")


if __name__ == "__main__":
    main()
