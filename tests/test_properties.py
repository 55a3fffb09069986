"""Properties: every statement holds where it should, and its negative controls fail."""

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from tests import reference
from tests.refusals import exactly

import ropewalk as rw
from ropewalk.properties import (
    Measurement,
    ScaleLaw,
    entropy,
    identical_tokens,
    length_independence,
    neighbour_distances,
    permutation_equivariance,
    relative_score,
    scale_law,
    signal_to_noise,
    softmax_order,
    softmax_ratio,
    softmax_shift,
    softmax_sum,
    temperature,
)

UNIT = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11}
dtypes = pytest.mark.parametrize("dtype", UNIT)

# "<begin> The dog chased another dog": the dogs stand at 2 and 5 (article 002).
SENTENCE = [0, 1, 2, 3, 4, 2]

LAWS: dict[str, Callable[..., Measurement]] = {
    "sum": softmax_sum,
    "shift": lambda x, **options: softmax_shift(x, shift=37.3, **options),
    "order": softmax_order,
    "ratio": softmax_ratio,
}
laws = pytest.mark.parametrize("law", LAWS)


def normal(shape: tuple[int, ...], dtype: str, seed: int = 0) -> NDArray[Any]:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def sinusoids(length: int, dim: int, dtype: str) -> NDArray[Any]:
    return rw.sinusoidal_encoding(range(length), dim, dtype=dtype)


# Modules and measurements


def test_a_measurement_holds_up_to_its_bound() -> None:
    assert Measurement(1.0, 1.0).holds
    assert not Measurement(math.nextafter(1, 2), 1.0).holds
    assert not Measurement(math.nan, 1.0).holds


# Order of the tokens


@pytest.mark.parametrize("length", [1, 2, 7, 64, 300])
@dtypes
def test_shuffled_tokens_give_shuffled_outputs(dtype: str, length: int) -> None:
    x = normal((length, 16), dtype)
    measured = permutation_equivariance(x, seed=1)
    assert measured.holds
    assert measured.bound == 8 * length * UNIT[dtype] * float(np.abs(x).max())


@pytest.mark.parametrize(
    ("dtype", "length"), [("float64", 7), ("float64", 300), ("float32", 300), ("float16", 7)]
)
def test_a_causal_mask_and_positions_tell_order(dtype: str, length: int) -> None:
    x = normal((length, 16), dtype)
    assert not permutation_equivariance(x, seed=1, causal=True).holds
    assert not permutation_equivariance(x, seed=1, encoding=sinusoids(length, 16, dtype)).holds


def test_equivariance_is_measured_against_plain_loops() -> None:
    x = normal((5, 4), "float64")
    order = np.random.default_rng(3).permutation(5)
    visible = [[j <= i for j in range(5)] for i in range(5)]

    def outputs(tokens: NDArray[Any]) -> NDArray[Any]:
        rows = tokens.tolist()
        found = reference.attention(rows, rows, rows, scale=1 / 2, visible=visible)
        return np.array(found.output)

    expected = np.abs(outputs(x[order]) - outputs(x)[order]).max()
    measured = permutation_equivariance(x, causal=True, seed=3)
    assert measured.value == pytest.approx(expected, rel=1e-12)


def test_a_shuffle_that_moves_nothing_shows_nothing() -> None:
    class Unmoved(np.random.Generator):
        def permutation(self, x: Any, axis: int = 0) -> Any:  # noqa: ARG002
            return np.arange(x)

    generator = Unmoved(np.random.PCG64(1))
    assert permutation_equivariance(normal((9, 4), "float64"), causal=True, seed=generator).holds


@dtypes
def test_two_dogs_are_one(dtype: str) -> None:
    x = rw.embed(SENTENCE, normal((5, 16), dtype))
    assert identical_tokens(x) == Measurement(0.0, 0.0)
    output = rw.attention(x, x, x)
    assert output[2].tobytes() == output[5].tobytes()
    assert output[2].tobytes() != output[3].tobytes()


