def train_test_split(*arrays, **options):
    raise NotImplementedError
