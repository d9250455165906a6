"""Features of images by torchvision's networks, in eval mode. An item is an image.

    python extract.py --net mobilenet-v2 --size 224 --batch 32
    python extract.py --device cuda --bf16 --batch 256 --steps 20
"""

import argparse

import torch
import torchvision

import peer

NETS = {"mobilenet-v2": "mobilenet_v2", "resnet18": "resnet18", "resnet50": "resnet50"}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--net", choices=list(NETS), default="mobilenet-v2")
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--layout", choices=["nchw", "channels-last"], default="channels-last")
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--steps", type=int, default=2, help="batches a round")
    return parser.parse_args()


def main():
    args = arguments()
    model = getattr(torchvision.models, NETS[args.net])().eval().to(args.device)
    last = "classifier" if args.net == "mobilenet-v2" else "fc"
    setattr(model, last, torch.nn.Identity())
    kind = torch.bfloat16 if args.bf16 else torch.float32
    layout = torch.channels_last if args.layout == "channels-last" else torch.contiguous_format
    model = model.to(kind).to(memory_format=layout)
    if args.compile:
        model = torch.compile(model)
    images = torch.randn(args.batch, 3, args.size, args.size, device=args.device, dtype=kind)
    images = images.to(memory_format=layout)
    with torch.inference_mode():
        for _ in range(3):
            model(images)
        peer.serve(peer.repeated(lambda: model(images), args.steps, args.batch), args.device)


if __name__ == "__main__":
    main()
