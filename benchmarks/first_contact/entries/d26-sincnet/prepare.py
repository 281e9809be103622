"""Synthetic speakers (WAV), lists, labels and a small configuration."""
import os
import wave

import numpy as np

rng = np.random.RandomState(0)
fs, speakers, per = 16000, 20, 10
os.makedirs("wav", exist_ok=True)
os.makedirs("data_lists", exist_ok=True)
os.makedirs("exp", exist_ok=True)
train, test, labels = [], [], {}
for s in range(speakers):
    f0 = 90 + 8 * s
    for u in range(per):
        n = int(fs * (2.5 + 2 * rng.rand()))
        t = np.arange(n) / fs
        x = sum(np.sin(2 * np.pi * f0 * k * t) / k for k in range(1, 8)) * 0.2 + 0.02 * rng.randn(n)
        name = "s%02d_%02d.wav" % (s, u)
        with wave.open("wav/" + name, "wb") as f:
            f.setnchannels(1)
            f.setsampwidth(2)
            f.setframerate(fs)
            f.writeframes((np.clip(x, -1, 1) * 32000).astype("<i2").tobytes())
        labels[name] = s
        (train if u < per - 1 else test).append(name)
open("data_lists/tr.scp", "w").write("\n".join(train) + "\n")
open("data_lists/te.scp", "w").write("\n".join(test[:3]) + "\n")
np.save("data_lists/labels.npy", labels)
cfg = open("cfg/SincNet_TIMIT.cfg").read()
for a, b in (("data_lists/TIMIT_train.scp", "data_lists/tr.scp"), ("data_lists/TIMIT_test.scp", "data_lists/te.scp"),
             ("data_lists/TIMIT_labels.npy", "data_lists/labels.npy"), ("output_folder=exp/SincNet_TIMIT/", "output_folder=exp/small"),
             ("cnn_N_filt=80,60,60", "cnn_N_filt=16,16,16"), ("cnn_len_filt=251,5,5", "cnn_len_filt=129,5,5"),
             ("fc_lay=2048,2048,2048", "fc_lay=256,256,256"), ("class_lay=462", "class_lay=20"),
             ("cw_len=200", "cw_len=100"), ("batch_size=128", "batch_size=32"), ("N_epochs=1500", "N_epochs=3"),
             ("N_batches=800", "N_batches=200"), ("N_eval_epoch=8", "N_eval_epoch=2")):
    assert a in cfg, a
    cfg = cfg.replace(a, b)
lines = ["data_folder=wav" if l.startswith("data_folder=") else l for l in cfg.split("\n")]
open("cfg/small.cfg", "w").write("\n".join(lines))
