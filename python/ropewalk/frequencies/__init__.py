"""Frequencies, and every schedule that returns them.

A frequency is a fraction of a turn: pair ``i`` turns by a fixed angle per position, and the angle
is kept as turns in fixed point, so that position times frequency, modulo a whole turn, is exact at
every position. A schedule is a function that returns `Frequencies`; what uses them never asks which
one it was.
"""

from ropewalk.frequencies._context import dynamic_ntk, linear, llama3, ntk
from ropewalk.frequencies._frequencies import Frequencies
from ropewalk.frequencies._grids import axial, mixed, mrope
from ropewalk.frequencies._longrope import longrope
from ropewalk.frequencies._standard import (
    clipped,
    from_radians,
    partial,
    proportional,
    standard,
)
from ropewalk.frequencies._xpos import xpos_scales
from ropewalk.frequencies._yarn import yarn

__all__ = [
    "Frequencies",
    "axial",
    "clipped",
    "dynamic_ntk",
    "from_radians",
    "linear",
    "llama3",
    "longrope",
    "mixed",
    "mrope",
    "ntk",
    "partial",
    "proportional",
    "standard",
    "xpos_scales",
    "yarn",
]
