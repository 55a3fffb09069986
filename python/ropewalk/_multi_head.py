"""Multi-head attention: projections, heads, rotation and attention in one call."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import _arrays, _conversions, _options, _results
from ropewalk._attention import AttentionOptions, attention, attention_weights
from ropewalk._options import LARGEST_POSITION, Integer
from ropewalk._rotary import rotate
from ropewalk.frequencies import Frequencies

Rotary = Frequencies | Mapping[str, Any]
ROTATION = ("base", "frequencies", "pairing", "rotary_dim", "inverse")  # options of rotate


class Projection:
    """Data, the weight that projects them, and what is then added."""

    def __init__(self, name: str, x: ArrayLike, weight: ArrayLike, bias: ArrayLike | None) -> None:
        self.name = name
        self.rows = _arrays.data(name, x)
        self.weight = _arrays.data(f"{name}_weight", weight)
        self.bias = None if bias is None else _arrays.data(f"{name}_bias", bias)
        self.arrays = [self.rows, self.weight, *([] if self.bias is None else [self.bias])]

    def of(self, rows: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return the projection of rows, which may be others than the data."""
        _check_length(self.name, rows)
        *leading, features = rows.shape
        weight, bias = self.weight, self.bias
        if weight.ndim != 2 or weight.shape[0] != features:
            msg = (
                f"{self.name}_weight must have shape ({features}, columns), a row for each "
                f"feature, got shape {weight.shape}"
            )
            raise ValueError(msg)
        if bias is not None and bias.shape != weight.shape[1:]:
            msg = (
                f"{self.name}_bias must have shape {weight.shape[1:]}, a number for each column of "
                f"{self.name}_weight, got shape {bias.shape}"
            )
            raise ValueError(msg)
        rows = _conversions.in_dtype(rows, dtype)
        # One product, where NumPy would make one for each of a batch.
        if math.prod(leading[:-1]) > 1:
            rows = rows.reshape(math.prod(leading), features)
        product: NDArray[Any] = rows @ _conversions.in_dtype(weight, dtype)
        if bias is not None:
            product += _conversions.in_dtype(bias, dtype)
        return product.reshape(*leading, weight.shape[1])


def split_heads(x: ArrayLike, heads: Integer, /) -> NDArray[Any]:
    r"""Split features into heads.

    Parameters
    ----------
    x : array_like of shape (..., length, heads * dim)
        float64, float32, float16 or bfloat16; integers become float64.
    heads : int
        From 1 to 2**20, and a divisor of the features.

    Returns
    -------
    ndarray of shape (..., heads, length, dim)
        Head ``h`` holds the features from ``h * dim`` on.

    Raises
    ------
    ValueError
        If there are fewer than two dimensions, or `heads` do not divide the features.
    TypeError
        If the dtype is another one, or `heads` is no integer.

    See Also
    --------
    merge_heads : The way back.

    References
    ----------
    Vaswani et al., Attention Is All You Need, 2017, arXiv:1706.03762, section 3.2.2.

    Examples
    --------
    >>> import ropewalk as rw
    >>> rw.split_heads([[0, 1, 2, 3], [4, 5, 6, 7]], 2)
    array([[[0., 1.],
            [4., 5.]],
           [[2., 3.],
            [6., 7.]]])
    """
    array = _arrays.data("x", x)
    _check_length("x", array)
    return _results.copied(_split("x", array, _heads(heads)))


