"""Compiler of card games into chunks: betting x boards x hands."""
