import time

import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(2)

CLASSES, SEEN, PER_CLASS, FEATURES = 240, 200, 60, 256
P, K, STEPS = 32, 8, 4000

# ---- data: every identity is a curved cloud in feature space ----
identity = torch.randn(CLASSES, 1, 24)
hidden = identity + 1.1 * torch.randn(CLASSES, PER_CLASS, 24)
mix = torch.randn(24, FEATURES) / 24 ** 0.5
x = torch.tanh(hidden @ mix) + 0.3 * torch.randn(CLASSES, PER_CLASS, FEATURES)
train, test = x[:SEEN].flatten(0, 1), x[SEEN:]


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.ReLU(inplace=True), nn.Linear(2 * width, width))

    def forward(self, x):
        return x + self.net(x)


class Encoder(nn.Module):
    def __init__(self, width=288, depth=3, out=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(FEATURES, width), *(Residual(width) for _ in range(depth)), nn.LayerNorm(width), nn.Linear(width, out))

    def forward(self, x):
        return F.normalize(self.net(x), dim=-1)


same = torch.eye(P).repeat_interleave(K, 0).repeat_interleave(K, 1).bool()


def batch_hard(z, margin=0.2):
    """Hardest positive and hardest negative for every anchor of a P x K batch."""
    distance = 1 - z @ z.T
    positive = distance.masked_fill(~same, -1).amax(1)
    negative = distance.masked_fill(same, 3).amin(1)
    return F.softplus((positive - negative + margin) * 10).mean() / 10


def sample_batch():
    who = torch.randperm(SEEN)[:P]
    which = torch.rand(P, PER_CLASS).topk(K, dim=1).indices
    return train.index_select(0, (who[:, None] * PER_CLASS + which).flatten())


@torch.inference_mode()
def recall_at_1():
    encoder.eval()
    z = encoder(test.flatten(0, 1))
    similarity = (z @ z.T).fill_diagonal_(-1)
    label = torch.arange(len(test)).repeat_interleave(PER_CLASS)
    encoder.train()
    return (label[similarity.argmax(1)] == label).float().mean().item()


encoder = Encoder()
optimizer = torch.optim.AdamW(encoder.parameters(), lr=5e-4, weight_decay=1e-4, fused=True)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-3, total_steps=STEPS)
print("untrained recall@1", round(recall_at_1(), 3))

start, history = time.time(), []
for step in range(1, STEPS + 1):
    loss = batch_hard(encoder(sample_batch()))
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    scheduler.step()
    history.append(loss.detach())
    if step % 500 == 0:
        print(f"step {step}: loss {torch.stack(history).mean():.4f}, recall@1 {recall_at_1():.3f}, {time.time() - start:.0f} s")
        history = []
