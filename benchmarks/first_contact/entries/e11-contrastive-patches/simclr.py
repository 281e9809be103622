import torch
import torch.nn as nn
import torch.nn.functional as F

PATCH, CROP = 28, 24


def texture_patches(n, seed):
    g = torch.Generator().manual_seed(seed)
    kind = torch.randint(0, 8, (n,), generator=g)
    yy, xx = torch.meshgrid(torch.arange(float(PATCH)), torch.arange(float(PATCH)), indexing="ij")
    theta = (kind % 4).float().view(-1, 1, 1) * 0.785 + 0.1 * torch.randn(n, 1, 1, generator=g)
    period = torch.where(kind < 4, 4.0, 9.0).view(-1, 1, 1)
    shift = torch.rand(n, 1, 1, generator=g) * 6.28
    stripes = torch.sin(6.28 / period * (xx * theta.cos() + yy * theta.sin()) + shift)
    colour = torch.rand(n, 3, 1, 1, generator=g) * 0.6 + 0.2
    return (0.5 + 0.4 * stripes.unsqueeze(1) * colour + 0.08 * torch.randn(n, 3, PATCH, PATCH, generator=g)).clamp(0, 1), kind


class Augment:
    def __call__(self, image):
        size = int(torch.randint(18, PATCH + 1, ()))
        top = int(torch.randint(0, PATCH - size + 1, ()))
        left = int(torch.randint(0, PATCH - size + 1, ()))
        image = image[:, top:top + size, left:left + size]
        image = F.interpolate(image.unsqueeze(0), size=(CROP, CROP), mode="bilinear", align_corners=False)[0]
        if torch.rand(()) < 0.5:
            image = image.flip(-1)
        if torch.rand(()) < 0.8:
            gain = 0.6 + 0.8 * torch.rand(3, 1, 1)
            image = (image * gain).clamp(0, 1)
        if torch.rand(()) < 0.2:
            image = image.mean(0, keepdim=True).expand(3, -1, -1)
        return (image - 0.5) / 0.25


class Encoder(nn.Module):
    def __init__(self, width=16, proj=48):
        super().__init__()

        def stage(i, o):
            return nn.Sequential(nn.Conv2d(i, o, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU(True),
                                 nn.Conv2d(o, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU(True))

        self.backbone = nn.Sequential(stage(3, width), stage(width, width * 2), stage(width * 2, width * 4))
        self.projector = nn.Sequential(nn.Linear(width * 4, width * 4), nn.ReLU(True), nn.Linear(width * 4, proj))

    def features(self, x):
        return self.backbone(x).mean((2, 3))

    def forward(self, x):
        return F.normalize(self.projector(self.features(x)), dim=1)


def nt_xent(z1, z2, temperature=0.2):
    z = torch.cat([z1, z2])
    n = len(z1)
    logits = z @ z.T / temperature
    logits.fill_diagonal_(-1e9)
    target = torch.cat([torch.arange(n, 2 * n), torch.arange(n)])
    return F.cross_entropy(logits, target)


@torch.no_grad()
def knn_accuracy(model, bank, bank_y, query, query_y, k=10):
    model.eval()
    crop = slice((PATCH - CROP) // 2, (PATCH + CROP) // 2)
    b = F.normalize(model.features((bank[:, :, crop, crop] - 0.5) / 0.25), dim=1)
    q = F.normalize(model.features((query[:, :, crop, crop] - 0.5) / 0.25), dim=1)
    votes = bank_y[(q @ b.T).topk(k).indices]
    model.train()
    return (votes.mode(1).values == query_y).float().mean().item()


if __name__ == "__main__":
    torch.manual_seed(0)
    images, labels = texture_patches(2400, seed=1)
    queries, query_labels = texture_patches(300, seed=2)
    augment = Augment()
    model = Encoder()
    opt = torch.optim.SGD(model.parameters(), lr=0.06, momentum=0.9, weight_decay=5e-4)
    batch = 48
    for epoch in range(26):
        total = 0.0
        perm = torch.randperm(len(images))
        for start in range(0, len(images), batch):
            chosen = images[perm[start:start + batch]]
            view1 = torch.stack([augment(img) for img in chosen])
            view2 = torch.stack([augment(img) for img in chosen])
            loss = nt_xent(model(view1), model(view2))
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        acc = knn_accuracy(model, images[:800], labels[:800], queries, query_labels)
        print(f"epoch {epoch}  nt-xent {total / (len(images) // batch):.4f}  knn {acc:.3f}")
