"""Token lookup and similarity: values, dtypes, shapes, and what is refused."""

import math
import tracemalloc
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from tests import reference
from tests.data import DTYPES, UNIT, dtypes
from tests.refusals import exactly

import ropewalk as rw
from ropewalk._embedding import Measure

MEASURES: list[Measure] = ["cosine", "inner", "euclidean"]
INTEGERS = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">i8", ">u4"]

# Article 001, section 2.1.
CAT, DOG, CAR = (0.8, 0.6, -0.4), (0.9, 0.5, -0.3), (-0.2, 0.7, 0.3)

measures = pytest.mark.parametrize("measure", MEASURES)


def rows(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> NDArray[Any]:
    return rng.standard_normal(shape).astype(DTYPES[dtype])


# Lookup


@dtypes
def test_ids_name_rows(dtype: str, rng: np.random.Generator) -> None:
    table = rows((90, 5), dtype, rng)
    vectors = rw.embed([10, 23, 5, 89, 5, 0], table)
    assert vectors.dtype == table.dtype
    expected = [table[10], table[23], table[5], table[89], table[5], table[0]]
    assert vectors.tobytes() == np.stack(expected).tobytes()


@pytest.mark.parametrize("shape", [(), (0,), (7,), (2, 3), (2, 0, 3), (1, 2, 1, 3)], ids=str)
def test_ids_have_any_shape(shape: tuple[int, ...], rng: np.random.Generator) -> None:
    table = rows((9, 4), "float32", rng)
    ids = rng.integers(9, size=shape)
    vectors = rw.embed(ids, table)
    assert vectors.shape == (*shape, 4)
    for place in np.ndindex(shape):
        np.testing.assert_array_equal(vectors[place], table[ids[place]])


@pytest.mark.parametrize("kind", INTEGERS)
def test_ids_are_integers_of_any_kind(kind: str, rng: np.random.Generator) -> None:
    table = rows((300, 4), "float32", rng)
    np.testing.assert_array_equal(rw.embed(np.array([3, 127], kind), table), table[[3, 127]])


def test_there_need_be_no_ids() -> None:
    nothing: list[Any] = [[], [[], []], range(0)]
    for ids in nothing:
        assert rw.embed(ids, np.eye(4)).shape == (*np.shape(ids), 4)
    with pytest.raises(TypeError, match="ids must be integers, got dtype float64"):
        rw.embed(np.zeros(0), np.eye(4))


def test_ids_may_be_a_number_or_a_range(rng: np.random.Generator) -> None:
    table = rows((9, 4), "float32", rng)
    np.testing.assert_array_equal(rw.embed(3, table), table[3])
    np.testing.assert_array_equal(rw.embed(range(2, 6), table), table[2:6])


@pytest.mark.parametrize("scale", [math.sqrt(512), 0.1, 2.0**-30, 3], ids=str)
@dtypes
def test_vectors_are_scaled_and_rounded_once(
    dtype: str, scale: float, rng: np.random.Generator
) -> None:
    table = rows((20, 8), dtype, rng)
    working = np.float64 if dtype == "float64" else np.float32
    exact = [[Fraction(float(x)) * Fraction(float(working(scale))) for x in row] for row in table]
    # A float64 holds the product of two float32 exactly.
    expected = np.array(exact, np.float64).astype(working).astype(DTYPES[dtype])
    vectors = rw.embed(range(20), table, scale=scale)
    assert vectors.dtype == table.dtype
    assert vectors.tobytes() == expected.tobytes()


def test_a_table_of_integers_becomes_float64() -> None:
    vectors = rw.embed([1, 0], [[1, 2], [3, 4]], scale=0.5)
    assert vectors.dtype == np.float64
    np.testing.assert_array_equal(vectors, [[1.5, 2.0], [0.5, 1.0]])


def test_special_values_are_looked_up_too() -> None:
    table = np.array([[np.nan, np.inf], [-0.0, -np.inf], [3e38, 1e-45]], np.float32)
    expected = [["nan", "inf"], ["-0.0", "-inf"], ["inf", "1e-45"]]
    assert rw.embed(range(3), table, scale=1.0)[:2].astype(str).tolist() == expected[:2]
    assert rw.embed(range(3), table, scale=1.2).astype(str).tolist() == expected


@pytest.mark.parametrize("layout", ["transposed", "backwards", "one row for all", "big-endian"])
def test_tables_of_any_layout(layout: str, rng: np.random.Generator) -> None:
    plain = rows((9, 6), "float32", rng)
    table = {
        "transposed": np.asfortranarray(plain),
        "backwards": np.ascontiguousarray(plain[::-1, ::-1])[::-1, ::-1],
        "one row for all": np.broadcast_to(plain[0], (9, 6)),
        "big-endian": plain.astype(">f4"),
    }[layout]
    vectors = rw.embed([4, 8, 0], table)
    assert vectors.dtype == np.float32
    assert vectors.dtype.isnative
    assert vectors.flags.c_contiguous
    np.testing.assert_array_equal(vectors, table[[4, 8, 0]])


def test_the_result_is_memory_of_its_own(rng: np.random.Generator) -> None:
    table, ids = rows((9, 4), "float64", rng), np.array([1, 2])
    before = table.copy()
    vectors = rw.embed(ids, table)
    assert vectors.flags.owndata
    vectors[:] = 7
    rw.embed(1, table)[:] = 7
    np.testing.assert_array_equal(table, before)


@dtypes
def test_out_is_filled_and_returned(dtype: str, rng: np.random.Generator) -> None:
    table = rows((9, 4), dtype, rng)
    expected = rw.embed([[3, 1], [0, 8]], table, scale=0.3)
    for out in (np.empty((2, 2, 4), table.dtype), np.empty((4, 2, 4), table.dtype)[::2].T.T):
        assert rw.embed([[3, 1], [0, 8]], table, scale=0.3, out=out) is out
        assert out.tobytes() == expected.tobytes()


# Lookup: refusals


@pytest.mark.parametrize("bad", [-1, 9, -(2**63), 2**63 - 1, 2**63, 2**70, -(2**70)], ids=str)
def test_an_id_must_name_a_row(bad: int) -> None:
    message = "ids must be at least 0 and below 9, the number of rows of table, got"
    table = np.ones((9, 4), np.float32)
    with pytest.raises(ValueError, match=exactly(f"{message} {bad}")):
        rw.embed(bad, table)
    kind = object if abs(bad) > 2**64 else np.uint64 if bad > 0 else np.int64
    ids = np.zeros((2, 3), kind)
    ids[1, 1:] = bad
    with pytest.raises(ValueError, match=exactly(f"{message} {bad} at index (1, 1)")):
        rw.embed(ids.tolist() if kind is object else ids, table)


def test_ids_of_few_bits_are_compared_as_numbers() -> None:
    table = np.ones((1000, 1), np.float32)
    assert rw.embed(np.array([127], np.int8), table).shape == (1, 1)
    with pytest.raises(ValueError, match=r"got -24 at index \(1,\)$"):
        rw.embed(np.array([0, -24], np.int8), table)  # 1000 - 24 is -24 in eight bits


def test_ids_may_be_of_several_types_of_integers() -> None:
    table = np.arange(6.0).reshape(3, 2)
    ids: list[Any] = [np.uint64(1), 2]  # float64 to NumPy
    assert rw.embed(ids, table).tolist() == [[2, 3], [4, 5]]


def test_an_empty_table_has_no_rows_to_name() -> None:
    table = np.ones((0, 4))
    assert rw.embed(np.zeros((2, 0), int), table).shape == (2, 0, 4)
    message = "ids must be at least 0 and below 0, the number of rows of table, got 0"
    with pytest.raises(ValueError, match=exactly(message)):
        rw.embed(0, table)


@pytest.mark.parametrize(
    ("ids", "found"),
    [
        ([1.0, 2.0], "float64"),
        ([True, False], "bool"),
        (True, "bool"),
        ("1", "<U1"),
        ([1j], "complex128"),
        (np.array([1], "m8[s]"), "timedelta64[s]"),
        (np.array([True, 1], object), "object"),
    ],
    ids=repr,
)
def test_ids_must_be_integers(ids: Any, found: str) -> None:
    with pytest.raises(TypeError, match=exactly(f"ids must be integers, got dtype {found}")):
        rw.embed(ids, np.ones((9, 4)))


def test_ids_must_be_given() -> None:
    with pytest.raises(TypeError, match=r"^ids must be .*, got None$"):
        rw.embed(None, np.ones((9, 4)))  # type: ignore[arg-type]


def test_ragged_ids_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^ids must be an array of integers: "):
        rw.embed([[1, 2], [3]], np.ones((9, 4)))


@pytest.mark.parametrize("shape", [(4,), (2, 3, 4)], ids=str)
def test_a_table_must_have_two_dimensions(shape: tuple[int, ...]) -> None:
    message = f"table must have two dimensions, rows and features, got shape {shape}"
    with pytest.raises(ValueError, match=exactly(message)):
        rw.embed(0, np.ones(shape))


def test_a_table_must_be_numbers() -> None:
    message = "table must be integers, float64, float32, float16 or bfloat16, got dtype complex128"
    with pytest.raises(TypeError, match=exactly(message)):
        rw.embed(0, np.ones((9, 4), complex))


@pytest.mark.parametrize("scale", [0.0, -1.0, math.inf, math.nan, 10**400], ids=str)
def test_a_scale_must_be_positive_and_finite(scale: float) -> None:
    with pytest.raises(ValueError, match=r"^scale must be positive and finite, got "):
        rw.embed(0, np.ones((9, 4)), scale=scale)


@pytest.mark.parametrize("scale", ["2", None, 1j, [2.0]], ids=repr)
def test_a_scale_must_be_a_real_number(scale: Any) -> None:
    message = f"scale must be a real number, got {scale!r}"
    with pytest.raises(TypeError, match=exactly(message)):
        rw.embed(0, np.ones((9, 4)), scale=scale)


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (np.empty((3, 4)), "out must have shape (2, 4), got (3, 4)"),
        (np.empty((2, 4), np.float32), "out must have dtype float64, got float32"),
        (np.broadcast_to(np.empty(4), (2, 4)), "out must be writable, got a read-only array"),
    ],
    ids=["shape", "dtype", "read-only"],
)
def test_out_must_fit(out: NDArray[Any], message: str) -> None:
    with pytest.raises(ValueError, match=exactly(message)):
        rw.embed([0, 1], np.ones((9, 4)), out=out)