def merge_heads(x: ArrayLike, /) -> NDArray[Any]:
    r"""Join the features of all heads.

    Parameters
    ----------
    x : array_like of shape (..., heads, length, dim)
        float64, float32, float16 or bfloat16; integers become float64.

    Returns
    -------
    ndarray of shape (..., length, heads * dim)

    Raises
    ------
    ValueError
        If there are fewer than three dimensions.
    TypeError
        If the dtype is another one.

    See Also
    --------
    split_heads : The way back.

    References
    ----------
    Vaswani et al., Attention Is All You Need, 2017, arXiv:1706.03762, section 3.2.2.

    Examples
    --------
    >>> import ropewalk as rw
    >>> rw.merge_heads([[[0, 1], [4, 5]], [[2, 3], [6, 7]]])
    array([[0., 1., 2., 3.],
           [4., 5., 6., 7.]])
    """
    array = _arrays.data("x", x)
    if array.ndim < 3:
        msg = f"x must have shape (..., heads, length, dim), got shape {array.shape}"
        raise ValueError(msg)
    *leading, heads, length, dim = array.shape
    return _results.copied(array.swapaxes(-2, -3)).reshape(*leading, length, heads * dim)


def multi_head_attention(
    query: ArrayLike,
    key: ArrayLike | None = None,
    value: ArrayLike | None = None,
    /,
    *,
    heads: Integer,
    query_weight: ArrayLike,
    key_weight: ArrayLike,
    value_weight: ArrayLike,
    output_weight: ArrayLike | None = None,
    query_bias: ArrayLike | None = None,
    key_bias: ArrayLike | None = None,
    value_bias: ArrayLike | None = None,
    output_bias: ArrayLike | None = None,
    rotary: Rotary | None = None,
    positions: ArrayLike | range | None = None,
    key_positions: ArrayLike | range | None = None,
    **options: Unpack[AttentionOptions],
) -> NDArray[Any]:
    r"""Multi-head attention.

    Projections of queries, keys and values, split into heads, turned by their positions if asked,
    attended to, merged, and projected again.

    Parameters
    ----------
    query : array_like of shape (..., query length, features)
    key : array_like of shape (..., key length, features), optional
        `query` where it is left out: self-attention. Given, cross-attention.
    value : array_like of shape (..., key length, features), optional
        `key` where it is left out.
    heads : int
        Heads of the queries, a divisor of the columns of `query_weight`.
    query_weight : array_like of shape (features, heads * dim)
        Multiplied from the right, ``query @ query_weight``: the transpose of what
        ``torch.nn.Linear`` keeps.
    key_weight : array_like of shape (features, key heads * dim)
        Key heads may be fewer: what the columns hold, in heads as wide as those of the queries,
        and a divisor of `heads`.
    value_weight : array_like of shape (features, key heads * value dim)
    output_weight : array_like of shape (heads * value dim, any), optional
        Without it the merged heads are the result.
    query_bias, key_bias, value_bias, output_bias : array_like, optional
        Added after each projection, as long as its columns.
    rotary : Frequencies or mapping, optional
        Turns queries and keys of every head: frequencies, or the options of `rotate` such as
        `rotary_from_config` returns them.
    positions : array_like or range, optional
        Positions of the queries, of shape (query length,) or (..., query length) as the leading
        axes of `query`; ``offset + range(query length)`` where they are left out, with offset 0 if
        that is too. Only with `rotary`.
    key_positions : array_like or range, optional
        Those of the keys: without them `positions` in self-attention where these are given, and
        ``range(key length)`` elsewhere.
    **options
        `causal`, `offset`, `window`, `mask`, `bias`, `slopes`, `key_lengths`, `scale`, `softcap`,
        `sinks` and `precision`, as in `attention`, whose arrays here have shape
        (..., heads, length, dim). With `rotary` an `offset` has the leading axes of `query`, unless
        `positions` are given.

    Returns
    -------
    ndarray of shape (..., query length, columns of the output weight)
        Of the dtype that data and weights have together, as in `attention`.

    Raises
    ------
    ValueError
        If the shape of a weight does not fit, there are positions and no `rotary`, or `attention`
        or `rotate` refuses a value.
    TypeError
        If `attention` does not take a dtype or an option, `heads` is no integer, or `rotary` is
        neither frequencies nor options of `rotate`.

    See Also
    --------
    multi_head_attention_weights : The weights of every head.
    attention : Attention alone.

    Notes
    -----
    Projections are NumPy's matrix products, of its accuracy and speed; so the bits may depend on
    the number of threads that they use, and those of a row on its place among the others. Half
    types are computed in float32 from the projections on and rounded once at the end;
    ``precision="float64"`` computes everything in float64, and the others concern attention alone.

    A cache of keys and values is the caller's arrays. Decoding with one gives the rows of the whole
    up to rounding, as the second example shows.

    References
    ----------
    Vaswani et al., Attention Is All You Need, 2017, arXiv:1706.03762, section 3.2.2. Grouped heads:
    Ainslie et al., GQA, 2023, arXiv:2305.13245. Rotation: Su et al., RoFormer, 2021,
    arXiv:2104.09864, equation 16.

    Examples
    --------
    >>> import numpy as np
    >>> import ropewalk as rw
    >>> rng = np.random.default_rng(0)
    >>> x = rng.standard_normal((10, 16))  # ten tokens
    >>> wq, wk, wv = (rng.standard_normal((16, columns)) / 4 for columns in (16, 8, 8))
    >>> rotary = rw.frequencies.standard(4)
    >>> whole = rw.multi_head_attention(
    ...     x,
    ...     heads=4,
    ...     query_weight=wq,
    ...     key_weight=wk,
    ...     value_weight=wv,
    ...     rotary=rotary,
    ...     causal=True,
    ... )
    >>> whole.shape
    (10, 16)

    The same, token by token, with a cache:

    >>> keys, values = np.zeros((2, 1, 2, 10, 4))  # a batch of one, two key heads
    >>> for t in range(10):
    ...     token = x[None, t : t + 1]
    ...     q, k, v = (rw.split_heads(token @ w, w.shape[1] // 4) for w in (wq, wk, wv))
    ...     keys[..., t, :] = rw.rotate(k, t, frequencies=rotary)[..., 0, :]
    ...     values[..., t, :] = v[..., 0, :]
    ...     q = rw.rotate(q, t, frequencies=rotary)
    ...     row = rw.merge_heads(rw.attention(q, keys, values, key_lengths=t + 1))
    ...     assert np.abs(row[0, 0] - whole[t]).max() < 1e-14
    """
    if output_weight is None and output_bias is not None:
        msg = "output_bias needs an output_weight, got None"
        raise ValueError(msg)
    query = _arrays.data("query", query)
    keys = query if key is None else _arrays.data("key", key)
    projections = [
        Projection("query", query, query_weight, query_bias),
        Projection("key", keys, key_weight, key_bias),
        Projection("value", keys if value is None else value, value_weight, value_bias),
    ]
    output = None
    if output_weight is not None:
        output = Projection("output", query, output_weight, output_bias)
    dtype = _dtype(projections if output is None else [*projections, output])
    result = _attended(
        attention,
        projections,
        dtype,
        heads,
        rotary,
        positions,
        positions if key is None and key_positions is None else key_positions,
        options,
    )
    result = merge_heads(result)
    if output is not None:
        with np.errstate(all="ignore"):
            result = output.of(result, result.dtype)
    return _conversions.in_dtype(result, dtype)


