"""What encodings, attention and softmax are said to do, as measurements.

Every function measures one statement, and most return a `Measurement`: how far the statement is
off, and how far rounding alone can bring it. The docstrings name the threshold, and the negative
control: where the statement is false, which the measurement must notice.
"""

from ropewalk.properties._measurement import Measurement
from ropewalk.properties._softmax import softmax_order, softmax_ratio, softmax_shift, softmax_sum
from ropewalk.properties._temperature import ScaleLaw, Temperature, entropy, scale_law, temperature
from ropewalk.properties._tokens import identical_tokens, permutation_equivariance

__all__ = [
    "Measurement",
    "ScaleLaw",
    "Temperature",
    "entropy",
    "identical_tokens",
    "permutation_equivariance",
    "scale_law",
    "softmax_order",
    "softmax_ratio",
    "softmax_shift",
    "softmax_sum",
    "temperature",
]
