"""What holds here and in the programs that tests start.

One thread a process: tests are small, and run side by side. And no data that the user has downloaded.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["ECSUITE_DATA"] = os.path.join(os.path.dirname(__file__), "no such folder")

import torch

torch.set_num_threads(1)