def multi_head_attention_weights(
    query: ArrayLike,
    key: ArrayLike | None = None,
    /,
    *,
    heads: Integer,
    query_weight: ArrayLike,
    key_weight: ArrayLike,
    query_bias: ArrayLike | None = None,
    key_bias: ArrayLike | None = None,
    rotary: Rotary | None = None,
    positions: ArrayLike | range | None = None,
    key_positions: ArrayLike | range | None = None,
    **options: Unpack[AttentionOptions],
) -> NDArray[Any]:
    r"""Attention weights of every head.

    Parameters
    ----------
    query : array_like of shape (..., query length, features)
    key : array_like of shape (..., key length, features), optional
        As in `multi_head_attention`.
    heads, query_weight, key_weight, query_bias, key_bias, rotary, positions, key_positions
        As in `multi_head_attention`.
    **options
        As in `multi_head_attention`.

    Returns
    -------
    ndarray of shape (..., heads, query length, key length)

    Raises
    ------
    ValueError, TypeError
        As `multi_head_attention`; ValueError also where the result is larger than any memory.

    See Also
    --------
    attention_weights : Without projections.

    References
    ----------
    Vaswani et al., Attention Is All You Need, 2017, arXiv:1706.03762, section 3.2.2.

    Examples
    --------
    >>> import numpy as np
    >>> import ropewalk as rw
    >>> x, unit = np.eye(3, 4), np.eye(4)
    >>> rw.multi_head_attention_weights(x, heads=2, query_weight=unit, key_weight=unit).round(2)
    array([[[0.5 , 0.25, 0.25],
            [0.25, 0.5 , 0.25],
            [0.33, 0.33, 0.33]],
           [[0.33, 0.33, 0.33],
            [0.33, 0.33, 0.33],
            [0.25, 0.25, 0.5 ]]])
    """
    query = _arrays.data("query", query)
    projections = [
        Projection("query", query, query_weight, query_bias),
        Projection("key", query if key is None else key, key_weight, key_bias),
    ]
    dtype = _dtype(projections)
    weights = _attended(
        attention_weights,
        projections,
        dtype,
        heads,
        rotary,
        positions,
        positions if key is None and key_positions is None else key_positions,
        options,
    )
    return _conversions.in_dtype(weights, dtype)