@dtypes
def test_positions_and_a_causal_mask_tell_dogs_apart(dtype: str) -> None:
    x = rw.embed(SENTENCE, normal((5, 16), dtype))
    assert identical_tokens(x, causal=True).value > 0.01
    assert identical_tokens(x, encoding=sinusoids(6, 16, dtype)).value > 0.01


def test_many_identical_tokens_are_one_in_long_sequences() -> None:
    for dtype in ("float64", "float32"):
        x = normal((40, 16), dtype)[np.random.default_rng(2).integers(40, size=700)]
        assert identical_tokens(x).holds


def test_tokens_that_all_differ_show_nothing() -> None:
    message = "x must hold a token more than once, got 3 that all differ"
    with pytest.raises(ValueError, match=exactly(message)):
        identical_tokens([[1, 2], [2, 1], [1, 1]])


@pytest.mark.parametrize(
    "measure", [identical_tokens, lambda x, **o: permutation_equivariance(x, seed=1, **o)]
)
def test_tokens_and_encodings_must_fit(measure: Callable[..., Measurement]) -> None:
    with pytest.raises(
        ValueError,
        match=exactly("x must have two dimensions, tokens and features, got shape (3,)"),
    ):
        measure([1.0, 2.0, 3.0])
    with pytest.raises(
        ValueError, match=exactly("encoding must have the shape of x, (2, 1), got (1, 1)")
    ):
        measure([[1.0], [1.0]], encoding=[[1.0]])


# Laws of softmax


@pytest.mark.parametrize("size", [0.1, 1, 10, 100])
@pytest.mark.parametrize("length", [1, 2, 3, 100, 20000])
@laws
@dtypes
def test_softmax_keeps_its_laws(dtype: str, law: str, length: int, size: float) -> None:
    x = normal((3, length), dtype) * np.dtype(dtype).type(size)
    assert x.dtype == dtype
    assert LAWS[law](x).holds


def test_the_sum_is_within_few_units_however_long_the_row() -> None:
    for length in (3, 1000, 100_000):
        measured = softmax_sum(np.full(length, 0.1, np.float32))
        assert measured.value <= 2.0**-24  # equal weights are summed without rounding
        assert measured.bound == pytest.approx(3 * 2.0**-24, rel=1e-4)


@pytest.mark.parametrize("start", [-1e-9, -0.01, -0.5, -3.0, -20.0])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_neighbouring_logits_keep_their_order(dtype: str, start: float) -> None:
    neighbours = [np.dtype(dtype).type(start)]
    while len(neighbours) < 1000:
        neighbours.append(np.nextafter(neighbours[-1], np.dtype(dtype).type(-99)))
    x = np.random.default_rng(1).permutation(np.array([0, *neighbours], dtype))
    assert softmax_order(x).holds


def shares(x: NDArray[Any]) -> NDArray[Any]:
    result: NDArray[Any] = x / x.sum(axis=-1, keepdims=True)
    return result


def without_the_largest(x: NDArray[Any]) -> NDArray[Any]:
    with np.errstate(over="ignore", invalid="ignore"):
        return shares(np.exp(x))


def always(weights: NDArray[Any]) -> Callable[[NDArray[Any]], NDArray[Any]]:
    return lambda _: weights


def off_by(units: float) -> Callable[[NDArray[Any]], NDArray[Any]]:
    def weights(x: NDArray[Any]) -> NDArray[Any]:
        return rw.softmax(x) * np.float32(1 + units * UNIT["float32"])

    return weights


def hotter(x: NDArray[Any]) -> NDArray[Any]:
    return rw.softmax(x, scale=0.999)


def swapped(x: NDArray[Any]) -> NDArray[Any]:
    weights = rw.softmax(x)
    weights[..., [0, 1]] = weights[..., [1, 0]]
    return weights


def sum_in_float16(x: NDArray[Any]) -> NDArray[Any]:
    exponentials = np.exp(x - x.max(axis=-1, keepdims=True))
    sums = np.add.accumulate(exponentials, axis=-1, dtype=np.float16)
    result: NDArray[Any] = exponentials / sums[..., -1:]
    return result


