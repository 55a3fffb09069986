"""The rotation of a published model, from its config.json.

The same few numbers are spelled in many ways, so tables hold the spellings and one path reads them.
What no configuration says, how a family pairs its channels and what it takes for a key that is left
out, is in rotary_families.json, which tests/golden/rotary_families.py measures.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from os import PathLike
from typing import Any

import numpy as np

from ropewalk import _options, frequencies
from ropewalk._config_layers import (
    BASE,
    LISTS,
    ROPE,
    agreed,
    layer_types,
    refuse_other,
    rope_of_layer,
    said_by,
    single_layers,
)
from ropewalk._options import Integer
from ropewalk.frequencies import Frequencies
from ropewalk.frequencies._frequencies import LARGEST_ATTENTION_FACTOR, SMALLEST_ATTENTION_FACTOR

_TRAINED = "original_max_position_embeddings"
_LONGEST = "max_position_embeddings"

# LongRoPE's attention factors of Phi-3.5-MoE, up to the trained length and beyond it.
_MSCALES = ("short_mscale", "long_mscale")


def _ntk_alpha(dim: int, /, *, base: float, alpha: float) -> Frequencies:
    """Hunyuan's name for NTK-aware scaling, and for its factor."""
    return frequencies.ntk(dim, base=base, factor=_options.positive_number("alpha", alpha))


# Keys that a schedule must have and those that it may have.
_Schedule = tuple[Callable[..., Frequencies], tuple[str, ...], tuple[str, ...]]
_SCHEDULES: dict[str, _Schedule] = {
    "default": (frequencies.standard, (), ()),
    "linear": (frequencies.linear, ("factor",), ()),
    "dynamic": (frequencies.dynamic_ntk, ("factor", _TRAINED), ()),
    "yarn": (
        frequencies.yarn,
        ("factor", _TRAINED),
        ("attention_factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim", "truncate"),
    ),
    "longrope": (
        frequencies.longrope,
        ("short_factor", "long_factor", _TRAINED),
        ("attention_factor", "factor", *_MSCALES),
    ),
    "llama3": (
        frequencies.llama3,
        ("factor", "low_freq_factor", "high_freq_factor", _TRAINED),
        (),
    ),
    "proportional": (frequencies.proportional, (), ("factor",)),
}
# What Hunyuan calls dynamic.
_ALPHA = "dynamic by alpha"
# Keys that stand in published configurations and change nothing.
_WITHOUT_EFFECT = {
    _ALPHA: ("factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim"),
    "yarn": ("finetuned",),
}
_SYNONYMS = {"su": "longrope", "mrope": "default"}
_ARGUMENTS = {
    "rope_theta": "base",
    _TRAINED: "trained_length",
    "short_factor": "short_factors",
    "long_factor": "long_factors",
    "low_freq_factor": "low_frequency_factor",
    "high_freq_factor": "high_frequency_factor",
}

_KEY_OF = {"dim": "rotary_dim", "sections": "mrope_section", "max_length": _LONGEST} | {
    argument: key for key, argument in _ARGUMENTS.items()
}

_FRACTION = (
    "partial_rotary_factor",
    "rotary_pct",
    "rope_pct",
    "rope_percent",
    "rotary_emb_fraction",
)
# Where some models of several parts keep what others have in text_config.
_PARTS = (
    "decoder",
    "decoder_config",
    "language_config",
    "llm_config",
    "thinker_config",
    "vlm_config",
)
_SPLIT_OFF = "qk_rope_head_dim"
_HIDDEN = ("hidden_size", "n_embd")
_HEADS = ("num_attention_heads", "n_head", "decoder_num_attention_heads")
_HEAD_OF_LAYER = {"full_attention": "global_head_dim", "sliding_attention": "swa_head_dim"}
# The last two say how queries are scaled and how long a context may get: no part of the rotation.
_OF_ANY_KIND = {
    *("rope_type", "type", *BASE, *_FRACTION),
    *("mrope_section", "mrope_interleaved", "interleaved"),
    *("llama_4_scaling_beta", _LONGEST),
}
# Keys about the rotation, and those that may be about it in a family whose code nobody has read.
_ABOUT_ROTATION = re.compile("m?rope|rotary|use_rope|use_dynamic_ntk")
_MAYBE_ABOUT_ROTATION = re.compile("(^|_)(m?rope|rotary|xpos)")
# Those of them that are read, here or among the layers, or are no part of the rotation of queries
# and keys: RoFormer turns its values as well, some layers do not rotate, and what chooses keys for
# sparse attention has heads of its own.
_READ = {*ROPE, *BASE, *_FRACTION, *LISTS, "rotary_dim", "rope_interleave", _SPLIT_OFF}
_READ |= {"rope_scaling_layers", "rotary_value", "no_rope_layers", "no_rope_layer_interval"}
_READ |= {"indexer_rope_interleave"}
# All others must not say anything: be null, false or an empty list, but for these, which say yes.
_ROTATES = ("rotary", "use_rope", "use_rotary", "use_rotary_embeddings", "use_rotary_pos_emb")


