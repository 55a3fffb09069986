"""Geometry of attention: projections, hulls, and the polygon that attention makes smaller.

Tokens are points. Attention puts every output among the values, so their convex hull shrinks: in
every direction it becomes at most Dobrushin's coefficient of the weights times as wide. The polygon
through the tokens in their order may grow.

Everything is computed in float64, and data become float64 first.
"""

from ropewalk.geometry._contraction import dobrushin, iterate_attention
from ropewalk.geometry._hulls import area, convex_hull, distance_to_hull
from ropewalk.geometry._points import diameter, perimeter, principal_plane, width
from ropewalk.geometry._vectors import projection, scalar_projection

__all__ = [
    "area",
    "convex_hull",
    "diameter",
    "distance_to_hull",
    "dobrushin",
    "iterate_attention",
    "perimeter",
    "principal_plane",
    "projection",
    "scalar_projection",
    "width",
]