FALSE: dict[str, tuple[str, Callable[[NDArray[Any]], NDArray[Any]]]] = {
    "weights 8 units too large": ("sum", off_by(8)),
    "a sum in float16": ("sum", sum_in_float16),
    "no largest logit subtracted, sum": ("sum", without_the_largest),
    "no largest logit subtracted, shift": ("shift", without_the_largest),
    "shares, shift": ("shift", shares),
    "shares, ratio": ("ratio", shares),
    "another temperature": ("ratio", hotter),
    "two weights swapped": ("order", swapped),
    "a sine, ratio": ("ratio", np.sin),
    "a cosine": ("order", np.cos),
}


@pytest.mark.parametrize("case", FALSE)
def test_what_is_no_softmax_breaks_a_law(case: str) -> None:
    law, function = FALSE[case]
    x = np.linspace(0.5, 95 if "largest" in case else 5, 500, dtype=np.float32)
    assert LAWS[law](x).holds
    assert not LAWS[law](x, softmax=function).holds


@laws
def test_laws_hold_in_as_many_dimensions_as_numpy_has(law: str) -> None:
    assert LAWS[law](np.array([0.5, 2.0]).reshape((1,) * 63 + (2,))).holds


def test_order_counts_every_break_and_equal_logits_must_share() -> None:
    x = np.array([1, 2, 2, 3, 4], np.float32)
    assert softmax_order(x).value == 0
    weights = np.array([[1, 2, 2, 4, 3], [1, 2, 3, 4, 5], [5, 4, 4, 2, 1]], np.float32)
    for row, breaks in zip(weights, (1, 1, 3), strict=True):
        assert softmax_order(x, softmax=always(row)).value == breaks
    assert softmax_order(x, softmax=always(np.full(5, np.nan))).value == 4


def test_a_softmax_may_work_in_place() -> None:
    x = np.array([3.0, 1.0, 2.0])
    assert softmax_order(x, softmax=lambda z: np.negative(z, out=z)).value == 2
    np.testing.assert_array_equal(x, [3, 1, 2])


def test_weights_that_are_all_0_have_no_ratios() -> None:
    assert not softmax_ratio([1.0, 2.0, 3.0], softmax=always(np.zeros(3))).holds


@laws
def test_weights_that_are_no_numbers_break_every_law(law: str) -> None:
    assert not LAWS[law]([1.0, 2.0, 3.0], softmax=always(np.full(3, np.nan))).holds


@pytest.mark.parametrize(
    ("weights", "values"),
    [
        ([0.25] * 4, (0.0, 0.0, 0.0, 3.0)),
        (np.full(4, 1e308), (math.inf, 0.0, 0.0, 3.0)),
        (np.array([1e308, 1e308, -1e308, -1e308]), (1.0, 0.0, 1.0, math.nan)),
        (np.array([math.inf, -math.inf, 0, 0]), (math.nan, math.nan, 1.0, math.nan)),
        (np.array([1e308, 1e308, math.inf, -math.inf]), (math.nan, math.nan, 1.0, math.nan)),
    ],
    ids=str,
)
def test_whatever_weights_are_is_measured(weights: Any, values: tuple[float, ...]) -> None:
    found = [law([1.0, 2.0, 3.0, 4.0], softmax=always(weights)).value for law in LAWS.values()]
    np.testing.assert_array_equal(found, values)


@laws
def test_weights_are_as_many_real_numbers_as_logits(law: str) -> None:
    message = "softmax(x) must have the shape of x, (4,), got (7,)"
    with pytest.raises(ValueError, match=exactly(message)):
        LAWS[law](np.zeros(4), softmax=always(np.ones(7)))
    with pytest.raises(TypeError, match=r"^softmax\(x\) must be integers, float64, .* complex128$"):
        LAWS[law](np.zeros(4), softmax=always(np.ones(4, complex)))


def test_the_weights_of_the_demo_sentence_sum_to_more_than_1() -> None:
    measured = softmax_sum(np.zeros(4), softmax=always(np.array([0.6, 0.2, 0.8, 0.1])))
    assert measured.value == pytest.approx(0.7, rel=1e-15)  # article 004
    assert not measured.holds


