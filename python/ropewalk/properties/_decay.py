"""Long-term decay: three statements about scores and distance, of which one is false.

The bound of RoFormer falls with the distance, though not steadily; the score of equal queries and
keys wanders around 0; and the score of others is largest wherever they say.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import _arrays, _options, sinusoidal_encoding
from ropewalk._options import Integer, Pairing, Real
from ropewalk._pairing import pair_slices
from ropewalk.frequencies import Frequencies
from ropewalk.frequencies._given import of_features, one_axis
from ropewalk.properties._measurement import reals

BLOCK = 1 << 20  # hands at a time


def abel_bound(
    distances: ArrayLike | range,
    dim: Integer | None = None,
    /,
    *,
    base: Real | None = None,
    frequencies: Frequencies | None = None,
) -> NDArray[np.float64]:
    r"""Long-term decay of RoFormer: the mean length of partial sums of the hands.

    A score is at most this, times the number of pairs, times the largest step from one product
    ``q_i conj(k_i)`` of a pair to the next, with 0 after the last.

    Parameters
    ----------
    distances : array_like or range
        Position of the query minus that of the key (tokens), as `positions` in
        `sinusoidal_encoding`.
    dim : int, optional
        Rotary width, twice the number of pairs; even, from 2 to 2**20. May be left out where
        `frequencies` is given.
    base : float, default 10000.0
        Base of the standard frequencies, positive and finite. Not together with `frequencies`.
    frequencies : Frequencies, optional
        Another schedule of one axis, from `ropewalk.frequencies`. Its attention factor is not
        applied.

    Returns
    -------
    ndarray of shape distances.shape
        The mean over ``j`` from 1 to the number of pairs of ``abs(sum(exp(1j * distance * w_i) for
        i < j))``: from above 0 to ``(pairs + 1) / 2``, which it is at distance 0.

    Raises
    ------
    ValueError
        If an argument is out of its range, `base` and `frequencies` are both given, or
        `frequencies` have several axes.
    TypeError
        If `distances` are complex or no numbers, `dim` is missing or no integer, `base` is no
        number, or `frequencies` are no `Frequencies`.

    See Also
    --------
    scores_by_distance : The scores themselves, which need not fall at all.
    ropewalk.position_kernel : The score where query and key are all ones.
    ropewalk.plot.long_term_decay : The picture.

    Notes
    -----
    Between octaves of distances its mean falls, and from some thousands on it stays where it is; it
    rises about as often as it falls from one distance to the next. It bounds scores and says
    nothing about where they are largest. Within ``dim`` units of rounding of float64, relatively
    to the number of pairs.

    References
    ----------
    Su et al., RoFormer: Enhanced Transformer with Rotary Position Embedding, 2021,
    arXiv:2104.09864, section 3.4.3, equations 35 to 37.

    Examples
    --------
    >>> from ropewalk.properties import abel_bound
    >>> abel_bound([0, 1, 100, 10000], 128).round(1)
    array([32.5, 31.5, 10.2,  3.9])
    """
    turning = one_axis(dim, base, frequencies)
    rows, shape = _arrays.positions("distances", distances)
    flat = _arrays.listed(rows).reshape(-1)
    bound = np.empty(flat.size)
    step = max(1, BLOCK // len(turning))
    for start in range(0, flat.size, step):
        part = slice(start, start + step)
        bound[part] = np.abs(_hands(flat[part], turning).cumsum(axis=1)).mean(axis=1)
    return bound.reshape(shape)


def scores_by_distance(
    query: ArrayLike,
    key: ArrayLike,
    distances: ArrayLike | range,
    /,
    *,
    base: Real | None = None,
    frequencies: Frequencies | None = None,
    pairing: Pairing = "interleaved",
) -> NDArray[np.float64]:
    r"""Scores of rotated queries and keys at every distance between them.

    Parameters
    ----------
    query, key : array_like of shape (..., dim)
        Vectors that are not rotated yet, finite, of one shape, `dim` even; float64, float32 or
        float16, integers become float64.
    distances : array_like or range of shape (distances,)
        Position of the query minus that of the key (tokens), as `positions` in `rotate`.
    base : float, default 10000.0
        Base of the standard frequencies, positive and finite. Not together with `frequencies`.
    frequencies : Frequencies, optional
        Another schedule of one axis, from `ropewalk.frequencies`.
    pairing : {"interleaved", "half"}, default "interleaved"
        Which features form a pair, as in `rotate`.

    Returns
    -------
    ndarray of shape (..., distances)
        ``rotate(query, distance) @ key``, not divided by anything.

    Raises
    ------
    ValueError
        If a shape does not fit, an argument is out of its range or not finite, `frequencies` have
        several axes or another width, or the scores are too large for float64.
    TypeError
        If an argument holds no such numbers.

    See Also
    --------
    abel_bound : A bound that falls with the distance.
    ropewalk.rotate : The rotation.

    Notes
    -----
    That scores fall with the distance is false of RoPE. The key ``rotate(query, r)`` scores
    ``|query|**2`` at distance ``r``, the most that any key of its length can, and less elsewhere;
    and scores of independent normal queries and keys have mean 0 and variance ``dim`` at every
    distance. An attention factor comes in twice. Within ``(dim + 8) u |query| |key|``, with u half
    the spacing of the float64 above 1.

    References
    ----------
    Su et al., RoFormer: Enhanced Transformer with Rotary Position Embedding, 2021,
    arXiv:2104.09864, equation 16; Barbero et al., Round and Round We Go! What Makes Rotary
    Positional Encodings Useful?, 2024, arXiv:2410.06205, section 3, for the key that scores best
    at a chosen distance.

    Examples
    --------
    A key that is looked for 5000 tokens back, and found there:

    >>> import numpy as np
    >>> import ropewalk as rw
    >>> from ropewalk.properties import scores_by_distance
    >>> query = np.random.default_rng(1).standard_normal(64)
    >>> scores = scores_by_distance(query, rw.rotate(query, 5000), range(10000))
    >>> int(scores.argmax())
    5000
    """
    queries, keys = reals("query", query).astype(float), reals("key", key).astype(float)
    if queries.shape != keys.shape:
        msg = f"query and key must have one shape, got {queries.shape} and {keys.shape}"
        raise ValueError(msg)
    features = _arrays.even_width(queries, name="query")
    turning = of_features("query", features, base, frequencies)
    rows, shape = _arrays.positions("distances", distances)
    if len(shape) != 1:
        msg = f"distances must have one dimension, got shape {shape}"
        raise ValueError(msg)
    interleaved = _options.is_interleaved(pairing)
    with np.errstate(all="ignore"):  # what overflows is refused
        products = _complex(queries, interleaved) * _complex(keys, interleaved).conj()
        scores = np.empty((*products.shape[:-1], len(rows)))
        step = max(1, BLOCK // len(turning))
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            scores[..., part] = (products @ _hands(rows[part], turning).T).real
        scores *= turning.attention_factor**2
    if not np.isfinite(scores).all():
        msg = f"query and key must have finite scores, got {scores[~np.isfinite(scores)][0]}"
        raise ValueError(msg)
    return scores


def _hands(distances: ArrayLike | range, frequencies: Frequencies) -> NDArray[np.complex128]:
    """Return ``exp(1j * distance * w_i)``, a row a distance."""
    table = sinusoidal_encoding(distances, frequencies=frequencies, order="cos-sin")
    return table.view(np.complex128)


def _complex(x: NDArray[np.float64], interleaved: bool) -> NDArray[np.complex128]:
    first, second = pair_slices(x.shape[-1], interleaved=interleaved)
    return x[..., first] + 1j * x[..., second]
