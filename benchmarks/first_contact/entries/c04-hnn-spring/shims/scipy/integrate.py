"""Small stand-in: fixed-step RK4 in place of solve_ivp (data set only)."""
import numpy as np


def solve_ivp(fun, t_span, y0, t_eval=None, rtol=None, **kw):
    y = np.array(y0, float)
    ys = [y]
    for a, b in zip(t_eval[:-1], t_eval[1:]):
        for _ in range(4):
            h = (b - a) / 4
            k1 = fun(a, y)
            k2 = fun(a, y + h / 2 * k1)
            k3 = fun(a, y + h / 2 * k2)
            k4 = fun(a, y + h * k3)
            y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        ys.append(y)
    return {"y": np.stack(ys, 1), "t": t_eval}
