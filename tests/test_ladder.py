"""The ladder of encodings: integer, normalised, binary, and the kernel of the sinusoidal one.

Integers and digits are exact. The kernel is within 2 pairs u of the sum of cosines, and is the
inner product of two sinusoidal encodings at any distance.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests import reference
from tests.data import LARGEST

import ropewalk as rw
from ropewalk.frequencies import axial, from_radians, yarn

U = 2.0**-53

Encoding = Callable[..., NDArray[np.float64]]
ENCODINGS: list[Encoding] = [rw.integer_encoding, rw.binary_encoding]
both = pytest.mark.parametrize("encode", ENCODINGS)


def kernel_bound(pairs: int) -> float:
    """A cosine is within u, their sum within u of its own size: see its docstring."""
    return 2 * pairs * U


# Both encodings


@both
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3)])
def test_the_shape_of_the_positions_comes_first(encode: Encoding, shape: tuple[int, ...]) -> None:
    table = encode(np.ones(shape, int), 4)
    assert table.shape == (*shape, 4)
    assert table.dtype == np.float64
    assert table.flags.c_contiguous
    assert table.flags.owndata
    assert table.flags.writeable


@both
@pytest.mark.parametrize(
    "positions",
    [
        range(3, 12, 4),
        (3, 7, 11),
        np.array([3, 7, 11], np.uint8),
        np.array([3, 7, 11], ">i4"),
        np.array([3.0, 7.0, 11.0], np.float16),
        np.arange(12)[3::4],
    ],
)
def test_positions_of_every_kind_are_the_same_positions(encode: Encoding, positions: Any) -> None:
    np.testing.assert_array_equal(encode(positions, 4), [encode(p, 4) for p in (3, 7, 11)])


@both
def test_positions_are_left_as_they_are(encode: Encoding) -> None:
    positions = np.arange(6.0).reshape(2, 3)
    encode(positions, 4)[...] = -1
    np.testing.assert_array_equal(positions, np.arange(6.0).reshape(2, 3))


@both
@pytest.mark.parametrize("dim", [0, -2, 2**20 + 1])
def test_a_width_is_positive(encode: Encoding, dim: int) -> None:
    with pytest.raises(ValueError, match=rf"dim must be an integer from 1 to 1048576, got {dim}"):
        encode(range(2), dim)


@both
def test_what_is_no_number_is_refused(encode: Encoding) -> None:
    with pytest.raises(TypeError, match=r"positions must be integers, float64.*got dtype complex"):
        encode([1j], 4)
    with pytest.raises(ValueError, match=r"positions must be finite .* got nan"):
        encode([0.0, np.nan], 4)
    with pytest.raises(ValueError, match=r"positions must be .* at most 2\*\*53 in size, got 9007"):
        encode(LARGEST + 1, 4)
    with pytest.raises(TypeError, match=r"dim must be an integer, got 4\.0"):
        encode(range(2), 4.0)


# Integer and normalised


@pytest.mark.parametrize("position", [0, -7, 0.25, 252, LARGEST - 1, -LARGEST])
def test_the_integer_encoding_is_the_position_in_every_column(position: float) -> None:
    row = rw.integer_encoding(position, 3)
    assert [Fraction(value) for value in row] == [Fraction(position)] * 3


def test_normalised_positions_change_with_the_length() -> None:  # V002.6
    np.testing.assert_array_equal(rw.integer_encoding(5, 2, length=10), [0.5, 0.5])
    np.testing.assert_array_equal(rw.integer_encoding(5, 2, length=10000), [0.0005, 0.0005])


@given(st.data())
def test_normalised_positions_are_correctly_rounded(data: st.DataObject) -> None:
    length = data.draw(st.integers(1, LARGEST))
    position = data.draw(st.integers(0, length - 1))
    expected = float(Fraction(position, length))
    np.testing.assert_array_equal(rw.integer_encoding(position, 1, length=length), [expected])


def test_normalised_positions_are_below_1() -> None:
    assert rw.integer_encoding(LARGEST - 1, 1, length=LARGEST)[0] == 1 - U
    assert rw.integer_encoding(9.5, 1, length=10)[0] == 0.95


@pytest.mark.parametrize(("position", "found"), [(10, "10"), (-1, "-1"), (-0.5, "-0.5")])
def test_a_position_outside_of_the_sequence_is_refused(position: float, found: str) -> None:
    message = rf"positions must be from 0 to below the length 10, got {found}$"
    with pytest.raises(ValueError, match=message):
        rw.integer_encoding([0, position, 3, 99], 2, length=10)


def test_a_length_is_a_positive_integer() -> None:
    with pytest.raises(ValueError, match=r"length must be an integer from 1 to .* got 0"):
        rw.integer_encoding([], 2, length=0)
    with pytest.raises(TypeError, match=r"length must be an integer, got 2\.5"):
        rw.integer_encoding(1, 2, length=2.5)  # type: ignore[arg-type]


# Binary


def test_252_is_written_as_in_the_article() -> None:  # V002.1
    written = [int(digit) for digit in "11111100"]
    np.testing.assert_array_equal(rw.binary_encoding(252, 8, order="msb"), written)
    np.testing.assert_array_equal(rw.binary_encoding(252, 8), written[::-1])


@given(st.integers(0, LARGEST), st.integers(54, 80))
def test_digits_are_the_remainders_of_halving(position: int, bits: int) -> None:
    expected = reference.binary_digits(position, bits)
    np.testing.assert_array_equal(rw.binary_encoding(position, bits), expected)
    np.testing.assert_array_equal(rw.binary_encoding(position, bits, order="msb"), expected[::-1])


@pytest.mark.parametrize("order", ["lsb", "msb"])
def test_every_bit_is_stretched_over_its_share_of_the_columns(order: Any) -> None:
    bits = rw.binary_encoding(range(256), 8, order=order)
    table = rw.binary_encoding(range(256), 64, bits=8, order=order)
    for column in range(64):
        np.testing.assert_array_equal(table[:, column], bits[:, column // 8])


def test_digit_n_changes_every_so_many_positions_and_returns_after_twice_as_many() -> None:
    table = rw.binary_encoding(range(2048), 11)  # F002.11, E002.6
    for n in range(1, 11):
        digit = table[:, n - 1]
        (changes,) = np.nonzero(np.diff(digit))
        np.testing.assert_array_equal(changes + 1, np.arange(2 ** (n - 1), 2048, 2 ** (n - 1)))
        np.testing.assert_array_equal(digit[2**n :], digit[: -(2**n)])


@pytest.mark.parametrize("bits", [1, 3, 8])
def test_binary_positions_are_unique_as_far_as_they_fit_and_no_more_fit(bits: int) -> None:
    table = rw.binary_encoding(range(2**bits), bits)
    assert len(np.unique(table, axis=0)) == 2**bits
    with pytest.raises(ValueError, match=rf"2\*\*{bits} - 1, which {bits} bits hold, got "):
        rw.binary_encoding(range(2**bits + 1), bits)


def test_the_step_of_8_bits_jumps() -> None:
    table = rw.binary_encoding(range(256), 8)
    squares = (np.diff(table, axis=0) ** 2).sum(axis=1)
    assert (squares[251], squares[252]) == (3, 1)
    # Step p to p + 1 flips one digit more than p + 1 has factors of 2; by Legendre's formula 255!
    # has 255 minus the 8 ones of 255 of them, so the steps flip 2 * 255 - 8 digits together.
    assert squares.sum() == 2 * 255 - 8
    assert round(502 / 255, 4) == 1.9686
    assert squares.max() == 8


@pytest.mark.parametrize(("position", "found"), [(256, "256"), (-1, "-1"), (0.5, r"0\.5")])
def test_a_position_without_8_digits_is_refused(position: float, found: str) -> None:
    message = r"positions must be whole numbers from 0 to 2\*\*8 - 1, which 8 bits hold, got "
    with pytest.raises(ValueError, match=message + found + "$"):
        rw.binary_encoding([0, position, 3], 16, bits=8)


@pytest.mark.parametrize("bits", [53, 54, 62, 63, 64, 65, 1000])
def test_the_largest_position_needs_54_digits(bits: int) -> None:
    if bits < 54:
        with pytest.raises(ValueError, match="which 53 bits hold, got 9007199254740992"):
            rw.binary_encoding(LARGEST, bits)
    else:
        assert list(np.nonzero(rw.binary_encoding(LARGEST, bits))[0]) == [53]


def test_bits_share_the_columns_evenly() -> None:
    with pytest.raises(ValueError, match="dim must be a multiple of bits, which is 8, got 20"):
        rw.binary_encoding(1, 20, bits=8)
    with pytest.raises(ValueError, match="bits must be an integer from 1 to 4, got 8"):
        rw.binary_encoding(1, 4, bits=8)
    with pytest.raises(ValueError, match="bits must be an integer from 1 to 4, got 0"):
        rw.binary_encoding(1, 4, bits=0)
    with pytest.raises(TypeError, match=r"bits must be an integer, got 2\.0"):
        rw.binary_encoding(1, 4, bits=2.0)  # type: ignore[arg-type]


def test_an_unknown_order_is_refused() -> None:
    with pytest.raises(ValueError, match="order must be one of 'lsb', 'msb', got 'big'"):
        rw.binary_encoding(1, 4, order="big")  # type: ignore[arg-type]


# The position kernel


@pytest.mark.parametrize(("dim", "base"), [(2, 10000.0), (4, 10000.0), (128, 5e5), (1024, 100.0)])
def test_the_kernel_is_the_sum_of_the_cosines(dim: int, base: float) -> None:
    offsets = [0, 1, -1, 0.5, 1707, 10**6, 10**15 + 1, -LARGEST]
    frequencies = reference.standard_frequencies(dim, base)
    kernel = rw.position_kernel(offsets, dim, base=base)
    for offset, value in zip(offsets, kernel, strict=True):
        error = abs(reference.mp.mpf(float(value)) - reference.position_kernel(offset, frequencies))
        assert error <= kernel_bound(dim // 2)


def test_cosines_that_cancel_are_summed_exactly() -> None:
    """Near a root of the kernel a running sum would lose digits that the cosines still have."""
    radians = 2.0 ** -np.arange(20)
    kernel = rw.position_kernel(range(1000), frequencies=from_radians(radians))
    cosines, _ = rw.rotary_tables(range(1000), frequencies=from_radians(radians))
    exact = [sum(map(Fraction, row)) for row in cosines.tolist()]
    assert kernel.tolist() == [float(total) for total in exact]
    assert (kernel != np.add.accumulate(cosines, axis=1)[:, -1]).any()


@given(st.integers(-(10**9), 10**9), st.integers(-(10**9), 10**9))
def test_the_inner_product_of_two_encodings_is_their_kernel(s: int, t: int) -> None:
    inner = float(rw.sinusoidal_encoding(s, 64) @ rw.sinusoidal_encoding(t, 64))
    # 64 products of values within u of sizes up to 1, and 63 sums of parts of up to 32
    assert abs(inner - rw.position_kernel(s - t, 64)) <= 64 * 3 * U + 63 * 32 * U


def test_a_step_is_as_long_everywhere() -> None:
    for dim, length in ((4, 0.9589), (128, 1.9526)):
        steps = np.linalg.norm(np.diff(rw.sinusoidal_encoding(range(512), dim), axis=0), axis=1)
        exact = reference.mp.sqrt(
            dim - 2 * reference.position_kernel(1, reference.standard_frequencies(dim))
        )
        np.testing.assert_allclose(steps, float(exact), rtol=1e-14)
        np.testing.assert_allclose(
            np.sqrt(dim - 2 * rw.position_kernel(1, dim)), float(exact), rtol=1e-14
        )
        assert round(float(exact), 4) == length


@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
def test_a_kernel_has_the_shape_of_its_offsets(shape: tuple[int, ...]) -> None:
    kernel = rw.position_kernel(np.zeros(shape), 8)
    assert kernel.shape == shape
    assert kernel.dtype == np.float64
    np.testing.assert_array_equal(kernel, np.full(shape, 4.0))


def test_a_kernel_is_even() -> None:
    offsets = np.linspace(0, 1e6, 101)
    np.testing.assert_array_equal(rw.position_kernel(offsets, 64), rw.position_kernel(-offsets, 64))


def test_ones_under_rope_score_twice_the_kernel() -> None:
    turned = rw.rotate(np.ones((50, 32)))
    scores = turned @ turned[20]
    np.testing.assert_allclose(
        scores, 2 * rw.position_kernel(np.arange(50) - 20, 32), rtol=0, atol=1e-13
    )


def test_a_shift_on_several_axes_moves_from_cell_to_cell() -> None:
    frequencies = axial(8, axes=2)
    moved = rw.shift_matrix([3, -5], frequencies=frequencies) @ rw.sinusoidal_encoding(
        [10, 20], frequencies=frequencies
    )
    there = rw.sinusoidal_encoding([13, 15], frequencies=frequencies)
    np.testing.assert_allclose(moved, there, rtol=0, atol=3 * U)


def test_an_attention_factor_is_not_applied() -> None:
    factored = yarn(8, factor=4.0, trained_length=1000)
    plain = from_radians(factored.radians)
    assert factored.attention_factor > 1
    kernel = rw.position_kernel(range(5), frequencies=factored)
    np.testing.assert_allclose(kernel, rw.position_kernel(range(5), frequencies=plain), rtol=1e-14)
    table = rw.sinusoidal_encoding([1, 2], frequencies=factored)
    np.testing.assert_allclose((table**2).sum(axis=1), 4.0, rtol=1e-14)
    turn = rw.shift_matrix(3, frequencies=factored)
    np.testing.assert_allclose(turn @ turn.T, np.eye(8), rtol=0, atol=1e-14)


def test_offsets_on_several_axes_have_them_last() -> None:
    frequencies = axial(8, axes=2)
    offsets = [[0, 0], [3, -1]]
    kernel = rw.position_kernel(offsets, frequencies=frequencies)
    f = rw.sinusoidal_encoding([[5, 5], [8, 4]], frequencies=frequencies)
    assert kernel.shape == (2,)
    np.testing.assert_allclose(kernel, [4.0, f[0] @ f[1]], rtol=1e-14)
    with pytest.raises(ValueError, match="offsets must have a position on each of 2 axes"):
        rw.position_kernel(range(3), frequencies=frequencies)


def test_a_kernel_says_what_it_needs() -> None:
    with pytest.raises(TypeError, match="dim must be given where frequencies is not"):
        rw.position_kernel(1)
    with pytest.raises(ValueError, match=r"dim must be an even integer .* got 7"):
        rw.position_kernel(1, 7)
    with pytest.raises(ValueError, match="base"):
        rw.position_kernel(1, base=100.0, frequencies=from_radians([1.0]))
    with pytest.raises(ValueError, match=r"offsets must be finite .* got inf"):
        rw.position_kernel([np.inf], 4)
    with pytest.raises(TypeError, match=r"offsets must be .* got dtype complex128"):
        rw.position_kernel([1j], 4)
