"""python prepare.py GITDIR: writes this folder anew from the git directory of L0SG/relational-rnn-pytorch
(1b16ae32988625b16b95f920b0f6fe55ed4e45e7): train_nth_farthest.py relational_rnn_general.py LICENSE, with smaller constants
and small edits for a newer numpy. No data (the script draws them), no shims."""
import os
import subprocess
import sys

git = sys.argv[1]
here = os.path.dirname(os.path.abspath(__file__))
COMMIT = '1b16ae32988625b16b95f920b0f6fe55ed4e45e7'


def show(path):
    return subprocess.run(['git', '--git-dir=' + git, 'show', COMMIT + ':' + path], check=True,
                          capture_output=True, text=True).stdout


def write(path, text):
    with open(os.path.join(here, path), 'w') as f:
        f.write(text)


def change(text, old, new):
    assert old in text, old
    return text.replace(old, new)


t = show('train_nth_farthest.py')
t = change(t, 'num_epochs = 10000000', 'num_epochs = 40')
t = change(t, 'batch_size = 1600', 'batch_size = 32')
t = change(t, 'num_test_examples = 3200', 'num_test_examples = 64')
t = change(t, 'y[i] = y_single', 'y[i] = y_single[0]')
write('train_nth_farthest.py', t)
write('relational_rnn_general.py', change(show('relational_rnn_general.py'), 'q *= (self.key_size ** -0.5)', 'q = q * (self.key_size ** -0.5)'))
write('LICENSE', show('LICENSE'))
