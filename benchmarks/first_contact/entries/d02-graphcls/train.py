import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader

from data import collate, make_set
from model import GIN

config = {
    "epochs": 16,
    "batch_size": 64,
    "lr": 3e-3,
    "train_graphs": 3200,
    "val_graphs": 320,
    "seed": 7,
}


def run_epoch(model, loader, opt=None):
    model.train(opt is not None)
    total, correct, count = 0.0, 0, 0
    with torch.set_grad_enabled(opt is not None):
        for data in loader:
            out = model(data)
            loss = F.cross_entropy(out, data["y"])
            if opt is not None:
                opt.zero_grad(set_to_none=True)
                loss.backward()
                opt.step()
            total += loss.item() * len(out)
            correct += int((out.argmax(-1) == data["y"]).sum())
            count += len(out)
    return total / count, correct / count


def main(cfg):
    torch.manual_seed(cfg["seed"])
    train = DataLoader(make_set(cfg["train_graphs"], 1), cfg["batch_size"], shuffle=True, collate_fn=collate)
    val = DataLoader(make_set(cfg["val_graphs"], 2), cfg["batch_size"], collate_fn=collate)
    model = GIN()
    opt = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    best = 0.0
    for epoch in range(cfg["epochs"]):
        loss, acc = run_epoch(model, train, opt)
        val_loss, val_acc = run_epoch(model, val)
        print(f"[{epoch:02d}] train {loss:.4f}/{acc:.3f}  val {val_loss:.4f}/{val_acc:.3f}")
        if val_acc > best:
            best = val_acc
            torch.save({"model": model.state_dict(), "cfg": cfg}, "best.pt")


if __name__ == "__main__":
    main(config)
