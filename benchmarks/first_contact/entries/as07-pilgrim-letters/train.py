"""From which station was a pilgrim's letter sent? LSTM over words with attentive pooling."""
import random

import torch
import torch.nn as nn
from torch.utils.data import DataLoader

from data import PAD, STATIONS, LetterSet, write_letters

config = {
    "letters": 5200, "words": 6000, "embed": 48, "hidden": 64, "batch_size": 32,
    "epochs": 9, "lr": 2e-3, "word_dropout": 0.1, "seed": 1173, "every": 50,
}


class LetterModel(nn.Module):
    def __init__(self, words, embed, hidden, classes):
        super().__init__()
        self.embedding = nn.Embedding(words, embed, padding_idx=PAD)
        self.lstm = nn.LSTM(embed, hidden, batch_first=True)
        self.key = nn.Linear(hidden, hidden)
        self.query = nn.Parameter(torch.randn(hidden) / hidden ** 0.5)
        self.drop = nn.Dropout(0.2)
        self.out = nn.Linear(hidden, classes)

    def forward(self, tokens, length):
        states, _ = self.lstm(self.embedding(tokens))
        score = torch.tanh(self.key(states)) @ self.query
        blank = torch.arange(tokens.shape[1], device=tokens.device) >= length[:, None]
        weight = score.masked_fill(blank, float("-inf")).softmax(1)
        letter = (weight.unsqueeze(2) * states).sum(1)
        return self.out(self.drop(letter))


class Meter:
    def __init__(self):
        self.reset()

    def reset(self):
        self.total, self.right, self.count = 0.0, 0, 0

    def update(self, loss, logits, target):
        self.total += loss.item() * len(target)
        self.right += (logits.argmax(1) == target).sum().item()
        self.count += len(target)

    def __str__(self):
        return f"loss {self.total / self.count:.3f}, accuracy {self.right / self.count:.3f}"


@torch.no_grad()
def evaluate(model, loader, criterion):
    model.eval()
    meter = Meter()
    for batch in loader:
        logits = model(batch["tokens"], batch["length"])
        meter.update(criterion(logits, batch["station"]), logits, batch["station"])
    model.train()
    return meter


def main():
    random.seed(config["seed"])
    torch.manual_seed(config["seed"])
    letters = write_letters(config["letters"], config["seed"], config["words"])
    max_len = max(len(text) for text, _ in letters)
    held = len(letters) // 10
    train_set = LetterSet(letters[held:], max_len, config["word_dropout"])
    held_set = LetterSet(letters[:held], max_len)
    train_loader = DataLoader(train_set, config["batch_size"], shuffle=True, drop_last=True)
    held_loader = DataLoader(held_set, 2 * config["batch_size"])

    model = LetterModel(config["words"], config["embed"], config["hidden"], len(STATIONS))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=config["lr"], fused=True)
    meter = Meter()
    step = 0
    for epoch in range(config["epochs"]):
        for batch in train_loader:
            logits = model(batch["tokens"], batch["length"])
            loss = criterion(logits, batch["station"])
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            meter.update(loss, logits, batch["station"])
            step += 1
            if step % config["every"] == 0:
                print(f"step {step:5d}  {meter}")
                meter.reset()
        print(f"epoch {epoch}  held letters: {evaluate(model, held_loader, criterion)}")
    torch.save(model.state_dict(), "letters.pt")


if __name__ == "__main__":
    main()
