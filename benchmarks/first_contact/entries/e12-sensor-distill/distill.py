import argparse
import pathlib
from collections import defaultdict

import numpy as np
import torch
import torch.nn.functional as F

from nets import sensor_windows, student_net, teacher_net

HERE = pathlib.Path(__file__).resolve().parent


class Monitor:
    """Keeps scalar curves and parameter / gradient histograms of the student."""

    def __init__(self, bins=64):
        self.bins = bins
        self.scalars = defaultdict(list)
        self.histograms = {}

    def scalar(self, name, value):
        self.scalars[name].append(float(value))

    def histogram(self, name, values):
        self.histograms[name] = np.histogram(values.detach().numpy(), bins=self.bins)

    def watch(self, model):
        for name, p in model.named_parameters():
            self.histogram(f"param/{name}", p)
            self.histogram(f"grad/{name}", p.grad)
            self.scalar(f"gradnorm/{name}", p.grad.norm())

    def mean(self, name, last):
        return sum(self.scalars[name][-last:]) / last


def jitter(x):
    gain = 1 + 0.1 * torch.randn(x.size(0), x.size(1), 1)
    return torch.roll(x, int(torch.randint(-8, 9, ())), dims=-1) * gain + 0.05 * torch.randn_like(x)


def distillation_loss(student_logits, teacher_logits, labels, T=3.0, alpha=0.7):
    soft = F.kl_div(F.log_softmax(student_logits / T, dim=1), F.softmax(teacher_logits / T, dim=1),
                    reduction="batchmean") * T * T
    return alpha * soft + (1 - alpha) * F.cross_entropy(student_logits, labels)


@torch.no_grad()
def test_accuracy(net, x, y):
    net.eval()
    hit = (net(x).argmax(1) == y).float().mean().item()
    net.train()
    return hit


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=24)
    p.add_argument("--batch-size", type=int, default=48)
    p.add_argument("--windows", type=int, default=3840)
    p.add_argument("--lr", type=float, default=0.03)
    args = p.parse_args()

    torch.manual_seed(0)
    x, y = sensor_windows(args.windows, seed=1)
    x_test, y_test = sensor_windows(600, seed=2)

    teacher = teacher_net()
    teacher.load_state_dict(torch.load(HERE / "teacher.pt"))
    print(f"teacher test accuracy {test_accuracy(teacher, x_test, y_test):.4f}")
    teacher.eval()

    student = student_net()
    optimizer = torch.optim.SGD(student.parameters(), lr=args.lr, momentum=0.9, nesterov=True)
    monitor = Monitor()
    for epoch in range(args.epochs):
        order = torch.randperm(len(x))
        for idx in order.split(args.batch_size):
            batch, labels = jitter(x[idx]), y[idx]
            teacher_logits = teacher(batch)
            student_logits = student(batch)
            loss = distillation_loss(student_logits, teacher_logits, labels)
            optimizer.zero_grad()
            loss.backward()
            monitor.watch(student)
            monitor.scalar("loss", loss.detach())
            optimizer.step()
        print(f"epoch {epoch:2d}  loss {monitor.mean('loss', len(x) // args.batch_size):.4f}  "
              f"grad norm head {monitor.mean('gradnorm/head.weight', 50):.4f}  "
              f"test accuracy {test_accuracy(student, x_test, y_test):.4f}")


if __name__ == "__main__":
    main()
