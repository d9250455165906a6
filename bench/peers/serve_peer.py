"""A service as one writes it with FastAPI and PyTorch: a photo in, the five most probable classes out.

The same network and the same work as ours: MobileNetV2 at 224 pixels, the mean feature of a photo and its mirror image (`--plain` leaves
the mirror image out), a Gaussian head over the classes, softmax. BatchNorm in eval mode, channels last, `inference_mode`; requests are worked on in
Starlette's threads, as FastAPI does with a plain `def`.

    PEER_MODEL=runs/awa43/tasks/05 uvicorn --app-dir bench/peers serve_peer:app --port 8001 --no-access-log
"""

import io
import json
import os
import pathlib

import torch
import torchvision
from fastapi import FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool
from PIL import Image
from safetensors.torch import load_file
from torchvision.transforms.v2 import functional as transform

TASK = pathlib.Path(os.environ["PEER_MODEL"])
MIRROR = os.environ.get("PEER_PLAIN") != "1"
LAYOUT = torch.contiguous_format if os.environ.get("PEER_NCHW") == "1" else torch.channels_last
if "PEER_THREADS" in os.environ:
    torch.set_num_threads(int(os.environ["PEER_THREADS"]))

about = json.loads((TASK / "predictor.json").read_text())
about = about.get("content", about)
head = load_file(TASK / "predictor.safetensors")
net = torchvision.models.mobilenet_v2()
weights = load_file(TASK / "weights.safetensors")
own = {name.removeprefix("extractor."): value for name, value in weights.items() if name.startswith("extractor.")}
missing, unexpected = net.load_state_dict(own, strict=False)
assert not unexpected and all("classifier" in name or "num_batches" in name for name in missing), (missing, unexpected)
net.classifier = torch.nn.Identity()
net = net.eval().to(memory_format=LAYOUT)
centre, whiten, means, bias = (head[name].float() for name in ("centre", "whiten", "means", "bias"))
size, resize, norm = about["input"]["size"], about["input"]["resize"], about["input"]["normalization"]
offset = torch.zeros(len(means))
offset[: about["seen"]] = about["calibration"]["own"] or 0.0

app = FastAPI()


@torch.inference_mode()
def answer(body):
    photo = Image.open(io.BytesIO(body)).convert("RGB")
    pixels = transform.pil_to_tensor(photo)
    pixels = transform.center_crop(transform.resize(pixels, resize, antialias=True), size)
    pixels = transform.normalize(transform.to_dtype(pixels, torch.float32, scale=True), norm["mean"], norm["std"])
    pixels = pixels.unsqueeze(0)
    if MIRROR:
        pixels = torch.cat([pixels, pixels.flip(3)])
    features = net(pixels.contiguous(memory_format=LAYOUT)).mean(0)
    features = features / features.norm()
    scores = (features - centre) @ whiten @ means.T + bias - offset
    chances = (scores * about["scale"]).softmax(0)
    best = chances.topk(5)
    named = zip(best.indices.tolist(), best.values.tolist())
    return [{"class": about["classes"][i], "probability": p, "seen": i < about["seen"]} for i, p in named]


@app.post("/predict")
async def predict(request: Request):
    body = await request.body()
    return {"photos": [{"photo": "photo", "predictions": await run_in_threadpool(answer, body)}]}


@app.get("/health")
def health():
    return Response("ok")
