"""XferBench scores side by side: differences, intervals, writing systems, correlations, published anchors."""
