"""Files that survive a crash: written whole or not at all, with checksums, locks and format numbers."""
