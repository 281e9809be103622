from collections import defaultdict
from pathlib import Path
from time import perf_counter

import torch
from torch import Tensor, nn

from skin import COMPONENTS, mantles

RUN = Path("run")
EPOCHS, BATCH, RATE, WATCH_EVERY = 28, 24, 1.2e-3, 4


def block(inside: int, outside: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inside, outside, 3, padding=1, bias=False),
        nn.BatchNorm2d(outside),
        nn.ReLU(),
        nn.MaxPool2d(2),
    )


class SkinNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 5, stride=2, padding=2)
        self.blocks = nn.Sequential(block(16, 24), block(24, 40), block(40, 64))
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(64 * 9, 96), nn.ReLU(), nn.Linear(96, 2 * len(COMPONENTS)))

    def forward(self, pictures: Tensor) -> tuple[Tensor, Tensor]:
        shown, strength = self.head(self.blocks(self.stem(pictures))).chunk(2, 1)
        return shown, strength.sigmoid()


class Watch:
    """How alive the rectified units are: mean, spread and the share of zeros, layer by layer."""

    def __init__(self) -> None:
        self.seen: dict[str, list[tuple[float, float, float]]] = defaultdict(list)

    def attach(self, net: nn.Module) -> None:
        self.seen.clear()
        for name, module in net.named_modules():
            if isinstance(module, (nn.ReLU, nn.BatchNorm2d)):
                module.register_forward_hook(self.hook(name))

    def hook(self, name: str):
        def look(module: nn.Module, _, output: Tensor) -> None:
            if module.training:
                out = output.detach()
                self.seen[name].append((out.mean().item(), out.std().item(), (out <= 0).float().mean().item()))
        return look

    def table(self) -> str:
        rows = []
        for name, values in self.seen.items():
            mean, spread, zeros = torch.tensor(values).mean(0).tolist()
            rows.append(f"    {name:12} mean {mean:6.3f}  std {spread:6.3f}  zero {zeros:.2f}")
        return "\n".join(rows)


def prepare(images: Tensor) -> Tensor:
    return images.permute(0, 3, 1, 2).float().div_(255).sub_(0.45).div_(0.25)


def objective(net: SkinNet, pictures: Tensor, strength: Tensor) -> Tensor:
    shown, guess = net(pictures)
    present = (strength > 0).float()
    told = nn.functional.binary_cross_entropy_with_logits(shown, present)
    return told + 2 * ((guess - strength).square() * present).sum() / present.sum().clamp(min=1)


@torch.no_grad()
def mean_precision(net: SkinNet, images: Tensor, strength: Tensor) -> float:
    net.eval()
    shown = torch.cat([net(prepare(part))[0] for part in images.split(100)])
    net.train()
    present = (strength > 0).float().gather(0, shown.argsort(0, descending=True))
    precision = present.cumsum(0) / torch.arange(1, len(present) + 1)[:, None]
    return ((precision * present).sum(0) / present.sum(0)).mean().item()


def main() -> None:
    RUN.mkdir(exist_ok=True)
    torch.manual_seed(99)
    images, strength = map(torch.from_numpy, mantles(1360, seed=99))
    held_images, held_strength = images[:160], strength[:160]
    images, strength = images[160:], strength[160:]

    net, watch = SkinNet(), Watch()
    optimizer = torch.optim.Adam(net.parameters(), lr=RATE, fused=True)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode="max", factor=0.5, patience=4)
    best = 0.0
    for epoch in range(1, EPOCHS + 1):
        start = perf_counter()
        watched = epoch % WATCH_EVERY == 1
        if watched:
            watch.attach(net)
        total = torch.zeros(())
        for rows in torch.randperm(len(images)).split(BATCH):
            pictures, wanted = prepare(images[rows]), strength[rows]
            if torch.rand(()) < 0.5:
                pictures = pictures.flip(3)
            loss = objective(net, pictures, wanted)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.detach() * len(rows)
        precision = mean_precision(net, held_images, held_strength)
        scheduler.step(precision)
        print(f"epoch {epoch:2d}  loss {total.item() / len(images):.4f}  mAP {precision:.3f}  {perf_counter() - start:.1f} s", flush=True)
        if watched:
            print(watch.table(), flush=True)
        if precision > best:
            best = precision
            torch.save({"net": net.state_dict(), "epoch": epoch, "mAP": best}, RUN / "best.pt")


if __name__ == "__main__":
    main()
