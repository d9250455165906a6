SESSION = onnxruntime.InferenceSession(str(HERE / "model.onnx"), providers=["CPUExecutionProvider"])


def answer(batch):
    """Probabilities and scores of a batch, [batch, classes] each."""
    return SESSION.run(["probabilities", "scores"], {INPUT["input"]: batch})