def test_a_shift_without_rounding_changes_no_bit() -> None:
    x = np.random.default_rng(1).integers(-50, 50, (20, 30)).astype(np.float64)
    for shift in (-1000, -1, 8192.0):
        assert softmax_shift(x, shift=shift).value == 0


def test_the_largest_logits_of_float16_are_as_good_as_any() -> None:
    x = np.array([-65504, -1, 0, 65504], np.float16)
    for law in (softmax_sum, softmax_order, softmax_ratio):
        assert law(x).holds
    measured = softmax_shift(np.array([-60000, 0, 60000], np.float16), shift=-3.0)
    assert measured.holds
    assert math.isfinite(measured.bound)


def test_weights_on_their_way_to_0_are_not_compared() -> None:
    least = np.finfo(np.float32).tiny

    def flushed(x: NDArray[Any]) -> NDArray[Any]:
        return np.array([1, least if x[0] == 0 else 0], np.float32)

    assert softmax_shift(np.array([0, -87], np.float32), shift=1.0, softmax=flushed).value == 0


@pytest.mark.parametrize(
    ("x", "shift"),
    [
        (normal((100,), "float16"), 1e4),
        (np.array([15.6, -15.6], np.float32), 1e9),
        (np.array([0.0, 5.0]), 1e17),
        (np.array([0.0, 5.0]), -1e300),
    ],
)
def test_a_shift_that_leaves_no_digits_of_the_logits_is_rounding(
    x: NDArray[Any], shift: float
) -> None:
    measured = softmax_shift(x, shift=shift)
    assert measured.holds
    assert measured.value > 1


def test_the_bound_of_a_small_shift_is_its_units() -> None:
    units = 2 * 1004 + 4 * 3 + 16 + 2 * 4
    bound = softmax_shift([1.0, 2.0, 3.0, 4.0], shift=1000.0).bound
    assert bound == pytest.approx(units * 2.0**-53, rel=1e-12)


def test_a_shift_must_be_a_finite_number_and_leave_finite_logits() -> None:
    with pytest.raises(TypeError, match=exactly("shift must be a real number, got [1.0]")):
        softmax_shift([1.0], shift=[1.0])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^shift must be finite, got inf$"):
        softmax_shift([1.0], shift=math.inf)
    with pytest.raises(ValueError, match=exactly("x + shift must be finite, got inf")):
        softmax_shift(np.ones(3, np.float16), shift=1e6)
    with pytest.raises(ValueError, match=exactly("x + shift must be finite, got inf")):
        softmax_shift(np.full(3, 3e38, np.float32), shift=3e38)


# Temperature and scale


def test_entropy_is_shannon_s() -> None:
    weights = np.array([[0.5, 0.25, 0.25], [1, 0, 0], [0.9, 0.1, 0], [1 / 3, 1 / 3, 1 / 3]])
    mp = reference.mp
    exact = [-mp.fsum(mp.mpf(w) * mp.log(w) for w in row if w) for row in weights.tolist()]
    found = entropy(weights)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, [float(h) for h in exact], rtol=1e-15, atol=0)
    assert not np.signbit(found).any()
    assert entropy(weights.reshape(2, 2, 3).astype(np.float32)).shape == (2, 2)
    assert entropy([0.5, 0.5]).shape == ()
    assert entropy(np.asfortranarray(np.ones((3, 4, 1)))).flags.c_contiguous


def test_negative_weights_are_refused() -> None:
    with pytest.raises(ValueError, match=exactly("weights must not be negative, got -0.5")):
        entropy([1.5, -0.5])


@pytest.mark.parametrize(
    ("weights", "total"),
    [
        ([0.6, 0.2, 0.8, 0.1], "1.7"),
        ([[0.5, 0.5], [1, 2]], "3"),
        ([0.51, 0.5], "1.01"),
        ([1e308, 1e308], "inf"),
    ],
)
def test_weights_that_do_not_sum_to_1_have_no_entropy(weights: Any, total: str) -> None:
    message = f"weights must have rows that sum to 1, got a row that sums to {total}"
    with pytest.raises(ValueError, match=exactly(message)), np.errstate(all="raise"):
        entropy(weights)


