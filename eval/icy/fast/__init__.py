"""Fused ICY training with manually derived gradients for many replicas at once; `ecsuite.agents` defines the models."""
