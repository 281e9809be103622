"""Writes made-up digits in the MNIST format (12000 for training, 2000 for the test)."""
import os
import numpy as np
from PIL import Image, ImageDraw, ImageFont

rng = np.random.default_rng(0)
out = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'data', 'mnist', 'MNIST', 'raw')
os.makedirs(out, exist_ok=True)


def digit(c):
    img = Image.new('L', (28, 28))
    font = ImageFont.load_default(size=int(rng.integers(16, 25)))
    ImageDraw.Draw(img).text((rng.integers(4, 12), rng.integers(-1, 5)), str(c), fill=int(rng.integers(150, 256)), font=font)
    img = img.rotate(rng.normal(0, 12), resample=Image.BILINEAR)
    a = np.asarray(img, np.float32) + rng.normal(0, 12, (28, 28))
    return np.clip(a, 0, 255).astype(np.uint8)


def head(*shape):
    return bytes([0, 0, 8, len(shape)]) + b''.join(int(s).to_bytes(4, 'big') for s in shape)


for kind, n in (('train', 12000), ('t10k', 2000)):
    y = rng.integers(0, 10, n).astype(np.uint8)
    x = np.stack([digit(c) for c in y])
    open(os.path.join(out, kind + '-images-idx3-ubyte'), 'wb').write(head(*x.shape) + x.tobytes())
    open(os.path.join(out, kind + '-labels-idx1-ubyte'), 'wb').write(head(n) + y.tobytes())
