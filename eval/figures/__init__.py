"""Four figures of plain data, and no others: a heat map, intervals, bars and curves."""