def check_options(options: AttentionOptions, *others: str) -> None:
    """Refuse options that are neither those of attention nor others that are known."""
    known = [*AttentionOptions.__annotations__, *others]
    for name in options:
        if name not in known:
            msg = f"unexpected keyword argument {name!r}; the options are {', '.join(known)}"
            raise TypeError(msg)


@np.errstate(all="ignore")
def _attended(
    attend: Callable[..., NDArray[Any]],
    projections: Sequence[Projection],
    dtype: np.dtype[Any],
    heads: Integer,
    rotary: Rotary | None,
    positions: ArrayLike | range | None,
    key_positions: ArrayLike | range | None,
    options: AttentionOptions,
) -> NDArray[Any]:
    """Return what `attend` makes of all heads, to be rounded to the dtype."""
    check_options(options)
    computed = computed_dtype(dtype, options)
    query, key, *values = (each.of(each.rows, computed) for each in projections)
    heads = _heads(heads)
    query = _split("query_weight", query, heads)
    width = query.shape[-1]
    key_heads = key.shape[-1] // width
    if key.shape[-1] != key_heads * width or not key_heads or heads % key_heads:
        msg = (
            f"key_weight must have columns of heads as wide as those of query, {width}, and as "
            f"many heads as divide {heads}, got {key.shape[-1]} columns"
        )
        raise ValueError(msg)
    arrays = [query, _split("key_weight", key, key_heads)]
    arrays += [_split("value_weight", value, key_heads, of="key") for value in values]
    if rotary is None:
        if positions is not None or key_positions is not None:
            name = "key_positions" if positions is None else "positions"
            msg = f"{name} need rotary, which says how they turn queries and keys, got None"
            raise ValueError(msg)
    else:
        of_query, of_key = projections[:2]
        offset = options.get("offset")
        arrays[0] = _turned(query, of_query, rotary, "positions", positions, offset)
        arrays[1] = _turned(arrays[1], of_key, rotary, "key_positions", key_positions, None)
    if all(array.ndim == 3 for array in arrays):  # heads alone are no grouped heads
        arrays = [array[None] for array in arrays]
        return np.asarray(attend(*arrays, **options)[0])
    return attend(*arrays, **options)


def computed_dtype(dtype: np.dtype[Any], options: AttentionOptions) -> np.dtype[Any]:
    """Return the dtype that projections and rotations of that data are computed in."""
    wide = dtype == np.float64 or _options.in_float64(options.get("precision"))
    return np.dtype(np.float64 if wide else np.float32)