def rotary_from_config(
    config: Mapping[str, Any], /, *, layer_type: str | None = None, length: Integer | None = None
) -> dict[str, Any]:
    """Rotation of the heads of a published model, from its config.json.

    ``rw.rotate(q, positions, **rw.rotary_from_config(config))`` is what the model does to its
    queries and, in the same way, to its keys. What is not understood is refused.

    Parameters
    ----------
    config : mapping
        What ``json.load`` makes of config.json, in its old or its new spelling: `rope_scaling` with
        `rope_theta`, or `rope_parameters`; for several modalities what `text_config` says, and
        where the part about text is elsewhere, that part. The pairing is that of `model_type`;
        `rope_interleave`, true or false, says it where the family reads that, or is not known.
    layer_type : str, optional
        Which of the layers is meant ("full_attention", "sliding_attention" ...; "scaled" or
        "unscaled" where there is a list `rope_scaling_layers`), where the model has several
        rotations. It may be left out where it has one.
    length : int, optional
        Tokens that are attended to at once, at least 1: LongRoPE and dynamic NTK depend on it, all
        others do not. Without it the context is no longer than the one trained on.

    Returns
    -------
    dict
        "frequencies" : `Frequencies`, with the attention factor and, for multimodal RoPE, three
        axes; "pairing" : "interleaved" or "half"; "rotary_dim" : int, how many of the first
        channels of a head are rotated.

    Raises
    ------
    ValueError
        If the family is not known or is known not to rotate in this way, a key is missing, not
        understood or at odds with another one, a list has the wrong length, a frequency is out of
        range, or `layer_type` is needed or not there; the message names the key.
    TypeError
        If `config` or what it holds is of the wrong kind.

    See Also
    --------
    frequencies : The schedules, if no configuration is at hand.

    Notes
    -----
    Queries and keys are those of the published weights. Multi-head latent attention (DeepSeek)
    rotates a part of its own, `qk_rope_head_dim` channels wide, and `rotary_dim` is that whole
    width: pass that part, ``q[..., -64:]``. Some families (DeepSeek-V3 among them) hand back the
    rotated channels in another order, the first of all pairs and then the second: the same for
    queries and keys, so no score is changed.

    Llama 4, SmolLM 3 and others leave the rotation out of some layers (`no_rope_layers`); the
    result is that of the others. Llama 4 and Ministral 3 scale queries by their position as well,
    and DeepSeek its softmax: neither is part of the rotation.

    Where one family's code departs from what its configuration says, the configuration is followed:
    dynamic NTK grows from `original_max_position_embeddings`, where it is given. Where it is not,
    that is `max_position_embeddings` for all schedules, as in transformers. Of the two forms
    of a key, one inside `rope_scaling` and one outside, either may be there, or both if they agree;
    a base inside of a layer type comes before one outside. The parameters of a layer type are taken
    as they are given, but for a base that is missing; only where none are, the usual ones of the
    family are.

    References
    ----------
    Wolf et al., Transformers: State-of-the-Art Natural Language Processing, 2020,
    arXiv:1910.03771: the library that config.json belongs to. The schedules name their papers.

    Examples
    --------
    >>> import ropewalk as rw
    >>> config = {
    ...     "model_type": "gpt_neox",
    ...     "hidden_size": 64,
    ...     "num_attention_heads": 2,
    ...     "rotary_emb_base": 10000,
    ...     "rotary_pct": 0.25,
    ... }
    >>> rotary = rw.rotary_from_config(config)
    >>> rotary["pairing"], rotary["rotary_dim"]
    ('half', 8)
    >>> rotary["frequencies"].radians
    array([1.   , 0.1  , 0.01 , 0.001])
    """
    text, family = _text_and_family(config)
    if layer_type is not None:
        refuse_other("layer_type", layer_type, str)
    if length is not None:
        length = _options.context_length("length", length)
    layer_type, rope = rope_of_layer(text, family, layer_type)
    kind = _kind(rope, family)
    head = _head_dim(text, family, layer_type)
    fraction, rotary_dim = _rotated_part(text, family, rope, head)
    if kind != "proportional" and (rotary_dim % 2 or rotary_dim < 2):
        msg = (
            "rotary_dim, or else head_dim times partial_rotary_factor, must be an even integer, "
            f"2 or more, got {rotary_dim}"
        )
        raise ValueError(msg)
    arguments = _arguments(text, rope, kind)
    if kind == "proportional":
        arguments["fraction"], rotary_dim = fraction, head
    elif kind == "dynamic":
        arguments["length"] = arguments["trained_length"] if length is None else length
    elif kind == "longrope":
        arguments |= _mscale(arguments, length)
        arguments |= {"length": length, "max_length": text.get(_LONGEST)}
    try:
        turns = _on_axes(_schedule(kind)[0](rotary_dim, **arguments), family, rope)
    except (TypeError, ValueError) as error:  # they name arguments: name their keys instead
        expected, got, found = str(error).partition(", got ")
        keys = _KEY_OF | {"base": said_by(BASE, text)}
        keys["trained_length"] = said_by((_TRAINED, _LONGEST), rope, text)
        expected = re.sub(r"\w+", lambda word: keys.get(word[0], word[0]), expected)
        raise type(error)(expected + got + found) from None
    return {"frequencies": turns, "pairing": family["pairing"], "rotary_dim": rotary_dim}


