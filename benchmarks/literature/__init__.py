"""Published figures compared with ecsuite: languages with known scores, and several readings of metrics."""
