"""XferBench results side by side: published scores, writing systems, correlation with translation."""
