"""One thread a process, here and in the programs that tests start: tests are small, and run side by side."""

import os

os.environ["OMP_NUM_THREADS"] = "1"

import torch

torch.set_num_threads(1)
