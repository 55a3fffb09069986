"""Long-term decay: a bound that falls, a score that wanders, and a claim that is false."""

import math
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests import reference
from tests.refusals import exactly

import ropewalk as rw
from ropewalk._options import Pairing
from ropewalk.frequencies import axial, standard, yarn
from ropewalk.properties import abel_bound, scores_by_distance

PAIRS = 64


def normal(*shape: int, seed: int = 0) -> NDArray[np.float64]:
    return np.random.default_rng(seed).standard_normal(shape)


# The bound


@pytest.mark.parametrize("base", [10000.0, 500000.0])
def test_the_bound_is_that_of_the_paper(base: float) -> None:
    distances = [0, 1, 2.5, -7, 100, 8191, 10**9]
    frequencies = reference.standard_frequencies(128, base)
    expected = [float(reference.abel_bound(distance, frequencies)) for distance in distances]
    found = abel_bound(distances, 128, base=base)
    np.testing.assert_allclose(found, expected, rtol=0, atol=128 * PAIRS * 2.0**-53)
    assert found[0] == (PAIRS + 1) / 2


def test_octaves_fall_and_then_stay_and_single_steps_rise_as_often() -> None:
    bound = abel_bound(range(131072), 128)
    distances, partial, total = np.arange(131072), 0, 0
    for frequency in reference.standard_frequencies(128):
        partial = partial + np.exp(1j * distances * float(frequency))
        total = total + np.abs(partial)
    # Angles are off by 2^-52 of themselves, which the 64 sums of up to 64 take over.
    allowed = 128 * PAIRS * 2.0**-53 + PAIRS**2 / 2 * 131072 * 2.0**-52 / PAIRS
    np.testing.assert_allclose(bound, total / PAIRS, rtol=0, atol=allowed)
    means = [bound[2**k : 2 ** (k + 1)].mean() for k in range(17)]
    assert means[0] == pytest.approx(31.5, abs=0.05)  # of `total`, as is the next
    assert means[12] == pytest.approx(4.7, abs=0.05)
    assert (np.diff(means[:13]) < 0).all()
    np.testing.assert_allclose(means[12:], 4.7, atol=0.1)
    rises = np.count_nonzero(np.diff(total) > 0)  # no two are within 5e-7 of each other
    assert np.count_nonzero(np.diff(bound) > 0) == rises
    assert rises == 65870


@pytest.mark.parametrize("seed", range(5))
def test_no_score_is_above_the_bound(seed: int) -> None:
    query, key = normal(2, 16, seed=seed)
    products = (query[::2] + 1j * query[1::2]) * (key[::2] - 1j * key[1::2])
    step = np.abs(np.diff(products, append=0)).max()
    distances = range(2000)
    bound = 8 * abel_bound(distances, 16) * step
    scores = np.abs(scores_by_distance(query, key, distances))
    assert (scores <= bound * (1 + 1e-12)).all()
    assert (scores > bound / 20).any()  # not much room below the bound


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_scores_of_smaller_types_are_computed_in_float64(dtype: str) -> None:
    query, key = normal(2, 16, seed=3).astype(dtype)
    expected = scores_by_distance(query.astype(float), key.astype(float), range(50))
    np.testing.assert_array_equal(scores_by_distance(query, key, range(50)), expected)
    large = np.array([1e20, 0], np.float32)
    assert scores_by_distance(large, large, [0])[0] == float(large[0]) ** 2


def test_bounds_have_the_shape_of_the_distances() -> None:
    grid = np.arange(6).reshape(2, 3)
    np.testing.assert_array_equal(abel_bound(grid, 8).ravel(), abel_bound(range(6), 8))
    assert abel_bound(3, 8).shape == ()


# Equal queries and keys


@pytest.mark.parametrize(("base", "first"), [(1e4, 1707), (5e5, 18438)])
def test_the_score_of_ones_is_negative_from_here_on(base: float, first: int) -> None:
    ones = np.ones(128)
    cosines = scores_by_distance(ones, ones, range(20000), base=base) / 128
    assert np.flatnonzero(cosines < 0)[0] == first
    frequencies = reference.standard_frequencies(128, base)
    assert reference.position_kernel(first, frequencies) < 0
    assert reference.position_kernel(first - 1, frequencies) > 0
    np.testing.assert_allclose(
        cosines, rw.position_kernel(range(20000), 128, base=base) / PAIRS, rtol=0, atol=1e-14
    )


# Other queries and keys


@pytest.mark.parametrize("lag", [0, 1, 777, 5000])
def test_a_key_scores_best_at_the_distance_it_asks_for(lag: int) -> None:
    query = normal(128)
    scores = scores_by_distance(query, rw.rotate(query, lag), range(10001))
    assert scores.argmax() == lag
    assert scores[lag] == pytest.approx(query @ query, rel=1e-14)


