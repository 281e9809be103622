"""Stand-in data for the oracle experiment: a random oracle and samples of it."""
import torch
import torch.nn as nn

torch.manual_seed(0)
V, E, H, L = 5000, 32, 32, 20
emb, gru, out = nn.Embedding(V, E), nn.GRU(E, H), nn.Linear(H, V)
state = {}
for name, m in (("embeddings", emb), ("gru", gru), ("gru2out", out)):
    for k, v in m.state_dict().items():
        state[name + "." + k] = torch.randn_like(v)
torch.save(state, "oracle_EMBDIM32_HIDDENDIM32_VOCAB5000_MAXSEQLEN20.trc")
torch.save(torch.randint(1, V, (10000, L)).float(), "oracle_samples.trc")
