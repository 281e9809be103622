"""Forecast verification: contingency scores and fractions skill score."""
import numpy as np
import torch
from torch.nn import functional as F

THRESHOLDS = (20.0, 30.0, 40.0)
SCALES = (5, 11)


def persistence(frames, n_out):
    return frames[:, -1:].expand(-1, n_out, -1, -1, -1)


def advection(frames, n_out):
    """Moves the last frame with the displacement found by phase correlation."""
    forecast = torch.empty(len(frames), n_out, *frames.shape[2:])
    for b, sequence in enumerate(frames):
        shifts = []
        for before, after in zip(sequence[:-1, 0].numpy(), sequence[1:, 0].numpy()):
            cross = np.fft.rfft2(after) * np.conj(np.fft.rfft2(before))
            peak = np.fft.irfft2(cross / (np.abs(cross) + 1e-6), s=after.shape)
            dy, dx = np.unravel_index(np.argmax(peak), peak.shape)
            size_y, size_x = peak.shape
            shifts.append((dy - size_y * (dy > size_y // 2), dx - size_x * (dx > size_x // 2)))
        dy, dx = np.median(np.array(shifts), axis=0)
        for lead in range(n_out):
            step = (int(round(dy * (lead + 1))), int(round(dx * (lead + 1))))
            forecast[b, lead] = torch.roll(sequence[-1], step, dims=(-2, -1))
    return forecast


class Scores:
    def __init__(self):
        self.table = {t: np.zeros(3) for t in THRESHOLDS}
        self.fss = {(t, s): np.zeros(2) for t in THRESHOLDS for s in SCALES}
        self.error, self.count = 0.0, 0

    def add(self, forecast, observed):
        self.error += (forecast - observed).abs().sum().item() * 60
        self.count += observed.numel()
        for threshold in THRESHOLDS:
            f, o = forecast > threshold / 60, observed > threshold / 60
            self.table[threshold] += [(f & o).sum().item(), (~f & o).sum().item(), (f & ~o).sum().item()]
            f, o = f.flatten(0, 1).float(), o.flatten(0, 1).float()
            for scale in SCALES:
                pf = F.avg_pool2d(f, scale, stride=1, padding=scale // 2)
                po = F.avg_pool2d(o, scale, stride=1, padding=scale // 2)
                self.fss[threshold, scale] += [((pf - po) ** 2).sum().item(), (pf ** 2 + po ** 2).sum().item()]

    def result(self):
        out = {"mae": self.error / self.count}
        for threshold, (hits, misses, alarms) in self.table.items():
            out[f"csi{threshold:.0f}"] = hits / max(hits + misses + alarms, 1)
            out[f"far{threshold:.0f}"] = alarms / max(hits + alarms, 1)
        for (threshold, scale), (num, den) in self.fss.items():
            out[f"fss{threshold:.0f}@{scale}"] = 1 - num / max(den, 1e-9)
        return out


@torch.no_grad()
def evaluate(model, loader, n_out):
    model.eval()
    boards = {"convlstm": Scores(), "persistence": Scores(), "advection": Scores()}
    for frames, observed in loader:
        boards["convlstm"].add(model(frames), observed)
        boards["persistence"].add(persistence(frames, n_out), observed)
        boards["advection"].add(advection(frames, n_out), observed)
    model.train()
    return {name: board.result() for name, board in boards.items()}
