"""Which features are a pair: a quarter turn of all pairs, and the way between the pairings."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import _arrays, _options, _results
from ropewalk._options import Integer, Pairing


def quarter_turn(x: ArrayLike, /, *, pairing: Pairing = "interleaved") -> NDArray[Any]:
    """Every pair of features turned by a right angle (elsewhere called rotate_half).

    ``(a, b)`` becomes ``(-b, a)``, so that ``rotate(x)`` is ``x * c + quarter_turn(x) * s`` with
    cosines and sines that are repeated for both features of a pair.

    Parameters
    ----------
    x : array_like of shape (..., dim)
        Features, an even number of them from 2 to 2**20; float64, float32, float16, bfloat16, or
        integers, which become float64.
    pairing : {"interleaved", "half"}, default "interleaved"
        As in `rotate`.

    Returns
    -------
    ndarray of the shape and dtype of x

    Raises
    ------
    ValueError
        If the last axis of `x` is odd or out of range, or `pairing` is neither of the two.
    TypeError
        If `x` is complex or holds no numbers.

    See Also
    --------
    rotate : The turn by any angle.

    Notes
    -----
    Exact.

    References
    ----------
    Su et al., RoFormer, 2021, arXiv:2104.09864, equation 34, the second vector.

    Examples
    --------
    >>> import ropewalk as rw
    >>> rw.quarter_turn([1, 2, 3, 4])
    array([-2.,  1., -4.,  3.])
    >>> rw.quarter_turn([1, 2, 3, 4], pairing="half")
    array([-3., -4.,  1.,  2.])
    """
    data = _arrays.data("x", x)
    width = _arrays.even_width(data)
    first, second = pair_slices(width, interleaved=_options.is_interleaved(pairing))
    result = _results.empty(data.shape, data.dtype)
    # Not out=: np.negative of strided floats into strided memory is wrong in NumPy 2.4.
    result[..., first] = -data[..., second]
    result[..., second] = data[..., first]
    return result


def convert_pairing(
    x: ArrayLike,
    /,
    *,
    source: Pairing,
    target: Pairing,
    axis: Integer = -1,
    heads: Integer = 1,
    rotary_dim: Integer | None = None,
) -> NDArray[Any]:
    """Features in the order of another pairing, in data or in weights.

    Queries and keys that are converted both give the same scores: a permutation of features changes
    no inner product, and ``rotate(convert_pairing(x), pairing=target)`` is
    ``convert_pairing(rotate(x, pairing=source))``.

    Parameters
    ----------
    x : array_like
        Data, or the weights or biases of a query or key projection, of any dtype.
    source, target : {"interleaved", "half"}
        The pairing that `x` is in, and the one it shall be in.
    axis : int, default -1
        The axis of the features: -1 for data, biases and weights of shape (in, out), 0 for weights
        of shape (out, in).
    heads : int, default 1
        How many heads the axis holds, one after another; positive.
    rotary_dim : int, optional
        How many features of each head are turned, even and at most 2**20, as in `rotate`; all of
        them where left out.

    Returns
    -------
    ndarray of the shape and dtype of x

    Raises
    ------
    ValueError
        If `source` or `target` is none of the two, `axis` is none of `x`, its length is no multiple
        of `heads`, or the rotary width is odd or larger than a head.
    TypeError
        If `axis`, `heads` or `rotary_dim` is no integer, or `x` is a masked array.

    See Also
    --------
    rotate : Where the pairing is said.

    Notes
    -----
    Exact: values are moved, not changed.

    References
    ----------
    Su et al., RoFormer, 2021, arXiv:2104.09864, equation 15, pairs neighbours; Black et al.,
    GPT-NeoX-20B, 2022, arXiv:2204.06745, section 2.1, halves.

    Examples
    --------
    >>> import numpy as np
    >>> import ropewalk as rw
    >>> rw.convert_pairing([1, 2, 3, 4], source="interleaved", target="half")
    array([1, 3, 2, 4])

    Weights of shape (out, in) of eight heads of width 16:

    >>> weights = np.ones((128, 64), np.float32)
    >>> rw.convert_pairing(weights, source="half", target="interleaved", axis=0, heads=8).shape
    (128, 64)
    """
    array = _arrays.converted("x", x, "an array")
    from_interleaved = _options.is_interleaved(source, "source")
    to_interleaved = _options.is_interleaved(target, "target")
    heads = _options.integer_between("heads", heads, 1, 2**31)
    axis = _arrays.axis_of(axis, array)
    if array.shape[axis] % heads:
        msg = f"axis {axis} of x must be a multiple of heads={heads}, got {array.shape[axis]}"
        raise ValueError(msg)
    before, after = array.shape[:axis], array.shape[axis + 1 :]
    if array.ndim == _arrays.MOST_AXES:  # which leave none for the heads
        before, after = (math.prod(before),), (math.prod(after),)
    split = array.reshape(*before, heads, array.shape[axis] // heads, *after)
    features = np.moveaxis(split, len(before) + 1, -1)
    width = _arrays.rotary_width(features, rotary_dim, name="x" if heads == 1 else "each head")
    result = _results.empty(split.shape, split.dtype)
    target_features = np.moveaxis(result, len(before) + 1, -1)
    sources = pair_slices(width, interleaved=from_interleaved)
    targets = pair_slices(width, interleaved=to_interleaved)
    for here, there in zip(sources, targets, strict=True):
        target_features[..., there] = features[..., here]
    target_features[..., width:] = features[..., width:]
    return result.reshape(array.shape)


def pair_slices(width: int, *, interleaved: bool) -> tuple[slice, slice]:
    """Return where the first and the second features of all pairs are."""
    if interleaved:
        return slice(0, width, 2), slice(1, width, 2)
    return slice(0, width // 2), slice(width // 2, width)
