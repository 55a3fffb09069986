"""Which layers of a published model rotate, and by what its config.json says of each.

A configuration has one rotation for all layers, or one by layer type, or lists with something for
each single layer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ropewalk import _options

ROPE = ("rope_parameters", "rope_scaling")
BASE = ("rope_theta", "rotary_emb_base")
_LAYERS, _SCALED_LAYERS = "num_hidden_layers", "rope_scaling_layers"
_MOST_LAYERS = 2**20
# Lists that have one number a layer, and what each is in a layer; a base of 0 is no rotation.
LISTS = {
    "layer_rope_theta": "rope_theta",
    "rope_theta": "rope_theta",
    "partial_rotary_factors": "partial_rotary_factor",
}
# Layers that have no queries and keys.
_WITHOUT_HEADS = ("conv", "mamba", "mamba2", "recurrent")


def refuse_other(name: str, value: object, wanted: type) -> None:
    if not isinstance(value, wanted):
        msg = f"{name} must be a {wanted.__name__.lower()}, got {_options.shown(value)}"
        raise TypeError(msg)


def agreed(keys: Sequence[str], *places: Mapping[str, Any]) -> Any:
    """Return what one of some keys says in one of some places, None where none says anything."""
    found = [(key, place[key]) for place in places for key in keys if place.get(key) is not None]
    for key, value in found[1:]:
        if not np.array_equal(value, found[0][1]):
            first = found[0][0]
            if key == first:  # inside and outside of the parameters of the rotation
                given = (name for name in ROPE if places[-1].get(name))
                first += f" of {next(given, 'the rule of its family')}"
            one, other = map(_options.shown, (found[0][1], value))
            msg = f"{first} and {key} must agree, got {one} and {other}"
            raise ValueError(msg)
    return found[0][1] if found else None


def said_by(keys: Sequence[str], *places: Mapping[str, Any]) -> str:
    """Return which of some keys says something, the usual one where the rule of a family does."""
    said = (key for place in places for key in keys if place.get(key) is not None)
    return next(said, keys[0])


def rope_of_layer(
    text: Mapping[str, Any], family: dict[str, Any], layer_type: str | None
) -> tuple[str | None, dict[str, Any]]:
    """Return a layer type and its parameters, its base among them, in one flat dictionary."""
    rope = _told_apart(text, family, _parameters(text))
    names = layer_types(text)
    # Those of the usual layer types that this model has.
    usual = [name for name in family.get("layers", ()) if name in names] or family.get("layers")
    layers: dict[str, Mapping[str, Any] | None]
    if _is_by_layer(rope):
        first = next(name for name, layer in rope.items() if isinstance(layer, Mapping))
        for name, layer in rope.items():
            if layer is not None and not isinstance(layer, Mapping):
                msg = (
                    f"{name} must be a mapping as {first} is, or neither be one, got "
                    f"{_options.shown(layer)} and {rope[first]!r}"
                )
                raise TypeError(msg)
        rope = {name: layer for name, layer in rope.items() if name in names} or rope
        # Families with an older spelling fill in what is left out.
        filled = usual if usual and "scaled" in family else ()
        layers = {**dict.fromkeys(rope), **{name: {} for name in filled}}
        layers |= {name: layer for name, layer in rope.items() if layer is not None}
    elif usual:
        scaled = family.get("scaled", ())
        if rope and not scaled:
            msg = f"rope_parameters must be given by layer type in {family['name']!r}, got {rope!r}"
            raise ValueError(msg)
        layers = {name: rope if name in scaled else {} for name in usual}
    else:
        if not rope and "rope_type" in family:
            msg = f"rope_parameters is missing, and models of {family['name']!r} differ in it"
            raise ValueError(msg)
        base = agreed(BASE, rope, text)
        one = {**rope, "rope_theta": family.get("rope_theta") if base is None else base}
        layers = dict.fromkeys(names, one)
        if layer_type is None and len(layers) != 1:
            return None, one
        if len(layers) > 1:
            layers |= dict.fromkeys(family.get("unrotated", ()))
            layers |= {name: None for name in _WITHOUT_HEADS if name in layers}
    rotated = {name: layer for name, layer in layers.items() if layer is not None}
    if layer_type is None and len(rotated) == 1:
        (layer_type,) = rotated
    if layer_type is not None and layer_type in rotated:
        return layer_type, _with_base(text, family, rotated[layer_type], layer_type)
    if layer_type in layers:
        msg = f"layer_type {layer_type!r} does not rotate in {family['name']!r}"
    elif rotated:
        msg = f"layer_type must be one of {', '.join(map(repr, rotated))}, got {layer_type!r}"
    else:
        msg = f"layer_type must be left out where layer_types is, got {layer_type!r}"
    raise ValueError(msg)


def _parameters(text: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `ROPE` says, both spellings together."""
    new, old = ({} if text.get(key) is None else text[key] for key in ROPE)
    for key, place in zip(ROPE, (new, old), strict=True):
        refuse_other(key, place, Mapping)
    if _is_by_layer(new) or _is_by_layer(old):
        return dict(agreed(ROPE, {key: text.get(key) or None for key in ROPE}))
    rope = {key: old.get(key) if new.get(key) is None else new[key] for key in (*new, *old)}
    for key, value in old.items():
        if value is not None and not np.array_equal(value, rope[key]):
            one, other = map(_options.shown, (rope[key], value))
            msg = f"{key} of {' and of '.join(ROPE)} must agree, got {one} and {other}"
            raise ValueError(msg)
    return rope


def _is_by_layer(rope: Mapping[str, Any]) -> bool:
    return any(isinstance(layer, Mapping) for layer in rope.values())


