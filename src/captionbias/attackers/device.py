"""The device that Accelerate gives to this process."""

from __future__ import annotations

import atexit
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def device() -> torch.device:
    """The device that Accelerate gives to this process. Under a launcher with GPUs, Accelerate starts the process group
    if the script has not: call it on every rank."""
    import torch
    from accelerate import PartialState
    from accelerate.utils import parse_flag_from_env

    # Accelerator obeys this flag, PartialState does not. Accelerator is not used, because it fixes the precision of
    # one that the script makes later. No process group is needed on a CPU, and gloo's fails on many networks.
    if parse_flag_from_env("ACCELERATE_USE_CPU"):
        return torch.device("cpu")
    state = PartialState()
    atexit.unregister(state.destroy_process_group)
    atexit.register(state.destroy_process_group)  # NCCL warns about a group that is left to the end of the process
    chosen: torch.device = state.device
    return chosen
