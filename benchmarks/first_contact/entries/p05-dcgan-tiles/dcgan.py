from __future__ import print_function
import argparse
import random

import torch
import torch.nn as nn
import torch.optim as optim

parser = argparse.ArgumentParser()
parser.add_argument('--batchSize', type=int, default=16, help='input batch size')
parser.add_argument('--nz', type=int, default=64, help='size of the latent z vector')
parser.add_argument('--ngf', type=int, default=32)
parser.add_argument('--ndf', type=int, default=24)
parser.add_argument('--niter', type=int, default=1, help='number of epochs')
parser.add_argument('--nbatch', type=int, default=80)
parser.add_argument('--lr', type=float, default=0.0002)
parser.add_argument('--beta1', type=float, default=0.5)
parser.add_argument('--manualSeed', type=int, default=999)
opt = parser.parse_args()
random.seed(opt.manualSeed)
torch.manual_seed(opt.manualSeed)


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find('Conv') != -1:
        m.weight.data.normal_(0.0, 0.02)
    elif classname.find('BatchNorm') != -1:
        m.weight.data.normal_(1.0, 0.02)
        m.bias.data.fill_(0)


class Generator(nn.Module):
    def __init__(self, nz, ngf):
        super(Generator, self).__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(nz, ngf * 4, 4, 1, 0, bias=False), nn.BatchNorm2d(ngf * 4), nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 4, ngf * 2, 4, 2, 1, bias=False), nn.BatchNorm2d(ngf * 2), nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 2, ngf, 4, 2, 1, bias=False), nn.BatchNorm2d(ngf), nn.ReLU(True),
            nn.ConvTranspose2d(ngf, 1, 4, 2, 1, bias=False), nn.Tanh())

    def forward(self, input):
        return self.main(input)


class Discriminator(nn.Module):
    def __init__(self, ndf):
        super(Discriminator, self).__init__()
        self.main = nn.Sequential(
            nn.Conv2d(1, ndf, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf, ndf * 2, 4, 2, 1, bias=False), nn.BatchNorm2d(ndf * 2), nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf * 2, 1, 8, 1, 0, bias=False))

    def forward(self, input):
        return self.main(input).view(-1)


tiles = torch.rand(opt.nbatch * opt.batchSize, 1, 32, 32) * 2 - 1
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(tiles), batch_size=opt.batchSize, shuffle=True)
netG = Generator(opt.nz, opt.ngf)
netD = Discriminator(opt.ndf)
netG.apply(weights_init)
netD.apply(weights_init)
criterion = nn.BCEWithLogitsLoss()
optimizerD = optim.Adam(netD.parameters(), lr=opt.lr, betas=(opt.beta1, 0.999))
optimizerG = optim.Adam(netG.parameters(), lr=opt.lr, betas=(opt.beta1, 0.999))

for epoch in range(opt.niter):
    for i, (real,) in enumerate(loader):
        b = real.size(0)
        ones, zeros = torch.ones(b), torch.zeros(b)
        # (1) update D network
        netD.zero_grad()
        errD_real = criterion(netD(real), ones)
        errD_real.backward()
        noise = torch.randn(b, opt.nz, 1, 1)
        fake = netG(noise)
        errD_fake = criterion(netD(fake), zeros)
        errD_fake.backward(retain_graph=True)
        optimizerD.step()
        # (2) update G network
        netG.zero_grad()
        errG = criterion(netD(fake), ones)
        errG.backward()
        optimizerG.step()
        if i % 20 == 0:
            print('[%d/%d][%d/%d] Loss_D: %.4f Loss_G: %.4f' % (
                epoch, opt.niter, i, len(loader), (errD_real + errD_fake).item(), errG.item()))
