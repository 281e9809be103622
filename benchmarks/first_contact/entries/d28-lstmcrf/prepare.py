"""A synthetic tagged corpus, already indexed, in the layout of the repository's data preparation."""
import random

random.seed(0)
pads = ["<PAD>", "<SOS>", "<EOS>", "<UNK>"]
chars = pads + [chr(97 + i) for i in range(26)]
words = pads + sorted({"".join(random.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(random.randint(2, 8))) for _ in range(3000)})
tags = pads[:3] + ["B", "I", "E", "S", "O", "B-LOC", "I-LOC", "B-PER", "I-PER"]
open("char_to_idx", "w").write("\n".join(chars) + "\n")
open("word_to_idx", "w").write("\n".join(words) + "\n")
open("tag_to_idx", "w").write("\n".join(tags) + "\n")
ci = {c: i for i, c in enumerate(chars)}
with open("train.csv", "w") as f:
    for _ in range(1280):
        n = random.randint(6, 24)
        w = [random.randint(4, len(words) - 1) for _ in range(n)]
        x = " ".join("+".join(str(ci[c]) for c in words[i]) + ":" + str(i) for i in w)
        f.write(x + "\t" + " ".join(str(3 + i % (len(tags) - 3)) for i in w) + "\n")
