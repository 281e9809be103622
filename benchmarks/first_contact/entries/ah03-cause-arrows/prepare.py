print('nothing to prepare: train.py draws its data itself')
