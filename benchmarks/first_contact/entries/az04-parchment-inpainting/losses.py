from math import exp

import torch
from torch import nn
import torch.nn.functional as F


def gaussian(window_size, sigma):
    g = torch.tensor([exp(-(x - window_size // 2) ** 2 / float(2 * sigma ** 2)) for x in range(window_size)])
    return g / g.sum()


def create_window(window_size, channel):
    one = gaussian(window_size, 1.5).unsqueeze(1)
    two = one.mm(one.t()).unsqueeze(0).unsqueeze(0)
    return two.expand(channel, 1, window_size, window_size).contiguous()


def ssim(img1, img2, window_size=11):
    channel = img1.size(1)
    window = create_window(window_size, channel).to(img1)
    pad = window_size // 2
    mu1 = F.conv2d(img1, window, padding=pad, groups=channel)
    mu2 = F.conv2d(img2, window, padding=pad, groups=channel)
    mu1_sq, mu2_sq, mu1_mu2 = mu1.pow(2), mu2.pow(2), mu1 * mu2
    sigma1_sq = F.conv2d(img1 * img1, window, padding=pad, groups=channel) - mu1_sq
    sigma2_sq = F.conv2d(img2 * img2, window, padding=pad, groups=channel) - mu2_sq
    sigma12 = F.conv2d(img1 * img2, window, padding=pad, groups=channel) - mu1_mu2
    c1, c2 = 0.01 ** 2 * 4, 0.03 ** 2 * 4
    top = (2 * mu1_mu2 + c1) * (2 * sigma12 + c2)
    bottom = (mu1_sq + mu2_sq + c1) * (sigma1_sq + sigma2_sq + c2)
    return (top / bottom).mean()


class PerceptualLoss(nn.Module):
    def __init__(self, features, weights=(1.0, 0.5, 0.25)):
        super().__init__()
        self.features = features.eval()
        self.weights = weights

    def forward(self, output, target):
        loss = 0.0
        for w, a, b in zip(self.weights, self.features(output), self.features(target)):
            loss = loss + w * F.l1_loss(a, b)
        return loss
