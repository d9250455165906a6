"""Two small files of weights, one in each format of `torch.save`.

    python3 -P weights.py
"""

import torch

state = {"a": torch.tensor([[1.0, 2.0], [3.0, 4.0]]).T, "n": torch.tensor(7)}
torch.save(state, "weights-old.pth", _use_new_zipfile_serialization=False)
torch.save({"state_dict": state, "epoch": 3}, "weights.pth")
