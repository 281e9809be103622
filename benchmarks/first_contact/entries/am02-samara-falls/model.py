import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.parametrizations import orthogonal, weight_norm


class WingEncoder(nn.Module):
    """Closed outline of 128 points -> one vector. Padding is circular, as the outline is."""

    def __init__(self, width, out):
        super().__init__()
        self.layers = nn.ModuleList(
            [
                nn.Conv1d(4, width, 5, padding=2, padding_mode="circular"),
                nn.Conv1d(width, width, 5, padding=2, padding_mode="circular"),
                nn.Conv1d(width, 2 * width, 5, padding=2, stride=2, padding_mode="circular"),
                nn.Conv1d(2 * width, 2 * width, 5, padding=2, padding_mode="circular"),
            ]
        )
        self.project = nn.Linear(2 * width, out)

    def forward(self, outline):
        x = outline
        for layer in self.layers:
            x = F.gelu(layer(x))
        return self.project(x.mean(2))


class PrecessionCell(nn.Module):
    """Pairs of hidden units turn by an angle that the state chooses, and leak towards a new candidate.

    The candidate sees the turned state through an orthogonal matrix, which keeps its length. The norms
    of the other recurrent weights are learned apart from their directions; without that the angles
    ran away in the first epochs.
    """

    def __init__(self, hidden):
        super().__init__()
        self.half = hidden // 2
        self.candidate = orthogonal(nn.Linear(hidden, hidden, bias=False), orthogonal_map="cayley")
        self.leak = weight_norm(nn.Linear(hidden, hidden, bias=False))
        self.angle = weight_norm(nn.Linear(hidden, self.half, bias=False))

    def forward(self, drive, h):
        to_candidate, to_leak, to_angle = drive
        angle = to_angle + self.angle(h)
        cos, sin = torch.cos(angle), torch.sin(angle)
        a, b = h[:, : self.half], h[:, self.half :]
        turned = torch.cat([cos * a - sin * b, sin * a + cos * b], 1)
        leak = torch.sigmoid(to_leak + self.leak(h))
        new = torch.tanh(to_candidate + self.candidate(turned))
        return torch.lerp(turned, new, leak)


class FallModel(nn.Module):
    def __init__(self, width=32, hidden=96, wing=64, modes=4):
        super().__init__()
        self.hidden = hidden
        self.modes = modes
        self.encoder = WingEncoder(width, wing)
        self.start = nn.Linear(wing, hidden)
        self.drive = nn.Linear(wing + 3, hidden + hidden + hidden // 2)
        self.cell = PrecessionCell(hidden)
        self.head = nn.Sequential(nn.Linear(hidden, hidden), nn.GELU(), nn.Linear(hidden, 10 * modes))

    def forward(self, outline, steps):
        """One-step-ahead mixture over the displacements.

        A tumbling samara may yet spin up either way, so there are several modes K:
        log weights (B, T, K), means (B, T, K, 3) and lower factors (B, T, K, 3, 3).
        """
        wing = self.encoder(outline)
        before = F.pad(steps[:, :-1], (0, 0, 1, 0))
        drive = self.drive(torch.cat([before, wing[:, None].expand(-1, steps.shape[1], -1)], 2))
        sizes = (self.hidden, self.hidden, self.hidden // 2)
        h = torch.tanh(self.start(wing))
        states = []
        for now in drive.unbind(1):
            h = self.cell(now.split(sizes, 1), h)
            states.append(h)
        out = self.head(torch.stack(states, 1)).unflatten(2, (self.modes, 10))
        mean = before[:, :, None] + out[..., :3]
        diagonal = F.softplus(out[..., 3:6]) + 0.02
        factor = torch.diag_embed(diagonal)
        rows, columns = torch.tril_indices(3, 3, -1)
        factor[..., rows, columns] = out[..., 6:9]
        return F.log_softmax(out[..., 9], 2), mean, factor
