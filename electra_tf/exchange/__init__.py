"""Weights from and for other toolkits: names, sizes, files."""