def test_out_must_not_overlap_the_table_or_the_ids() -> None:
    memory = np.zeros(40)
    table, ids = memory[:36].reshape(9, 4), memory.view(np.int64)[38:]
    message = "out must not overlap another argument, got memory that both share"
    for out in (table[3:5], memory[32:].reshape(2, 4)):
        with pytest.raises(ValueError, match=exactly(message)):
            rw.embed(ids, table, out=out)
    with pytest.raises(ValueError, match=exactly(message)):
        rw.embed(ids, np.ones((9, 4)), out=memory[32:].reshape(2, 4))
    assert not memory.any()


# Similarity


def test_the_animals_of_article_001_are_near_and_the_car_is_not() -> None:
    words = np.array([CAT, DOG, CAR])
    inner, cosine, distance = (
        rw.similarity(words[:, None], words, measure=measure)
        for measure in ("inner", "cosine", "euclidean")
    )
    # Decimals by hand: 0.72 + 0.30 + 0.12 = 1.14, and so on; roots by mpmath.
    by_hand = [[1.16, 1.14, 0.14], [1.14, 1.15, 0.08], [0.14, 0.08, 0.62]]
    np.testing.assert_allclose(inner, by_hand, rtol=0, atol=1e-15)
    mp = reference.mp
    for i, j in np.ndindex(3, 3):
        square = [mp.mpf(str(by_hand[a][b])) for a, b in ((i, j), (i, i), (j, j))]
        assert abs(cosine[i, j] - square[0] / mp.sqrt(square[1] * square[2])) < 1e-15
        assert abs(distance[i, j] - mp.sqrt(square[1] + square[2] - 2 * square[0])) < 1e-15
    np.testing.assert_allclose(cosine[0], [1, 0.98702, 0.16508], rtol=0, atol=5e-6)
    np.testing.assert_allclose(distance[0], [0, 0.17321, 1.22474], rtol=0, atol=5e-6)