@lru_cache(maxsize=1)
def _families() -> Any:
    import json  # noqa: PLC0415 - these two cost more than the rest of the library to load
    from pathlib import Path  # noqa: PLC0415

    return json.loads(Path(__file__).with_name("rotary_families.json").read_text("utf-8"))


def _text_and_family(config: Any) -> tuple[Mapping[str, Any], dict[str, Any]]:
    """Return the part of a configuration that is about text, and what its family is known for."""
    if not isinstance(config, Mapping):
        msg = f"config must be a mapping, got {type(config).__name__}"
        if hasattr(config, "to_dict"):  # of transformers
            msg += "; config.to_dict() is one"
        elif isinstance(config, (str, bytes, PathLike)):
            msg += "; json.load makes one of a file, json.loads of its text"
        raise TypeError(msg)
    text = config.get("text_config")
    if text is not None:
        refuse_other("text_config", text, Mapping)
    families = _families()
    known = _name_of(config.get("model_type")) in families["families"]
    for key in _PARTS if not text else ():
        part = config.get(key)
        if isinstance(part, Mapping) and (
            known or _name_of(part.get("model_type")) in families["families"]
        ):
            msg = f"config must be the part about text, config[{key!r}], got all parts"
            raise ValueError(msg)
    text = text or config
    model_type = text.get("model_type")
    if model_type is None:
        model_type = config.get("model_type")
    if "model_type" not in text and "model_type" not in config:
        msg = "config must have model_type, which says how channels are paired; it has none"
        raise ValueError(msg)
    refuse_other("model_type", model_type, str)
    model_type = _name_of(model_type)
    if model_type in families["refused"]:
        msg = f"model_type {model_type!r} is refused: {families['refused'][model_type]}"
        raise ValueError(msg)
    measured = families["families"].get(model_type, {})
    family = {"name": model_type, "known": bool(measured), **measured}
    for key, needed in family.get("needs", {}).items():
        if not np.array_equal(False if text.get(key) is None else text[key], needed):
            found = _options.shown(text.get(key))
            msg = f"{key} must be {needed!r} for {model_type!r} to rotate, got {found}"
            raise ValueError(msg)
    interleaved = text.get("rope_interleave")
    if interleaved is not None:
        refuse_other("rope_interleave", interleaved, bool)
        pairing = "interleaved" if interleaved else "half"
        if measured and pairing != measured["pairing"] and "reads_rope_interleave" not in measured:
            msg = (
                f"rope_interleave must be {not interleaved} for {model_type!r}, "
                f"whose code does not read it, got {interleaved}"
            )
            raise ValueError(msg)
        family["pairing"] = pairing
    if "pairing" not in family:
        msg = (
            f"model_type {model_type!r} is not known, so neither is its pairing, if it "
            "rotates at all; a key rope_interleave, true or false, can say it"
        )
        raise ValueError(msg)
    _refuse_unread(text, family)
    return text, family


def _refuse_unread(text: Mapping[str, Any], family: dict[str, Any]) -> None:
    """Refuse keys about the rotation that nothing reads, where they say something."""
    about = _ABOUT_ROTATION.match if family["known"] else _MAYBE_ABOUT_ROTATION.search
    read = {*_READ, *family.get("base_keys", {}).values()}
    for key, value in text.items():
        if key not in read and about(str(key)):
            empty = value is None or (isinstance(value, list) and not value)
            if not empty and value is not (key in _ROTATES):
                msg = f"{key} is not understood, got {_options.shown(value)}"
                raise ValueError(msg)


