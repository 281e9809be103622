"""Writes a stand-in for Human3.6M in the files that run.py reads: data/data_3d_h36m.npz (world positions of
32 joints in metres) and data/data_2d_h36m_cpn_ft_h36m_dbb.npz (detections of 17 joints in pixels, 4 cameras).
One action of 400 frames a training subject (8000 views of frames, 1.56 million in the real set) and 350 a test
subject (2800, 550 thousand)."""
import os
import numpy as np
from common.h36m_dataset import h36m_skeleton, h36m_cameras_extrinsic_params, h36m_cameras_intrinsic_params
from common.camera import world_to_camera

FRAMES = {'S1': 400, 'S5': 400, 'S6': 400, 'S7': 400, 'S8': 400, 'S9': 350, 'S11': 350}
KEEP = [j for j in range(32) if j not in (4, 5, 9, 10, 11, 16, 20, 21, 22, 23, 24, 28, 29, 30, 31)]

rng = np.random.RandomState(8)
parents = list(h36m_skeleton.parents())
positions, detections = {}, {}
for subject, n in FRAMES.items():
    t = np.arange(n)[:, None] / 50.0
    pose = np.zeros((n, 32, 3))
    pose[:, 0] = np.concatenate([0.5 * np.sin(0.4 * t), 0.5 * np.cos(0.3 * t), 0.92 + 0.03 * np.sin(6 * t)], 1)
    for j in range(1, 32):
        rest = rng.randn(3) * 0.12
        swing = np.sin(t * rng.uniform(1, 6) + rng.rand() * 6) * rng.randn(3) * 0.08
        pose[:, j] = pose[:, parents[j]] + rest + swing
    positions[subject] = {'Walking': pose.astype('float32')}
    views = []
    for cam, lens in zip(h36m_cameras_extrinsic_params[subject], h36m_cameras_intrinsic_params):
        R = np.array(cam['orientation'], dtype='float32')
        where = np.array(cam['translation'], dtype='float32') / 1000
        local = world_to_camera(pose[:, KEEP].astype('float32'), R=R, t=where)
        pixel = local[..., :2] / local[..., 2:] * np.array(lens['focal_length']) + np.array(lens['center'])
        views.append((pixel + rng.randn(*pixel.shape) * 4).astype('float32'))
    detections[subject] = {'Walking': views}

os.makedirs('data', exist_ok=True)
np.savez_compressed('data/data_3d_h36m.npz', positions_3d=positions)
meta = {'layout_name': 'h36m', 'num_joints': 17, 'keypoints_symmetry': [[4, 5, 6, 11, 12, 13], [1, 2, 3, 14, 15, 16]]}
np.savez_compressed('data/data_2d_h36m_cpn_ft_h36m_dbb.npz', positions_2d=detections, metadata=meta)
