"""Made-up motions in the format of the h3.6m.zip that the README links to: 7 subjects, 15 actions, 2 takes of 400 to 600 frames (real ones have 1000 to 6000), 99 columns, 54 of which move."""
import os

import numpy as np

g = np.random.RandomState(0)
actions = ["walking", "eating", "smoking", "discussion", "directions", "greeting", "phoning", "posing", "purchases",
           "sitting", "sittingdown", "takingphoto", "waiting", "walkingdog", "walkingtogether"]
use = [6, 7, 8, 9, 12, 13, 14, 15, 21, 22, 23, 24, 27, 28, 29, 30, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 51, 52,
       53, 54, 55, 56, 57, 60, 61, 62, 75, 76, 77, 78, 79, 80, 81, 84, 85, 86, 3, 4, 5, 0, 1, 2]
for subject in (1, 5, 6, 7, 8, 9, 11):
    folder = "data/h3.6m/dataset/S%d" % subject
    os.makedirs(folder, exist_ok=True)
    for action in actions:
        for take in (1, 2):
            n = g.randint(400, 600)
            t = np.arange(n)[:, None]
            frames = np.zeros((n, 99), np.float32)
            frames[:, use] = (0.3 * np.sin(t * g.uniform(0.02, 0.2, 54) + g.uniform(0, 6, 54)) + 0.15 * g.randn(54)
                              + 0.01 * g.randn(n, 54).cumsum(0))
            np.savetxt("%s/%s_%d.txt" % (folder, action, take), frames, fmt="%.5f", delimiter=",")