def _name_of(model_type: Any) -> Any:
    """Return the name of the text's own family, where a model of several parts has another."""
    known = isinstance(model_type, str)
    return _families()["inside"].get(model_type, model_type) if known else None


def _schedule(kind: str) -> _Schedule:
    return (_ntk_alpha, ("alpha",), ()) if kind == _ALPHA else _SCHEDULES[kind]


def _kind(rope: Mapping[str, Any], family: dict[str, Any]) -> str:
    """Return the name of the schedule, once no parameter is left that is not understood."""
    spelled = {key: rope[key] for key in ("rope_type", "type") if rope.get(key) is not None}
    for key, name in spelled.items():
        refuse_other(key, name, str)
        _options.choice(key, name, [*_SCHEDULES, *_SYNONYMS])
    kinds: set[str] = {_SYNONYMS.get(name, name) for name in spelled.values()} or {"default"}
    if len(kinds) > 1:
        msg = f"rope_type and type must agree, got {rope['rope_type']!r} and {rope['type']!r}"
        raise ValueError(msg)
    (kind,) = kinds
    if kind == "dynamic" and family.get("alpha") and rope.get("alpha") is not None:
        kind = _ALPHA
    _, needed, optional = _schedule(kind)
    understood = {*_OF_ANY_KIND, *needed, *optional, *_WITHOUT_EFFECT.get(kind, ())}
    if kind == "default" and rope.get("factor") == 1:  # scales nothing
        understood.add("factor")
    for key, value in rope.items():
        if key not in understood and value is not None:
            found = _options.shown(value)
            msg = f"{key} is not understood where rope_type is {kind!r}, got {found}"
            raise ValueError(msg)
    return kind


def _head_dim(text: Mapping[str, Any], family: dict[str, Any], layer_type: str | None) -> int:
    """Return how many channels of a head the rotation may reach."""
    of_layer = _HEAD_OF_LAYER.get(layer_type or "", "head_dim")
    text = {**text, **_own_head(text, of_layer, layer_type)}
    of_head = {key: text.get(key, family.get(key)) for key in (of_layer, "head_dim", "kv_channels")}
    for key, width in ({_SPLIT_OFF: _split_off(text, family)} | of_head).items():
        if width is not None:
            return _options.integer_between(key, width, 1, _options.LARGEST_DIM)
    sizes = {}
    for keys in (_HIDDEN, _HEADS):
        size = agreed(keys, text)
        if size is None:
            msg = f"head_dim is missing, and so is {keys[0]}"
            raise ValueError(msg)
        key = said_by(keys, text)
        sizes[key] = _options.integer_between(key, size, 1, 2**40)
    (of_all, features), (of_heads, heads) = sizes.items()
    if features % heads:
        msg = (
            f"{of_all} must be a multiple of {of_heads} where head_dim is missing, got {features} "
            f"and {heads}"
        )
        raise ValueError(msg)
    return features // heads


def _split_off(text: Mapping[str, Any], family: dict[str, Any]) -> Any:
    """Return how wide a part of the head is that is projected by itself and rotated, or None.

    DeepSeek-OCR 2 has none, and says 0.
    """
    width = text.get(_SPLIT_OFF, family.get(_SPLIT_OFF))
    return None if width == 0 and _SPLIT_OFF not in family else width


def _own_head(text: Mapping[str, Any], of_layer: str, layer_type: str | None) -> dict[str, Any]:
    """Return the width of the heads of a layer type where single layers say it."""
    if text.get("per_layer_config") is None:
        return {}
    own, names = single_layers(text), layer_types(text)
    for key, value in (said for layer in own.values() for said in layer.items()):
        if value is not None and (key in _READ or _ABOUT_ROTATION.match(str(key))):
            found = _options.shown(value)
            msg = (
                f"{key} is not understood in per_layer_config, which may say head_dim, got {found}"
            )
            raise ValueError(msg)
    if not names and any("head_dim" in layer for layer in own.values()):
        msg = "layer_types is missing, and per_layer_config has head_dim of single layers"
        raise ValueError(msg)
    widths = [
        own.get(index, {}).get("head_dim", text.get("head_dim"))
        for index, name in enumerate(names)
        if name == layer_type
    ]
    if any(width != widths[0] for width in widths):
        msg = f"head_dim must be the same in all layers of {layer_type!r}, got {widths}"
        raise ValueError(msg)
    # None is what the family has for all layers, and not for those of this type.
    return {of_layer: widths[0]} if widths and (widths[0], of_layer) != (None, "head_dim") else {}


