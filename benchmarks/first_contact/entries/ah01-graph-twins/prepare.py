print('nothing to prepare: train.py draws its graphs itself')
