import math, json, time
import numpy as np
import torch
from torch import nn
from torch.autograd import grad

torch.manual_seed(1234)
np.random.seed(1234)


def lhs(n, d):
    """latin hypercube in [0, 1]"""
    cut = (np.arange(n)[:, None] + np.random.rand(n, d)) / n
    for j in range(d):
        np.random.shuffle(cut[:, j])
    return cut


class PhysicsInformedNN:
    """u_t + u u_x - nu u_xx = 0 on x in [-1,1], t in [0,1]"""

    def __init__(self, layers, n_f=1200, n_u=150, nu=0.01 / math.pi):
        mods = []
        for i, (a, b) in enumerate(zip(layers, layers[1:])):
            mods.append(nn.Linear(a, b))
            if i < len(layers) - 2:
                mods.append(nn.Tanh())
        self.dnn = nn.Sequential(*mods)
        for m in self.dnn:
            if isinstance(m, nn.Linear):
                nn.init.xavier_normal_(m.weight)
        self.nu = nu
        xt = torch.tensor(lhs(n_f, 2), dtype=torch.float32)
        self.x_f = (2 * xt[:, :1] - 1).requires_grad_()
        self.t_f = xt[:, 1:].clone().requires_grad_()
        x0 = 2 * torch.rand(n_u, 1) - 1
        tb = torch.rand(n_u, 1)
        side = torch.where(torch.rand(n_u, 1) < 0.5, -1.0, 1.0)
        self.x_u = torch.cat([x0, side])
        self.t_u = torch.cat([torch.zeros(n_u, 1), tb])
        self.u = torch.cat([-torch.sin(math.pi * x0), torch.zeros(n_u, 1)])
        self.optimizer = torch.optim.Adam(self.dnn.parameters(), lr=1e-3)
        self.iter = 0

    def net_u(self, x, t):
        return self.dnn(torch.cat([x, t], dim=1))

    def net_u_x(self, x, t):
        u = self.net_u(x, t)
        return grad(u, x, torch.ones_like(u), retain_graph=True, create_graph=True)[0]

    def net_u_t(self, x, t):
        u = self.net_u(x, t)
        return grad(u, t, torch.ones_like(u), retain_graph=True, create_graph=True)[0]

    def net_u_xx(self, x, t):
        u_x = self.net_u_x(x, t)
        return grad(u_x, x, torch.ones_like(u_x), retain_graph=True, create_graph=True)[0]

    def net_f(self, x, t):
        return self.net_u_t(x, t) + self.net_u(x, t) * self.net_u_x(x, t) - self.nu * self.net_u_xx(x, t)

    def loss_func(self):
        loss_u = torch.mean((self.u - self.net_u(self.x_u, self.t_u)) ** 2)
        loss_f = torch.mean(self.net_f(self.x_f, self.t_f) ** 2)
        return loss_u, loss_f

    def train(self, n_iter):
        hist, start = [], time.time()
        for _ in range(n_iter):
            self.optimizer.zero_grad()
            loss_u, loss_f = self.loss_func()
            loss = loss_u + loss_f
            loss.backward()
            self.optimizer.step()
            self.iter += 1
            if self.iter % 50 == 0:
                hist.append((self.iter, loss.item()))
                print("It %d, loss %.5e, loss_u %.5e, loss_f %.5e, %.1fs" % (self.iter, loss.item(), loss_u.item(), loss_f.item(), time.time() - start))
        return hist

    @torch.no_grad()
    def predict(self, n=101):
        x, t = torch.meshgrid(torch.linspace(-1, 1, n), torch.linspace(0, 1, n), indexing="ij")
        return self.net_u(x.reshape(-1, 1), t.reshape(-1, 1)).view(n, n).numpy()


model = PhysicsInformedNN([2, 40, 40, 40, 40, 40, 1])
history = model.train(1000)
np.save("burgers_u.npy", model.predict())
json.dump(history, open("burgers_hist.json", "w"))
