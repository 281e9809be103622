import torch
from torch import nn
from torch.nn.utils.parametrizations import orthogonal


class Residual(nn.Module):
    def __init__(self, width, dilation):
        super().__init__()
        self.norm = nn.GroupNorm(8, width)
        self.conv = nn.Conv1d(width, width, 5, padding=2 * dilation, dilation=dilation)
        self.mix = nn.Conv1d(width, width, 1)

    def forward(self, x):
        return x + self.mix(nn.functional.gelu(self.conv(self.norm(x))))


class ModReLU(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.bias = nn.Parameter(torch.full((width,), -0.01))

    def forward(self, z):
        return torch.sign(z) * torch.relu(z.abs() + self.bias)


class NormKeepingRNN(nn.Module):
    """h <- modrelu(V x + U h) with U on the orthogonal group, so that slow drift is not forgotten."""

    def __init__(self, inputs, width):
        super().__init__()
        self.drive = nn.Linear(inputs, width)
        self.turn = orthogonal(nn.Linear(width, width, bias=False), orthogonal_map="cayley")
        self.act = ModReLU(width)

    def forward(self, x):
        drive = self.drive(x)
        h = x.new_zeros(x.shape[0], self.turn.out_features)
        states = []
        for u in drive.unbind(1):
            h = self.act(u + self.turn(h))
            states.append(h)
        return torch.stack(states, 1)


class TensionEnsemble(nn.Module):
    def __init__(self, lines=8, leads=6, width=64, state=56, latent=16):
        super().__init__()
        self.lines, self.leads, self.latent = lines, leads, latent
        self.stem = nn.Sequential(
            nn.Conv1d(6, width // 2, 7, stride=2, padding=3),
            nn.GELU(),
            nn.Conv1d(width // 2, width, 5, stride=2, padding=2),
            nn.GELU(),
            nn.Conv1d(width, width, 5, stride=2, padding=2),
        )
        self.blocks = nn.Sequential(*[Residual(width, d) for d in (1, 3)])
        self.core = NormKeepingRNN(width, state)
        self.pool = nn.Linear(state, 1)
        self.lift = nn.Linear(2 * state, 192)
        self.noise = nn.Linear(latent, 192, bias=False)
        self.out = nn.Sequential(nn.GELU(), nn.Linear(192, 128), nn.GELU(), nn.Linear(128, lines * leads))

    def forward(self, past, members):
        x = self.blocks(self.stem(past))
        states = self.core(x.transpose(1, 2))
        share = torch.softmax(self.pool(states), 1)
        summary = torch.cat([states[:, -1], (share * states).sum(1)], -1)
        z = torch.randn(past.shape[0], members, self.latent, device=past.device)
        y = self.out(self.lift(summary).unsqueeze(1) + self.noise(z))
        return y.view(-1, members, self.leads, self.lines)
