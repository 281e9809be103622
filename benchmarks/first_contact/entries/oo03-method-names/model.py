import torch
from torch import nn


class Code2Vec(nn.Module):
    def __init__(self, n_tokens, n_paths, n_targets, dim=64, code_dim=128, dropout=0.25):
        super().__init__()
        self.token_embedding = nn.Embedding(n_tokens, dim, padding_idx=0)
        self.path_embedding = nn.Embedding(n_paths, dim, padding_idx=0)
        self.dropout = nn.Dropout(dropout)
        self.transform = nn.Linear(3 * dim, code_dim, bias=False)
        self.attention = nn.Linear(code_dim, 1, bias=False)
        self.classifier = nn.Linear(code_dim, n_targets, bias=False)

    def forward(self, left, path, right, mask):
        x = torch.cat([self.token_embedding(left), self.path_embedding(path), self.token_embedding(right)], dim=-1)
        x = torch.tanh(self.transform(self.dropout(x)))
        scores = self.attention(x).squeeze(-1).masked_fill(~mask, float("-inf"))
        weights = torch.softmax(scores, dim=1)
        code = torch.bmm(weights.unsqueeze(1), x).squeeze(1)
        return self.classifier(code), weights
