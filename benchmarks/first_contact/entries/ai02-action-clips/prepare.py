"""Draws stand-in clips in the layout of the UCF-101 frames (jpegs_256/v_ACTION_g01_c01/frame000001.jpg), at a quarter of the size."""
import os
import pickle
import numpy as np
from PIL import Image

ACTIONS, CLIPS, FRAMES, H, W = 24, 30, 28, 64, 85

def main():
    rng = np.random.default_rng(101)
    actions = pickle.load(open('UCF101actions.pkl', 'rb'))
    yy, xx = np.mgrid[0:H, 0:W].astype(np.float32)
    os.makedirs('Conv3D_ckpt', exist_ok=True)
    for a in sorted(actions)[:ACTIONS]:
        tint, speed, size, turn = rng.uniform(60, 255, 3), rng.uniform(0.4, 2.0), rng.uniform(5, 16), rng.uniform(0, 6.28)
        for c in range(CLIPS):
            folder = 'jpegs_256/v_%s_g%02d_c%02d' % (a, c // 5 + 1, c % 5 + 1)
            os.makedirs(folder, exist_ok=True)
            coarse = rng.uniform(0, 200, size=(8, 10, 3)).astype(np.uint8)
            back = np.asarray(Image.fromarray(coarse).resize((W, H), Image.BICUBIC)).astype(np.float32)
            back += rng.normal(0, 8, size=(H, W, 1))
            x0, y0 = rng.uniform(10, W - 10), rng.uniform(10, H - 10)
            for t in range(FRAMES):
                x = (x0 + speed * t * np.cos(turn)) % W
                y = (y0 + speed * t * np.sin(turn)) % H
                m = np.exp(-((xx - x) ** 2 + (yy - y) ** 2) / size ** 2)[:, :, None]
                f = back * (1 - m) + tint.astype(np.float32) * m
                Image.fromarray(np.clip(f, 0, 255).astype(np.uint8)).save(os.path.join(folder, 'frame%06d.jpg' % (t + 1)), quality=90)

if __name__ == '__main__':
    main()
