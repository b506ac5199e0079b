"""Symbols become dense ids, messages are repeated whole, and every symbol is a target once."""
