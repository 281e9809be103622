#!/usr/bin/env python
# coding: utf-8

# # Sentiment of (fake) reviews with a bag of embeddings + small CNN

# In[1]:


import random, re, string, time
from collections import Counter
import torch, torch.nn as nn
from torch.utils.data import Dataset, DataLoader, random_split

random.seed(13); torch.manual_seed(13)


# In[2]: make reviews

GOOD = "great superb lovely moving brilliant charming clever sharp".split()
BAD = "awful dull clumsy boring flat lazy messy noisy".split()
FILL = ["the", "a", "film", "plot", "actor", "scene", "it's", "wasn't", "and", "but", "of", "with", "music", "end"] + ["".join(random.choices(string.ascii_lowercase, k=random.randint(3, 9))) for _ in range(3000)]

def fake_review():
    y = random.random() < .5
    words = random.choices(FILL, k=random.randint(60, 160))
    for _ in range(6):
        words.insert(random.randrange(len(words)), random.choice(GOOD if y else BAD))
    txt = " ".join(w.capitalize() if random.random() < .1 else w for w in words)
    return txt.replace(" but ", ", but ").replace(" and ", "<br /><br />and ") + random.choice([".", "!!", "..."]), int(y)

reviews = [fake_review() for _ in range(2400)]
print(reviews[0])


# In[3]: preprocessing

STOP = ["the", "a", "of", "and", "with", "it"]
CONTRACTIONS = {"it's": "it is", "wasn't": "was not", "don't": "do not", "can't": "can not", "i'm": "i am", "they're": "they are"}

def clean(text):
    text = text.lower()
    text = re.sub(r"<.*?>", " ", text)
    for k, v in CONTRACTIONS.items():
        text = re.sub(k, v, text)
    text = re.sub(r"[^a-z\s]", " ", text)
    text = re.sub(r"(.)\1{2,}", r"\1\1", text)
    return re.sub(r"\s+", " ", text).strip()

def tokenize(text):
    return [w for w in clean(text).split() if w not in STOP]

counts = Counter()
for t, _ in reviews:
    counts.update(tokenize(t))
vocab = {"<pad>": 0, "<unk>": 1}
for w, c in counts.most_common(2500):
    vocab[w] = len(vocab)
len(vocab)


# In[4]:

class ReviewDataset(Dataset):
    def __init__(self, reviews, vocab, max_len=128):
        self.reviews, self.vocab, self.max_len = reviews, vocab, max_len

    def __len__(self):
        return len(self.reviews)

    def __getitem__(self, i):
        text, label = self.reviews[i]
        ids = [self.vocab.get(w, 1) for w in tokenize(text)][:self.max_len]
        ids += [0] * (self.max_len - len(ids))
        return torch.tensor(ids), torch.tensor(label)

ds = ReviewDataset(reviews, vocab)
train_ds, val_ds = random_split(ds, [2176, 224])
train_dl = DataLoader(train_ds, batch_size=32, shuffle=True)
val_dl = DataLoader(val_ds, batch_size=112)


# In[5]:

class TextCNN(nn.Module):
    def __init__(self, n_vocab, dim=40, channels=32):
        super().__init__()
        self.emb = nn.Embedding(n_vocab, dim, padding_idx=0)
        self.convs = nn.ModuleList([nn.Conv1d(dim, channels, k, padding=k // 2) for k in (3, 5)])
        self.drop = nn.Dropout(0.3)
        self.fc = nn.Linear(2 * channels, 2)

    def forward(self, x):
        e = self.emb(x).transpose(1, 2)
        h = [c(e).relu().amax(2) for c in self.convs]
        return self.fc(self.drop(torch.cat(h, 1)))

net = TextCNN(len(vocab))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()


# In[6]:

for epoch in range(20):
    t0 = time.time(); tot = 0
    net.train()
    for xb, yb in train_dl:
        opt.zero_grad()
        loss = criterion(net(xb), yb)
        loss.backward()
        opt.step()
        tot += loss.item()
    net.eval()
    with torch.no_grad():
        acc = sum((net(xb).argmax(1) == yb).sum().item() for xb, yb in val_dl) / len(val_ds)
    print(f"epoch {epoch}: loss {tot / len(train_dl):.3f}, val acc {acc:.3f}, {time.time() - t0:.1f}s")
