"""Runs, corpora and records on the Hugging Face hub: pushed with a card and Croissant metadata, pulled verified."""
