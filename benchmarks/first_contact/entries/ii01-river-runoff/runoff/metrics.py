import numpy as np


def nse(obs, sim):
    return 1 - ((sim - obs) ** 2).sum() / ((obs - obs.mean()) ** 2).sum()


def kge(obs, sim):
    r = np.corrcoef(obs, sim)[0, 1]
    return 1 - np.sqrt((r - 1) ** 2 + (sim.std() / obs.std() - 1) ** 2 + (sim.mean() / obs.mean() - 1) ** 2)


def nse_loss(pred, target, q_stds, eps=0.1):
    """Squared error weighted with the variance of the basin (Kratzert et al. 2019)."""
    return ((pred - target) ** 2 / (q_stds + eps) ** 2).mean()