def _told_apart(
    text: Mapping[str, Any], family: dict[str, Any], rope: dict[str, Any]
) -> dict[str, Any]:
    """Return the parameters of the rotation by kinds of layers where lists tell them apart."""
    lists = {key: text[key] for key in (_SCALED_LAYERS, *LISTS) if text.get(key) is not None}
    if not isinstance(lists.get("rope_theta"), list):
        lists.pop("rope_theta", None)
    if not lists:
        return rope
    for key, value in lists.items():
        refuse_other(key, value, list)
    if _is_by_layer(rope):
        msg = f"{next(iter(lists))} must not be given beside parameters by layer type"
        raise ValueError(msg)
    scaled = _SCALED_LAYERS in lists
    if len({LISTS.get(key) for key in lists}) < len(lists) or (scaled and len(lists) > 1):
        msg = f"{' and '.join(lists)} must not be given together"
        raise ValueError(msg)
    return _by_scaling(text, family, rope) if scaled else _by_lists(text, family, rope, lists)


def _by_scaling(
    text: Mapping[str, Any], family: dict[str, Any], rope: dict[str, Any]
) -> dict[str, Any]:
    """Return the parameters of the layers that are scaled, and of those that are not."""
    count = _layer_count(text)
    if count is None:
        msg = f"{_LAYERS} is missing, and {_SCALED_LAYERS} names some of them"
        raise ValueError(msg)
    each = f"each of {_SCALED_LAYERS}"
    scaled = {_options.integer_between(each, layer, 0, count - 1) for layer in text[_SCALED_LAYERS]}
    base = agreed(BASE, rope, text)
    one = {"rope_theta": family.get("rope_theta") if base is None else base}
    kinds = {"scaled": {**rope, **one}} if scaled else {}
    return kinds if len(scaled) == count else {**kinds, "unscaled": one}


def _by_lists(
    text: Mapping[str, Any],
    family: dict[str, Any],
    rope: dict[str, Any],
    lists: dict[str, list[Any]],
) -> dict[str, Any]:
    """Return the parameters of each layer type, with what its layers have in the lists."""
    cut = slice(_layer_count(text))  # some are longer, for layers that predict further tokens
    names = layer_types(text)[cut]
    if not names:
        msg = f"layer_types is missing, and {next(iter(lists))} has a number a layer"
        raise ValueError(msg)
    layers: dict[str, Any] = {}
    for name in names:
        own = {}
        for key, values in lists.items():
            if len(values[cut]) != len(names):
                expected = f"as many numbers as layer_types, {len(names)}"
                msg = f"{key} must have {expected}, got {len(values)}"
                raise ValueError(msg)
            found = [value for value, of in zip(values[cut], names, strict=True) if of == name]
            if any(value != found[0] for value in found):
                msg = f"{key} must be the same in all layers of {name!r}, got {found}"
                raise ValueError(msg)
            own[LISTS[key]] = found[0]
        rule = dict(family.get("layers", {}).get(name, {}))
        rule.pop("rope_theta", None)  # a base outside comes before it
        layers[name] = {**((name in family.get("scaled", names) and rope) or rule), **own}
        still = name in family.get("unrotated", ()) and "rope_theta" not in own
        if still or name in _WITHOUT_HEADS or own.get("rope_theta") == 0:
            layers[name] = None
    if not any(layers.values()):
        msg = f"{' and '.join(lists)} must let some layer rotate, got {[*lists.values()]}"
        raise ValueError(msg)
    return layers


def _layer_count(text: Mapping[str, Any]) -> int | None:
    count = text.get(_LAYERS)
    return None if count is None else _options.integer_between(_LAYERS, count, 1, _MOST_LAYERS)


def layer_types(text: Mapping[str, Any]) -> list[str]:
    """Return the type of every layer, none where nothing is said."""
    names = [] if text.get("layer_types") is None else text["layer_types"]
    refuse_other("layer_types", names, list)
    for name in names:
        refuse_other("each of layer_types", name, str)
    return names


def single_layers(text: Mapping[str, Any]) -> dict[int, Mapping[str, Any]]:
    """Return what is said of single layers, by their numbers: texts in JSON, some with zeros."""
    given = text["per_layer_config"]
    refuse_other("per_layer_config", given, Mapping)
    count = len(layer_types(text)) or _layer_count(text) or _MOST_LAYERS
    layers: dict[int, Mapping[str, Any]] = {}
    for key, layer in given.items():
        written = isinstance(key, str) and key.isdecimal() and len(key) < 10
        number = int(key) if written else key
        number = _options.integer_between("each key of per_layer_config", number, 0, count - 1)
        refuse_other("each of per_layer_config", layer, Mapping)
        if layers.setdefault(number, layer) != layer:
            msg = f"per_layer_config must say one thing of layer {number}, got two"
            raise ValueError(msg)
    return layers


def _with_base(
    text: Mapping[str, Any], family: dict[str, Any], layer: Mapping[str, Any], name: str
) -> dict[str, Any]:
    """Return the parameters of a layer type with what stands outside of them, or is the rule."""
    key, rule = family.get("base_keys", {}).get(name), family.get("layers", {}).get(name, {})
    base, usual = agreed(BASE, layer), rule.get("rope_theta")
    if base is None:
        base = agreed(BASE if key is None else (key,), text)
        doubtful = key is None and base is not None and usual is not None
        if doubtful and not np.array_equal(base, usual):
            msg = f"rope_theta of {name!r} must be in rope_parameters, got {_options.shown(base)}"
            raise ValueError(msg)
    if base is None:
        base = family.get("rope_theta") if usual is None else usual
    return {**(layer or rule), "rope_theta": base}
