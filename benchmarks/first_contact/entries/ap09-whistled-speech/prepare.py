"""Writes clips/NNNN.pt: the whistle's ridge in a spectrogram and the word that was whistled."""
import os

import torch

CLIPS, BANDS, FRAMES, WORDS = 1056, 40, 80, 18

if __name__ == "__main__":
    generator = torch.Generator().manual_seed(64)
    os.makedirs("clips", exist_ok=True)
    band = torch.arange(BANDS).float().unsqueeze(1)
    contours = torch.nn.functional.interpolate(torch.rand(WORDS, 1, 7, generator=generator), size=FRAMES, mode="linear")[:, 0]
    for number in range(CLIPS):
        word = int(torch.randint(WORDS, (1,), generator=generator))
        speaker = 4 + 8 * torch.rand(1, generator=generator)
        bend = torch.randn(1, 1, 5, generator=generator)
        contour = contours[word] * 24 + speaker + 1.5 * torch.nn.functional.interpolate(bend, size=FRAMES, mode="linear")[0, 0]
        loud = 0.5 + torch.rand(FRAMES, generator=generator)
        spectrogram = loud * torch.exp(-((band - contour) / 1.3) ** 2) + 0.35 * torch.rand(BANDS, FRAMES, generator=generator)
        torch.save({"spectrogram": spectrogram, "word": word, "speaker": float(speaker)}, f"clips/{number:04d}.pt")
