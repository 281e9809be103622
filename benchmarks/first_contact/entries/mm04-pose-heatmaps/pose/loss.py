import torch.nn as nn


class JointsMSELoss(nn.Module):
    def __init__(self, use_target_weight=True):
        super().__init__()
        self.criterion = nn.MSELoss()
        self.use_target_weight = use_target_weight

    def forward(self, output, target, target_weight):
        batch, joints = output.shape[:2]
        predicted = output.reshape(batch, joints, -1).split(1, 1)
        wanted = target.reshape(batch, joints, -1).split(1, 1)
        loss = 0
        for j in range(joints):
            p, g = predicted[j].squeeze(1), wanted[j].squeeze(1)
            if self.use_target_weight:
                loss += 0.5 * self.criterion(p.mul(target_weight[:, j]), g.mul(target_weight[:, j]))
            else:
                loss += 0.5 * self.criterion(p, g)
        return loss / joints
