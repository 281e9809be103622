tanh = None
