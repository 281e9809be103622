from .dqn import DoubleDQN
from .replay import PrioritizedReplay

__all__ = ["DoubleDQN", "PrioritizedReplay"]
