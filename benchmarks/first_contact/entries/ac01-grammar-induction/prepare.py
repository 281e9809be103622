"""Made-up trees in the form of the Penn Treebank (short sentences), made into pickles by the repository's preprocess.py."""
import os
import random
import subprocess
import sys

random.seed(1)
SIZES = {"DT": 6, "JJ": 120, "NN": 420, "VB": 200, "IN": 20, "PRP": 8, "RB": 60, "CD": 20}
WORDS = {t: [t.lower() + chr(97 + i % 26) + chr(97 + i // 26) for i in range(n)] for t, n in SIZES.items()}
RULES = {
    "S": [("NP", "VP")] * 5 + [("RB", "NP", "VP"), ("PP", "NP", "VP")],
    "NP": [("DT", "NN")] * 3 + [("PRP",)] * 2 + [("DT", "JJ", "NN")] * 2 + [("NP", "PP"), ("CD", "NN"), ("JJ", "NN")],
    "VP": [("VB", "NP")] * 4 + [("VB", "NP", "PP"), ("VB",), ("RB", "VP"), ("VB", "S")],
    "PP": [("IN", "NP")],
}


def grow(sym):
    if sym in WORDS:
        i = int(len(WORDS[sym]) * random.random() ** 1.5)
        return "(%s %s)" % (sym, WORDS[sym][i]), 1
    parts = [grow(s) for s in random.choice(RULES[sym])]
    return "(%s %s)" % (sym, " ".join(p[0] for p in parts)), sum(p[1] for p in parts)


os.makedirs("data", exist_ok=True)
for name, n in [("train", 120), ("valid", 24), ("test", 8)]:
    with open("data/ptb-%s.txt" % name, "w") as f:
        while n:
            tree, length = grow("S")
            if 4 <= length <= 8 and random.random() < 0.1 + 0.11 * length:
                f.write(tree + "\n")
                n -= 1
env = dict(os.environ, PYTHONPATH="shims")
subprocess.run([sys.executable, "preprocess.py", "--trainfile", "data/ptb-train.txt", "--valfile", "data/ptb-valid.txt",
                "--testfile", "data/ptb-test.txt", "--outputfile", "data/ptb", "--vocabminfreq", "0",
                "--lowercase", "1", "--replace_num", "1", "--batchsize", "4"], env=env, check=True)
