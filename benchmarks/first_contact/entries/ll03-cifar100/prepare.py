"""Writes a stand-in for CIFAR-100 in its own files, data/cifar-100-python/{train,test}:
2400 + 480 made-up pictures of 32 x 32 (a twentieth of the real 50000 + 10000), 100 classes."""
import os
import pickle
import numpy as np

rng = np.random.RandomState(5)
os.makedirs('data/cifar-100-python', exist_ok=True)
base = rng.randint(0, 256, (100, 3, 8, 8))
for name, n in (('train', 2400), ('test', 480)):
    labels = rng.randint(0, 100, n)
    pictures = np.repeat(np.repeat(base[labels], 4, axis=2), 4, axis=3)
    pictures = pictures * 0.6 + rng.randint(0, 100, pictures.shape)
    pictures = np.clip(pictures, 0, 255).astype(np.uint8).reshape(n, 3072)
    with open('data/cifar-100-python/' + name, 'wb') as f:
        pickle.dump({'data': pictures, 'fine_labels': [int(k) for k in labels],
                     'coarse_labels': [int(k) // 5 for k in labels], 'filenames': ['%d.png' % i for i in range(n)]}, f)
