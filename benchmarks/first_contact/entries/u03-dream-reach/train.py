"""Learn to reach a spot from pictures: world model, imagination, actor and critic."""
import argparse
import logging
from pathlib import Path

import torch

from arena import Arena
from behaviour import Actor, Critic, imagine, lambda_returns
from replay import EpisodeStore
from world import WorldModel

log = logging.getLogger("dream")
ACTIONS = 2


class Learner:
    def __init__(self, args):
        self.args = args
        self.world = WorldModel(Arena.size ** 2, ACTIONS)
        width = self.world.memory + self.world.latent
        self.actor, self.critic = Actor(width, ACTIONS), Critic(width)
        adam = torch.optim.Adam
        self.world_optimizer = adam(self.world.parameters(), lr=6e-4, fused=True)
        self.actor_optimizer = adam(self.actor.parameters(), lr=1e-4, fused=True)
        self.critic_optimizer = adam(self.critic.parameters(), lr=2e-4, fused=True)

    def apply(self, optimizer, module, loss):
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(module.parameters(), 100.0)
        optimizer.step()

    def update(self, pictures, actions, rewards):
        world_loss, posterior = self.world.loss(pictures, actions, rewards)
        self.apply(self.world_optimizer, self.world, world_loss)

        start = type(posterior)(*(part.flatten(0, 1) for part in posterior.detach()))
        features, dreamt = imagine(self.world, self.actor, start, self.args.horizon)
        values = self.critic(features)
        returns = lambda_returns(dreamt, values)
        self.apply(self.actor_optimizer, self.actor, -returns.mean())

        critic_loss = 0.5 * (self.critic(features[:-1].detach()) - returns.detach()).square().mean()
        self.apply(self.critic_optimizer, self.critic, critic_loss)
        return world_loss.detach(), returns.detach().mean()

    @torch.no_grad()
    def play(self, arena, noise=True):
        """One episode in every arena with the present actor."""
        picture = arena.reset()
        state = self.world.start(arena.count)
        action = torch.zeros(arena.count, ACTIONS)
        record, done = [], False
        while not done:
            state = self.world.observe(state, action, self.world.encoder(picture))
            action = self.actor(state.features, noise)
            picture, reward, done = arena.step(action)
            record.append((picture, action, reward))
        return [torch.stack(part, 1) for part in zip(*record)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--updates", type=int, default=400)
    parser.add_argument("--updates-per-episode", type=int, default=20)
    parser.add_argument("--batch", type=int, default=12)
    parser.add_argument("--length", type=int, default=8)
    parser.add_argument("--horizon", type=int, default=8)
    parser.add_argument("--log-every", type=int, default=20)
    parser.add_argument("--save-every", type=int, default=160)
    parser.add_argument("--out", type=Path, default=Path("runs"))
    parser.add_argument("--seed", type=int, default=5)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.manual_seed(args.seed)
    args.out.mkdir(exist_ok=True)

    arena = Arena(8, seed=args.seed)
    store = EpisodeStore(400, arena.limit, Arena.size ** 2, ACTIONS)
    learner = Learner(args)
    for _ in range(4):
        store.add(*learner.play(arena))

    for update in range(1, args.updates + 1):
        world_loss, value = learner.update(*store.sample(args.batch, args.length))
        if update % args.updates_per_episode == 0:
            episode = learner.play(arena)
            store.add(*episode)
            log.info("update %4d  reward of the last episodes %.4f", update, episode[2].mean())
        if update % args.log_every == 0:
            log.info("update %4d  world loss %.5f  imagined return %.5f", update, world_loss, value)
        if update % args.save_every == 0:
            parts = {"world": learner.world.state_dict(), "actor": learner.actor.state_dict()}
            torch.save(parts, args.out / "learner.pt")


if __name__ == "__main__":
    main()