@pytest.mark.parametrize("dim", [1, 2, 3, 64, 1000])
@measures
@dtypes
def test_similarities_are_within_their_bounds(
    dtype: str, measure: Measure, dim: int, rng: np.random.Generator
) -> None:
    a, b = rows((6, dim), dtype, rng), rows((6, dim), dtype, rng)
    b[-1] = a[-1]  # and nearly the same
    b[-1, 0] *= DTYPES[dtype].type(1.125)
    unit = UNIT["float64" if dtype == "float64" else "float32"]
    found = rw.similarity(a, b, measure=measure)
    assert found.dtype == a.dtype
    assert found.shape == (6,)
    for i in range(6):
        exact = reference.similarity(a[i], b[i], measure)
        allowed = {
            "inner": dim * unit * float(np.abs(a[i].astype(float) * b[i].astype(float)).sum()),
            "cosine": (2 * dim + 3) * unit,
            "euclidean": (dim / 2 + 3) * unit * exact,
        }[measure]
        rounding = 0 if dtype in {"float64", "float32"} else UNIT[dtype] * abs(exact)
        assert abs(reference.mp.mpf(float(found[i])) - exact) <= 1.01 * (allowed + rounding)


@measures
def test_similarities_are_in_c_order(measure: Measure) -> None:
    x = np.asfortranarray(np.ones((3, 4, 5)))
    assert rw.similarity(x, x, measure=measure).flags.c_contiguous


