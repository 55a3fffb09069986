"""Rotary position embedding: positions and data of every shape, and pairs that stand still."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests import reference
from tests.data import DTYPES, LARGEST, PAIRINGS, UNIT, assert_same_bits, dtypes, pairings, rows
from tests.test_rotary import UNITS_OFF, assert_near_numpy, with_factor

import ropewalk as rw
from ropewalk._options import Pairing
from ropewalk.frequencies import Frequencies

# Positions of every shape

POSITION_SHAPES: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((8,), ()),
    ((6, 8), ()),
    ((6, 8), (6,)),
    ((6, 8), (1,)),
    ((3, 6, 8), ()),
    ((3, 6, 8), (6,)),
    ((3, 6, 8), (1,)),
    ((3, 6, 8), (3, 6)),
    ((3, 6, 8), (3, 1)),
    ((3, 6, 8), (1, 6)),
    ((3, 6, 8), (1, 1)),
    ((3, 3, 8), (3,)),
    ((2, 3, 6, 8), (2, 1, 6)),
    ((2, 3, 6, 8), (2, 3, 6)),
    ((2, 3, 6, 8), (1, 3, 1)),
    ((2, 3, 6, 8), (2, 1, 1)),
    ((2, 6, 3, 8), (2, 6, 1)),
    ((2, 1, 6, 8), (2, 1, 6)),
    ((2, 1, 3, 1, 8), (2, 1, 3, 1)),
    ((100, 3, 8), (100, 1)),
    ((3, 100, 8), (100,)),
    ((2, 2, 100, 8), (2, 1, 100)),
    ((0, 8), ()),
    ((0, 8), (0,)),
    ((0, 8), (1,)),
    ((3, 0, 8), (0,)),
    ((3, 0, 8), (3, 1)),
    ((3, 0, 8), (3, 0)),
    ((0, 6, 8), (6,)),
    ((0, 6, 8), (0, 6)),
]


def row_by_row(
    x: NDArray[Any], positions: NDArray[Any], frequencies: Frequencies, **options: Any
) -> NDArray[Any]:
    """Rotate every row in a call of its own. The last axis of the positions is that of the axes."""
    result = np.empty_like(x)
    axes = positions.shape[-1:]
    shape = (*x.shape[:-1], *axes)
    each = np.broadcast_to(positions, shape)
    for index in np.ndindex(*x.shape[:-1]):
        position = each[index] if frequencies.axes > 1 else each[(*index, 0)]
        result[index] = rw.rotate(x[index], position, frequencies=frequencies, **options)
    return result


@pytest.mark.parametrize(("shape", "position_shape"), POSITION_SHAPES, ids=str)
@pytest.mark.parametrize("axes", [1, 2])
@pairings
def test_positions_belong_to_rows_as_their_shape_says(
    pairing: Pairing, axes: int, shape: tuple[int, ...], position_shape: tuple[int, ...]
) -> None:
    f = rw.frequencies.standard(8) if axes == 1 else rw.frequencies.axial(8)
    x = rows(shape, "float32")
    positions = np.random.default_rng(1).integers(-5000, 5000, (*position_shape, axes))
    given = positions[..., 0] if axes == 1 else positions
    expected = row_by_row(x, positions, f, pairing=pairing)
    for converted in (given, given.astype(np.float64), given.tolist()):
        if np.shape(converted) != given.shape:
            continue  # a list cannot say a length behind a length of 0
        turned = rw.rotate(x, converted, frequencies=f, pairing=pairing)
        assert_same_bits(turned, expected)


@pytest.mark.parametrize(
    "shape", [(6, 8), (3, 6, 8), (3, 100, 8), (2, 3, 70, 8), (0, 8), (3, 0, 8)]
)
def test_positions_that_are_left_out_are_those_of_axis_minus_2(shape: tuple[int, ...]) -> None:
    x, length = rows(shape), shape[-2]
    assert_same_bits(rw.rotate(x), rw.rotate(x, range(length)))
    assert_same_bits(rw.rotate(x), rw.rotate(x, np.arange(length)))
    on_axes = rw.rotate(x, frequencies=rw.frequencies.axial(8))
    both = np.repeat(np.arange(length)[:, None], 2, 1)
    assert_same_bits(on_axes, rw.rotate(x, both, frequencies=rw.frequencies.axial(8)))


@pytest.mark.parametrize("position", [3, 3.0, np.int8(3), np.float32(3), np.array(3), range(3, 4)])
def test_a_number_is_one_position_for_all_rows(position: Any) -> None:
    x = rows((2, 5, 8))
    assert_same_bits(rw.rotate(x, position), rw.rotate(x, [3] * 5))


@pairings
@pytest.mark.parametrize("dim", [2, 22, 128, 1100])
def test_tables_of_the_first_positions_are_those_of_any(dim: int, pairing: Pairing) -> None:
    f = rw.frequencies.linear(dim, factor=3.0)
    x = rows((1, 9000, dim), "float32")
    cosines, sines = rw.rotary_tables(range(9000), frequencies=f, dtype=np.float32)
    expected = rw.rotate_by(x, cosines, sines, pairing=pairing)
    # Too few to make a table for, as many as one has, more, few of a later one, the same again ...
    ranges = [(4000, 5), (0, 1024), (0, 1025), (1, 1024), (2000, 48), (2000, 64), (2047, 2)]
    ranges += [(4000, 96), (4000, 5), (0, 8192), (1, 8192), (8190, 2), (8190, 3), (0, 9000)]
    for start, count in ranges:
        part = slice(start, start + count)
        turned = rw.rotate(x[:, part], range(start, start + count), frequencies=f, pairing=pairing)
        assert_same_bits(turned, expected[:, part])


RANGES = [
    range(200),
    range(-50, 150),
    range(150, -50, -1),
    range(0, 1400, 7),
    range(LARGEST - 199, LARGEST + 1),
    range(-LARGEST, LARGEST, LARGEST // 100),
]


@dtypes
@pytest.mark.parametrize("positions", RANGES, ids=str)
def test_a_range_is_the_array_of_its_numbers(positions: range, dtype: str) -> None:
    x = rows((3, len(positions), 22), dtype)
    expected = rw.rotate(x, positions)
    array = np.array(positions)
    assert_same_bits(rw.rotate(x, array), expected)
    assert_same_bits(rw.rotate(x, array.astype(np.float64)), expected)
    assert_same_bits(rw.rotate(x, np.stack([array] * 3)), expected)
    order = np.random.default_rng(1).permutation(len(positions))
    assert_same_bits(rw.rotate(x[:, order], array[order]), expected[:, order])


@pytest.mark.parametrize(
    "cosine_shape", [(4,), (6, 4), (1, 4), (3, 6, 4), (3, 1, 4), (1, 1, 4)], ids=str
)
def test_tables_belong_to_rows_as_positions_do(cosine_shape: tuple[int, ...]) -> None:
    x, cosines, sines = rows((3, 6, 8)), rows(cosine_shape, seed=1), rows(cosine_shape, seed=2)
    expected = np.empty_like(x)
    c, s = np.broadcast_to(cosines, (3, 6, 4)), np.broadcast_to(sines, (3, 6, 4))
    for index in np.ndindex(3, 6):
        expected[index] = rw.rotate_by(x[index], c[index], s[index])
    assert_same_bits(rw.rotate_by(x, cosines, sines), expected)


ON_AXES = {
    "one": rw.frequencies.standard(96),
    "axial": rw.frequencies.axial(96, axes=3),
    "sections": rw.frequencies.mrope(96, sections=(16, 16, 16)),
    "in turn": rw.frequencies.mrope(96, sections=(16, 16, 16), interleaved=True),
    "some stand": rw.frequencies.from_radians(np.eye(3, 48) + np.eye(3, 48, 9)),
    "mixed": rw.frequencies.mixed(96, directions=np.linspace(0, 3, 24)),
    "nine": rw.frequencies.axial(18, axes=9),
}


@pytest.mark.parametrize("kind", [np.int64, np.float64])
@pytest.mark.parametrize("name", ON_AXES)
@pairings
@dtypes
def test_many_rows_at_any_positions_are_turned_by_their_tables(
    dtype: str, pairing: Pairing, name: str, kind: Any
) -> None:
    frequencies = ON_AXES[name]
    axes, width = frequencies.axes, 2 * frequencies.radians.shape[-1]
    random = np.random.default_rng(axes)
    count = 1200  # more than a task has
    shape = (count, axes) if axes > 1 else (count,)
    of_tables = "float64" if dtype == "float64" else "float32"
    x = rows((2, count, width + 2), dtype)
    # The smallest table that is kept holds them, a larger one, none; or not all of them.
    for first, end in ((0, 40), (0, 3000), (0, 9000), (-3, 40)):
        cells = random.integers(first, end, shape).astype(kind)
        options: dict[str, Any] = {"pairing": pairing, "rotary_dim": width}
        tables = rw.rotary_tables(cells, frequencies=frequencies, dtype=of_tables)
        expected = rw.rotate_by(x, *tables, **options)
        for some in (np.s_[:], np.s_[:7]):
            turned = rw.rotate(x[:, some], cells[some], frequencies=frequencies, **options)
            assert_same_bits(turned, expected[:, some])
    between = cells + 0.5
    tables = rw.rotary_tables(between, frequencies=frequencies, dtype=of_tables)
    expected = rw.rotate_by(x, *tables, **options)
    assert_same_bits(rw.rotate(x, between, frequencies=frequencies, **options), expected)


# Data of every kind


@pairings
@dtypes
@pytest.mark.parametrize("dim", [2, 6, 20, 34, 64, 100, 128, 130, 512])
@pytest.mark.parametrize("heads_first", [True, False], ids=["heads first", "length first"])
def test_many_rows_of_any_width_are_turned(
    heads_first: bool, dim: int, dtype: str, pairing: Pairing
) -> None:
    length = 1100 if dim < 200 else 300
    shape = (3, length, dim) if heads_first else (length, 3, dim)
    positions = np.arange(length) if heads_first else np.arange(length)[:, None]
    x = rows(shape, dtype)
    turned = rw.rotate(x, positions, pairing=pairing)
    assert_near_numpy(turned, x, positions, reference.standard_frequencies(dim), pairing)


@pairings
@pytest.mark.parametrize("heads", [1, 3, 300])
@pytest.mark.parametrize("length", [1, 7, 65, 66, 67, 131, 132, 264, 529, 1500])
def test_any_length_and_any_number_of_heads(length: int, heads: int, pairing: Pairing) -> None:
    dim = 6 if heads == 300 else 66
    x = rows((heads, length, dim), "float32")
    start = 1000
    positions = range(start, start + length)
    turned = rw.rotate(x, positions, pairing=pairing)
    assert_near_numpy(turned, x, positions, reference.standard_frequencies(dim), pairing)
    other = rw.rotate(x.swapaxes(0, 1), np.array(positions)[:, None], pairing=pairing)
    assert_same_bits(other.swapaxes(0, 1), turned)


draw_data = st.fixed_dictionaries(
    {
        "batch": st.lists(st.sampled_from([1, 2, 3, 1, 2, 3, 0]), max_size=2),
        "length": st.integers(0, 80),
        "pairs": st.one_of(st.integers(1, 20), st.integers(32, 70)),
        "rest": st.integers(0, 5),
        "dtype": st.sampled_from(list(DTYPES)),
        "pairing": st.sampled_from(PAIRINGS),
        "inverse": st.booleans(),
        "seed": st.integers(0, 1000),
        "scale": st.sampled_from([1.0, 0.3]),
        "every": st.sampled_from([1, 2, -1]),
    }
)
draw_position_kind = st.sampled_from(["range", "number", "ints", "floats", "batch", "none"])


@given(draw_data, draw_position_kind)
def test_any_data_at_any_positions(data: dict[str, Any], kind: str) -> None:
    rng = np.random.default_rng(data["seed"])
    width = 2 * data["pairs"]
    x = rows((*data["batch"], data["length"], width + data["rest"]), data["dtype"], data["seed"])
    x = x[..., :: data["every"], :]
    length = x.shape[-2]
    start = int(rng.integers(-5000, 5000))
    positions: Any = {
        "range": range(start, start + length),
        "number": start,
        "ints": rng.integers(-5000, 5000, length),
        "floats": rng.uniform(-5000, 5000, length) * data["scale"],
        "batch": rng.integers(-5000, 5000, x.shape[:-1]),
        "none": None,
    }[kind]
    turned = rw.rotate(
        x, positions, pairing=data["pairing"], rotary_dim=width, inverse=data["inverse"]
    )
    where = np.array(range(length) if positions is None else positions)
    where = -where if data["inverse"] else where
    assert_near_numpy(turned, x, where, reference.standard_frequencies(width), data["pairing"])
    assert_same_bits(turned[..., width:], x[..., width:])
    out = np.empty_like(turned)
    assert (
        rw.rotate(
            x,
            positions,
            pairing=data["pairing"],
            rotary_dim=width,
            inverse=data["inverse"],
            out=out,
        )
        is out
    )
    assert_same_bits(out, turned)


@pairings
@dtypes
@pytest.mark.parametrize(("dim", "rotary_dim"), [(9, 2), (8, 4), (70, 34), (128, 96), (3, 2)])
def test_features_behind_the_rotary_width_stay_as_they_are(
    dim: int, rotary_dim: int, dtype: str, pairing: Pairing
) -> None:
    x = rows((3, 40, dim), dtype)
    x[0, 0, rotary_dim:] = np.nan
    x[0, 1, rotary_dim:] = -0.0
    turned = rw.rotate(x, pairing=pairing, rotary_dim=rotary_dim)
    assert_same_bits(turned[..., rotary_dim:], x[..., rotary_dim:])
    whole = rw.rotate(np.ascontiguousarray(x[..., :rotary_dim]), pairing=pairing)
    assert_same_bits(turned[..., :rotary_dim], whole)
    inside = x.copy()
    rw.rotate(inside, pairing=pairing, rotary_dim=rotary_dim, out=inside)
    assert_same_bits(inside, turned)


@pairings
@dtypes
@pytest.mark.parametrize("factor", [1.0, 1.25])
@pytest.mark.parametrize("dim", [4, 16, 64, 70, 160])
def test_standing_pairs_are_multiplied_by_the_factor_alone(
    dim: int, factor: float, dtype: str, pairing: Pairing
) -> None:
    f = with_factor(rw.frequencies.proportional(dim, fraction=0.5), factor)
    x = rows((2, 150, dim + 3), dtype)
    turned = rw.rotate(x, frequencies=f, pairing=pairing, rotary_dim=dim)
    live = int(np.count_nonzero(f.radians))
    assert 0 < live < dim // 2
    places = np.array(reference.features_of_pairs(dim // 2, pairing))[live:].ravel()
    computed = np.dtype(np.float64 if dtype == "float64" else np.float32)
    expected = (x[..., places].astype(computed) * computed.type(factor)).astype(x.dtype)
    np.testing.assert_array_equal(turned[..., places], expected)
    radians = reference.proportional_frequencies(dim, live)
    assert_near_numpy(turned, x, np.arange(150), radians, pairing, factor)
    inside = x.copy()
    rw.rotate(inside, frequencies=f, pairing=pairing, rotary_dim=dim, out=inside)
    assert_same_bits(inside, turned)


@pairings
@dtypes
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_stay_in_their_pair(
    value: float, dtype: str, pairing: Pairing
) -> None:
    x = rows((70, 36), dtype)
    expected = rw.rotate(x, pairing=pairing)
    first, second = reference.features_of_pairs(18, pairing)[7]
    for place in (first, second):
        spoiled = x.copy()
        spoiled[5, place] = value
        turned = rw.rotate(spoiled, pairing=pairing)
        assert not np.isfinite(turned[5, [first, second]].astype(float)).any()
        turned[5, [first, second]] = expected[5, [first, second]]
        assert_same_bits(turned, expected)


@dtypes
def test_values_too_large_for_the_dtype_become_infinite(dtype: str) -> None:
    largest = {
        "float64": (2 - 2.0**-52) * 2.0**1023,
        "float32": (2 - 2.0**-23) * 2.0**127,
        "float16": (2 - 2.0**-10) * 2.0**15,
        "bfloat16": (2 - 2.0**-7) * 2.0**127,
    }[dtype]  # IEEE 754-2019, table 3.5, with 8 bits for bfloat16
    x = np.array([[largest, largest]], DTYPES[dtype])
    turned = rw.rotate(x, np.pi / 4, frequencies=rw.frequencies.from_radians([1.0]))
    assert np.isposinf(turned[0, 1].astype(float))
    assert abs(turned[0, 0].astype(float)) <= UNITS_OFF[dtype] * UNIT[dtype] * 2 * largest


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_types_are_rounded_once_from_float32(dtype: str) -> None:
    x = rows((300, 34), dtype)
    expected = rw.rotate(x.astype(np.float32)).astype(x.dtype)
    assert_same_bits(rw.rotate(x), expected)


@dtypes
def test_position_0_changes_nothing(dtype: str) -> None:
    x = rows((3, 22), dtype)
    np.testing.assert_array_equal(rw.rotate(x, 0), x)


@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "i8", "u8"])
def test_integers_become_float64(dtype: str) -> None:
    x = np.arange(48).reshape(6, 8).astype(dtype)
    assert_same_bits(rw.rotate(x), rw.rotate(x.astype(np.float64)))
    assert_same_bits(rw.rotate(x.tolist()), rw.rotate(x.astype(np.float64)))


# Pairs that stand still, all of them or at the end


@pytest.mark.parametrize(
    "frequencies",
    [
        rw.frequencies.from_radians([0.0, 0.0]),
        rw.frequencies.proportional(4, fraction=0.2),
        rw.frequencies.from_radians([[1.0, 2.0], [-1.0, -2.0]]),
    ],
    ids=["zeros", "proportional", "axes that cancel"],
)
def test_rows_whose_pairs_all_stand_still_stay_as_they_are(frequencies: Frequencies) -> None:
    x = rows((3, 100, 4), "float32")
    assert np.array_equal(rw.rotate(x, frequencies=frequencies), x)
    assert np.array_equal(rw.rotate(x[:, :2], frequencies=frequencies), x[:, :2])
    for one in (x[:1, :1], x[0, :1]):
        for pairing in PAIRINGS:
            out = np.full_like(one, 7)
            rw.rotate(one, frequencies=frequencies, pairing=pairing, out=out)
            assert np.array_equal(out, one)
    if frequencies.axes == 1:
        for positions in (3, [3, 4.5], range(500)):
            cosines, sines = rw.rotary_tables(positions, frequencies=frequencies)
            assert (cosines == 1).all()
            assert (sines == 0).all()
            table = rw.sinusoidal_encoding(positions, frequencies=frequencies)
            assert np.array_equal(table[..., 1::2], cosines)


SPECIAL = np.array([[1, 2, -0.0, -3], [1, 2, np.inf, -3], [1, 2, np.nan, -0.0]], np.float32)


def test_pairs_that_never_move_are_copied_at_the_end() -> None:
    frequencies = rw.frequencies.from_radians([1.0, 0.0])
    for positions in (None, [5, 6, 7], [0.5, 1.5, -2]):
        turned = rw.rotate(SPECIAL, positions, frequencies=frequencies)
        assert_same_bits(turned[:, 2:].copy(), SPECIAL[:, 2:].copy())


def test_pairs_whose_axes_cancel_turn_by_0() -> None:
    """Where the axes have one position each as where they have several that happen to be equal."""
    frequencies = rw.frequencies.from_radians([[1.0, 0.5], [1.0, -0.5]])
    places = np.arange(3)
    given = rw.rotate(SPECIAL, np.stack([places, places], -1), frequencies=frequencies)
    np.testing.assert_array_equal(np.signbit(given[0]), [False, False, False, True])
    np.testing.assert_array_equal(given[1, 2:], [np.inf, np.nan])
    assert_same_bits(rw.rotate(SPECIAL, frequencies=frequencies), given)


@pairings
def test_zeros_of_a_standing_pair_have_the_same_signs_in_every_row(pairing: Pairing) -> None:
    moving = rw.frequencies.from_radians([1.0, 0.0])
    frequencies = with_factor(moving, 2.0)
    x = np.full((8000, 4), -0.0, np.float32)
    turned = rw.rotate(x, frequencies=frequencies, pairing=pairing, inverse=True)
    standing = turned[:, [1, 3]] if pairing == "half" else turned[:, 2:]
    assert len(np.unique(np.signbit(standing), axis=0)) == 1