def test_weights_may_be_rounded() -> None:
    expected = -(0.503 * math.log(0.503) + 0.5 * math.log(0.5))
    assert entropy([0.503, 0.5]) == pytest.approx(expected, rel=1e-15, abs=0)
    length = 332_881  # weights are 50.4 times the smallest float16, rounded to 50
    few_bits = temperature(np.zeros(length, np.float16), scales=[1])
    rounded = 50 * 2.0**-24
    expected = -length * rounded * math.log(rounded)
    assert few_bits.entropy == pytest.approx(expected, rel=1e-12, abs=0)
    with pytest.raises(ValueError, match=r"got a row that sums to 0\.992"):
        entropy(np.full(length, rounded))


@dtypes
def test_entropy_falls_as_the_scale_rises(dtype: str) -> None:
    x = normal((5, 40), dtype)
    scales = np.linspace(0, 30, 61)
    measured = temperature(x, scales=scales)
    assert measured.entropy.shape == measured.largest.shape == (61, 5)
    spread = float(np.ptp(x.astype(float), axis=-1).max()) * 30
    threshold = 8 * (spread + math.log(40) + 1) * UNIT[dtype]
    assert np.diff(measured.entropy, axis=0).max() <= threshold
    assert np.diff(measured.largest, axis=0).min() >= -threshold
    np.testing.assert_allclose(measured.entropy[0], math.log(40), rtol=4 * UNIT[dtype])
    assert (measured.entropy[-1] < 1.2).all()


def test_what_shares_and_equal_logits_do_at_any_scale() -> None:
    scales = np.array([0.5, 1, 8])
    found = temperature(np.full(4, 0.3), scales=scales)
    np.testing.assert_array_equal(found.largest, 0.25)
    by_shares = entropy(shares(np.multiply.outer(scales, [1.0, 2.0, 3.0])))
    np.testing.assert_allclose(by_shares, by_shares[0], rtol=1e-15)  # the control: nothing falls


def test_article_004_softmax_is_flatter_or_sharper_than_shares() -> None:
    x = np.array([0.1, 0.2, 0.3, 0.4])
    np.testing.assert_allclose(
        temperature(x, scales=[1, 10]).largest, [0.2887, 0.6439], rtol=0, atol=5e-5
    )
    deep = temperature(np.reshape(x, (1,) * 63 + (4,)), scales=[1, 10])
    np.testing.assert_array_equal(deep.largest.ravel(), temperature(x, scales=[1, 10]).largest)
    flat, sharp = temperature(x, scales=[1, 10]).entropy
    assert flat > entropy(shares(x)) > sharp


def test_scales_must_have_one_dimension() -> None:
    with pytest.raises(
        ValueError, match=exactly("scales must have one dimension, got shape (1, 2)")
    ):
        temperature([1.0, 2.0], scales=[[1.0, 2.0]])


def test_logits_and_scales_must_have_finite_products() -> None:
    message = "x * scales must be finite, got 1e+308 * 2.0"
    with pytest.raises(ValueError, match=exactly(message)):
        temperature([1e308, -1e308], scales=[1, -2])
    largest = float(np.finfo(np.float32).max)
    np.testing.assert_array_equal(
        temperature(np.array([largest, -largest], np.float32), scales=[2]).largest, 1
    )


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_scores_have_the_variance_of_their_width(seed: int) -> None:
    law = scale_law([1, 8, 64, 512], seed=seed)
    assert law.dims.tolist() == [1, 8, 64, 512]
    assert law.holds
    limit = math.log(256) - 0.5
    assert (np.abs(law.scaled_entropy[1:] - limit) < 0.25).all()
    assert (np.diff(law.unscaled_entropy) < 0).all()
    assert law.unscaled_entropy[-1] < 0.5


