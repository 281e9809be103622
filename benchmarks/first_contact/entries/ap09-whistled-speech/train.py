import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader

from clips import Whistles

SEED = 40
EPOCHS = 24
BATCH = 24
HELD = 96
WORDS = 18
CHECK = 2


class WhistleNet(nn.Module):
    def __init__(self, words, channels=(24, 32), hidden=64):
        super().__init__()
        self.front = nn.Sequential(
            nn.Conv2d(1, channels[0], 5, stride=(2, 1), padding=2), nn.BatchNorm2d(channels[0]), nn.ReLU(),
            nn.Conv2d(channels[0], channels[1], 3, stride=2, padding=1), nn.BatchNorm2d(channels[1]), nn.ReLU(),
        )
        self.reduce = nn.Linear(channels[1] * 10, hidden)
        self.recurrent = nn.GRU(hidden, hidden, batch_first=True)
        self.attend = nn.Linear(hidden, 1)
        self.word = nn.Linear(hidden, words)

    def forward(self, x):
        x = self.front(x).permute(0, 3, 1, 2).flatten(2)
        states, _ = self.recurrent(F.relu(self.reduce(x)))
        weight = self.attend(states).softmax(1)
        return self.word((weight * states).sum(1))


def evaluate(model, loader):
    model.eval()
    right = total = 0
    with torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16):
        for spectrograms, words in loader:
            right += (model(spectrograms).argmax(1) == words).sum().item()
            total += len(words)
    model.train()
    return right / total


def run():
    torch.manual_seed(SEED)
    numbers = torch.randperm(1056).tolist()
    train_set = Whistles("clips", numbers[HELD:], shift=5, masks=1)
    held_set = Whistles("clips", numbers[:HELD])
    train_loader = DataLoader(train_set, BATCH, shuffle=True, drop_last=True)
    held_loader = DataLoader(held_set, 48)

    model = WhistleNet(WORDS).to(memory_format=torch.channels_last)
    decayed = [p for p in model.parameters() if p.ndim > 1]
    plain = [p for p in model.parameters() if p.ndim <= 1]
    optimizer = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": 1e-2}, {"params": plain, "weight_decay": 0.0}], lr=2e-3, fused=True)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.95)
    best = 0.0
    for epoch in range(1, EPOCHS + 1):
        total = torch.zeros(())
        for spectrograms, words in train_loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(spectrograms), words, label_smoothing=0.1)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            total += loss.detach()
        scheduler.step()
        message = f"epoch {epoch:2d}  loss {total.item() / len(train_loader):.4f}"
        if epoch % CHECK == 0:
            accuracy = evaluate(model, held_loader)
            message += f"  held {accuracy:.3f}"
            if accuracy > best:
                best = accuracy
                torch.save(model.state_dict(), "whistles.pt")
        print(message, flush=True)


if __name__ == "__main__":
    run()
