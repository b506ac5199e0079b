"""Data sets from the network: streamed, written atomically, recorded with checksums, downloaded once."""
