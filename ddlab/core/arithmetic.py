"""What a network computes in: float32.

torch takes TF32, with 10 of float32's 23 bits behind the point, for convolutions on CUDA unless it is told otherwise.
"""

import torch


def exact_float32(device: torch.device | str) -> None:
    """On a GPU, for this process: float32 is float32, in convolutions and in matrix products."""
    if torch.device(device).type != "cpu":
        torch.backends.cudnn.conv.fp32_precision = "ieee"  # type: ignore[attr-defined]
        torch.backends.cuda.matmul.fp32_precision = "ieee"
