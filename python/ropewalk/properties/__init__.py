"""What encodings, attention and softmax are said to do, as measurements.

Every function measures one statement, and most return a `Measurement`: how far the statement is
off, and how far rounding alone can bring it. The docstrings name the threshold, and the negative
control: where the statement is false, which the measurement must notice. `scorecard` puts the
encodings and their properties into one table.
"""

from ropewalk.properties._card import Cell, Scorecard
from ropewalk.properties._decay import abel_bound, scores_by_distance
from ropewalk.properties._invariance import (
    FittedShift,
    fitted_shift,
    kept_norm,
    length_independence,
    neighbour_distances,
    relative_score,
)
from ropewalk.properties._lengths import unseen_pairs, unseen_phase
from ropewalk.properties._measurement import Measurement
from ropewalk.properties._scorecard import scorecard
from ropewalk.properties._softmax import softmax_order, softmax_ratio, softmax_shift, softmax_sum
from ropewalk.properties._temperature import ScaleLaw, Temperature, entropy, scale_law, temperature
from ropewalk.properties._tokens import identical_tokens, permutation_equivariance
from ropewalk.properties._uniqueness import (
    ClosestLag,
    ClosestRows,
    closest_lag,
    closest_rows,
    signal_to_noise,
    uniqueness_range,
)

__all__ = [
    "Cell",
    "ClosestLag",
    "ClosestRows",
    "FittedShift",
    "Measurement",
    "ScaleLaw",
    "Scorecard",
    "Temperature",
    "abel_bound",
    "closest_lag",
    "closest_rows",
    "entropy",
    "fitted_shift",
    "identical_tokens",
    "kept_norm",
    "length_independence",
    "neighbour_distances",
    "permutation_equivariance",
    "relative_score",
    "scale_law",
    "scorecard",
    "scores_by_distance",
    "signal_to_noise",
    "softmax_order",
    "softmax_ratio",
    "softmax_shift",
    "softmax_sum",
    "temperature",
    "uniqueness_range",
    "unseen_pairs",
    "unseen_phase",
]
