"""Makes image pairs of a drifting glacier surface with the displacement field between them."""
import json
from pathlib import Path

import numpy as np
from scipy.ndimage import gaussian_filter, map_coordinates

ROOT = Path(__file__).parent / "data"
SIZE = 512


def surface(rng):
    img = sum(w * gaussian_filter(rng.standard_normal((SIZE, SIZE)), s) * s
              for s, w in ((1.5, 1.0), (4, 0.8), (16, 0.6)))
    return (img - img.min()) / (img.max() - img.min())


def main():
    rng = np.random.default_rng(11)
    ROOT.mkdir(exist_ok=True)
    yy, xx = np.mgrid[0:SIZE, 0:SIZE].astype(np.float32)
    names = []
    for i in range(24):
        base = surface(rng)
        flow = np.stack([gaussian_filter(rng.standard_normal((SIZE, SIZE)), 60) for _ in range(2)])
        flow = flow / np.abs(flow).max() * rng.uniform(6, 13)
        second = map_coordinates(base, [yy - flow[1], xx - flow[0]], order=1, mode="reflect")
        gain = rng.uniform(0.6, 1.2)
        name = f"scene_{i:02d}"
        first = base * 20000 + 3000 + rng.normal(0, 150, base.shape)
        second = second * 20000 * gain + 4000 + rng.normal(0, 150, base.shape)
        np.save(ROOT / f"{name}_t0.npy", first.clip(0, 65535).astype(np.uint16))
        np.save(ROOT / f"{name}_t1.npy", second.clip(0, 65535).astype(np.uint16))
        np.save(ROOT / f"{name}_flow.npy", flow[:, 2::4, 2::4].astype(np.float16))
        names.append(name)
    (ROOT / "scenes.json").write_text(json.dumps({"train": names[:20], "val": names[20:]}))


if __name__ == "__main__":
    main()
