"""A pretended CUDA or MPS device for torch's CPU build: tensors of real numbers that say that they are elsewhere."""
