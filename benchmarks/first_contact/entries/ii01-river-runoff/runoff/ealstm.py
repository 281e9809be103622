"""Entity-aware LSTM: the input gate sees the static attributes of the basin only."""
import torch
from torch import nn


class EALSTM(nn.Module):
    def __init__(self, input_size_dyn, input_size_stat, hidden_size, initial_forget_bias=5.0):
        super().__init__()
        self.hidden_size = hidden_size
        self.weight_ih = nn.Parameter(torch.empty(input_size_dyn, 3 * hidden_size))
        self.weight_hh = nn.Parameter(torch.empty(hidden_size, 3 * hidden_size))
        self.weight_sh = nn.Parameter(torch.empty(input_size_stat, hidden_size))
        self.bias = nn.Parameter(torch.zeros(3 * hidden_size))
        self.bias_s = nn.Parameter(torch.zeros(hidden_size))
        nn.init.orthogonal_(self.weight_ih)
        nn.init.orthogonal_(self.weight_sh)
        with torch.no_grad():
            self.weight_hh.copy_(torch.eye(hidden_size).repeat(1, 3))
            self.bias[:hidden_size] = initial_forget_bias

    def forward(self, x_d, x_s):
        x_d = x_d.transpose(0, 1)
        seq_len, batch_size, _ = x_d.size()
        h = x_d.new_zeros(batch_size, self.hidden_size)
        c = x_d.new_zeros(batch_size, self.hidden_size)
        bias_batch = self.bias.unsqueeze(0).expand(batch_size, -1)
        bias_s_batch = self.bias_s.unsqueeze(0).expand(batch_size, -1)
        i = torch.sigmoid(torch.addmm(bias_s_batch, x_s, self.weight_sh))
        h_n, c_n = [], []
        for t in range(seq_len):
            gates = torch.addmm(bias_batch, h, self.weight_hh) + torch.mm(x_d[t], self.weight_ih)
            f, o, g = gates.chunk(3, 1)
            c = torch.sigmoid(f) * c + i * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            h_n.append(h)
            c_n.append(c)
        return torch.stack(h_n, 0).transpose(0, 1), torch.stack(c_n, 0).transpose(0, 1)


class RunoffModel(nn.Module):
    def __init__(self, n_forcings, n_attributes, hidden_size, dropout):
        super().__init__()
        self.lstm = EALSTM(n_forcings, n_attributes, hidden_size)
        self.dropout = nn.Dropout(dropout)
        self.fc = nn.Linear(hidden_size, 1)

    def forward(self, x_d, x_s):
        h_n, _ = self.lstm(x_d, x_s)
        return self.fc(self.dropout(h_n[:, -1, :]))