def test_scores_of_normal_vectors_are_as_large_at_every_distance() -> None:
    count = 20000
    query, key = normal(2, count, 32)
    scores = scores_by_distance(query, key, [0, 1, 10, 100, 1000, 10000]) / math.sqrt(32)
    assert (np.abs(scores.mean(axis=0)) < 5 / math.sqrt(count)).all()
    # A score over sqrt(dim) has fourth moment 3 + 6 / dim, so its square has this deviation.
    error = math.sqrt((2 + 6 / 32) / count)
    assert (np.abs(np.square(scores).mean(axis=0) - 1) < 5 * error).all()


@pytest.mark.parametrize("pairing", ["interleaved", "half"])
@pytest.mark.parametrize("frequencies", [None, yarn(8, factor=4.0, trained_length=64)], ids=str)
def test_scores_are_those_of_rotated_vectors(pairing: Pairing, frequencies: Any) -> None:
    query, key = normal(2, 3, 2, 8)
    distances = [0, 1, -5, 0.5, 1000]
    exact, factor = reference.standard_frequencies(8), reference.mp.mpf(1)
    if frequencies is not None:
        exact = reference.yarn_frequencies(8, 4.0, 64)
        factor = reference.yarn_attention_factor(4.0) ** 2  # of the query and of the key
    found = scores_by_distance(query, key, distances, frequencies=frequencies, pairing=pairing)
    assert found.shape == (3, 2, 5)
    for row in np.ndindex(3, 2):
        for i, distance in enumerate(distances):
            angles = reference.rotary_angles(distance, exact)
            turned = reference.rotated(query[row].tolist(), angles, pairing)
            score = factor * reference.inner_product(turned, key[row].tolist())
            size = factor * np.linalg.norm(query[row]) * np.linalg.norm(key[row])
            assert abs(score - float(found[(*row, i)])) <= (8 + 8) * 2.0**-53 * size


ONE, OTHER = normal(2, 2048)
MEASURES: dict[str, Callable[[Any], Any]] = {
    "position_kernel": lambda offsets: rw.position_kernel(offsets, 2048),
    "scores_by_distance": lambda offsets: scores_by_distance(ONE, OTHER, offsets),
    "abel_bound": lambda offsets: abel_bound(offsets, 2048),
}


@pytest.mark.thread_unsafe(reason="counts the memory of the process")
@pytest.mark.parametrize("name", MEASURES)
def test_tables_of_many_offsets_are_never_whole(name: str) -> None:
    offsets = range(5000)  # cosines of 40 MB, and as many sines
    tracemalloc.start()
    found = MEASURES[name](offsets)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 48 * 2**20
    some = offsets[1000:1100], offsets[-50:]
    for part in some:
        np.testing.assert_allclose(
            found[part.start : part.stop], MEASURES[name](part), rtol=1e-12, atol=1e-9
        )


# Refusals


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^frequencies must have one axis, got 2$"):
        abel_bound([1], frequencies=axial(8))
    with pytest.raises(ValueError, match=r"^frequencies must have one axis, got 2$"):
        scores_by_distance(np.ones(8), np.ones(8), [1], frequencies=axial(8))
    pairs = "frequencies must have 4 pairs, half the features of query, got 3"
    with pytest.raises(ValueError, match=exactly(pairs)):
        scores_by_distance(np.ones(8), np.ones(8), [1], frequencies=standard(6))
    with pytest.raises(ValueError, match=r"^query must have an even number of features .*, got 3$"):
        scores_by_distance(np.ones(3), np.ones(3), [1])
    shapes = "query and key must have one shape, got (4,) and (8,)"
    with pytest.raises(ValueError, match=exactly(shapes)):
        scores_by_distance(np.ones(4), np.ones(8), [1])
    with pytest.raises(ValueError, match=r"^distances must have one dimension, got shape \(\)$"):
        scores_by_distance(np.ones(4), np.ones(4), 1)
    with pytest.raises(ValueError, match=r"^distances must be finite .*, got nan$"):
        abel_bound([math.nan], 8)
    with pytest.raises(TypeError, match=r"^key must be integers, .* got dtype complex128$"):
        scores_by_distance(np.ones(4), np.ones(4, complex), [1])
    with pytest.raises(ValueError, match=r"^query and key must have finite scores, got (nan|inf)$"):
        scores_by_distance(np.full(4, 1e200), np.full(4, 1e200), [1])
    with pytest.raises(ValueError, match=r"^query must be finite, got inf$"):
        scores_by_distance([math.inf, 0.0], [1.0, 1.0], [1])
