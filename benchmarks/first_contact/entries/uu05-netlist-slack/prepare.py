"""Makes gate-level netlists with arrival times (netlists.npz): layered random circuits, a simple delay model."""
import numpy as np

GATES = ["input", "inv", "buf", "nand2", "nor2", "and2", "or2", "xor2", "mux2", "aoi21"]
INPUTS = [0, 1, 1, 2, 2, 2, 2, 2, 3, 3]
DELAY = [0.0, 8.0, 11.0, 12.0, 14.0, 17.0, 18.0, 26.0, 24.0, 20.0]


def circuit(rng):
    gates, drive, sources, sinks = [], [], [], []
    layers = []
    for depth in range(int(rng.integers(12, 19))):
        layer = []
        for _ in range(int(rng.integers(10, 22))):
            number = len(gates)
            kind = 0 if depth == 0 else int(rng.integers(1, len(GATES)))
            gates.append(kind)
            drive.append(float(rng.choice([1.0, 2.0, 4.0])))
            for pin in range(INPUTS[kind]):
                pool = layers[-1] if pin == 0 or rng.random() < 0.6 else layers[int(rng.integers(len(layers)))]
                sources.append(int(rng.choice(pool)))
                sinks.append(number)
            layer.append(number)
        layers.append(layer)
    # the order in the file is that of a netlist, not that of the signal
    place = rng.permutation(len(gates))
    fanout = np.bincount(sources, minlength=len(gates))
    arrival = np.zeros(len(gates))
    incoming = [[] for _ in gates]
    for source, sink in zip(sources, sinks):
        incoming[sink].append(source)
    for number, kind in enumerate(gates):
        own = DELAY[kind] + 5.0 * fanout[number] / drive[number]
        arrival[number] = own + max((arrival[k] for k in incoming[number]), default=0.0)
    back = np.argsort(place)
    return (np.array(gates)[back], np.array(drive, np.float32)[back], (arrival[back] / 100).astype(np.float32),
            np.stack([place[sources], place[sinks]]))


def main():
    rng = np.random.default_rng(8)
    circuits = [circuit(rng) for _ in range(72)]
    np.savez("netlists.npz",
             gates=np.concatenate([c[0] for c in circuits]),
             drive=np.concatenate([c[1] for c in circuits]),
             arrival=np.concatenate([c[2] for c in circuits]),
             wires=np.concatenate([c[3] for c in circuits], 1),
             gate_counts=np.array([len(c[0]) for c in circuits]),
             wire_counts=np.array([c[3].shape[1] for c in circuits]))


if __name__ == "__main__":
    main()
