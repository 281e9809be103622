"""Draws stand-in d-vectors in the layout of uis-rnn's data/toy_*.npz: calls of 80 seconds (one embedding of 256 values every 0.4 s) with 2 to 5 speakers taking turns."""
import os

import numpy as np

DIM, CALLS, LENGTH = 256, 54, 200
TEST_CALLS, TEST_LENGTH = 2, 30


def call(rng, length):
    speakers = rng.integers(2, 6)
    voices = rng.normal(0, 1, (speakers, DIM))
    voices /= np.linalg.norm(voices, axis=1, keepdims=True)
    talkative = rng.dirichlet(np.full(speakers, 2.0))
    ids, who = [], rng.integers(speakers)
    while len(ids) < length:
        ids += [who] * int(1 + rng.geometric(0.12))
        others = talkative * (np.arange(speakers) != who)
        who = rng.choice(speakers, p=others / others.sum())
    ids = np.array(ids[:length])
    vectors = voices[ids] + rng.normal(0, 0.35 / DIM ** 0.5, (length, DIM))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True), ids


def main():
    rng = np.random.default_rng(2019)
    os.makedirs('data', exist_ok=True)
    sequences, cluster_ids = [], []
    for number in range(CALLS):
        vectors, ids = call(rng, LENGTH)
        sequences.append(vectors)
        cluster_ids += ['%d_%d' % (number, i) for i in ids]
    np.savez('data/toy_training_data.npz', train_sequence=np.concatenate(sequences),
             train_cluster_id=np.array(cluster_ids))
    tests, test_ids = np.empty(TEST_CALLS, dtype=object), np.empty(TEST_CALLS, dtype=object)
    for number in range(TEST_CALLS):
        vectors, ids = call(rng, TEST_LENGTH)
        tests[number], test_ids[number] = vectors, ids.tolist()
    np.savez('data/toy_testing_data.npz', test_sequences=tests, test_cluster_ids=test_ids)


if __name__ == '__main__':
    main()