def test_the_standard_error_is_that_of_many_draws() -> None:
    generator = np.random.default_rng(1)
    draws = [scale_law([2, 40], length=16, seed=generator) for _ in range(400)]
    spread = np.std([law.variance for law in draws], axis=0)
    np.testing.assert_allclose(spread, draws[0].standard_error, rtol=0.15)
    mean = np.mean([law.variance for law in draws], axis=0)
    assert (np.abs(mean - [2, 40]) < 5 * draws[0].standard_error / math.sqrt(400)).all()


def test_features_that_are_equal_break_the_scale_law() -> None:
    class Equal(np.random.Generator):
        def standard_normal(self, size: Any = None, *_: Any, **__: Any) -> Any:
            return np.broadcast_to(super().standard_normal((*size[:-1], 1)), size)

    assert not scale_law([8, 64], seed=Equal(np.random.PCG64(1))).holds


def test_features_that_vary_a_little_more_break_the_scale_law() -> None:
    class Wider(np.random.Generator):
        def standard_normal(self, size: Any = None, *_: Any, **__: Any) -> Any:
            return 1.1 * super().standard_normal(size)

    assert not scale_law([8, 64], seed=Wider(np.random.PCG64(1))).holds


def test_measurements_repeat_by_their_seed() -> None:
    x = normal((20, 8), "float32")
    one, same, other = (permutation_equivariance(x, causal=True, seed=s) for s in (4, 4, 5))
    assert one == same != other
    first, second = scale_law([8], seed=4), scale_law([8], seed=np.random.default_rng(4))
    assert first.variance == second.variance != scale_law([8], seed=5).variance


def test_widths_may_be_an_array() -> None:
    found, expected = (scale_law(dims, seed=1) for dims in (np.array([4, 8]), [4, 8]))
    np.testing.assert_array_equal(found.dims, [4, 8])
    np.testing.assert_array_equal(found.variance, expected.variance)


# Refusals


TAKERS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "sum": (softmax_sum, "x"),
    "order": (softmax_order, "x"),
    "ratio": (softmax_ratio, "x"),
    "shift": (lambda x: softmax_shift(x, shift=1.0), "x"),
    "temperature": (lambda x: temperature(x, scales=[1.0]), "x"),
    "scales": (lambda x: temperature([1.0, 2.0], scales=x), "scales"),
    "entropy": (entropy, "weights"),
    "tokens": (identical_tokens, "x"),
    "shuffled tokens": (lambda x: permutation_equivariance(x, seed=1), "x"),
    "encoding": (lambda x: identical_tokens([[1.0], [1.0]], encoding=x), "encoding"),
}
takers = pytest.mark.parametrize("taker", TAKERS)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@takers
def test_data_must_be_finite(taker: str, bad: float) -> None:
    function, name = TAKERS[taker]
    with pytest.raises(ValueError, match=exactly(f"{name} must be finite, got {bad}")):
        function([[1.0, bad]])


@pytest.mark.parametrize("bad", [[True], ["1"], [1j], np.ones(2, ml_dtypes.bfloat16)], ids=str)
@takers
def test_data_must_be_numbers(taker: str, bad: Any) -> None:
    function, name = TAKERS[taker]
    message = f"^{name} must be integers, float64, float32 or float16, got dtype "
    if taker == "entropy":
        message = f"^{name} must be integers, float64, float32, float16 or bfloat16, got dtype "
        bad = ["1"] if isinstance(bad, np.ndarray) else bad
    with pytest.raises(TypeError, match=message):
        function(bad)


def test_bfloat16_is_measured_as_it_is() -> None:
    weights = np.array([[0.5, 0.25, 0.25], [1, 0, 0]], ml_dtypes.bfloat16)
    assert np.array_equal(entropy(weights), entropy(weights.astype(np.float64)))
    assert signal_to_noise(weights, weights[:1]) == signal_to_noise(
        weights.astype(np.float64), weights[:1].astype(np.float64)
    )


