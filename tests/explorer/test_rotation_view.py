"""The view of rotation: scores and hands are the reference's, and float32 angles those of float32.

Scores depend on the distance alone only where angles are exact.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests import reference
from tests.explorer.conftest import Shown, numbers
from traitlets import TraitError

import ropewalk as rw
from ropewalk.explorer._view import View

Show = Callable[[View], Shown]
DIGITS = 5.1e-5  # the page shows five digits of a float32
FAR = 100_000_000


@pytest.fixture
def vectors(rng: np.random.Generator) -> NDArray[np.float64]:
    """Query and key."""
    return rng.standard_normal((2, 8))


def expected_score(vectors: NDArray[np.float64], distance: int, pairing: str) -> float:
    """The cosine of the query, turned by the distance, and the key."""
    query, key = vectors.tolist()
    angles = reference.rotary_angles(distance, reference.standard_frequencies(8))
    turned = reference.rotated(query, angles, pairing)
    lengths = math.hypot(*query) * math.hypot(*key)
    return float(sum(a * b for a, b in zip(turned, key, strict=True)) / lengths)


def walk(shown: Shown, distance: int) -> None:
    shown.set("distance", distance)


def curve(shown: Shown, index: int) -> NDArray[np.float64]:
    d = shown.page.locator(".curve").nth(index).get_attribute("d") or ""
    return np.array([point.split() for point in d[1:].split("L")], dtype=np.float64)[:, 1]


@pytest.mark.parametrize("pairing", ["interleaved", "half"])
@pytest.mark.parametrize("start", [0, FAR])
def test_the_score_depends_on_the_distance_alone(
    show: Show, vectors: NDArray[np.float64], start: int, pairing: Any
) -> None:
    shown = show(rw.explorer.rotation(*vectors, count=20, start=start, pairing=pairing))
    for distance in (0, 7, 19):
        walk(shown, distance)
        said = numbers(shown.readout.partition("with")[0])
        assert said[0] == distance
        assert said[1] == pytest.approx(expected_score(vectors, distance, pairing), rel=DIGITS)


def float32_score(vectors: NDArray[np.float64], start: int, distance: int) -> float:
    """The score with positions, frequencies and their products rounded to float32."""
    frequencies = np.float32(10000.0) ** -(np.arange(0, 8, 2, dtype=np.float32) / np.float32(8))
    turned = []
    for vector, position in zip(vectors.tolist(), (start + distance, start), strict=True):
        angles = np.float32(position) * frequencies
        assert angles.dtype == np.float32
        turned.append(reference.rotated(vector, angles.tolist()))
    lengths = math.prod(math.hypot(*vector) for vector in vectors.tolist())
    return float(sum(a * b for a, b in zip(*turned, strict=True)) / lengths)


def test_far_away_float32_angles_give_another_score(
    show: Show, vectors: NDArray[np.float64]
) -> None:
    shown = show(rw.explorer.rotation(*vectors, count=20, start=FAR))
    walk(shown, 7)
    wrong = shown.number
    exact = expected_score(vectors, 7, "interleaved")
    assert abs(wrong - exact) > 1e-3
    assert wrong == pytest.approx(float32_score(vectors, FAR, 7), rel=DIGITS)


def test_the_first_position_is_a_control(show: Show, vectors: NDArray[np.float64]) -> None:
    view = rw.explorer.rotation(*vectors, count=20)
    shown = show(view)
    near = curve(shown, 0), curve(shown, 1)
    np.testing.assert_allclose(*near, atol=1e-3)
    shown.set("first position", FAR)
    assert view.start == FAR
    far = curve(shown, 0), curve(shown, 1)
    assert np.abs(far[0] - far[1]).max() > 1
    assert "at position 100000000" in (shown.page.locator(".figures").text_content() or "")


def test_the_position_is_that_of_the_hands_while_python_is_busy(
    show: Show, vectors: NDArray[np.float64]
) -> None:
    shown = show(rw.explorer.rotation(*vectors, count=20))
    shown.python_is_busy()
    shown.control("first position").fill(str(FAR))
    shown.control("distance").fill("3")
    assert "at position 3" in (shown.page.locator(".figures").text_content() or "")


def test_the_field_of_the_first_position_shows_all_its_digits(show: Show) -> None:
    shown = show(rw.explorer.rotation(ONES, ONES, start=-(2**52)))
    field = shown.control("first position")
    assert field.evaluate("input => input.scrollWidth <= input.clientWidth")


def test_pairs_turn_with_the_position(show: Show, vectors: NDArray[np.float64]) -> None:
    shown = show(rw.explorer.rotation(*vectors, count=20))
    walk(shown, 5)
    paths = shown.page.locator(".hand:not([stroke-dasharray])").evaluate_all(
        "all => all.map(x => x.getAttribute('d').split('l')[1])"
    )
    hands = np.array([path.split() for path in paths], dtype=np.float64) * [1, -1]
    query = vectors[0].tolist()
    angles = reference.rotary_angles(5, reference.standard_frequencies(8))
    turned = np.array(reference.rotated(query, angles), dtype=np.float64).reshape(4, 2)
    expected = 16 * turned / np.hypot(*turned.T).max()
    np.testing.assert_allclose(hands, expected, atol=1e-4)


def test_play_walks_on_and_stops(show: Show, vectors: NDArray[np.float64]) -> None:
    shown = show(rw.explorer.rotation(*vectors, count=20))
    play = shown.page.get_by_role("button", name="play")
    outputs = shown.page.locator("output, .readout")
    spoken = "all => all.filter((each) => each.getAttribute('aria-live') !== 'off').length"
    assert outputs.evaluate_all(spoken) == 1
    play.click()
    assert outputs.evaluate_all(spoken) == 0
    shown.page.wait_for_function(
        "Number(document.querySelector('input[type=range]').value) >= 3", polling=20
    )
    play.click()
    stopped = shown.readout
    shown.page.wait_for_timeout(250)
    assert shown.readout == stopped
    assert play.get_attribute("aria-pressed") == "false"
    assert outputs.evaluate_all(spoken) == 1


def test_of_very_many_scores_the_extremes_are_drawn_once(show: Show) -> None:
    view = rw.explorer.rotation([1.0, 0.0], [1.0, 0.0], count=2**17)
    shown = show(view)
    drawn = curve(shown, 0)
    assert len(drawn) == 4096
    scores = np.frombuffer(view.picture["scores"]["values"], "<f4").reshape(2048, 64)
    ends = np.sort(drawn.reshape(2048, 2))[:, ::-1]  # 1 at the top, 30, and -1 at 180
    expected = 105 - 75 * np.transpose([scores.min(axis=1), scores.max(axis=1)])
    np.testing.assert_allclose(ends, expected, atol=1e-3)
    path = shown.page.locator(".curve").first.element_handle()
    walk(shown, 1000)
    assert path.evaluate("path => path.isConnected")


def test_frequencies_of_any_schedule_are_taken(vectors: NDArray[np.float64]) -> None:
    chosen = rw.frequencies.linear(8, factor=4.0)
    view = rw.explorer.rotation(*vectors, count=9, frequencies=chosen)
    packed = view.picture["scores"]
    scores = np.frombuffer(packed["values"], "<f4")
    assert scores[8] == pytest.approx(expected_score(vectors, 2, "interleaved"), rel=1e-6)


ONES = np.ones(4)


@pytest.mark.parametrize(
    ("query", "options", "error", "message"),
    [
        (np.zeros(4), {}, ValueError, "^query must be finite and not zero, got zeros$"),
        ([np.nan] * 4, {}, ValueError, "^query must be finite and not zero, got nan$"),
        (np.ones((2, 4)), {}, ValueError, r"^query must have shape \(dim,\), got \(2, 4\)$"),
        (np.ones(3), {}, ValueError, "^query must have an even number of features .*, got 3$"),
        (
            ONES,
            {"frequencies": rw.frequencies.standard(6)},
            ValueError,
            "^frequencies must have 2 pairs, half the features of query, got 3$",
        ),
        (np.ones(6), {}, ValueError, "query and key must have the same length, got 6 and 4"),
        ("abc", {}, TypeError, "query must be integers, float64"),
        (ONES, {"count": 1}, ValueError, "count must be an integer from 2 to 1048576, got 1"),
        (
            ONES,
            {"start": 2**53},
            ValueError,
            f"start must be an integer from {-(2**52)} to {2**52}, got {2**53}",
        ),
        (ONES, {"start": 0.5}, TypeError, "start must be an integer, got 0.5"),
        (ONES, {"pairing": "both"}, ValueError, "pairing must be one of"),
        (ONES, {"base": -1.0}, ValueError, "base must be positive"),
        (ONES, {"frequencies": rw.frequencies.axial(4)}, ValueError, "must have one axis, got 2"),
    ],
)
def test_bad_input_is_refused(
    query: Any, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        rw.explorer.rotation(query, ONES, **options)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_what_is_shown_depends_on_no_length(vectors: NDArray[np.float64], size: float) -> None:
    query, key = vectors
    pictures = [rw.explorer.rotation(query * by, key * by, count=9).picture for by in (size, 1.0)]
    for name in ("exact", "rounded", "scores", "rounded_scores"):
        found, wanted = (np.frombuffer(picture[name]["values"], "<f4") for picture in pictures)
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)


def test_the_first_position_is_refused_beyond_what_is_exact() -> None:
    view = rw.explorer.rotation(ONES, ONES)
    for start in (2**53, True):
        with pytest.raises(TraitError, match="start must be an integer"):
            view.start = start
