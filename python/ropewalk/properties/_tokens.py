"""Order of the tokens: what attention alone does not see."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import attention
from ropewalk._options import Boolean, Integer
from ropewalk.properties._measurement import Measurement, generator, largest, reals, unit


def permutation_equivariance(
    x: ArrayLike,
    /,
    *,
    encoding: ArrayLike | None = None,
    causal: Boolean = False,
    seed: Integer | np.random.Generator,
) -> Measurement:
    """Permutation equivariance of self-attention: ``Attn(P X) = P Attn(X)``.

    Shuffled tokens give the same outputs, shuffled: attention takes in which tokens there are, and
    not their order.

    Parameters
    ----------
    x : array_like of shape (length, dim)
        Tokens: queries, keys and values alike. Finite; float64, float32 or float16, integers become
        float64.
    encoding : array_like of shape (length, dim), optional
        Positions, added once the tokens are shuffled. A negative control.
    causal : bool, default False
        Let tokens see only themselves and those before them. A negative control.
    seed : int or Generator
        Seed, 0 or more, or the generator that shuffles.

    Returns
    -------
    Measurement
        The largest difference ``|Attn(P X) - P Attn(X)|``. The bound is ``8 length u max|v|``, with
        v the values and u half the spacing of the numbers above 1 in their dtype.

    Raises
    ------
    ValueError
        If `x` has not two dimensions, is empty or not finite, `encoding` has another shape, or
        `seed` is negative.
    TypeError
        If `x` or `encoding` are no such numbers, `causal` is no boolean, or `seed` is neither an
        integer nor a generator.

    See Also
    --------
    identical_tokens : What follows for a word that occurs twice.

    Notes
    -----
    In exact arithmetic the difference is 0; in floating point shuffled keys are summed in another
    order. With an encoding or a causal mask the statement is false, since attention then sees
    order. Two things can hide that: a shuffle that leaves all in place, which is rare among many
    tokens, and a bound that is no longer small beside the values, as that of float16 from some 30
    tokens on.

    References
    ----------
    Lee et al., Set Transformer, 2019, arXiv:1810.00825, section 3.1.

    Examples
    --------
    >>> import numpy as np
    >>> import ropewalk as rw
    >>> from ropewalk.properties import permutation_equivariance
    >>> tokens = np.random.default_rng(1).standard_normal((16, 8))
    >>> permutation_equivariance(tokens, seed=2).holds
    True
    >>> permutation_equivariance(tokens, causal=True, seed=2).holds
    False
    >>> positions = rw.sinusoidal_encoding(range(16), 8)
    >>> permutation_equivariance(tokens, encoding=positions, seed=2).holds
    False
    """
    tokens, added = _tokens(x, encoding)
    order = generator(seed).permutation(len(tokens))
    with np.errstate(all="ignore"):  # a sum may be larger than any number
        placed = tokens + added
        shuffled = _self_attention(tokens[order] + added, causal)
        difference = shuffled - _self_attention(placed, causal)[order]
        return Measurement(largest(difference), 8 * len(tokens) * unit(placed) * largest(placed))


def identical_tokens(
    x: ArrayLike,
    /,
    *,
    encoding: ArrayLike | None = None,
    causal: Boolean = False,
) -> Measurement:
    """Identical tokens: self-attention gives them identical outputs, to the bit.

    In "The dog chased another dog" the two dogs are one, until something tells their places.

    Parameters
    ----------
    x : array_like of shape (length, dim)
        Tokens, at least one of them more than once: queries, keys and values alike. Finite;
        float64, float32 or float16, integers become float64.
    encoding : array_like of shape (length, dim), optional
        Positions, added to the tokens. A negative control.
    causal : bool, default False
        Let tokens see only themselves and those before them. A negative control.

    Returns
    -------
    Measurement
        The largest difference between outputs of equal tokens; the bound is 0.

    Raises
    ------
    ValueError
        If `x` has not two dimensions, is empty or not finite, or all its tokens differ, or
        `encoding` has another shape.
    TypeError
        If `x` or `encoding` are no such numbers, or `causal` is no boolean.

    See Also
    --------
    permutation_equivariance : What it follows from, in exact arithmetic.

    Notes
    -----
    Equal queries see the same keys in the same order, so even the roundings are the same. With an
    encoding or a causal mask the outputs differ.

    References
    ----------
    Fleetwood, You could have designed state of the art positional encoding, 2024, section
    "Motivating Example", for the sentence.

    Examples
    --------
    >>> import numpy as np
    >>> import ropewalk as rw
    >>> from ropewalk.properties import identical_tokens
    >>> table = np.random.default_rng(1).standard_normal((4, 8))
    >>> tokens = rw.embed([0, 1, 2, 3, 1], table)  # the dog chased another dog
    >>> identical_tokens(tokens)
    Measurement(value=0.0, bound=0.0)
    >>> identical_tokens(tokens, causal=True).holds
    False
    >>> identical_tokens(tokens, encoding=rw.sinusoidal_encoding(range(5), 8)).holds
    False
    """
    tokens, added = _tokens(x, encoding)
    _, places, inverse = np.unique(tokens, axis=0, return_index=True, return_inverse=True)
    first = places[inverse.reshape(-1)]
    if (first == np.arange(len(tokens))).all():
        msg = f"x must hold a token more than once, got {len(tokens)} that all differ"
        raise ValueError(msg)
    with np.errstate(all="ignore"):
        output = _self_attention(tokens + added, causal)
        return Measurement(largest(output - output[first]), 0.0)


def _tokens(x: ArrayLike, encoding: ArrayLike | None) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return tokens, and what is added to them at their places."""
    tokens = reals("x", x)
    if tokens.ndim != 2:
        msg = f"x must have two dimensions, tokens and features, got shape {tokens.shape}"
        raise ValueError(msg)
    if encoding is None:
        return tokens, np.zeros_like(tokens)
    added = reals("encoding", encoding)
    if added.shape != tokens.shape:
        msg = f"encoding must have the shape of x, {tokens.shape}, got {added.shape}"
        raise ValueError(msg)
    return tokens, added


def _self_attention(x: NDArray[Any], causal: Boolean) -> NDArray[Any]:
    return attention(x, x, x, causal=causal)
