import json, os
import numpy as np
r = np.random.RandomState(0)
V, TAGS = 5000, ["O", "B-geo", "I-geo", "B-per", "I-per", "B-org", "I-org", "B-tim"]
words = ["w%d" % i for i in range(V)]
p = 1.0 / np.arange(1, V + 1); p /= p.sum()
for split, n in (("train", 3000), ("val", 500)):
    os.makedirs("data/" + split, exist_ok=True)
    with open("data/%s/sentences.txt" % split, "w") as a, open("data/%s/labels.txt" % split, "w") as b:
        for _ in range(n):
            k = int(np.clip(r.normal(22, 8), 3, 60))
            i = r.choice(V, k, p=p)
            a.write(" ".join(words[j] for j in i) + "\n")
            b.write(" ".join(TAGS[j % 8] if j % 3 == 0 else "O" for j in i) + "\n")
open("data/words.txt", "w").write("\n".join(words + ["<pad>", "UNK"]))
open("data/tags.txt", "w").write("\n".join(TAGS))
json.dump({"train_size": 3000, "dev_size": 500, "test_size": 0, "vocab_size": V + 2, "number_of_tags": 8,
           "pad_word": "<pad>", "pad_tag": "O", "unk_word": "UNK"}, open("data/dataset_params.json", "w"))
os.makedirs("exp", exist_ok=True)
json.dump({"learning_rate": 1e-3, "batch_size": 32, "num_epochs": 10, "lstm_hidden_dim": 50, "embedding_dim": 50,
           "save_summary_steps": 100}, open("exp/params.json", "w"))
