"""Stand-in for einops.rearrange: the patterns that SAINT uses (views or copies as einops makes them)."""


def rearrange(t, pattern, **sizes):
    if pattern == 'b n (h d) -> b h n d':
        b, n, _ = t.shape
        return t.reshape(b, n, sizes['h'], -1).permute(0, 2, 1, 3)
    if pattern == 'b h n d -> b n (h d)':
        b, h, n, d = t.shape
        return t.permute(0, 2, 1, 3).reshape(b, n, h * d)
    if pattern == 'b n d -> 1 b (n d)':
        b, n, d = t.shape
        return t.reshape(1, b, n * d)
    if pattern == '1 b (n d) -> b n d':
        _, b, nd = t.shape
        return t.reshape(b, sizes['n'], nd // sizes['n'])
    raise NotImplementedError(pattern)