def _dtype(projections: Sequence[Projection]) -> np.dtype[Any]:
    arrays = [array for each in projections for array in each.arrays]
    return _arrays.common_dtype(arrays)


def _turned(
    heads: NDArray[Any],
    projection: Projection,
    rotary: object,
    name: str,
    positions: ArrayLike | range | None,
    offset: ArrayLike | None,
) -> NDArray[Any]:
    """Return queries or keys of shape (..., heads, length, dim), each row turned."""
    options = rotation_options(rotary)
    frequencies = options.get("frequencies")
    axes = frequencies.axes if isinstance(frequencies, Frequencies) else 1
    width = _arrays.rotary_width(heads, options.get("rotary_dim"), name="each head")
    if isinstance(frequencies, Frequencies) and 2 * len(frequencies) != width:
        msg = (
            f"rotary must have {width // 2} pairs to turn {width} features of each head, got "
            f"{len(frequencies)}; rotary_dim says how many of them are turned"
        )
        raise ValueError(msg)
    if positions is None and offset is not None:
        first = first_positions(offset, heads.shape)
        name, positions = "offset", np.add.outer(first, np.arange(heads.shape[-2]))
        if axes > 1:
            positions = np.stack([positions] * axes, axis=-1)
    if positions is not None:
        _, shape = _arrays.positions(name, positions, axes)
        on_axes, of = (axes,) if axes > 1 else (), projection.name
        _arrays.check_rows_fit(
            name, shape, projection.rows.shape, on_axes, each="coordinates", of=of
        )
        if len(shape) > 1:  # all heads share them
            positions = np.expand_dims(positions, len(shape) - 1)
    return rotate(heads, positions, **options)


def rotation_options(rotary: object) -> dict[str, Any]:
    """Return the options of `rotate` that frequencies, or a mapping, stand for."""
    if isinstance(rotary, Frequencies):
        return {"frequencies": rotary}
    if not isinstance(rotary, Mapping):
        msg = f"rotary must be Frequencies, or the options of rotate, got {_options.shown(rotary)}"
        raise TypeError(msg)
    for name in rotary:
        if name not in ROTATION:
            msg = f"rotary must hold options of rotate, {', '.join(ROTATION)}, got {name!r}"
            raise TypeError(msg)
    return dict(rotary)


def first_positions(offset: ArrayLike, heads: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the positions of the first queries of heads of that shape, (..., heads, length, dim).

    They are one number, or where there is a batch an array of its shape.
    """
    first = _arrays.offsets(offset)
    leading = heads[:-3] or (1,)  # as attention has it
    _arrays.check_broadcast("offset", first.shape, leading, "the leading axes of the query")
    last = int(first.max(initial=-LARGEST_POSITION)) + max(heads[-2] - 1, 0)
    if last > LARGEST_POSITION:
        msg = f"offset must leave the last query a position of at most 2**53, got {last} for it"
        raise ValueError(msg)
    if not first.ndim:
        return first
    return np.broadcast_to(first, leading) if len(heads) > 3 else first.reshape(())


def _heads(heads: object) -> int:
    return _options.integer_between("heads", heads, 1, _options.LARGEST_DIM)


def _check_length(name: str, array: NDArray[Any]) -> None:
    if array.ndim < 2:
        msg = f"{name} must have shape (..., length, features), got shape {array.shape}"
        raise ValueError(msg)


def _split(name: str, array: NDArray[Any], heads: int, *, of: str = "") -> NDArray[Any]:
    """Return a view of shape (..., heads, length, dim)."""
    *leading, length, features = array.shape
    if features % heads or not features:
        divisor = f"the number of heads of {of} ({heads})" if of else f"heads={heads}"
        msg = f"{name} must have 1 or more columns that {divisor} divides, got {features}"
        raise ValueError(msg)
    _results.check_axes(array.ndim + 1)
    return array.reshape(*leading, length, heads, features // heads).swapaxes(-2, -3)
