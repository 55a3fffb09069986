"""PyTorch, as those use it who want no gradients."""

from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.figures import Array


def find_torch() -> Any:
    """Return PyTorch, which records nothing from then on, or None where it is not installed.

    To say so in each call would count there.
    """
    if not find_spec("torch"):
        return None
    import torch

    torch.set_grad_enabled(False)
    return torch


def tensor(array: Array) -> Any:
    """Return the memory of an array as a tensor."""
    import torch

    if array.dtype.name == "bfloat16":  # which PyTorch does not take from NumPy
        return torch.from_numpy(array.view(np.uint16)).view(torch.bfloat16)
    return torch.from_numpy(array)
