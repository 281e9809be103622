"""Learn inverse kinematics by differentiating through the arm's forward kinematics."""
import argparse
import json
import os

import torch

from arm import Arm, pose_errors
from policy import PosePolicy


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=400)
    p.add_argument("--batch-size", type=int, default=512)
    p.add_argument("--poses", type=int, default=24000)
    p.add_argument("--lr", type=float, default=7e-4)
    p.add_argument("--turn-weight", type=float, default=0.15)
    p.add_argument("--rest-weight", type=float, default=1e-3)
    p.add_argument("--log-every", type=int, default=50)
    p.add_argument("--eval-every", type=int, default=100)
    p.add_argument("--out", default="run")
    p.add_argument("--seed", type=int, default=3)
    return p.parse_args()


@torch.no_grad()
def reachable_poses(arm, count, generator):
    angles = (2 * torch.rand(count, arm.joints, generator=generator) - 1) * arm.limits * 0.8
    return torch.cat([arm(part) for part in angles.split(4096)])


class Trainer:
    def __init__(self, args):
        self.args = args
        self.generator = torch.Generator().manual_seed(args.seed)
        self.arm = Arm()
        self.policy = PosePolicy(self.arm.limits)
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=args.lr, fused=True)
        self.train_poses = reachable_poses(self.arm, args.poses, self.generator)
        self.valid_poses = reachable_poses(self.arm, 1024, self.generator)
        os.makedirs(args.out, exist_ok=True)
        self.records = []

    def loss(self, target):
        angles = self.policy(target)
        distance, turn = pose_errors(self.arm(angles), target)
        rest = (angles / self.arm.limits).square().mean()
        total = distance.mean() + self.args.turn_weight * turn.mean() + self.args.rest_weight * rest
        return total, distance

    def step(self):
        picks = torch.randint(len(self.train_poses), (self.args.batch_size,), generator=self.generator)
        total, distance = self.loss(self.train_poses[picks])
        self.optimizer.zero_grad(set_to_none=True)
        total.backward()
        torch.nn.utils.clip_grad_norm_(self.policy.parameters(), 1.0)
        self.optimizer.step()
        return total.detach(), distance.detach()

    @torch.no_grad()
    def evaluate(self):
        self.policy.eval()
        distance, turn = pose_errors(self.arm(self.policy(self.valid_poses)), self.valid_poses)
        self.policy.train()
        return {
            "median_mm": 1e3 * distance.median().item(),
            "p90_mm": 1e3 * distance.quantile(0.9).item(),
            "turn": turn.mean().item(),
        }

    def run(self):
        for step in range(1, self.args.steps + 1):
            total, distance = self.step()
            if step % self.args.log_every == 0:
                print(f"step {step} loss {total.item():.5f} distance {distance.mean().item():.4f} m", flush=True)
            if step % self.args.eval_every == 0:
                scores = self.evaluate()
                self.records.append({"step": step, **scores})
                print("  valid " + " ".join(f"{k} {v:.3f}" for k, v in scores.items()), flush=True)
        torch.save(self.policy.state_dict(), os.path.join(self.args.out, "policy.pt"))
        with open(os.path.join(self.args.out, "scores.json"), "w") as f:
            json.dump(self.records, f, indent=1)


if __name__ == "__main__":
    args = parse()
    torch.manual_seed(args.seed)
    Trainer(args).run()
