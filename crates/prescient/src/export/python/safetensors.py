MODEL = json.loads((HERE / "model.json").read_text(encoding="utf-8"))
TENSORS = load_file(HERE / "model.safetensors")


def step(x, results, op):
    """One step of the extractor, on the result `x`."""
    kind = op["op"]
    if kind == "conv":
        weight, bias = TENSORS[f"extractor.{op['name']}.weight"], None
        if op["then"] == "bias":
            bias = TENSORS[f"extractor.{op['name']}.bias"]
        x = functional.conv2d(x, weight, bias, op["stride"], op["padding"], 1, op["groups"])
        if op["then"] == "bias":
            return x
        norm = [TENSORS[f"extractor.{op['then']['norm']}.{part}"] for part in ("running_mean", "running_var", "weight", "bias")]
        return functional.batch_norm(x, *norm, eps=MODEL["norm_epsilon"])
    if kind == "linear":
        return functional.linear(x, TENSORS[f"extractor.{op['name']}.weight"], TENSORS[f"extractor.{op['name']}.bias"])
    if kind == "max-pool":
        return functional.max_pool2d(x, op["kernel"], op["stride"], op["padding"])
    return {
        "relu": lambda: x.relu(),
        "relu6": lambda: x.clamp(0, 6),
        "add": lambda: x + results[op["other"]],
        "mean": lambda: x.mean((2, 3)),
        "flatten": lambda: x.flatten(1),
    }[kind]()


def features(x):
    """The extractor: normalized images to one row each."""
    results = [x]
    for op in MODEL["steps"]:
        results.append(step(results[op["of"]], results, op))
    return results[-1]


def answer(batch):
    """Probabilities and scores of a batch, [batch, classes] each."""
    with torch.inference_mode():
        x = torch.from_numpy(numpy.array(batch)).float()
        if "mean" in INPUT["normalization"]:
            mean, std = (torch.tensor(INPUT["normalization"][name]) for name in ("mean", "std"))
            x = ((x / 255 - mean) / std).permute(0, 3, 1, 2)
        h = (features(x) + features(x.flip(3))) / 2 if MODEL["mirrored"] else features(x)
        u = h / h.square().sum(1, keepdim=True).clamp_min(1e-12).sqrt() - TENSORS.get("head.centre", torch.zeros(1))
        scores = functional.linear(u, TENSORS["head.weight"], TENSORS["head.bias"])
        if "novelty" not in MODEL:
            return [torch.softmax(scores * MODEL["scale"], 1).numpy(), scores.numpy()]
        scale, novelty, count = MODEL["scale"], MODEL["novelty"], sum(label["seen"] for label in LABELS)
        old, new = scores[:, :count], scores[:, count:]
        lead = new.amax(1, keepdim=True) - old.amax(1, keepdim=True)
        odds = lead * novelty["lead"] + novelty["bias"]
        old = (old * scale).log_softmax(1) + functional.logsigmoid(-odds)
        new = (new * novelty["scale"]).log_softmax(1) + functional.logsigmoid(odds)
        scores = torch.cat([old, new], 1)
        return [scores.exp().numpy(), (scores - TENSORS["head.offset"]).numpy()]
