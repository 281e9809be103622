"""Score a trained sequence classifier on held-out sequences."""

import time

import torch
from torch import nn

STEPS = 400


class Classifier(nn.Module):
    def __init__(self, features, classes):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(features, 32), nn.ReLU())
        self.gru = nn.GRU(32, 48, batch_first=True)
        self.head = nn.Linear(48, classes)

    def forward(self, sequences):
        states, _ = self.gru(self.embed(sequences))
        return self.head(states[:, -1])


@torch.inference_mode()
def evaluate(model, sequences, labels):
    correct = torch.zeros((), dtype=torch.long, device=labels.device)
    for step in range(STEPS):
        rows = slice(step * 256 % 4096, step * 256 % 4096 + 256)
        scores = model(sequences[rows])
        correct += (scores.argmax(dim=1) == labels[rows]).sum()
    return correct.item() / (STEPS * 256)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    sequences = torch.randn(4096, 48, 12, device=device)
    labels = torch.randint(5, (4096,), device=device)
    model = Classifier(features=12, classes=5).to(device)
    model.eval()

    started = time.perf_counter()
    accuracy = evaluate(model, sequences, labels)
    elapsed = time.perf_counter() - started

    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, accuracy {accuracy:.4f}")


if __name__ == "__main__":
    main()