@measures
def test_axes_before_the_last_broadcast(measure: Measure, rng: np.random.Generator) -> None:
    a, b = rows((4, 1, 5), "float64", rng), rows((2, 1, 3, 5), "float64", rng)
    found = rw.similarity(a, b, measure=measure)
    assert found.shape == (2, 4, 3)
    for i, j, k in np.ndindex(2, 4, 3):
        alone = rw.similarity(a[j, 0], b[i, 0, k], measure=measure)
        np.testing.assert_allclose(found[i, j, k], alone, rtol=0, atol=1e-14)


@pytest.mark.parametrize("shapes", [((300, 1, 64), (300, 64)), ((3, 1, 999, 40), (2, 1, 40))])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_distances_of_many_pairs_are_those_of_each_alone(
    dtype: str, shapes: tuple[tuple[int, ...], tuple[int, ...]], rng: np.random.Generator
) -> None:
    a, b = (rows(shape, dtype, rng) for shape in shapes)
    a[::2] *= np.finfo(a.dtype).max ** 0.75  # its squares overflow
    b[1::2] *= np.finfo(a.dtype).tiny  # its squares vanish
    found = rw.similarity(a, b, measure="euclidean")
    pairs = np.broadcast(a[..., 0], b[..., 0]).shape
    assert found.shape == pairs
    full_a, full_b = (
        np.broadcast_to(a, (*pairs, a.shape[-1])),
        np.broadcast_to(b, (*pairs, b.shape[-1])),
    )
    for pair in zip(*(rng.integers(n, size=200) for n in pairs), strict=True):
        assert found[pair] == rw.similarity(full_a[pair], full_b[pair], measure="euclidean")
        exact = reference.similarity(full_a[pair], full_b[pair], "euclidean")
        assert float(found[pair]) == pytest.approx(float(exact), rel=64 * UNIT[dtype])


@pytest.mark.thread_unsafe(reason="counts the memory of the process")
def test_differences_of_many_pairs_take_little_memory(rng: np.random.Generator) -> None:
    words = rng.standard_normal((400, 256))
    tracemalloc.start()
    try:
        rw.similarity(words[:, None], words, measure="euclidean")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 << 20  # all differences are 328 MB


@measures
def test_two_vectors_give_an_array_without_axes(measure: Measure) -> None:
    found = rw.similarity(CAT, DOG, measure=measure)
    assert isinstance(found, np.ndarray)
    assert found.shape == ()
    assert found.flags.writeable


