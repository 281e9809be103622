import numpy as np

CENTRES = [50, 120, 190, 260, 330, 400, 470, 540, 617, 703, 798, 904, 1021, 1149, 1288,
           1443, 1610, 1795, 1994, 2212, 2447, 2701, 2978, 3276, 3597]
WIDTHS = [70, 70, 70, 70, 70, 70, 70, 77, 86, 95, 105, 117, 129, 141, 154,
          168, 183, 199, 217, 235, 255, 276, 298, 321, 346]


def critical_bands(n_fft, sample_rate):
    half = n_fft // 2
    bands = np.zeros((len(CENTRES), half))
    for i, (centre, width) in enumerate(zip(CENTRES, WIDTHS)):
        f0 = centre / (sample_rate / 2) * half
        bw = width / (sample_rate / 2) * half
        bands[i] = np.exp(-11 * ((np.arange(half) - np.floor(f0)) / bw) ** 2)
        bands[i][bands[i] < 0.001] = 0
    return bands


def fw_seg_snr(clean, enhanced, sample_rate=16000, frame=0.03, gamma=0.2, low=-10.0, high=35.0):
    """Frequency-weighted segmental SNR."""
    eps = 1e-10
    length = int(round(frame * sample_rate))
    skip = length // 4
    n_fft = int(2 ** np.ceil(np.log2(2 * length)))
    window = np.hanning(length)
    bands = critical_bands(n_fft, sample_rate)

    scores = []
    for start in range(0, len(clean) - length, skip):
        clean_spec = np.abs(np.fft.rfft(clean[start:start + length] * window, n_fft))[:n_fft // 2]
        enh_spec = np.abs(np.fft.rfft(enhanced[start:start + length] * window, n_fft))[:n_fft // 2]
        clean_spec = clean_spec / (clean_spec.sum() + eps)
        enh_spec = enh_spec / (enh_spec.sum() + eps)
        weights = np.zeros(len(bands))
        snr = np.zeros(len(bands))
        for b in range(len(bands)):
            clean_energy = np.sum(clean_spec * bands[b])
            enh_energy = np.sum(enh_spec * bands[b])
            error = max((clean_energy - enh_energy) ** 2, eps)
            weights[b] = clean_energy ** gamma
            snr[b] = 10 * np.log10(clean_energy ** 2 / error + eps)
        score = np.sum(weights * snr) / (np.sum(weights) + eps)
        scores.append(min(max(score, low), high))
    return float(np.mean(scores))
