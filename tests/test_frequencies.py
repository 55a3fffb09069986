"""`Frequencies` is a value: immutable, equal by content, picklable. Schedules are those published.

How exact the angles are that it leads to is tested in test_exact.py.
"""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests import reference

import ropewalk as rw
from ropewalk.frequencies import Frequencies, from_radians, linear, standard

DIMS = [2, 6, 100, 128, 512]
BASES = [10000.0, 500000.0, 1e7, 7.3, 1.0, 0.5]
STANDING = from_radians([0.0, -0.25, 2.0])


def assert_relatively_close(actual: NDArray[np.float64], expected: list[reference.Real]) -> None:
    np.testing.assert_allclose(actual, np.array(expected, float), rtol=1e-15, atol=0)


# Schedules


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("dim", DIMS)
def test_standard_frequencies_are_those_of_the_paper(dim: int, base: float) -> None:
    expected = reference.standard_frequencies(dim, base)
    assert_relatively_close(standard(dim, base=base).radians, expected)


def test_powers_of_ten_come_out_as_the_nearest_floats() -> None:
    np.testing.assert_array_equal(standard(8).radians, [1.0, 0.1, 0.01, 0.001])


def test_base_is_10000_unless_it_is_said() -> None:
    assert standard(6) == standard(6, base=10000.0)
    assert linear(6, factor=2.0) == linear(6, factor=2.0, base=10000.0)


@pytest.mark.parametrize("factor", [1.0, 8.0, 0.3, 1e6])
@pytest.mark.parametrize("base", [10000.0, 7.3])
def test_linear_frequencies_are_divided_by_the_factor(base: float, factor: float) -> None:
    expected = reference.linear_frequencies(100, factor, base)
    assert_relatively_close(linear(100, factor=factor, base=base).radians, expected)


def test_linear_frequencies_by_1_are_the_standard_ones() -> None:
    assert linear(64, factor=1.0) == standard(64)


@pytest.mark.parametrize("make", [standard, lambda dim: linear(dim, factor=4.0)], ids=["st", "li"])
def test_there_is_one_frequency_for_every_pair(make: Callable[[int], Frequencies]) -> None:
    for dim in DIMS:
        assert len(make(dim)) == dim // 2


@pytest.mark.parametrize(
    "radians",
    [
        [1.0, 0.1, 1e-20],
        (3, 2, 1),
        [-1.0, 0.0, -1e18],
        np.array([0.1, 0.7], np.float32),
        np.array([0.1, 0.7], np.float16),
        np.array([0.1, 0.7], ">f8"),
        np.array([1, 0, 250], np.uint8),
        np.linspace(1, 2, 9)[::-3],
    ],
    ids=["list", "tuple", "signs", "float32", "float16", "big-endian", "uint8", "strided"],
)
def test_radians_are_the_exact_numbers_that_were_given(radians: Any) -> None:
    f = from_radians(radians)
    assert len(f) == len(radians)
    np.testing.assert_array_equal(f.radians, np.asarray(radians, np.float64))


def test_the_smallest_and_the_largest_frequency_are_taken() -> None:
    turn = 2 * np.pi
    radians = [turn * 2.0**-100 * (1 + 2**-50), turn * 2.0**60 * (1 - 2**-50)]
    np.testing.assert_allclose(from_radians(radians).wavelengths, [2.0**100, 2.0**-60], rtol=1e-14)


def test_frequencies_of_a_float32_array_keep_its_error() -> None:
    rounded = np.float32(10000.0) ** -np.linspace(0, 1, 4, endpoint=False, dtype=np.float32)
    assert from_radians(rounded) == from_radians(rounded.astype(np.float64))
    assert from_radians(rounded) != standard(8)


# What it shows


def test_wavelengths_are_positions_per_turn() -> None:
    expected = [reference.wavelength(w) for w in reference.standard_frequencies(100, 7.3)]
    assert_relatively_close(standard(100, base=7.3).wavelengths, expected)


def test_wavelengths_have_no_sign_and_are_infinite_at_rest() -> None:
    np.testing.assert_array_equal(STANDING.wavelengths, [np.inf, 8 * np.pi, np.pi])


def test_these_schedules_have_attention_factor_1() -> None:
    for f in (standard(6), linear(6, factor=4.0), STANDING):
        assert f.attention_factor == 1.0


