"""The Transformer as a diagram, with its positional encodings brought out."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch

from ropewalk._options import Lang
from ropewalk.plot import _canvas
from ropewalk.plot._canvas import COLOURS

Point = tuple[float, float]

ENCODER, DECODER = 3.6, 8.4  # centres of the two stacks
HALF_WIDTH = 1.25  # of a box
HALF_HEIGHT = 0.42
BYPASS = 1.6  # from the centre of a stack to the line around a sublayer
ENTRY = 3.65  # height at which a layer begins
# Heights of a sublayer, and of the sum and normalisation above it.
ENCODER_LAYER = {"self-attention": 4.6, "feed-forward": 7.1}
DECODER_LAYER = {"masked\nself-attention": 4.6, "cross-attention": 7.1, "feed-forward": 9.6}
TO_NORM = 1.1


def transformer(*, ax: Axes | None = None, lang: Lang = "en") -> Axes:
    """Diagram of the Transformer, encoder and decoder, and of where positions come in.

    The only two boxes that know of positions, the positional encodings, are framed thickly.

    Parameters
    ----------
    ax : Axes, optional
        Where to draw; a new figure unless given.
    lang : {"en", "ja"}, default "en"
        Language of the labels.

    Returns
    -------
    Axes
        A box a step, from the tokens at the bottom to the probabilities at the top.

    Raises
    ------
    ValueError
        If `lang` is neither of the two.

    See Also
    --------
    ropewalk.sinusoidal_encoding : The positional encoding.
    ropewalk.attention : Attention.

    References
    ----------
    Vaswani et al., Attention Is All You Need, 2017, arXiv:1706.03762, figure 1.

    Examples
    --------
    >>> import ropewalk as rw
    >>> from matplotlib.figure import Figure
    >>> ax = rw.plot.transformer(ax=Figure().add_subplot())
    >>> sum(text.get_text().startswith("positional") for text in ax.texts)
    2
    """
    ax = _canvas.axes(ax, 7.6, lang)
    encoder, decoder = (_canvas.words(name, lang) for name in ("encoder", "decoder"))
    bold = _canvas.bold(encoder)
    _stack(ax, ENCODER, -1, "source tokens", ENCODER_LAYER, lang)
    _stack(ax, DECODER, 1, "target tokens, shifted right", DECODER_LAYER, lang)
    top = ENCODER_LAYER["feed-forward"] + TO_NORM + HALF_HEIGHT
    across = DECODER_LAYER["cross-attention"]
    between = (ENCODER + DECODER) / 2 - 0.35
    entry = DECODER - HALF_WIDTH
    _line(ax, (ENCODER, top), (ENCODER, top + 0.8), (between, top + 0.8), (between, across))
    _arrow(ax, (between, across), (entry, across))
    ax.text(between - 0.1, top + 0.95, "", ha="right", size=8).set(
        **_canvas.words("keys, values", lang)
    )
    ax.text(DECODER - 0.12, across - 0.64, "", ha="right", va="center", size=8).set(
        **_canvas.words("queries", lang)
    )
    end = DECODER_LAYER["feed-forward"] + TO_NORM
    linear, softmax, out = end + 1.7, end + 2.8, end + 3.7
    _box(ax, (DECODER, linear), "linear", lang)
    _box(ax, (DECODER, softmax), "softmax", lang)
    _arrow(ax, (DECODER, end + HALF_HEIGHT), (DECODER, linear - HALF_HEIGHT))
    _arrow(ax, (DECODER, linear + HALF_HEIGHT), (DECODER, softmax - HALF_HEIGHT))
    _arrow(ax, (DECODER, softmax + HALF_HEIGHT), (DECODER, out - 0.2))
    _write(ax, (DECODER, out), "probabilities of the next token", lang)
    ax.text(ENCODER, top + 1.6, "", ha="center", weight=bold).set(**encoder)
    ax.text(DECODER - 2.2, end + 1.2, "", ha="right", weight=bold).set(**decoder)
    ax.set(xlim=(-0.1, 12.1), ylim=(-0.1, out + 0.3))
    ax.set_axis_off()
    return ax


def _stack(ax: Axes, x: float, side: int, tokens: str, layer: dict[str, float], lang: Lang) -> None:
    """Draw what leads from tokens through the layers; positions come in from the outer side."""
    _write(ax, (x, 0.2), tokens, lang)
    _box(ax, (x, 1.3), "embedding", lang)
    _arrow(ax, (x, 0.5), (x, 1.3 - HALF_HEIGHT))
    radius = 0.22
    meeting = 2.4
    ax.add_patch(Circle((x, meeting), radius, fill=False, edgecolor=_ink(ax)))
    _line(ax, (x - radius, meeting), (x + radius, meeting))
    _line(ax, (x, meeting - radius), (x, meeting + radius))
    _arrow(ax, (x, 1.3 + HALF_HEIGHT), (x, meeting - radius))
    source = x + side * 2.35
    _box(ax, (source, meeting), "positional\nencoding", lang, brought_out=True)
    _arrow(ax, (source - side * HALF_WIDTH, meeting), (x + side * radius, meeting))

    top = max(layer.values()) + TO_NORM + HALF_HEIGHT + 0.25
    frame = FancyBboxPatch(
        (x - 1.85, ENTRY - 0.3),
        3.7,
        top - ENTRY + 0.3,
        boxstyle="round,pad=0,rounding_size=0.3",
        fill=False,
        edgecolor="0.55",
        linestyle="--",
    )
    ax.add_patch(frame)
    ax.text(x + side * 1.98, (ENTRY + top) / 2, "", ha="right" if side < 0 else "left").set(
        **_canvas.words("N times", lang)
    )
    below = meeting + radius
    for word, height in layer.items():
        norm = height + TO_NORM
        around = x + side * BYPASS
        parting = height - HALF_HEIGHT - 0.4
        _box(ax, (x, height), word, lang)
        _box(ax, (x, norm), "add and normalise", lang, size=8)
        _arrow(ax, (x, below), (x, height - HALF_HEIGHT))
        _arrow(ax, (x, height + HALF_HEIGHT), (x, norm - HALF_HEIGHT))
        _line(ax, (x, parting), (around, parting), (around, norm))
        _arrow(ax, (around, norm), (x + side * HALF_WIDTH, norm))
        below = norm + HALF_HEIGHT


def _box(
    ax: Axes,
    centre: Point,
    word: str,
    lang: Lang,
    *,
    size: float = 8.5,
    brought_out: bool = False,
) -> None:
    edge = COLOURS[1] if brought_out else "0.55"
    for fill, alpha in ((True, 0.25 if brought_out else 0.12), (False, 1.0)):
        box = FancyBboxPatch(
            (centre[0] - HALF_WIDTH, centre[1] - HALF_HEIGHT),
            2 * HALF_WIDTH,
            2 * HALF_HEIGHT,
            boxstyle="round,pad=0,rounding_size=0.12",
            fill=fill,
            alpha=alpha,
            facecolor=edge,
            edgecolor="none" if fill else edge,
            linewidth=3 if brought_out else 1,
        )
        ax.add_patch(box)
    said = _canvas.words(word, lang)
    weight = _canvas.bold(said) if brought_out else "normal"
    ax.text(*centre, "", **_canvas.CENTRED, size=size, weight=weight, linespacing=1.1).set(**said)


def _write(ax: Axes, centre: Point, word: str, lang: Lang) -> None:
    ax.text(*centre, "", **_canvas.CENTRED, size=9).set(**_canvas.words(word, lang))


def _line(ax: Axes, *points: Point) -> None:
    ax.plot(*zip(*points, strict=True), color=_ink(ax), linewidth=0.9)


def _arrow(ax: Axes, start: Point, end: Point) -> None:
    arrow = FancyArrowPatch(
        start, end, arrowstyle="-|>", mutation_scale=8, shrinkA=0, shrinkB=0, color=_ink(ax)
    )
    arrow.set_linewidth(0.9)
    ax.add_patch(arrow)


def _ink(ax: Axes) -> str:
    """Return the colour in which the style has the Axes write."""
    return str(ax.xaxis.label.get_color())
