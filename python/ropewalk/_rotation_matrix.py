"""Rotations written out: as matrices, as blocks of two by two, as complex numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import _arrays, _core, _options, _results
from ropewalk._options import Integer, Pairing, Real
from ropewalk._runtime import get_num_threads
from ropewalk.frequencies import Frequencies
from ropewalk.frequencies._given import given_or_standard


def rotation_matrix(
    positions: ArrayLike | range,
    dim: Integer | None = None,
    /,
    *,
    base: Real | None = None,
    frequencies: Frequencies | None = None,
    pairing: Pairing = "interleaved",
) -> NDArray[np.float64]:
    r"""Rotation matrix of RoPE: zero but for a block of two by two a pair.

    ``rotation_matrix(p, dim) @ x`` is ``rotate(x, p)``, the slow way.

    Parameters
    ----------
    positions, dim, base, frequencies
        As in `rotary_tables`.
    pairing : {"interleaved", "half"}, default "interleaved"
        As in `rotate`.

    Returns
    -------
    ndarray of shape (\*positions.shape, dim, dim)
        float64; blocks ``[[c, -s], [s, c]]`` with ``c = cos(p * w_i)`` and ``s = sin(p * w_i)``,
        times the attention factor.

    Raises
    ------
    ValueError, TypeError
        As `rotary_tables`.

    See Also
    --------
    rotate : The fast way.
    rotation_blocks : The blocks without the zeros.
    shift_matrix : Its transpose, for sinusoidal encodings.

    Notes
    -----
    Entries are within 1 ulp. ``R(p).T`` is ``R(-p)``, so the score of ``R(m) q`` and ``R(n) k`` is
    ``q.T R(n - m) k``. A rotation turns features from the first of a pair towards the second;
    `shift_matrix` acts on clock hands ``(sin, cos)``, which go from the second towards the first:
    in the order sin-cos it is the transpose of this matrix, in the order cos-sin the same.

    References
    ----------
    Su et al., RoFormer, 2021, arXiv:2104.09864, equation 15.

    Examples
    --------
    >>> import ropewalk as rw
    >>> rw.rotation_matrix(1, 4).round(2)
    array([[ 0.54, -0.84,  0.  ,  0.  ],
           [ 0.84,  0.54,  0.  ,  0.  ],
           [ 0.  ,  0.  ,  1.  , -0.01],
           [ 0.  ,  0.  ,  0.01,  1.  ]])
    >>> bool((rw.rotation_matrix(3, 4) == rw.shift_matrix(3, 4).T).all())
    True
    """
    turning = given_or_standard(dim, base, frequencies)
    interleaved = _options.is_interleaved(pairing)
    rows, shape = _arrays.positions("positions", positions, turning.axes)
    width = 2 * len(turning)
    result = _results.empty((*shape, width, width))
    upper_sine, factor = False, turning.attention_factor
    _core.fill_matrices(
        turning._turns, rows, result, interleaved, upper_sine, factor, get_num_threads()
    )
    return result


def rotation_blocks(
    positions: ArrayLike | range,
    dim: Integer | None = None,
    /,
    *,
    base: Real | None = None,
    frequencies: Frequencies | None = None,
) -> NDArray[np.float64]:
    r"""Blocks of the rotation matrix of RoPE, without the zeros around them.

    Parameters
    ----------
    positions, dim, base, frequencies
        As in `rotary_tables`.

    Returns
    -------
    ndarray of shape (\*positions.shape, pairs, 2, 2)
        float64, ``[[c, -s], [s, c]]`` times the attention factor.

    Raises
    ------
    ValueError, TypeError
        As `rotary_tables`.

    See Also
    --------
    rotation_matrix : The whole matrix.
    phases : One complex number a pair.

    Notes
    -----
    Entries are within 1 ulp.

    References
    ----------
    Su et al., RoFormer, 2021, arXiv:2104.09864, equation 13.

    Examples
    --------
    >>> import ropewalk as rw
    >>> rw.rotation_blocks(2, 2).round(4)
    array([[[-0.4161, -0.9093],
            [ 0.9093, -0.4161]]])
    """
    turning = given_or_standard(dim, base, frequencies)
    rows, shape = _arrays.positions("positions", positions, turning.axes)
    result = _results.empty((*shape, len(turning), 2, 2))
    _core.fill_blocks(turning._turns, rows, result, turning.attention_factor, get_num_threads())
    return result


def phases(
    positions: ArrayLike | range,
    dim: Integer | None = None,
    /,
    *,
    base: Real | None = None,
    frequencies: Frequencies | None = None,
) -> NDArray[np.complex128]:
    r"""Complex phases of RoPE, ``exp(1j * p * w_i)`` (elsewhere called freqs_cis).

    With the features of a pair as ``a + 1j * b``, turning is one complex product.

    Parameters
    ----------
    positions, dim, base, frequencies
        As in `rotary_tables`.

    Returns
    -------
    ndarray of shape (\*positions.shape, pairs)
        complex128, times the attention factor.

    Raises
    ------
    ValueError, TypeError
        As `rotary_tables`.

    See Also
    --------
    rotary_tables : Real and imaginary parts apart.

    Notes
    -----
    Both parts are within 1 ulp.

    References
    ----------
    Su et al., RoFormer, 2021, arXiv:2104.09864, equation 12.

    Examples
    --------
    >>> import numpy as np
    >>> import ropewalk as rw
    >>> rw.phases(1, 4).round(4)
    array([0.5403+0.8415j, 1.    +0.01j  ])
    >>> x = np.array([1.0, 2.0, 3.0, 4.0])
    >>> turned = (x.view(np.complex128) * rw.phases(5, 4)).view(np.float64)
    >>> bool(np.allclose(turned, rw.rotate(x, 5), rtol=0, atol=1e-15))
    True
    """
    turning = given_or_standard(dim, base, frequencies)
    rows, shape = _arrays.positions("positions", positions, turning.axes)
    real = _results.empty((*shape, 2 * len(turning)))
    interleaved, sine_first, streamed, factor = True, False, False, turning.attention_factor
    _core.fill_sinusoidal(
        turning._turns, rows, real, interleaved, sine_first, factor, streamed, get_num_threads()
    )
    result: NDArray[np.complex128] = real.view(np.complex128)
    return result
