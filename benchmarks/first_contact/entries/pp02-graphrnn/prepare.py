"""No data needed: create_graphs.py draws the graphs. Removes the outputs of before."""
import shutil

for name in ('graphs', 'model_save', 'figures', 'figures_prediction', 'timing', 'nll', 'tensorboard'):
    shutil.rmtree(name, ignore_errors=True)
