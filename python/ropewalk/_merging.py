"""Attention to parts of the keys, merged to attention to all of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import _arrays, _conversions, _core, _results
from ropewalk._runtime import get_num_threads


def merge_attention(
    outputs: ArrayLike | Sequence[ArrayLike],
    lses: ArrayLike | Sequence[ArrayLike],
    /,
    *,
    out: NDArray[Any] | None = None,
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    r"""Attention to all keys from attention to parts of them.

    Parameters
    ----------
    outputs : sequence of array_like, each of shape (..., query length, value dim)
        What `attention_with_lse` gives for each part of the keys; or one array with the parts on
        axis 0.
    lses : sequence of array_like, each of shape (..., query length)
        The log-sum-exp of each part. Where one is +inf the output is NaN and the
        log-sum-exp +inf; where one is NaN both are NaN.
    out : ndarray, optional
        Where to write the output: of its shape and dtype, any strides, sharing no memory with a
        part.

    Returns
    -------
    output : ndarray of shape (..., query length, value dim)
        Of the dtype of the outputs, float32 for both half types together; `out` where that is
        given.
    lse : ndarray of float64 of shape (..., query length)
        With these the result can be merged again, in any order and tree.

    Raises
    ------
    ValueError
        If there is no part, the shapes of parts do not fit each other, or `out` does not fit.
    TypeError
        If the parts are no sequence, a dtype is not real, or `out` is no array.

    See Also
    --------
    attention_with_lse : What gives the parts.

    Notes
    -----
    Weights are ``exp(lse_i - lse)``, computed and summed in float64: a merge of n parts is within
    ``(2 n + 6) 2**-53 + 2**-52 L`` times the largest value, L the largest finite lse, whose last
    digits are lost, before it is rounded once, half types by way of float32. Merging in a tree
    adds that at every level. Values close to the largest of float64 may overflow. A part
    whose lse is -inf has seen no key, and its output is not looked at. The same bits whatever the
    strides, the number of threads and the instruction set, but for those of NaN.

    References
    ----------
    Rabe and Staats, Self-attention Does Not Need O(n^2) Memory, 2021, arXiv:2112.05682, section 3.

    Examples
    --------
    >>> import numpy as np
    >>> import ropewalk as rw
    >>> x = np.random.default_rng(0).standard_normal((50, 8))
    >>> parts = [rw.attention_with_lse(x, x[keys], x[keys]) for keys in np.split(range(50), [20])]
    >>> output, lse = rw.merge_attention(*zip(*parts))
    >>> bool(np.allclose(output, rw.attention(x, x, x)))
    True
    """
    threads = get_num_threads()
    plain = _core.merge_plainly(outputs, lses, threads) if out is None else None
    if plain is not None:
        return plain
    given, given_logs = _parts("outputs", outputs), _parts("lses", lses)
    values = [_arrays.data("outputs", part) for part in given]
    dtype = _arrays.common_dtype(values)
    shape = values[0].shape
    if len(shape) < 2:
        msg = f"outputs must have shape (..., query length, value dim) each, got shape {shape}"
        raise ValueError(msg)
    for part in values:
        if part.shape != shape:
            msg = f"outputs must have one shape, got {shape} and {part.shape}"
            raise ValueError(msg)
    logs = [_arrays.data("lses", part) for part in given_logs]
    if len(logs) != len(values) or any(part.shape != shape[:-1] for part in logs):
        msg = (
            f"lses must be {len(values)} of shape {shape[:-1]}, one for each of the outputs, got "
            f"{len(logs)} of {', '.join(sorted({str(part.shape) for part in logs}))}"
        )
        raise ValueError(msg)

    sums = np.stack([part.astype(np.float64) for part in logs])
    result, merged = _results.result(out, shape, dtype, *values, *given, *given_logs)
    lse = _results.empty(shape[:-1])
    rows = math.prod(shape[:-1])
    if rows:
        parts = [_conversions.in_dtype(part, dtype).reshape(rows, shape[-1]) for part in values]
        parts = [_results.with_rows(part) for part in parts]
        _core.merge(parts, sums.reshape(len(parts), rows), merged, lse, threads)
    return _results.filled(result, merged), lse


def _parts(name: str, parts: ArrayLike | Sequence[ArrayLike]) -> list[ArrayLike]:
    given = type(parts).__name__
    if not isinstance(parts, Sequence):
        parts = _arrays.converted(name, parts, "a sequence of one or more parts")
    if not isinstance(parts, Sequence) and parts.ndim == 0:
        msg = f"{name} must be a sequence of one or more parts, got {given}"
        raise TypeError(msg)
    found: list[ArrayLike] = list(parts)
    if not found:
        msg = f"{name} must be a sequence of one or more parts, got none"
        raise ValueError(msg)
    return found