@measures
def test_similarity_is_symmetric_to_the_bit(measure: Measure, rng: np.random.Generator) -> None:
    a, b = rows((50, 33), "float32", rng), rows((50, 33), "float32", rng)
    np.testing.assert_array_equal(
        rw.similarity(a, b, measure=measure), rw.similarity(b, a, measure=measure)
    )


@pytest.mark.parametrize("power", [-1070, -600, -530, -149, 0, 100, 600, 1020])
def test_lengths_and_distances_may_be_huge_or_tiny(power: int) -> None:
    a, b = np.ldexp([3.0, 0.0], power), np.ldexp([0.0, 4.0], power)
    assert rw.similarity(a, b, measure="euclidean") == math.ldexp(5, power)
    uneven = np.ldexp([1.1, 0.0], power)
    assert rw.similarity(uneven, 0 * a, measure="euclidean") == uneven[0]
    assert rw.similarity(a, a + b) == pytest.approx(0.6, rel=1e-15)
    assert rw.similarity(a, np.array([1.0, 1.0])) == pytest.approx(math.sqrt(0.5), rel=1e-15)


@dtypes
def test_the_smallest_and_largest_numbers_have_directions(dtype: str) -> None:
    info = ml_dtypes.finfo(DTYPES[dtype])  # type: ignore[no-untyped-call]
    smallest, largest = info.smallest_subnormal, info.max
    a = np.array([[smallest, 0], [largest, 0]], DTYPES[dtype])
    b = np.array([[smallest, smallest], [largest, largest]], DTYPES[dtype])
    for cosine in rw.similarity(a, b):
        assert float(cosine) == pytest.approx(math.sqrt(0.5), rel=2 * UNIT[dtype])
    distances = rw.similarity(a, b, measure="euclidean")
    assert distances.tolist() == [smallest, largest]


def test_a_distance_beyond_the_largest_number_is_infinite() -> None:
    largest = np.finfo(np.float32).max
    a = np.array([largest, 0], np.float32)
    assert rw.similarity(a, -a, measure="euclidean") == np.inf
    assert rw.similarity(a, a, measure="inner") == np.inf
    assert rw.similarity(a, -a) == -1


def test_a_cosine_stays_within_1(rng: np.random.Generator) -> None:
    a = rows((20000, 3), "float32", rng)
    for factor in (1, 3, -1, -7):
        cosine = rw.similarity(a, np.float32(factor) * a)
        assert np.abs(cosine).max() <= 1
        np.testing.assert_allclose(cosine, np.sign(factor), rtol=0, atol=9 * UNIT["float32"])


@pytest.mark.parametrize("other", [CAT, (0.0, 0.0, 0.0), (np.inf, 1.0, 0.0)], ids=str)
def test_a_zero_vector_has_no_direction(other: tuple[float, ...]) -> None:
    assert np.isnan(rw.similarity([0.0, 0.0, 0.0], other))
    assert np.isnan(rw.similarity(other, [0, 0, 0]))


def test_infinite_vectors_have_distances_and_no_direction() -> None:
    inf = (np.inf, 1.0, 0.0)
    assert rw.similarity(inf, CAT, measure="euclidean") == np.inf
    assert np.isnan(rw.similarity(inf, inf, measure="euclidean"))
    assert np.isnan(rw.similarity(inf, CAT))


@measures
def test_nan_answers_for_its_own_vector_alone(measure: Measure) -> None:
    found = rw.similarity([CAT, (np.nan, 1.0, 0.0), DOG], CAR, measure=measure)
    assert np.isnan(found).tolist() == [False, True, False]


def test_vectors_without_features() -> None:
    a, b = np.ones((2, 0)), np.ones(0)
    assert np.isnan(rw.similarity(a, b)).all()
    assert rw.similarity(a, b, measure="inner").tolist() == [0, 0]
    assert rw.similarity(a, b, measure="euclidean").tolist() == [0, 0]


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("float32", "float64", "float64"),
        ("float32", "float16", "float32"),
        ("bfloat16", "float32", "float32"),
        ("float16", "float16", "float16"),
        ("int64", "float32", "float64"),
        ("int8", "int8", "float64"),
    ],
)
@measures
def test_types_mix_as_in_numpy(measure: Measure, a: str, b: str, expected: str) -> None:
    ones = {name: np.ones((2, 3), DTYPES.get(name, name)) for name in (a, b)}
    assert rw.similarity(ones[a], ones[b], measure=measure).dtype.name == expected


