"""Measurements, as ratios within one run on one machine. ``python -m bench`` prints them."""
