"""Web addresses, honest and phishing, made up from word lists."""
import random
import string

BRANDS = "paylo amazor netfix goggle facepage banco linkup dropcase ebey telcom".split()
WORDS = ("account secure login update verify support help news shop cloud mail store blog photo "
         "music travel video forum market garden school library weather recipes sport").split()
ENDINGS = "com org net de fr io co.uk info".split()
ODD_ENDINGS = "xyz top click info online ru cn work".split()


def honest(rng):
    host = rng.choice(["www.", "", "m.", "shop."]) + rng.choice(BRANDS + WORDS) + "." + rng.choice(ENDINGS)
    path = "/".join(rng.choice(WORDS) for _ in range(rng.randint(1, 4)))
    if rng.random() < 0.5:
        path += "/" + "-".join(rng.choice(WORDS) for _ in range(rng.randint(2, 5))) + ".html"
    if rng.random() < 0.3:
        path += f"?id={rng.randint(1, 99999)}&page={rng.randint(1, 40)}"
    return f"https://{host}/{path}"


def phishing(rng):
    brand = list(rng.choice(BRANDS))
    if rng.random() < 0.6:
        brand[rng.randrange(len(brand))] = rng.choice("01lI3-")
    host = "".join(brand)
    while rng.random() < 0.6:
        host += rng.choice(["-", "."]) + rng.choice(WORDS)
    host += "." + rng.choice(ODD_ENDINGS + ENDINGS[:2])
    junk = "".join(rng.choices(string.ascii_letters + string.digits, k=rng.randint(6, 40)))
    return f"http{rng.choice(['', '', 's'])}://{host}/{rng.choice(WORDS)}/{junk}"


def collect(count, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(count):
        bad = rng.random() < 0.4
        label = int(bad) if rng.random() > 0.03 else int(not bad)
        rows.append((phishing(rng) if bad else honest(rng), label))
    return rows
