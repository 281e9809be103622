import torch
import torch.nn as nn


class SurrogateSpike(torch.autograd.Function):
    @staticmethod
    def forward(ctx, v):
        ctx.save_for_backward(v)
        return (v > 0).float()

    @staticmethod
    def backward(ctx, grad):
        (v,) = ctx.saved_tensors
        return grad / (1.0 + 5.0 * v.abs()) ** 2


spike = SurrogateSpike.apply


class LIFLayer(nn.Module):
    def __init__(self, n_in, n_out, tau_syn=4.0, tau_mem=8.0):
        super().__init__()
        self.fc = nn.Linear(n_in, n_out)
        nn.init.kaiming_uniform_(self.fc.weight, a=0.5)
        self.alpha = float(torch.exp(torch.tensor(-1.0 / tau_syn)))
        self.beta = float(torch.exp(torch.tensor(-1.0 / tau_mem)))
        self.n_out = n_out

    def initial(self, batch, device):
        zeros = torch.zeros(batch, self.n_out, device=device)
        return zeros, zeros, zeros

    def forward(self, x, state):
        i, v, s = state
        i = self.alpha * i + self.fc(x)
        v = self.beta * v * (1.0 - s) + i
        s = spike(v - 1.0)
        return s, (i, v, s)


class SpikingNet(nn.Module):
    def __init__(self, n_in, hidden, n_out, tau_out=10.0):
        super().__init__()
        self.layer1 = LIFLayer(n_in, hidden)
        self.layer2 = LIFLayer(hidden, hidden)
        self.readout = nn.Linear(hidden, n_out)
        self.gamma = float(torch.exp(torch.tensor(-1.0 / tau_out)))

    def forward(self, x):
        batch, steps, _ = x.shape
        state1 = self.layer1.initial(batch, x.device)
        state2 = self.layer2.initial(batch, x.device)
        out = torch.zeros(batch, self.readout.out_features, device=x.device)
        spikes1 = torch.zeros(batch, 0, self.layer1.n_out, device=x.device)
        spikes2 = torch.zeros(batch, 0, self.layer2.n_out, device=x.device)
        outs = torch.zeros(batch, 0, self.readout.out_features, device=x.device)
        for t in range(steps):
            s1, state1 = self.layer1(x[:, t], state1)
            s2, state2 = self.layer2(s1, state2)
            out = self.gamma * out + self.readout(s2)
            spikes1 = torch.cat([spikes1, s1.unsqueeze(1)], dim=1)
            spikes2 = torch.cat([spikes2, s2.unsqueeze(1)], dim=1)
            outs = torch.cat([outs, out.unsqueeze(1)], dim=1)
        return outs.max(dim=1).values, (spikes1, spikes2)
