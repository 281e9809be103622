import argparse
import time

import torch
import torch.nn.functional as F

from layers import Forecaster
from series import data_provider, make_frame


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--seq-len", type=int, default=96)
    p.add_argument("--pred-len", type=int, default=24)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--lr", type=float, default=5e-4)
    p.add_argument("--val-every", type=int, default=100)
    p.add_argument("--patience", type=int, default=30)
    return p.parse_args()


def validate(model, loader, data_set):
    model.eval()
    std = torch.from_numpy(data_set.std)
    sse = sae = count = 0.0
    with torch.no_grad():
        for x, marks, y in loader:
            error = model(x, marks) - y
            sse += error.pow(2).sum().item()
            sae += (error * std).abs().sum().item()
            count += error.numel()
    model.train()
    return sse / count, sae / count


def main():
    args = get_args()
    torch.manual_seed(2021)
    frame = make_frame()
    train_set, train_loader = data_provider(frame, "train", args)
    val_set, val_loader = data_provider(frame, "val", args)
    test_set, test_loader = data_provider(frame, "test", args)
    model = Forecaster(frame.shape[1], train_set.marks.shape[1], args.seq_len, args.pred_len)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=3)

    step, best, bad, start = 0, float("inf"), 0, time.time()
    for epoch in range(args.epochs):
        losses = []
        for x, marks, y in train_loader:
            step += 1
            optimizer.zero_grad()
            loss = F.mse_loss(model(x, marks), y)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.item())
            if step % args.val_every == 0:
                mse, mae = validate(model, val_loader, val_set)
                scheduler.step(mse)
                print(f"epoch {epoch} step {step} train {sum(losses[-50:]) / 50:.4f} val mse {mse:.4f} "
                      f"mae {mae:.2f} MW ({(time.time() - start) / step * 1e3:.0f} ms/step)", flush=True)
                best, bad = (mse, 0) if mse < best else (best, bad + 1)
                if bad >= args.patience:
                    break
        if bad >= args.patience:
            break
    print("test mse %.4f mae %.2f" % validate(model, test_loader, test_set))


if __name__ == "__main__":
    main()
