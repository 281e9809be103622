"""Stand-in for the Gaussian random fields (log permeability) on a 32 x 32 grid, and fields of the outputs' shapes for the test."""
import os
import numpy as np

rng = np.random.default_rng(3)
os.makedirs("datasets/32x32", exist_ok=True)
k = np.fft.fftfreq(32) * 32
k2 = k[:, None] ** 2 + k[None] ** 2
power = np.exp(-np.sqrt(k2) * 0.25)


def fields(n):
    z = np.fft.ifft2(np.fft.fft2(rng.standard_normal((n, 32, 32))) * power).real
    return np.exp(z / z.std())[:, None].astype(np.float32)


def outputs(x):
    u = np.broadcast_to(np.linspace(1, 0, 32)[None, None], x[:, 0].shape) + 0.02 * np.log(x[:, 0])
    return np.stack([u, x[:, 0] * 0.9, 0.1 * np.gradient(x[:, 0], axis=1)], 1).astype(np.float32)


x = fields(1024)
np.savez(open("datasets/32x32/kle512_lhs10000_train.hdf5", "wb"), input=x)
x = fields(128)
np.savez(open("datasets/32x32/kle512_lhs1000_val.hdf5", "wb"), input=x, output=outputs(x))
