"""Forward kinematics of a seven-joint arm as a product of exponentials."""
import torch
from torch import nn

AXES = [(0, 0, 1), (0, 1, 0), (0, 0, 1), (0, -1, 0), (0, 0, 1), (0, 1, 0), (0, 0, 1)]
POINTS = [(0, 0, 0.34), (0, 0, 0.34), (0, 0, 0.54), (0, 0, 0.74), (0, 0, 0.94), (0, 0, 1.14), (0, 0, 1.27)]
LIMITS = [2.97, 2.09, 2.97, 2.09, 2.97, 2.09, 3.05]


def twist_matrix(axis, point):
    """Generator (4, 4) of the rotation about an axis through a point."""
    w = torch.tensor(axis, dtype=torch.float32)
    v = -torch.linalg.cross(w, torch.tensor(point, dtype=torch.float32))
    out = torch.zeros(4, 4)
    out[0, 1], out[0, 2], out[1, 2] = -w[2], w[1], -w[0]
    out[1, 0], out[2, 0], out[2, 1] = w[2], -w[1], w[0]
    out[:3, 3] = v
    return out


class Arm(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("twists", torch.stack([twist_matrix(a, p) for a, p in zip(AXES, POINTS)]))
        self.register_buffer("limits", torch.tensor(LIMITS))
        home = torch.eye(4)
        home[2, 3] = 1.30
        self.register_buffer("home", home)

    @property
    def joints(self):
        return len(self.twists)

    def joint_transforms(self, angles):
        return torch.matrix_exp(self.twists * angles[..., None, None])

    def forward(self, angles):
        """Tool poses (batch, 4, 4) for joint angles (batch, joints)."""
        steps = self.joint_transforms(angles)
        pose = steps[:, 0]
        for i in range(1, self.joints):
            pose = pose @ steps[:, i]
        return pose @ self.home


def invert(pose):
    turn = pose[:, :3, :3].transpose(1, 2)
    shift = -turn @ pose[:, :3, 3:]
    return torch.cat([torch.cat([turn, shift], 2), pose[:, 3:]], 1)


def pose_errors(pose, target):
    """Distance in metres and angle-like misfit of the rotation, per sample."""
    gap = invert(pose) @ target
    distance = gap[:, :3, 3].norm(dim=1)
    trace = gap[:, 0, 0] + gap[:, 1, 1] + gap[:, 2, 2]
    return distance, (3 - trace).clamp_min(0)
