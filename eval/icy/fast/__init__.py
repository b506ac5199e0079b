"""Fused ICY training with manually derived gradients, for many replicas at once; `agents` defines the models."""
