"""Everything that judges: metrics, benchmarks, and what they share."""
