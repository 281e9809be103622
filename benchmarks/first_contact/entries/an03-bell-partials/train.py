import time

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from bells import LENGTH, RATIOS, strike

EPOCHS = 22
STEPS = 64
BATCH = 16
N_FFT, HOP = 512, 128


class Analyser(nn.Module):
    """Log spectrogram, two-dimensional convolutions, then a readout per partial."""

    def __init__(self, width=16):
        super().__init__()
        self.register_buffer("window", torch.hann_window(N_FFT))
        self.stem = nn.Conv2d(1, width, 5, stride=2, padding=2)
        blocks = []
        for _ in range(3):
            blocks += [nn.BatchNorm2d(width), nn.ReLU(inplace=True), nn.Conv2d(width, width, 3, stride=2, padding=1, bias=False)]
        self.body = nn.Sequential(*blocks)
        self.head = nn.Sequential(nn.Flatten(), nn.Dropout(0.2), nn.LazyLinear(160), nn.ReLU(), nn.Linear(160, 3 * 2 * len(RATIOS)))

    def forward(self, wave):
        spectrum = torch.stft(wave, N_FFT, HOP, window=self.window, return_complex=True)
        power = torch.view_as_real(spectrum).square().sum(-1)
        picture = torch.log1p(100 * power)[:, None, :-1].contiguous(memory_format=torch.channels_last)
        mean, log_scale = self.head(self.body(self.stem(picture))).chunk(2, 1)
        return mean, log_scale.clamp(-4, 3)


def augment(wave, generator):
    """Street noise at a random level, and a random gain; the noise is new in every step."""
    level = torch.empty(len(wave), 1).uniform_(0.0, 0.05, generator=generator)
    gain = torch.empty(len(wave), 1).uniform_(0.5, 1.0, generator=generator)
    return gain * wave + level * torch.randn(wave.shape, generator=generator)


def evaluate(model, wave, targets):
    model.eval()
    with torch.inference_mode():
        guesses = torch.cat([model(part)[0] for part in wave.split(64)])
    model.train()
    errors = (guesses - targets).abs()
    return 25 * errors[:, : len(RATIOS)].mean().item(), errors[:, len(RATIOS):].mean().item()


def main():
    torch.manual_seed(1)
    generator = torch.Generator().manual_seed(2)
    wave, targets = strike(700, generator)
    held_wave, held_targets = wave[:96].clone(), targets[:96].clone()
    wave, targets = wave[96:], targets[96:]

    model = Analyser()
    model(wave[:2])
    model = model.to(memory_format=torch.channels_last)
    averaged = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.995), use_buffers=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.02, fused=True)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=EPOCHS * STEPS)
    likelihood = nn.GaussianNLLLoss()

    for epoch in range(EPOCHS):
        begun = time.perf_counter()
        total = torch.zeros(())
        for _ in range(STEPS):
            rows = torch.randint(len(wave), (BATCH,), generator=generator)
            mean, log_scale = model(augment(wave[rows], generator))
            loss = likelihood(mean, targets[rows], log_scale.exp())
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            averaged.update_parameters(model)
            scheduler.step()
            total += loss.detach()
        seconds = time.perf_counter() - begun
        print(f"{epoch + 1:3d}  nll {total.item() / STEPS:7.4f}  {1000 * seconds / STEPS:.0f} ms a step", end="")
        if epoch % 3 == 2:
            cents, rest = evaluate(averaged, held_wave, held_targets)
            print(f"  held: {cents:.1f} cents, {rest:.3f}", end="")
        print(flush=True)
    torch.save(averaged.module.state_dict(), "bells.pt")


if __name__ == "__main__":
    main()
