"""Made-up piano pieces in the form that preprocess_midi.py writes: a pickled list of event numbers for each."""
import os
import pickle

import numpy as np

rng = np.random.RandomState(0)
ON, OFF, SHIFT, VEL = 0, 128, 256, 356
for split, count in [("train", 48), ("val", 6), ("test", 8)]:
    os.makedirs("dataset/e_piano/" + split, exist_ok=True)
    for i in range(count):
        length = int(rng.lognormal(9.2, 0.7))
        key, scale, events, chord = rng.randint(48, 60), [0, 2, 4, 5, 7, 9, 11], [], []
        while len(events) < length:
            root = rng.randint(0, 7)
            for off in chord:
                events.append(OFF + off)
            chord = [key + scale[(root + k) % 7] + 12 * ((root + k) // 7) for k in (0, 2, 4)[: rng.randint(1, 4)]]
            events.append(VEL + int(rng.randint(8, 24)))
            events += [ON + note for note in chord]
            events.append(SHIFT + int(rng.choice([9, 19, 24, 49])))
        with open("dataset/e_piano/%s/piece-%03d.midi.pickle" % (split, i), "wb") as f:
            pickle.dump([int(e) for e in events], f)
