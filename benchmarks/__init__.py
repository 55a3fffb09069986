"""Ratios against named rivals and limits of the machine, measured in the same run."""
