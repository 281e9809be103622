"""Learns a controller from logged transitions only (expectile values, advantage-weighted regression)."""
import argparse
import copy
import os
import tempfile

import torch
from torch.nn import functional as F

from nets import Critics, Policy, perceptron
from replay import PointMass, Replay, collect


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--steps", type=int, default=1500)
    p.add_argument("--plants", type=int, default=256)
    p.add_argument("--logged", type=int, default=300)
    p.add_argument("--readings", type=int, default=42)
    p.add_argument("--batch-size", type=int, default=256)
    p.add_argument("--width", type=int, default=320)
    p.add_argument("--lr", type=float, default=4e-4)
    p.add_argument("--discount", type=float, default=0.97)
    p.add_argument("--expectile", type=float, default=0.8)
    p.add_argument("--temperature", type=float, default=3.0)
    p.add_argument("--rate", type=float, default=0.005, help="how fast the slow critics follow")
    p.add_argument("--test-every", type=int, default=300)
    p.add_argument("--print-every", type=int, default=25)
    p.add_argument("--seed", type=int, default=6)
    p.add_argument("--out", default=os.path.join(tempfile.gettempdir(), "controller.pt"))
    return p.parse_args()


class Learner:
    def __init__(self, states, actions, args):
        self.args = args
        self.critics = Critics(states + actions, args.width)
        self.slow = copy.deepcopy(self.critics).requires_grad_(False)
        self.value = perceptron(states, args.width, 1)
        self.policy = Policy(states, args.width, actions)
        self.fast_weights, self.slow_weights = list(self.critics.parameters()), list(self.slow.parameters())
        parameters = [p for net in (self.critics, self.value, self.policy) for p in net.parameters()]
        self.optimizer = torch.optim.Adam(parameters, lr=args.lr, fused=True)

    def update(self, batch):
        args = self.args
        with torch.no_grad():
            score = self.slow(batch["state"], batch["action"]).amin(0)
            after = self.value(batch["next"]).squeeze(1)
            goal = batch["reward"] + args.discount * (1 - batch["end"]) * after
        value = self.value(batch["state"]).squeeze(1)
        gap = score - value
        weight = torch.where(gap.detach() > 0, args.expectile, 1 - args.expectile)
        value_loss = (weight * gap.square()).mean()
        critics = self.critics(batch["state"], batch["action"])
        critic_loss = F.mse_loss(critics, goal.expand_as(critics))
        trust = torch.exp(args.temperature * gap.detach()).clamp_max(100.0)
        policy_loss = -(trust * self.policy.log_prob(batch["state"], batch["action"])).mean()
        loss = value_loss + critic_loss + policy_loss
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        with torch.no_grad():
            torch._foreach_lerp_(self.slow_weights, self.fast_weights, args.rate)
        return torch.stack([value_loss, critic_loss, policy_loss]).detach()

    @torch.inference_mode()
    def drive(self, plants=128, steps=60, seed=123):
        """Mean reward a step when the controller is let loose on fresh plants."""
        plant = PointMass(plants, self.args.readings, torch.Generator().manual_seed(seed))
        total = torch.zeros(())
        for _ in range(steps):
            reward, _ = plant.step(self.policy(plant.observe()))
            total += reward.mean()
        return total.item() / steps


def main():
    args = parse()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    data = collect(args.plants, args.logged, args.readings, args.seed)
    replay = Replay(data, args.batch_size, args.seed)
    states, actions = data["state"].shape[1], data["action"].shape[1]
    print(f"{replay.size} transitions, mean reward in the log {data['reward'].mean().item():.4f}")
    learner = Learner(states, actions, args)
    sums, best = torch.zeros(3), float("-inf")
    for step in range(1, args.steps + 1):
        sums += learner.update(replay.sample())
        if step % args.print_every == 0:
            value, critic, policy = (sums / args.print_every).tolist()
            print(f"step {step:5d}  value {value:.4f}  critic {critic:.4f}  policy {policy:.4f}")
            sums.zero_()
        if step % args.test_every == 0:
            reward = learner.drive()
            print(f"  driving: mean reward {reward:.4f}")
            if reward > best:
                best = reward
                torch.save(learner.policy.state_dict(), args.out)
    print(f"best mean reward {best:.4f}")


if __name__ == "__main__":
    main()
