"""The squared MMD between two sets of features and its gradient, on the CPU. An item is one of both.

    python mmd.py --rows 500 --width 512 --bandwidths 5
"""

import argparse

import torch

import peer

BANDWIDTHS = [2.0, 5.0, 10.0, 20.0, 40.0, 80.0]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=500, help="features on either side")
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--bandwidths", type=int, default=5, help="how many of 2, 5, 10, 20, 40, 80")
    parser.add_argument("--joined", action="store_true", help="one matrix of all pairs instead of three blocks")
    parser.add_argument("--compile", action="store_true", help="by torch.compile")
    parser.add_argument("--steps", type=int, default=10, help="steps a round")
    return parser.parse_args()


def squared_distances(a, b):
    squares = a.square().sum(1, keepdim=True) + b.square().sum(1)
    return torch.addmm(squares, a, b.T, alpha=-2).clamp_min(0)


def mmd(real, fake, factors):
    """Σ_σ exp(−d²/2σ), averaged over pairs; `factors` are −1/2σ, `[σ, 1, 1]`.

    By blocks, so that the pairs of real features, which have no gradient, cost nothing on the way back.
    """

    def mean_kernel(a, b):
        return (squared_distances(a, b) * factors).exp().sum() / (len(a) * len(b))

    return mean_kernel(real, real) - 2 * mean_kernel(real, fake) + mean_kernel(fake, fake)


def mmd_joined(real, fake, factors):
    """The same, as GMMNs are often written: all pairs in one matrix."""
    both = torch.cat([real, fake])
    kernel = (squared_distances(both, both) * factors).exp().sum(0)
    n = len(real)
    return kernel[:n, :n].mean() - 2 * kernel[:n, n:].mean() + kernel[n:, n:].mean()


def factors_of(bandwidths, device="cpu"):
    return -0.5 / torch.tensor(bandwidths, device=device).view(-1, 1, 1)


def main():
    args = arguments()
    torch.manual_seed(0)
    real = torch.rand(args.rows, args.width)
    fake = torch.rand(args.rows, args.width, requires_grad=True)
    factors = factors_of(BANDWIDTHS[: args.bandwidths])
    loss = mmd_joined if args.joined else mmd
    if args.compile:
        loss = torch.compile(loss)

    def step():
        fake.grad = None
        loss(real, fake, factors).backward()

    peer.serve(peer.repeated(step, args.steps, 1))


if __name__ == "__main__":
    main()
