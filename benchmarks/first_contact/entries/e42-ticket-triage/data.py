"""Made-up support tickets: each of the twelve desks has words of its own."""
import numpy as np
import torch

PAD = 0


def make_tickets(count, vocab, desks, seed):
    rng = np.random.default_rng(seed)
    topic = rng.permutation(vocab - 1)[: desks * 60].reshape(desks, 60) + 1
    labels = rng.integers(0, desks, count)
    lengths = np.clip(rng.lognormal(3.5, 0.5, count).astype(int), 8, 128)
    tickets = []
    for label, length in zip(labels, lengths):
        words = rng.integers(1, vocab, length)
        own = rng.random(length) < 0.15
        words[own] = rng.choice(topic[label], own.sum())
        tickets.append(torch.from_numpy(words))
    return tickets, torch.from_numpy(labels)


class BucketedBatches:
    """Batches of tickets of like length, padded once, handed out in a new order each epoch."""

    def __init__(self, tickets, labels, batch_size, shuffle):
        order = sorted(range(len(tickets)), key=lambda i: len(tickets[i]))
        self.batches = []
        for start in range(0, len(order), batch_size):
            chunk = order[start:start + batch_size]
            words = torch.nn.utils.rnn.pad_sequence([tickets[i] for i in chunk], batch_first=True, padding_value=PAD)
            self.batches.append((words, words == PAD, labels[torch.tensor(chunk)]))
        self.shuffle = shuffle

    def __len__(self):
        return len(self.batches)

    def __iter__(self):
        order = torch.randperm(len(self.batches)) if self.shuffle else torch.arange(len(self.batches))
        for i in order.tolist():
            yield self.batches[i]
