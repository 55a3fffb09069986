"""`Frequencies` is a value: immutable, equal by content, picklable."""

import copy
import pickle
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import hypothesis
import hypothesis.extra.numpy
import hypothesis.strategies as st
import numpy as np
import pytest
from numpy.typing import NDArray
from tests import reference

import ropewalk as rw
from ropewalk.frequencies import (
    Frequencies,
    axial,
    clipped,
    dynamic_ntk,
    from_radians,
    linear,
    llama3,
    longrope,
    mixed,
    mrope,
    ntk,
    partial,
    proportional,
    standard,
    yarn,
)
from ropewalk.frequencies._frequencies import derived_attention_factor

STANDING = from_radians([0.0, -0.25, 2.0])
ON_TWO_AXES = from_radians([[1.0, 0.0, 0.5], [0.0, 2.0, -0.25]])
WARM = yarn(8, factor=4.0, trained_length=1000)


def assert_relatively_close(actual: NDArray[np.float64], expected: list[reference.Real]) -> None:
    np.testing.assert_allclose(actual, np.array(expected, float), rtol=1e-15, atol=0)


# From an array


@pytest.mark.parametrize("make", [standard, lambda dim: linear(dim, factor=4.0)], ids=["st", "li"])
def test_there_is_one_frequency_for_every_pair(make: Callable[[int], Frequencies]) -> None:
    for dim in (2, 6, 100, 128, 512):
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
    assert (len(f), f.axes) == (len(radians), 1)
    np.testing.assert_array_equal(f.radians, np.asarray(radians, np.float64))


def test_the_smallest_and_the_largest_frequency_are_taken() -> None:
    turn = 2 * np.pi
    radians = [turn * 2.0**-100 * (1 + 2**-50), turn * 2.0**60 * (1 - 2**-50)]
    np.testing.assert_allclose(from_radians(radians).wavelengths, [2.0**100, 2.0**-60], rtol=1e-14)


def test_frequencies_of_a_float32_array_keep_its_error() -> None:
    rounded = np.float32(10000.0) ** -np.linspace(0, 1, 4, endpoint=False, dtype=np.float32)
    assert from_radians(rounded) == from_radians(rounded.astype(np.float64))
    assert from_radians(rounded) != standard(8)


FLOATS = st.one_of(
    st.just(0.0),
    st.floats(6e-30, 7e18),
    st.floats(-7e18, -6e-30),
    st.sampled_from([1.0, -0.5, 2.0**60]),
)
TABLES = hypothesis.extra.numpy.arrays(
    np.float64,
    st.one_of(st.tuples(st.integers(1, 9)), st.tuples(st.integers(2, 5), st.integers(1, 9))),
    elements=FLOATS,
)


@hypothesis.given(TABLES)
def test_any_table_of_radians_is_taken_as_it_is(table: NDArray[np.float64]) -> None:
    f = from_radians(table)
    assert f.axes == (1 if table.ndim == 1 else len(table))
    assert len(f) == table.shape[-1]
    # What is kept is 256 bits of a turn behind the point, with sizes down to 2**-100.
    np.testing.assert_allclose(f.radians, table, rtol=1e-15, atol=0)
    assert f.radians.shape == f.wavelengths.shape == table.shape
    assert pickle.loads(pickle.dumps(f)) == f
    if table.ndim == 2:
        rows = [from_radians(row) for row in table]
        np.testing.assert_array_equal(f.radians, [row.radians for row in rows])


# What it shows


def test_wavelengths_are_positions_per_turn() -> None:
    expected = [reference.wavelength(w) for w in reference.standard_frequencies(100, 7.3)]
    assert_relatively_close(standard(100, base=7.3).wavelengths, expected)


def test_wavelengths_have_no_sign_and_are_infinite_at_rest() -> None:
    np.testing.assert_array_equal(STANDING.wavelengths, [np.inf, 8 * np.pi, np.pi])


def test_most_schedules_have_attention_factor_1() -> None:
    others = [ntk(6, factor=4.0), llama3(6, factor=4.0, trained_length=9), axial(8)]
    for f in (standard(6), linear(6, factor=4.0), STANDING, ON_TWO_AXES, *others):
        assert f.attention_factor == 1.0


def test_most_schedules_have_one_axis() -> None:
    assert [standard(6).axes, STANDING.axes, WARM.axes] == [1, 1, 1]
    assert standard(6).radians.shape == standard(6).wavelengths.shape == (3,)


def test_several_axes_come_first() -> None:
    assert (ON_TWO_AXES.axes, len(ON_TWO_AXES)) == (2, 3)
    np.testing.assert_array_equal(ON_TWO_AXES.radians, [[1.0, 0.0, 0.5], [0.0, 2.0, -0.25]])
    assert_relatively_close(
        ON_TWO_AXES.wavelengths / np.pi, [[2, reference.mp.inf, 4], [reference.mp.inf, 1, 8]]
    )


def test_scaling_says_the_schedule_and_its_parameters() -> None:
    assert standard(6).scaling == "standard(6, base=10000.0)"
    assert linear(6, factor=4, base=7.3).scaling == "linear(6, factor=4.0, base=7.3)"
    assert STANDING.scaling == "from_radians(3 values)"
    assert ON_TWO_AXES.scaling == "from_radians(6 values)"


