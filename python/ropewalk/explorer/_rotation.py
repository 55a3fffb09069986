"""Rotation: pairs that turn with the position, scores by distance, exact beside float32 angles."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import _arrays, _options, rotary_tables, rotate_by
from ropewalk._embedding import scaled_to_one
from ropewalk._options import Lang, Pairing
from ropewalk._pairing import pair_slices
from ropewalk.explorer._view import Checked, Picture, View, packed
from ropewalk.frequencies import Frequencies
from ropewalk.frequencies._given import of_features

LARGEST = 2**22  # most numbers of the turned query that a page is sent

_start = partial(_options.integer_between, smallest=-(2**52), largest=2**52)


class RotationView(View):
    """Two vectors that turn with their positions, as `rotation` shows them.

    Attributes
    ----------
    start : int
        Position of the key, and the first of the query (tokens).
    """

    start = Checked(_start, 0).tag(sync=True)

    def __init__(
        self,
        query: NDArray[np.float64],
        key: NDArray[np.float64],
        count: int,
        *,
        start: int,
        frequencies: Frequencies,
        pairing: Pairing,
        title: str | None,
        lang: Lang,
    ) -> None:
        super().__init__("rotation", title, lang, start=start)
        # Lengths and scores are relative: powers of two change neither, and nothing overflows.
        self._query, self._key = (scaled_to_one(x)[0] for x in (query, key))
        self._count = count
        self._frequencies, self._pairing = frequencies, pairing
        self._draw()
        self.observe(self._draw, ["start"])

    def _turned(self, angles: Literal["exact", "float32"]) -> tuple[NDArray[np.float64], ...]:
        """Return the query at all positions, and its scores with the key at the first."""
        positions = range(self.start, self.start + self._count)
        cos, sin = rotary_tables(positions, frequencies=self._frequencies, angles=angles)
        query = np.broadcast_to(self._query, (self._count, len(self._query)))
        queries = rotate_by(query, cos, sin, pairing=self._pairing)
        key = rotate_by(self._key, cos[0], sin[0], pairing=self._pairing)
        lengths = np.linalg.norm(self._query) * np.linalg.norm(self._key)
        return queries, queries @ key / lengths

    def _hands(self, queries: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return pairs as points, the longest at distance 1."""
        of_pairs = pair_slices(len(self._query), interleaved=self._pairing == "interleaved")
        pairs = np.stack([queries[:, features] for features in of_pairs], axis=-1)
        hands: NDArray[np.float64] = pairs / np.linalg.norm(pairs[0], axis=-1).max()
        return hands

    def _picture(self, _at: Mapping[str, Any]) -> Picture:
        exact, scores = self._turned("exact")
        rounded, rounded_scores = self._turned("float32")
        return {
            "start": self.start,
            "exact": packed(self._hands(exact)),
            "rounded": packed(self._hands(rounded)),
            "scores": packed(scores),
            "rounded_scores": packed(rounded_scores),
            "wavelengths": packed(self._frequencies.wavelengths),
        }


def rotation(
    query: ArrayLike,
    key: ArrayLike,
    /,
    *,
    count: int = 128,
    start: int = 0,
    base: float | None = None,
    frequencies: Frequencies | None = None,
    pairing: Pairing = "interleaved",
    title: str | None = None,
    lang: Lang = "en",
) -> RotationView:
    """Explore rotation (RoPE): pairs as clock hands, and the score against distance.

    The key stands at the first position and the query walks away from it. What exact angles give
    is shown beside what angles in float32 give, as most libraries compute them: alike near 0, and
    no longer so from positions of some ten million on.

    Parameters
    ----------
    query, key : array_like of shape (dim,)
        Vectors that are not rotated yet, finite and not zero.
    count : int, default 128
        How many positions the query walks, from 2.
    start : int, default 0
        Position of the key, and the first of the query (tokens), up to 2**52 in size.
    base : float, default 10000.0
        Base of the standard frequencies. Not together with `frequencies`.
    frequencies : Frequencies, optional
        Another schedule of one axis, from `ropewalk.frequencies`.
    pairing : {"interleaved", "half"}, default "interleaved"
        Which features form a pair, as in `ropewalk.rotate`.
    title : str, optional
        What stands above the view; "Rotary position embedding" unless given.
    lang : {"en", "ja"}, default "en"
        Language of the words, and of the title unless one is given.

    Returns
    -------
    RotationView
        A widget; its attribute `start` is a control.

    Raises
    ------
    TypeError
        If an argument is of the wrong kind.
    ValueError
        If a shape does not fit, a vector is zero or not finite, or a number is out of range.

    See Also
    --------
    ropewalk.plot.score_by_distance, ropewalk.plot.angle_error : The same as figures.

    Notes
    -----
    Every number is that of `ropewalk.rotary_tables` and `ropewalk.rotate_by` in float64, rounded to
    float32 for the page. Scores are inner products over the product of the lengths; an attention
    factor comes in twice, as in a model.

    References
    ----------
    Su et al., RoFormer: Enhanced Transformer with Rotary Position Embedding, 2021,
    arXiv:2104.09864, section 3.2.

    Examples
    --------
    >>> import numpy as np
    >>> import ropewalk as rw
    >>> view = rw.explorer.rotation(np.ones(64), np.ones(64))
    >>> view.start = 1_000_000
    >>> view.picture["scores"]["shape"]
    (128,)
    """
    vectors = [_checked_vector(name, x) for name, x in (("query", query), ("key", key))]
    dims = [len(vector) for vector in vectors]
    if dims[0] != dims[1]:
        msg = f"query and key must have the same length, got {dims[0]} and {dims[1]}"
        raise ValueError(msg)
    _options.is_interleaved(pairing)
    chosen = of_features("query", dims[0], base, frequencies)
    positions = _options.integer_between("count", count, 2, LARGEST // dims[0])
    return RotationView(
        vectors[0],
        vectors[1],
        positions,
        start=_start("start", start),
        frequencies=chosen,
        pairing=pairing,
        title=title,
        lang=lang,
    )


def _checked_vector(name: str, values: ArrayLike) -> NDArray[np.float64]:
    vector = _arrays.data(name, values).astype(np.float64)
    if vector.ndim != 1:
        msg = f"{name} must have shape (dim,), got {vector.shape}"
        raise ValueError(msg)
    _arrays.even_width(vector, name=name)
    if not np.isfinite(vector).all() or not vector.any():
        odd = vector[~np.isfinite(vector)]
        msg = f"{name} must be finite and not zero, got {odd[0] if odd.size else 'zeros'}"
        raise ValueError(msg)
    return vector
