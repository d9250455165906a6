def read(path):
    """Rows of features as the model takes them: single precision, [rows, numbers]."""
    return numpy.load(path).astype(numpy.float32).reshape(-1, INPUT["size"])


def batches(paths):
    """The rows of each file: their names, and [rows, numbers]."""
    for path in paths:
        rows = read(path)
        yield [f"{path}:{row}" for row in range(len(rows))], rows
