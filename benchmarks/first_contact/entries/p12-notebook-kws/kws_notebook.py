# coding: utf-8
# # Keyword spotting on log-mel patches
# In[1]:
import os
import sys
import json
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Variable

torch.manual_seed(7)
np.random.seed(7)
EPOCHS = int(sys.argv[1]) if len(sys.argv) > 1 else 2
OUT = os.environ.get("KWS_OUT", "/tmp/p12_kws")
os.makedirs(OUT, exist_ok=True)

# In[2]:
N_CLASS, BATCH, N = 12, 32, 32 * 60
X = np.random.randn(N, 1, 40, 49).astype("float32")
Y = np.random.randint(0, N_CLASS, N)
for k in range(N_CLASS):
    X[Y == k, 0, k * 3: k * 3 + 3] += 0.7
X.shape, Y.shape


# In[3]:
class KWS(nn.Module):
    def __init__(self):
        super(KWS, self).__init__()
        self.conv1 = nn.Conv2d(1, 32, (10, 4), stride=(2, 2))
        self.bn1 = nn.BatchNorm2d(32)
        self.dw = nn.Conv2d(32, 32, 3, groups=32, padding=1)
        self.pw = nn.Conv2d(32, 64, 1)
        self.bn2 = nn.BatchNorm2d(64)
        self.fc1 = nn.Linear(64 * 8 * 12, 160)
        self.fc2 = nn.Linear(160, N_CLASS)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(self.bn2(self.pw(self.dw(x))))
        x = F.avg_pool2d(x, 2, ceil_mode=True)[:, :, :8, :12]
        x = F.dropout(F.relu(self.fc1(x.reshape(x.size(0), -1))), 0.3, self.training)
        return self.fc2(x)


net = KWS()
print(net)
print(sum(p.numel() for p in net.parameters()), "parameters")

# In[4]:
opt = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9, nesterov=True)
crit = nn.CrossEntropyLoss()
log = open(os.path.join(OUT, "log.jsonl"), "w")
losses, accs = [], []


def weight_report(net, step):
    rep = {"step": step}
    for name, p in net.named_parameters():
        w, g = p.data.numpy().ravel(), p.grad.data.numpy().ravel()
        hw, edges = np.histogram(w, bins=64)
        hg, _ = np.histogram(g, bins=64)
        rep[name] = {"w": hw.tolist(), "g": hg.tolist(), "edges": edges.tolist()}
    return rep


# In[5]:
step = 0
for epoch in range(EPOCHS):
    order = np.random.permutation(N)
    net.train()
    for i in range(0, N, BATCH):
        ix = order[i:i + BATCH]
        x, y = Variable(torch.from_numpy(X[ix])), Variable(torch.from_numpy(Y[ix]))
        out = net(x)
        loss = crit(out, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(float(loss.data))
        accs.append(float((out.data.max(1)[1] == y.data).float().mean()))
        log.write(json.dumps(weight_report(net, step)) + "\n")
        log.flush()
        step += 1
    print("epoch", epoch, "loss", np.mean(losses[-60:]), "acc", np.mean(accs[-60:]))

# In[6]:
log.close()
np.save(os.path.join(OUT, "losses.npy"), np.array(losses))
