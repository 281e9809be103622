"""RETAIN (Choi et al. 2016) with several targets."""
import torch
from torch import nn


class Retain(nn.Module):
    def __init__(self, n_codes, n_groups, dim_emb=128, dim_alpha=128, dim_beta=128, dropout_emb=0.5):
        super().__init__()
        self.embedding = nn.Linear(n_codes, dim_emb, bias=False)
        self.dropout = nn.Dropout(dropout_emb)
        self.rnn_alpha = nn.GRU(dim_emb, dim_alpha, batch_first=True)
        self.alpha_fc = nn.Linear(dim_alpha, 1)
        self.rnn_beta = nn.GRU(dim_emb, dim_beta, batch_first=True)
        self.beta_fc = nn.Linear(dim_beta, dim_emb)
        self.output = nn.Linear(dim_emb, n_groups)
        nn.init.uniform_(self.embedding.weight, -0.05, 0.05)

    def forward(self, x, lengths):
        emb = self.dropout(self.embedding(x))
        mask = torch.arange(emb.size(1)) < lengths[:, None]
        g, _ = self.rnn_alpha(emb)
        h, _ = self.rnn_beta(emb)
        score = self.alpha_fc(g).squeeze(-1).masked_fill(~mask, float("-inf"))
        alpha = score.softmax(1).unsqueeze(-1)
        beta = torch.tanh(self.beta_fc(h))
        context = (alpha * beta * emb).sum(1)
        return self.output(context), alpha.squeeze(-1)
