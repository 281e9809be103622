"""Draws stand-ins for VQA v2 (COCO train2014 / val2014) as tools/process.sh leaves it in data/: questions, soft
answer targets, dictionary of 19901 words, GloVe init, 36 bottom-up features of 2048 numbers for each image.
200 training and 100 validation images with 5 or 6 questions each (82783 and 40504 in the original)."""
import json
import os
import pickle

import numpy as np

rng = np.random.RandomState(2014)
HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "data")
os.makedirs(os.path.join(DATA, "cache"), exist_ok=True)
WORDS, ANSWERS, OBJECTS, DIM = 19901, 3129, 36, 2048

letters = list("abcdefghijklmnopqrstuvwxyz")
words = ["what", "is", "the", "color", "of", "how", "many", "are", "there", "in", "this", "on"]
seen = set(words)
while len(words) < WORDS:
    word = "".join(rng.choice(letters, rng.randint(3, 10)))
    if word not in seen:
        seen.add(word)
        words.append(word)
word_chances = 1 / (np.arange(WORDS) + 2.0)
word_chances /= word_chances.sum()
answers = ["yes", "no"] + [str(i) for i in range(20)] + ["answer%d" % i for i in range(ANSWERS - 22)]
answer_chances = 1 / (np.arange(ANSWERS) + 1.0)
answer_chances /= answer_chances.sum()
meaning = rng.randint(0, ANSWERS, 512)


def dump(thing, *path):
    with open(os.path.join(DATA, *path), "wb") as f:
        pickle.dump(thing, f, protocol=2)


def part(name, images, first):
    image_ids = np.sort(rng.choice(580000, images, replace=False)) + first
    features = np.maximum(rng.randn(images, OBJECTS, DIM).astype(np.float32) - 0.6, 0)
    low = rng.rand(images, OBJECTS, 2).astype(np.float32) * 0.7
    size = rng.rand(images, OBJECTS, 2).astype(np.float32) * 0.3
    spatials = np.concatenate([low, low + size, size], 2)
    with open(os.path.join(DATA, "%s36.hdf5" % name), "wb") as f:
        np.savez(f, image_features=features, spatial_features=spatials)
    dump({int(i): n for n, i in enumerate(image_ids)}, "%s36_imgid2idx.pkl" % name)
    questions, targets = [], []
    for image_id in image_ids.tolist():
        for n in range(5 + (rng.rand() < 0.36)):
            number = image_id * 1000 + n
            length = int(np.clip(rng.poisson(5.2) + 1, 3, 20))
            tokens = rng.choice(WORDS, length, p=word_chances)
            questions.append({"image_id": image_id, "question_id": number,
                              "question": " ".join(words[t] for t in tokens).capitalize() + "?"})
            kinds = rng.choice(ANSWERS, rng.randint(0, 4), replace=False, p=answer_chances).tolist()
            kinds = list(dict.fromkeys([int(meaning[tokens.sum() % 512])] * (rng.rand() < 0.9) + kinds))
            scores = [float(rng.choice([0.3, 0.6, 0.9, 1])) for _ in kinds]
            targets.append({"question_id": number, "image_id": image_id, "labels": kinds, "scores": scores})
    with open(os.path.join(DATA, "v2_OpenEnded_mscoco_%s2014_questions.json" % name), "w") as f:
        json.dump({"questions": questions}, f)
    dump(targets, "cache", "%s_target.pkl" % name)
    print(name, images, "images,", len(questions), "questions")


dump([{w: i for i, w in enumerate(words)}, words], "dictionary.pkl")
dump({a: i for i, a in enumerate(answers)}, "cache", "trainval_ans2label.pkl")
dump(answers, "cache", "trainval_label2ans.pkl")
np.save(os.path.join(DATA, "glove6b_init_300d.npy"), (0.4 * rng.randn(WORDS, 300)).astype(np.float32))
part("train", 200, 0)
part("val", 100, 600000)
