"""Draws stand-in intensive-care records in the layout that BRITS's input_process.py writes (json/json): 48 hours of 35 attributes, most of them missing."""
import json
import os
import numpy as np

PATIENTS, HOURS, ATTRIBUTES = 512, 48, 35

def parse_delta(masks):
    deltas = [np.ones(ATTRIBUTES)]
    for h in range(1, HOURS):
        deltas.append(np.ones(ATTRIBUTES) + (1 - masks[h]) * deltas[-1])
    return np.array(deltas)

def fill_forward(values):
    out = np.zeros_like(values)
    last = np.zeros(ATTRIBUTES)
    for h in range(HOURS):
        last = np.where(np.isnan(values[h]), last, values[h])
        out[h] = last
    return out

def parse_rec(values, masks, evals, eval_masks, dir_):
    return {'values': np.nan_to_num(values).tolist(), 'masks': masks.astype('int32').tolist(),
            'evals': np.nan_to_num(evals).tolist(), 'eval_masks': eval_masks.astype('int32').tolist(),
            'forwards': fill_forward(values).tolist(),
            'deltas': parse_delta(masks[::-1] if dir_ == 'backward' else masks).tolist()}

def main():
    rng = np.random.default_rng(2012)
    os.makedirs('json', exist_ok=True)
    os.makedirs('result', exist_ok=True)
    often = rng.uniform(0.02, 0.12, ATTRIBUTES)            # laboratory values come seldom
    often[rng.permutation(ATTRIBUTES)[:10]] = rng.uniform(0.5, 0.95, 10)   # the monitors nearly every hour
    mix = rng.normal(0, 1, (6, ATTRIBUTES)) / 6 ** 0.5
    with open('json/json', 'w') as f:
        for _ in range(PATIENTS):
            state = rng.normal(0, 1, 6)
            rows = []
            for h in range(HOURS):
                state = 0.95 * state + rng.normal(0, 0.3, 6)
                rows.append(state @ mix + rng.normal(0, 0.3, ATTRIBUTES))
            evals = np.array(rows)
            evals[rng.random(evals.shape) > often] = np.nan
            seen = np.flatnonzero(~np.isnan(evals.reshape(-1)))
            values = evals.reshape(-1).copy()
            values[rng.choice(seen, len(seen) // 10)] = np.nan
            values = values.reshape(evals.shape)
            masks = ~np.isnan(values)
            eval_masks = masks ^ ~np.isnan(evals)
            rec = {'label': int(state[0] + state[1] > 1.5)}
            rec['forward'] = parse_rec(values, masks, evals, eval_masks, 'forward')
            rec['backward'] = parse_rec(values[::-1], masks[::-1], evals[::-1], eval_masks[::-1], 'backward')
            f.write(json.dumps(rec) + '\n')

if __name__ == '__main__':
    main()
