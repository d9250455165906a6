"""A step of the generator, a GMMN: generate, squared MMD with six bandwidths, backward, Adam. An item is a step.

One class a step, its real features against as many generated ones; features are random, in [0, 1].

    python generator_step.py --device cpu --real 1000
    python generator_step.py --device cuda --real 1000 --compile
"""

import argparse
import itertools

import torch

import peer
from mmd import BANDWIDTHS, factors_of, mmd
from nets import Generator

CLASSES, NOISE = 5, 15


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--real", type=int, default=1000, help="real features of a class")
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--attributes", type=int, default=75)
    parser.add_argument("--hidden", type=int, default=1024)
    parser.add_argument("--compile", action="store_true", help="generator and loss by torch.compile")
    parser.add_argument("--steps", type=int, default=20, help="steps a round")
    return parser.parse_args()


def main():
    args = arguments()
    torch.manual_seed(0)
    generator = Generator(args.attributes + NOISE, args.hidden, args.width).to(args.device)
    adam = torch.optim.Adam(generator.parameters(), lr=1e-4)
    attributes = torch.rand(CLASSES, args.attributes, device=args.device)
    features = torch.rand(CLASSES, args.real, args.width, device=args.device)
    factors = factors_of(BANDWIDTHS, args.device)

    def loss_of(real, attributes):
        noise = torch.randn(len(real), NOISE, device=real.device)
        fake = generator(torch.cat([attributes.expand(len(real), -1), noise], 1))
        return mmd(real, fake, factors)

    if args.compile:
        loss_of = torch.compile(loss_of)
    turns = itertools.cycle(zip(features, attributes))

    def step():
        loss = loss_of(*next(turns))
        adam.zero_grad()
        loss.backward()
        adam.step()

    peer.serve(peer.repeated(step, args.steps, 1), args.device)


if __name__ == "__main__":
    main()