def test_scaling_says_the_schedule_and_its_parameters() -> None:
    assert standard(6).scaling == "standard(6, base=10000.0)"
    assert linear(6, factor=4, base=7.3).scaling == "linear(6, factor=4.0, base=7.3)"
    assert STANDING.scaling == "from_radians(3 values)"


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (standard(2), "standard(2, base=10000.0): 1 pair, wavelengths 6.28319 to 6.28319"),
        (standard(4), "standard(4, base=10000.0): 2 pairs, wavelengths 6.28319 to 628.319"),
        (STANDING, "from_radians(3 values): 3 pairs, wavelengths 3.14159 to inf"),
    ],
    ids=["one pair", "two pairs", "standing"],
)
def test_repr_says_scaling_pairs_and_wavelengths(f: Frequencies, text: str) -> None:
    assert repr(f) == f"<Frequencies {text}>"


# A value


def test_frequencies_are_equal_when_all_angles_are() -> None:
    assert standard(4, base=16.0) == from_radians([1.0, 0.25])
    assert standard(2) == from_radians([1.0])
    assert from_radians([0.0]) == from_radians([-0.0])


@pytest.mark.parametrize(
    "other",
    [standard(8), standard(6, base=10001.0), linear(6, factor=2.0), "standard(6)", None, 3],
    ids=repr,
)
def test_frequencies_differ_when_anything_does(other: object) -> None:
    assert standard(6) != other


def test_the_order_of_the_pairs_matters() -> None:
    assert from_radians([1.0, 2.0]) != from_radians([2.0, 1.0])


def test_equal_frequencies_have_equal_hashes() -> None:
    assert len({standard(2), from_radians([1.0]), from_radians([1]), standard(4)}) == 2


@pytest.mark.parametrize("f", [standard(100), linear(6, factor=3.0), STANDING], ids=repr)
@pytest.mark.parametrize(
    "copied",
    [
        copy.copy,
        copy.deepcopy,
        *(lambda f, p=p: pickle.loads(pickle.dumps(f, p)) for p in range(2, 6)),
    ],
    ids=["copy", "deepcopy", "pickle 2", "pickle 3", "pickle 4", "pickle 5"],
)
def test_a_copy_is_the_same_value(f: Frequencies, copied: Callable[[Frequencies], Any]) -> None:
    other = copied(f)
    assert other == f
    assert repr(other) == repr(f)
    np.testing.assert_array_equal(other.radians, f.radians)


def test_a_copy_gives_the_same_table() -> None:
    f = standard(10, base=7.3)
    expected = rw.sinusoidal_encoding(range(100), frequencies=f)
    other = pickle.loads(pickle.dumps(f))
    np.testing.assert_array_equal(rw.sinusoidal_encoding(range(100), frequencies=other), expected)


@pytest.mark.parametrize("name", ["radians", "wavelengths", "attention_factor", "scaling", "other"])
def test_no_attribute_can_be_set(name: str) -> None:
    with pytest.raises(AttributeError):
        setattr(standard(6), name, 1.0)


@pytest.mark.parametrize("name", ["radians", "wavelengths", "attention_factor", "scaling"])
def test_no_attribute_can_be_deleted(name: str) -> None:
    with pytest.raises(AttributeError):
        delattr(standard(6), name)


def test_radians_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="read-only"):
        standard(6).radians[0] = 2.0


def test_wavelengths_that_were_written_are_not_kept() -> None:
    f = standard(6)
    before = f.wavelengths.copy()
    f.wavelengths[...] = 0
    np.testing.assert_array_equal(f.wavelengths, before)


def test_the_array_that_was_given_is_not_kept() -> None:
    radians = np.array([1.0, 2.0])
    f = from_radians(radians)
    radians[0] = 5.0
    np.testing.assert_array_equal(f.radians, [1.0, 2.0])


# As an array


def test_as_an_array_it_is_its_radians() -> None:
    f = standard(8)
    np.testing.assert_array_equal(np.asarray(f), f.radians)
    assert np.asarray(f).dtype == np.float64


def test_as_an_array_of_another_dtype_it_is_converted() -> None:
    f = standard(8)
    np.testing.assert_array_equal(np.asarray(f, dtype=np.float32), f.radians.astype(np.float32))


def test_a_copy_as_an_array_can_be_written() -> None:
    f = standard(8)
    copied = np.array(f, copy=True)
    copied[0] = 7.0
    assert f.radians[0] == 1.0


def test_an_array_without_a_copy_is_the_one_inside() -> None:
    f = standard(8)
    assert np.shares_memory(np.asarray(f, copy=False), f.radians)


def test_an_array_of_another_dtype_needs_a_copy() -> None:
    with pytest.raises(ValueError, match="copy"):
        np.asarray(standard(8), dtype=np.float32, copy=False)


def test_numpy_functions_take_it() -> None:
    np.testing.assert_allclose(np.multiply(standard(8), 10), [10.0, 1.0, 0.1, 0.01], rtol=1e-15)
