"""Small stand-in for the two patterns used."""


def rearrange(x, pattern):
    assert pattern == "b s d -> s b d"
    return x.permute(1, 0, 2)


def repeat(x, pattern, b):
    assert pattern == "p -> b p"
    return x.unsqueeze(0).expand(b, -1)