SCALINGS: list[tuple[Frequencies, str]] = [
    (ntk(8, factor=2), "ntk(8, factor=2.0, base=10000.0)"),
    (
        dynamic_ntk(8, factor=2, trained_length=9, length=7),
        "dynamic_ntk(8, factor=2.0, trained_length=9, length=7, base=10000.0)",
    ),
    (
        WARM,
        "yarn(8, factor=4.0, trained_length=1000, beta_fast=32.0, beta_slow=1.0, truncate=True, "
        "base=10000.0)",
    ),
    (
        longrope(4, short_factors=[1, 1], long_factors=[2, 2], trained_length=9, factor=2.0),
        "longrope(4, short factors, trained_length=9, base=10000.0)",
    ),
    (
        longrope(
            4, short_factors=[1, 1], long_factors=[2, 2], trained_length=9, length=10, factor=2.0
        ),
        "longrope(4, long factors, trained_length=9, base=10000.0)",
    ),
    (
        llama3(8, factor=2, trained_length=9),
        "llama3(8, factor=2.0, trained_length=9, low_frequency_factor=1.0, "
        "high_frequency_factor=4.0, base=500000.0)",
    ),
    (partial(8, fraction=0.5), "partial(8, fraction=0.5, base=10000.0)"),
    (proportional(8, fraction=0.5), "proportional(8, fraction=0.5, factor=1.0, base=10000.0)"),
    (clipped(8, pairs=2), "clipped(8, pairs=2, hard=False, base=10000.0)"),
    (axial(8), "axial(8, axes=2, layout='restarted', turns=False, base=10000.0)"),
    (
        axial(8, sections=[1, 3], turns=True),
        "axial(8, sections=(1, 3), layout='restarted', turns=True, base=10000.0)",
    ),
    (
        mrope(8, sections=[2, 2]),
        "mrope(standard(8, base=10000.0), sections=(2, 2), interleaved=False)",
    ),
    (mixed(8, directions=1.0), "mixed(8, base=10.0)"),
]


@pytest.mark.parametrize(("f", "scaling"), SCALINGS, ids=[scaling for _, scaling in SCALINGS])
def test_scaling_names_the_function_that_was_called(f: Frequencies, scaling: str) -> None:
    assert f.scaling == scaling


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (standard(2), "standard(2, base=10000.0): 1 pair, wavelengths 6.28319 to 6.28319"),
        (standard(4), "standard(4, base=10000.0): 2 pairs, wavelengths 6.28319 to 628.319"),
        (STANDING, "from_radians(3 values): 3 pairs, wavelengths 3.14159 to inf"),
        (ON_TWO_AXES, "from_radians(6 values): 3 pairs on 2 axes, wavelengths 3.14159 to inf"),
        (
            Frequencies(standard(2)._words, 1, 1.25, "warm"),
            "warm: 1 pair, wavelengths 6.28319 to 6.28319, attention factor 1.25",
        ),
    ],
    ids=["one pair", "two pairs", "standing", "two axes", "warm"],
)
def test_repr_says_scaling_pairs_and_wavelengths(f: Frequencies, text: str) -> None:
    assert repr(f) == f"<Frequencies {text}>"


# A value


def test_frequencies_are_equal_when_all_angles_are() -> None:
    assert standard(4, base=16.0) == from_radians([1.0, 0.25])
    assert standard(2) == from_radians([1.0])
    assert from_radians([0.0]) == from_radians([-0.0])


def test_axes_and_attention_factor_make_a_difference() -> None:
    words = standard(8)._words
    values = {Frequencies(words, axes, factor, "") for axes in (1, 2, 4) for factor in (1.0, 1.5)}
    assert len(values) == 6
    assert Frequencies(words, 2, 1.5, "one name") == Frequencies(words, 2, 1.5, "another")


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


@pytest.mark.parametrize(
    "f", [standard(100), linear(6, factor=3.0), STANDING, ON_TWO_AXES, WARM], ids=repr
)
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


@pytest.mark.parametrize(
    "name", ["radians", "wavelengths", "axes", "attention_factor", "scaling", "other"]
)
def test_no_attribute_can_be_set(name: str) -> None:
    with pytest.raises(AttributeError):
        setattr(standard(6), name, 1.0)


@pytest.mark.parametrize("name", ["radians", "wavelengths", "axes", "attention_factor", "scaling"])
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


def test_a_factor_below_1_is_shown() -> None:
    found = yarn(8, factor=2.0, trained_length=64, attention_factor=0.5)
    assert repr(found).endswith(", attention factor 0.5>")


@pytest.mark.parametrize("factor", [16.0, 0.0625])
def test_the_ends_of_what_a_factor_may_be_belong_to_it(factor: float) -> None:
    assert derived_attention_factor(Decimal(factor), factor=1.0) == factor


def test_there_may_be_so_many_axes_or_pairs() -> None:
    assert from_radians(np.ones((64, 1))).axes == 64
    assert len(from_radians(np.ones(2**19))) == 2**19