def test_half_types_are_summed_in_float32() -> None:
    a = np.ones(4097, np.float16)
    assert rw.similarity(a, a / 2, measure="inner") == 2048  # in float16 it would stop at 1024
    a = np.full(512, 1.0, ml_dtypes.bfloat16)
    assert float(rw.similarity(a, a, measure="inner")) == 512  # in bfloat16 at 256


@measures
def test_similarity_changes_nothing(measure: Measure, rng: np.random.Generator) -> None:
    a, b = rows((3, 5), "float32", rng), rows((3, 5), "float32", rng)
    before = a.copy(), b.copy()
    rw.similarity(a, b, measure=measure)[:] = 7
    np.testing.assert_array_equal(a, before[0])
    np.testing.assert_array_equal(b, before[1])


# Similarity: refusals


@pytest.mark.parametrize("dims", [(3, 4), (3, 1), (0, 1)], ids=str)
def test_vectors_must_be_equally_long(dims: tuple[int, int]) -> None:
    message = f"a and b must have as many features, got {dims[0]} and {dims[1]}"
    with pytest.raises(ValueError, match=exactly(message)):
        rw.similarity(np.ones((2, dims[0])), np.ones((2, dims[1])))


def test_axes_must_broadcast() -> None:
    message = "a and b must have shapes that broadcast, got (2, 4) and (3, 4)"
    with pytest.raises(ValueError, match=exactly(message)):
        rw.similarity(np.ones((2, 4)), np.ones((3, 4)))


@pytest.mark.parametrize("measure", ["dot", "Cosine", "", None, 1], ids=repr)
def test_a_measure_must_be_one_of_three(measure: Any) -> None:
    message = f"measure must be one of 'cosine', 'inner', 'euclidean', got {measure!r}"
    with pytest.raises(ValueError, match=exactly(message)):
        rw.similarity(CAT, DOG, measure=measure)


def test_vectors_must_be_numbers() -> None:
    message = "must be integers, float64, float32, float16 or bfloat16, got dtype bool"
    with pytest.raises(TypeError, match=exactly(f"a {message}")):
        rw.similarity([True, False], [1.0, 2.0])
    with pytest.raises(TypeError, match=exactly(f"b {message}")):
        rw.similarity([1.0, 2.0], [True, False])
    with pytest.raises(
        ValueError, match=exactly("a must have at least one dimension, got a number")
    ):
        rw.similarity(1.0, [1.0])


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("scale", [1e300, 1e-46, 2.0**-150], ids=str)
def test_a_scale_must_be_positive_and_finite_where_it_is_multiplied(
    dtype: str, scale: float
) -> None:
    table = rw.sinusoidal_encoding(range(3), 4, dtype=dtype)
    message = f"scale must be positive and finite in float32, got {scale!r}"
    with pytest.raises(ValueError, match=exactly(message)):
        rw.embed([0], table, scale=scale)
    assert rw.embed([0], table.astype(np.float64), scale=scale)[0, 1] == scale


def test_a_scale_may_be_the_smallest_number() -> None:
    smallest = 2.0**-149  # what is above half of it is rounded to it
    for scale in (smallest, np.nextafter(smallest / 2, 1)):
        assert rw.embed([0], np.ones((1, 1), np.float32), scale=scale)[0, 0] == smallest
    assert rw.embed([0], np.ones((1, 1)), scale=5e-324)[0, 0] == 5e-324


def test_the_largest_number_is_a_scale() -> None:
    largest = np.finfo(np.float32).max
    assert rw.embed([0], np.array([[1]], np.float32), scale=float(largest)) == largest


def test_squares_that_lose_digits_are_measured_again() -> None:
    x = np.full(2**15, 1.3 * 2.0**-70, np.float32)
    found = float(rw.similarity(x, np.zeros_like(x), measure="euclidean"))
    assert abs(found / (float(x[0]) * 2**7.5) - 1) < 1e-5
