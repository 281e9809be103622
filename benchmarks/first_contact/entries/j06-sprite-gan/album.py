"""Contact sheets as plain PPM files, so that no imaging library is needed."""
from pathlib import Path

import torch


def contact_sheet(images, columns, margin=2):
    n, c, h, w = images.shape
    rows = -(-n // columns)
    sheet = torch.zeros(c, rows * (h + margin), columns * (w + margin))
    for i, image in enumerate(images):
        top, left = (i // columns) * (h + margin), (i % columns) * (w + margin)
        sheet[:, top:top + h, left:left + w] = image
    return sheet


def write_ppm(path, sheet):
    pixels = ((sheet + 1) * 127.5).clamp(0, 255).round().int()
    _, height, width = pixels.shape
    with open(path, "w") as f:
        f.write(f"P3\n{width} {height}\n255\n")
        for y in range(height):
            for x in range(width):
                r, g, b = pixels[:, y, x]
                f.write(f"{int(r)} {int(g)} {int(b)} ")
            f.write("\n")


class Album:
    def __init__(self, folder, latents, columns=5, every=20):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.latents, self.columns, self.every = latents, columns, every

    @torch.no_grad()
    def __call__(self, step, generator):
        if step % self.every == 0:
            generator.eval()
            write_ppm(self.folder / "latest.ppm", contact_sheet(generator(self.latents), self.columns))
            generator.train()
