import argparse
import csv
import time
from pathlib import Path

import numpy as np
import torch

from agent import ActorCritic, RolloutBuffer, RunningNorm
from env import QuadrotorVec


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--iterations", type=int, default=20)
    p.add_argument("--num-envs", type=int, default=128)
    p.add_argument("--rollout", type=int, default=64)
    p.add_argument("--epochs", type=int, default=6)
    p.add_argument("--minibatch", type=int, default=1024)
    p.add_argument("--hidden", type=int, default=512)
    p.add_argument("--lr", type=float, default=3e-4)
    p.add_argument("--gamma", type=float, default=0.99)
    p.add_argument("--lam", type=float, default=0.95)
    p.add_argument("--clip", type=float, default=0.2)
    p.add_argument("--entropy", type=float, default=0.002)
    p.add_argument("--value-coef", type=float, default=0.5)
    p.add_argument("--max-grad", type=float, default=0.5)
    p.add_argument("--target-kl", type=float, default=0.05)
    p.add_argument("--eval-every", type=int, default=5)
    p.add_argument("--out", default="runs/quadrotor")
    p.add_argument("--seed", type=int, default=0)
    return p.parse_args()


def collect(agent, env, obs, buffer, norm):
    for t in range(buffer.steps):
        raw = torch.from_numpy(obs)
        norm.update(raw)
        scaled = norm(raw)
        action, log_prob, value = agent.act(scaled)
        obs, reward, done = env.step(action.numpy())
        buffer.obs[t] = scaled
        buffer.actions[t] = action
        buffer.log_probs[t] = log_prob
        buffer.values[t] = value
        buffer.rewards[t] = torch.from_numpy(reward)
        buffer.dones[t] = torch.from_numpy(done)
    return obs


def update(agent, optimizer, batch, args):
    obs, actions, old_log_probs, old_values, advantages, returns = batch
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    stats = []
    for _ in range(args.epochs):
        for pick in torch.randperm(obs.size(0)).split(args.minibatch):
            log_prob, value, entropy = agent.evaluate(obs[pick], actions[pick])
            log_ratio = log_prob - old_log_probs[pick]
            ratio = log_ratio.exp()
            advantage = advantages[pick]
            policy_loss = -torch.minimum(advantage * ratio, advantage * ratio.clamp(1 - args.clip, 1 + args.clip)).mean()
            clipped = old_values[pick] + (value - old_values[pick]).clamp(-args.clip, args.clip)
            target = returns[pick]
            value_loss = 0.5 * torch.maximum((value - target).square(), (clipped - target).square()).mean()
            loss = policy_loss + args.value_coef * value_loss - args.entropy * entropy

            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(agent.parameters(), args.max_grad)
            optimizer.step()
            with torch.no_grad():
                kl = ((ratio - 1) - log_ratio).mean().item()
            stats.append((policy_loss.item(), value_loss.item(), entropy.item(), kl))
        if kl > args.target_kl:
            break
    return np.mean(stats, axis=0), len(stats)


def evaluate(agent, norm, episodes=32, seed=999):
    env = QuadrotorVec(episodes, seed=seed)
    obs = env.reset()
    while len(env.finished) < episodes:
        action = agent.act(norm(torch.from_numpy(obs)), deterministic=True)
        obs, _, _ = env.step(action.numpy())
    return float(np.mean(env.finished))


def main():
    args = parse()
    torch.manual_seed(args.seed)
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    env = QuadrotorVec(args.num_envs, seed=args.seed)
    agent = ActorCritic(env.obs_dim, env.act_dim, args.hidden)
    optimizer = torch.optim.Adam(agent.parameters(), lr=args.lr, eps=1e-5, fused=True)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, args.iterations)
    norm = RunningNorm(env.obs_dim)
    buffer = RolloutBuffer(args.rollout, args.num_envs, env.obs_dim, env.act_dim)

    obs = env.reset()
    began = time.time()
    with open(out / "progress.csv", "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["iteration", "samples", "return", "policy_loss", "value_loss", "entropy", "kl"])
        for iteration in range(1, args.iterations + 1):
            obs = collect(agent, env, obs, buffer, norm)
            with torch.no_grad():
                last_value = agent.critic(norm(torch.from_numpy(obs))).squeeze(-1)
            advantages, returns = buffer.compute_gae(last_value, args.gamma, args.lam)
            stats, steps = update(agent, optimizer, buffer.flatten(advantages, returns), args)
            schedule.step()

            score = float(np.mean(env.finished[-200:])) if env.finished else float("nan")
            samples = iteration * args.rollout * args.num_envs
            table.writerow([iteration, samples, score, *stats])
            file.flush()
            print(f"{iteration:3d}  samples {samples}  return {score:8.3f}  policy {stats[0]:.5f}  value {stats[1]:.5f}  "
                  f"kl {stats[3]:.5f}  updates {steps}  {samples / (time.time() - began):.0f} samples/s", flush=True)
            if iteration % args.eval_every == 0:
                print(f"     evaluation {evaluate(agent, norm):.3f}", flush=True)
                torch.save({"agent": agent.state_dict(), "optimizer": optimizer.state_dict(),
                            "norm": vars(norm), "iteration": iteration}, out / "checkpoint.pt")


if __name__ == "__main__":
    main()
