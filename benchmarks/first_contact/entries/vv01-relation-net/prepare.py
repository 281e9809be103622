"""Sort-of-CLEVR as by sort_of_clevr_generator.py of the repository (drawn with PIL instead of cv2), 98 pictures for training and 2 for the test (its 9800 and 200, a hundredth)."""
import os
import pickle
import random

import numpy as np
from PIL import Image, ImageDraw

random.seed(1)
np.random.seed(1)
train_size, test_size, img_size, size, question_size = 98, 2, 75, 5, 18
q_type_idx, sub_q_type_idx, nb_questions = 12, 15, 10
colors = [(0, 0, 255), (0, 255, 0), (255, 0, 0), (0, 156, 255), (128, 128, 128), (0, 255, 255)]


def center_generate(objects):
    while True:
        center = np.random.randint(size, img_size - size, 2)
        if all(((center - c) ** 2).sum() >= (size * 2) ** 2 for _, c, _ in objects):
            return center


def ask(kind, ranges):
    questions, answers = [], []
    for _ in range(nb_questions):
        question = np.zeros(question_size)
        if kind == 2:
            one, two = np.random.permutation(np.arange(5))[:2]
            question[one] = question[6 + two] = 1
        else:
            question[random.randint(0, 5)] = 1
        question[q_type_idx + kind] = 1
        subtype = random.randint(0, 2)
        question[sub_q_type_idx + subtype] = 1
        questions.append(question)
        answers.append(random.choice(ranges[subtype]))
    return questions, answers


def build_dataset():
    objects = []
    picture = Image.new("RGB", (img_size, img_size), (255, 255, 255))
    draw = ImageDraw.Draw(picture)
    for color_id, color in enumerate(colors):
        center = center_generate(objects)
        box = [int(center[0]) - size, int(center[1]) - size, int(center[0]) + size, int(center[1]) + size]
        if random.random() < 0.5:
            draw.rectangle(box, fill=color)
            objects.append((color_id, center, "r"))
        else:
            draw.ellipse(box, fill=color)
            objects.append((color_id, center, "c"))
    norel = ask(0, [(2, 3), (0, 1), (0, 1)])
    binary = ask(1, [(2, 3), (2, 3), range(4, 10)])
    ternary = ask(2, [range(4, 8), (0, 1), range(4, 8)])
    return np.array(picture).astype(np.float64) / 255.0, ternary, binary, norel


test_datasets = [build_dataset() for _ in range(test_size)]
train_datasets = [build_dataset() for _ in range(train_size)]
os.makedirs("data", exist_ok=True)
with open("data/sort-of-clevr.pickle", "wb") as f:
    pickle.dump((train_datasets, test_datasets), f)