@takers
def test_data_must_be_there(taker: str) -> None:
    function, name = TAKERS[taker]
    with pytest.raises(ValueError, match=exactly(f"{name} must not be empty, got shape (2, 0)")):
        function(np.empty((2, 0)))
    with pytest.raises(ValueError, match=f"^{name} must have at least one dimension, got a number"):
        function(1.0)


@pytest.mark.parametrize("seeded", ["permutation_equivariance", "scale_law"])
def test_a_seed_is_an_integer_or_a_generator(seeded: str) -> None:
    def call(seed: Any) -> None:
        if seeded == "scale_law":
            scale_law([2], seed=seed)
        else:
            permutation_equivariance([[1.0]], seed=seed)

    with pytest.raises(ValueError, match=exactly("seed must not be negative, got -1")):
        call(-1)
    for bad in (None, 1.5, "1", np.random.RandomState(0)):
        message = f"seed must be an integer or a Generator of NumPy's, got {bad!r}"
        with pytest.raises(TypeError, match=exactly(message)):
            call(bad)


def test_widths_and_lengths_must_be_positive() -> None:
    with pytest.raises(ValueError, match=r"^dims must be an integer from 1 to 1048576, got 0$"):
        scale_law([8, 0], seed=1)
    with pytest.raises(TypeError, match=r"^dims must be a sequence of integers, got 8$"):
        scale_law(8, seed=1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^dims must be a sequence of integers, got array\(8\)$"):
        scale_law(np.array(8), seed=1)
    with pytest.raises(TypeError, match=r"^dims must be a sequence of integers, got <Frequencies"):
        scale_law(rw.frequencies.standard(8), seed=1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^dims must be an integer, got 2.0$"):
        scale_law([2.0], seed=1)  # type: ignore[list-item]
    with pytest.raises(ValueError, match=r"^length must be an integer from 1 to 65536, got 0$"):
        scale_law([8], length=0, seed=1)
    with pytest.raises(ValueError, match=r"^dims must not be empty$"):
        scale_law([], seed=1)
    with pytest.raises(ValueError, match=r"^dims must not be empty$"):
        scale_law(np.array([], int), seed=1)


def test_a_scale_law_may_be_of_two_tokens() -> None:
    assert len(scale_law([4], length=2, seed=0).dims) == 1


def test_neighbours_have_features() -> None:
    with pytest.raises(ValueError, match="not be empty"):
        neighbour_distances(np.ones((3, 0)))


def test_a_softmax_of_nothing_has_no_shift() -> None:
    assert softmax_shift([1.0, 2.0], shift=1.0, softmax=np.zeros_like).value == 0


@pytest.mark.parametrize(("variance", "holds"), [(9.0, True), (9.5, False)])
def test_a_scale_law_holds_within_five_standard_errors(variance: float, holds: bool) -> None:
    law = ScaleLaw(np.array([4]), np.array([variance]), *[np.ones(1)] * 3)
    assert law.holds is holds


HUGE = np.array([[1.7e308, -1.7e308, 1e-310], [3.0, 4.0, 5.0], [1.7e308, -1.7e308, 1e-310]])
OF_HUGE: dict[str, Callable[[], Measurement]] = {
    "identical tokens": lambda: identical_tokens(HUGE, encoding=HUGE),
    "permuted tokens": lambda: permutation_equivariance(HUGE, encoding=HUGE, seed=1),
    "lengths": lambda: length_independence(lambda n: HUGE[:n] * (-1) ** n, 1, 2),
    "relative score": lambda: relative_score(lambda at: HUGE[0, at], [0], shift=1, scale=1.0),
    "softmax, shifted": lambda: softmax_shift(HUGE, shift=1.0),
    "softmax, ratio": lambda: softmax_ratio(HUGE),
    "softmax, order": lambda: softmax_order(HUGE),
    "softmax, sum": lambda: softmax_sum(HUGE),
}


@pytest.mark.parametrize("name", OF_HUGE)
def test_numbers_of_all_sizes_are_measured_in_silence(name: str) -> None:
    with np.errstate(all="raise"):
        assert isinstance(OF_HUGE[name](), Measurement)
