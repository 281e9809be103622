import numpy as np
import torch
import torch.nn.functional as F

from reid.losses import euclidean


@torch.no_grad()
def extract(model, loader):
    features, pids, cams = [], [], []
    for images, pid, cam in loader:
        f = model(images) + model(images.flip(3))
        features.append(F.normalize(f))
        pids.append(pid)
        cams.append(cam)
    return torch.cat(features), torch.cat(pids).numpy(), torch.cat(cams).numpy()


def cmc_map(dist, q_pids, g_pids, q_cams, g_cams, ranks=20):
    order = np.argsort(dist, axis=1)
    matches = g_pids[order] == q_pids[:, None]
    curves, precisions = [], []
    for i in range(len(q_pids)):
        keep = ~((g_pids[order[i]] == q_pids[i]) & (g_cams[order[i]] == q_cams[i]))
        hits = matches[i][keep]
        if not hits.any():
            continue
        curve = hits.cumsum()
        curves.append(np.minimum(curve[:ranks], 1))
        precisions.append((curve / np.arange(1, len(hits) + 1) * hits).sum() / hits.sum())
    return np.mean(curves, axis=0), float(np.mean(precisions))


def evaluate(model, query_loader, gallery_loader):
    model.eval()
    qf, qp, qc = extract(model, query_loader)
    gf, gp, gc = extract(model, gallery_loader)
    model.train()
    return cmc_map(euclidean(qf, gf).numpy(), qp, gp, qc, gc)
