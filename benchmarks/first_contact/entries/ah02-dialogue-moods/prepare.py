import os
import pickle

import numpy as np

ROOT = 'DialogueRNN_features/MELD_features'
TRAIN, TEST = 180, 48


def main():
    rng = np.random.default_rng(5)
    centres = rng.normal(size=(7, 600))
    often = np.array([0.47, 0.12, 0.03, 0.07, 0.17, 0.03, 0.11])
    polarity = np.array([0, 1, 2, 2, 1, 2, 2])
    ids, speakers, emotions, text, audio, sentences, sentiments = {}, {}, {}, {}, {}, {}, {}
    for vid in range(TRAIN + TEST):
        n = int(np.clip(rng.gamma(2.4, 4.0), 1, 33))
        moods = rng.choice(7, size=n, p=often)
        cast = rng.choice(9, size=rng.integers(1, 5), replace=False)
        who = np.zeros((n, 9), dtype=np.float32)
        who[np.arange(n), rng.choice(cast, size=n)] = 1
        ids[vid] = list(range(n))
        speakers[vid] = list(who)
        emotions[vid] = moods.tolist()
        sentiments[vid] = polarity[moods].tolist()
        text[vid] = list((0.2 * centres[moods] + rng.normal(size=(n, 600))).astype(np.float32))
        audio[vid] = list(rng.normal(size=(n, 300)).astype(np.float32))
        sentences[vid] = ['utterance %d' % k for k in range(n)]
    keys = list(range(TRAIN + TEST))
    os.makedirs(ROOT, exist_ok=True)
    with open(ROOT + '/MELD_features_raw.pkl', 'wb') as f:
        pickle.dump((ids, speakers, emotions, text, audio, sentences, keys[:TRAIN], keys[TRAIN:], sentiments), f)


if __name__ == '__main__':
    main()