def _rotated_part(
    text: Mapping[str, Any], family: dict[str, Any], rope: Mapping[str, Any], head: int
) -> tuple[float, int]:
    """Return which part of the head is rotated, and how many channels that is."""
    if _split_off(text, family) is not None:
        return 1.0, head
    fraction, width = agreed(_FRACTION, rope, text), text.get("rotary_dim")
    if fraction is None and width is None:
        fraction = family.get("partial_rotary_factor")
        if "rotary_dim" not in text:  # null is all of the head
            width = family.get("rotary_dim")
    if fraction is not None:
        key = said_by(_FRACTION, rope, text)
        fraction = _options.positive_number(key, fraction)
        if fraction > 1:
            msg = f"{key} must be at most 1, got {fraction}"
            raise ValueError(msg)
        if width is not None and _options.integer("rotary_dim", width) != int(fraction * head):
            msg = f"rotary_dim and {key} must agree, got {width} and {fraction}"
            raise ValueError(msg)
        return fraction, int(fraction * head)
    if width is None:
        return 1.0, head
    return 1.0, _options.integer_between("rotary_dim", width, 1, head)


def _arguments(text: Mapping[str, Any], rope: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Return what the function of a schedule is called with, apart from its width."""
    _, needed, optional = _schedule(kind)
    given: dict[str, Any] = {key: rope.get(key) for key in ("rope_theta", *needed, *optional)}
    longest = text.get(_LONGEST)
    if _TRAINED in given:
        given[_TRAINED] = agreed((_TRAINED,), rope, text)
    trained = given.get(_TRAINED)
    if kind == "yarn" and given["factor"] is None and trained is not None and longest is not None:
        trained = _options.positive_number(_TRAINED, trained)
        given["factor"] = _options.positive_number(_LONGEST, longest) / trained
    if _TRAINED in given and given[_TRAINED] is None:
        given[_TRAINED] = longest
    if given.get("mscale") == 1 and not given.get("mscale_all_dim"):
        given["mscale"] = given["mscale_all_dim"] = None  # as without, however it is read
    for key in ("rope_theta", *needed):
        if given[key] is None:
            either = f"{key}, or else {_LONGEST}," if key == _TRAINED else key
            msg = f"{either} is missing where rope_type is {kind!r}"
            raise ValueError(msg)
    return {_ARGUMENTS.get(k, k): value for k, value in given.items() if value is not None}


def _mscale(arguments: dict[str, Any], length: int | None) -> dict[str, Any]:
    """Take LongRoPE's two attention factors out of its arguments, and return the one that holds."""
    short, long = (arguments.pop(key, None) for key in _MSCALES)
    if short is None and long is None:
        return {}
    for key, factor in zip(_MSCALES, (short, long), strict=True):
        if factor is not None:
            _options.number_between(
                key, factor, SMALLEST_ATTENTION_FACTOR, LARGEST_ATTENTION_FACTOR
            )
    if short is None or long is None or "attention_factor" in arguments:
        msg = (
            "short_mscale and long_mscale must be given together, and without attention_factor, "
            f"got {short!r}, {long!r} and {arguments.get('attention_factor')!r}"
        )
        raise ValueError(msg)
    trained = _options.positive_number(_TRAINED, arguments["trained_length"])
    return {"attention_factor": short if length is None or length <= trained else long}


def _on_axes(shared: Frequencies, family: dict[str, Any], rope: Mapping[str, Any]) -> Frequencies:
    """Return the same frequencies dealt out to the axes of multimodal RoPE, where there are any."""
    sections, axes = rope.get("mrope_section"), family.get("axes")
    interleaved = agreed(("mrope_interleaved", "interleaved"), rope)
    if sections is None and axes is None:
        return shared
    if sections is None:
        msg = f"mrope_section is missing, and {family['name']!r} has three positions a token"
        raise ValueError(msg)
    if interleaved is None:
        interleaved = axes == "interleaved"
    refuse_other("mrope_interleaved", interleaved, bool)
    if axes is None and family["known"]:
        msg = f"mrope_section must not be given in {family['name']!r}, got {sections!r}"
        raise ValueError(msg)
    if axes is not None and interleaved != (axes == "interleaved"):
        msg = f"mrope_interleaved must not be {interleaved} in {family['name']!r}"
        raise ValueError(msg)
    dealt = frequencies.mrope(sections=sections, interleaved=interleaved, frequencies=shared)
    if axes is not None and dealt.axes != 3:
        msg = f"mrope_section must be three numbers in {family['name']!r}, got {sections!r}"
        raise ValueError(msg)
    return dealt
