"""Find out, by running it, how each model family of transformers rotates its heads; print JSON.

Run with torch and transformers installed (a quarter of an hour, 8 GB):
python tests/golden/rotary_families.py > python/ropewalk/rotary_families.json

One attention layer of every kind that a family has is run on random tokens, all at position 0 and
then all at position 1, with random weights and every base set to 10, so that all angles are from
0.1 to 1. What the layer hands to its rotation and what it gets back are linear in each other; the
matrix between them, found by least squares, shows which channels turn together, which way, and
whether the rotation hands them back in another order. The matrix between the queries that reach the
attention itself, at position 0 and at position 1, shows which part of the head that is.

What a family takes where its config.json is silent is read from its default configuration. Families
that cannot be run, or that do not turn pairs by their position alone, are listed in `REFUSED`, by
hand; the script names on standard error those that are neither there nor measured.
"""

import contextlib
import copy
import importlib
import inspect
import json
import math
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import torch
import transformers  # type: ignore[import-not-found]

CONFIGS = transformers.models.auto.configuration_auto.CONFIG_MAPPING
BASE = 10.0
TOKENS = 200
# Rounding leaves some 1e-6; bases that cannot be set leave 1e-4 of the slowest pair.
TURNS = 2e-5

PARTIAL = {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5}

# What a default configuration leaves out, without which no attention layer can be made.
FILLED: dict[str, dict[str, Any]] = {
    "bamba": {"attn_layer_indices": [0]},
    "chameleon": {"vocabulary_map": {"<image>": 1}},
    "deepseek_ocr2_text": {"mlp_layer_types": ["dense"] * 64},
    "dots1": {"n_routed_experts": 8, "n_shared_experts": 1, "num_experts_per_tok": 2},
    "esm": {"vocab_size": 33, "position_embedding_type": "rotary", "pad_token_id": 1},
    "glm4v_moe_text": {"rope_parameters": PARTIAL, "head_dim": 128},
    "glm4v_text": {"rope_parameters": PARTIAL},
    "glm_image_text": {"rope_parameters": PARTIAL},
    "granitemoehybrid": {"layer_types": ["full_attention"] * 32, "position_embedding_type": "rope"},
    "hunyuan_v1_dense": {"head_dim": 128},
    "hunyuan_v1_moe": {"head_dim": 128},
    "hunyuan_vl_text": {"head_dim": 128},
    "lfm2_moe": {"layer_types": ["full_attention"] * 32},
    "ministral": {"head_dim": 128},
    "nemotron": {"num_key_value_heads": 8},
    "qwen3_omni_moe_talker_text": {"shared_expert_intermediate_size": 64},
    "qwen3_omni_moe_text": {"head_dim": 128},
    "t5gemma2_decoder": {"dropout_rate": 0.0},
    "t5gemma2_text": {"dropout_rate": 0.0},
}
# How the base of a layer type is spelled where it is not in a dictionary of its own.
BASE_KEYS = ("rope_theta", "rope_local_base_freq", "global_rope_theta", "local_rope_theta")

# What a configuration must say for its model to rotate at all, read in the modeling_*.py of each.
NEEDS: dict[str, dict[str, Any]] = {
    "esm": {"position_embedding_type": "rotary"},
    "falcon": {"alibi": False},
    "granitemoehybrid": {"position_embedding_type": "rope"},
}

# Read, not run: the first needs a table, the second an encoder.
READ: dict[str, dict[str, Any]] = {
    "roformer": {
        "pairing": "interleaved",
        "rope_theta": 10000.0,
        "source": "modeling_roformer.py, RoFormerSelfAttention.apply_rotary_position_embeddings",
    },
    "t5gemma2_decoder": {
        "pairing": "half",
        "head_dim": 256,
        "layers": {
            "full_attention": {"rope_theta": 1000000.0},
            "sliding_attention": {"rope_theta": 10000.0},
        },
        "base_keys": {"full_attention": "rope_theta", "sliding_attention": "rope_local_base_freq"},
        "scaled": ["full_attention"],
        "source": "modeling_t5gemma2.py, rotate_half; configuration_t5gemma2.py",
    },
    "t5_gemma_module": {
        "pairing": "half",
        "head_dim": 256,
        "rope_theta": 10000.0,
        "source": "modeling_t5gemma.py, rotate_half; configuration_t5gemma.py",
    },
}

NOT_RUN = "its attention could not be run by itself, so its pairing was not measured"
REFUSED: dict[str, str] = {
    "bailing_hybrid": "some of its models have layers that rotate in another way",
    "blt": "it has four transformers, each with frequencies of its own",
    "clvp": "it rotates the values as well",
    "clvp_encoder": "it rotates the values as well",
    "cohere_compass_text": NOT_RUN,
    "dbrx": "its base is in attn_config",
    "deepseek_v4": "it rotates the end of the head, and the values as well",
    "diffusion_gemma_text": NOT_RUN,
    "dots3_note_text": "its layers rotate in different ways",
    "ernie4_5_vl_moe_text": "its height and width take turns and time comes last",
    "esmfold2": NOT_RUN,
    "gemma4_assistant": NOT_RUN,
    "hunyuan_vl_text": "it has four positions a token",
    "idefics": NOT_RUN,
    "mistral_large4_text": NOT_RUN,
    "moonshine_streaming": NOT_RUN,
    "moshi_depth": NOT_RUN,
    "muse_glimmer_assistant": NOT_RUN,
    "nanochat": "it turns by minus the angle",
    "qwen2_5_omni_dit": "it rotates the first head alone",
    "qwen4_exp_text": NOT_RUN,
    "wav2vec2-bert": "its rotary embedding is one of several kinds",
    "wav2vec2-conformer": "its rotary embedding is one of several kinds",
    "zamba2": "its heads span two hidden states, and use_long_context changes its base",
    "zaya": NOT_RUN,
}


# Published with code of their own, which is that of another family.
SAME = {"kimi_k2": "deepseek_v3"}
# What default configurations do not show: fractions and bases that stand outside of the parameters
# of a layer type (configurations and code published with MiMo-V2-Flash and Step-3.5-Flash), full
# layers that do not rotate (configuration_muse_*.py), what Hunyuan's code reads of dynamic NTK,
# layers of Gated DeltaNet, and families whose code reads rope_interleave (modeling_*.py).
MORE: dict[str, dict[str, Any]] = {
    "axk1": {"reads_rope_interleave": True},
    "deepseek_v3": {"reads_rope_interleave": True},
    "glm4_moe_lite": {"reads_rope_interleave": True},
    "hunyuan_v1_dense": {"alpha": True},
    "hunyuan_v1_moe": {"alpha": True},
    "mimo_v2_flash": {
        "partial_rotary_factor": 0.334,
        "base_keys": {"full_attention": "rope_theta", "sliding_attention": "swa_rope_theta"},
    },
    "mistral4": {"reads_rope_interleave": True},
    "muse_glimmer_text": {"unrotated": ["full_attention"]},
    "muse_spark_text": {"unrotated": ["full_attention"]},
    "step3p5": {
        "layers": {
            "full_attention": {"rope_type": "default", "rope_theta": 10000.0},
            "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
        },
        "base_keys": {"full_attention": "rope_theta", "sliding_attention": "rope_theta"},
        "scaled": ["full_attention"],
    },
    "qwen3_5_moe_text": {"unrotated": ["linear_attention"]},
    "qwen3_5_text": {"unrotated": ["linear_attention"]},
    "qwen3_next": {"unrotated": ["linear_attention"]},
    "youtu": {"reads_rope_interleave": True},
}


def modeling(config: Any) -> Any:
    """Return the module that has the family's models, None where it borrows them."""
    try:
        return importlib.import_module(
            type(config).__module__.replace("configuration_", "modeling_")
        )
    except ModuleNotFoundError:
        return None


def built(config: Any) -> Any:
    """Return a model of shapes without memory."""
    models = vars(modeling(config)) if modeling(config) else {}
    own = [
        model
        for name, model in models.items()
        if getattr(model, "config_class", None) is type(config)
        and not name.endswith("PreTrainedModel")
    ]
    errors = []
    for make in (transformers.AutoModel.from_config, *own):
        with torch.device("meta"):
            try:
                return make(copy.deepcopy(config))
            except Exception as error:  # any family may fail in its own way
                errors.append(f"{type(error).__name__}: {error}"[:120])
    raise RuntimeError(errors[-1])


def flat(rope: Any) -> list[dict[str, Any]]:
    """Return the dictionaries of parameters, one of them or one a layer type."""
    if not isinstance(rope, dict):
        return []
    nested = [layer for layer in rope.values() if isinstance(layer, dict)]
    return nested or [rope]


def default_config(model_type: str) -> Any:
    config_class, filled = CONFIGS[model_type], copy.deepcopy(FILLED.get(model_type, {}))
    config = config_class(**filled)
    rope = flat(getattr(config, "rope_parameters", None))
    if hasattr(config, "rope_parameters") and not (rope and all(r.get("rope_theta") for r in rope)):
        rope_parameters = {"rope_type": "default", "rope_theta": config.default_theta}
        config = config_class(**filled, rope_parameters=rope_parameters)
    return config


def inner(config: Any) -> Any:
    try:
        return config.get_text_config()
    except ValueError:
        return config


def attention_layers(model: Any, config: Any) -> Iterator[tuple[Any, str | None]]:
    """Yield one layer of each kind that rotates, or might, and its layer type."""
    seen = set()
    for name, layer in model.named_modules():
        source = (
            inspect.getsource(type(layer))
            if re.search("Attention|MLA", type(layer).__name__)
            else ""
        )
        if not re.search(r"apply_\w*rot|rotary", source) or not re.search("query|q_|qkv", source):
            continue
        own = getattr(layer, "config", None)
        if type(own) is not type(config) if own else re.search("vision|audio|image", name):
            continue
        index = getattr(layer, "layer_idx", None)
        types = getattr(config, "layer_types", None) or []
        layer_type = getattr(layer, "layer_type", None) or getattr(layer, "attention_type", None)
        if layer_type is None and index is not None and index < len(types):
            layer_type = types[index]
        unrotated = (getattr(config, "no_rope_layers", None) or {index or 0: None})[index or 0]
        kind = type(layer).__name__, layer_type, unrotated
        if kind not in seen:
            seen.add(kind)
            yield layer, layer_type


def tables(model: Any, config: Any, x: Any, positions: Any, layer_type: str | None) -> Any:
    """Return what the family's module of cosines and sines gives, if it has one."""
    modules = [m for m in model.modules() if re.search("Rotary|Rope|RoPE", type(m).__name__)]
    own = [m for m in modules if type(getattr(m, "config", None)) is type(config)]
    for module in own or modules:
        signature = inspect.signature(module.forward).parameters
        if "position_ids" in signature:
            options = {"layer_type": layer_type} if "layer_type" in signature else {}
            try:
                rotary = type(module)(config=copy.deepcopy(config))
                return rotary(x, positions, **options)
            except Exception:  # the next module may fit
                continue
    return None


class Reached(Exception):  # no error
    """The query has reached the attention."""


def run(layer: Any, arguments: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Return what each rotation was given and gave; "query" is what the attention was given."""
    module = sys.modules[type(layer).__module__]
    found: dict[str, tuple[Any, Any]] = {}

    def watched(name: str, rotate: Any) -> Any:
        def call(*args: Any, **options: Any) -> Any:
            result = rotate(*args, **options)
            first = result[0] if isinstance(result, tuple) else result
            given = [x for x in [*args, *options.values()] if torch.is_tensor(x)]
            same = [x for x in given if x.shape == first.shape]
            if same:
                found.setdefault(name, (same[0].clone(), first.clone()))
            return result

        return call

    def attend(_layer: Any, query: Any, *_args: Any, **_options: Any) -> Any:
        found["query"] = (query.clone(), query.clone())
        raise Reached

    kept = dict(vars(module))
    for name, function in kept.items():
        if inspect.isfunction(function) and re.match(r"_?apply_\w*rot", name):
            setattr(module, name, watched(name, function))
        elif name == "eager_attention_forward":
            setattr(module, name, attend)
    signature = inspect.signature(layer.forward).parameters.values()
    named = [p for p in signature if p.kind in {p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY}]
    needed = [p.name for p in named if p.name in arguments or p.default is p.empty]
    try:
        layer(**{name: arguments.get(name) for name in needed})
    except Reached:
        pass
    except Exception:
        if not found:  # what comes after the rotation may miss what only a whole model has
            raise
    finally:
        vars(module).update(kept)
    return found


def solved(given: Any, gave: Any) -> Any:
    width = given.shape[-1]
    rows = [x.reshape(-1, x.shape[-1]).double()[: 4 * width + 16] for x in (given, gave)]
    return torch.linalg.lstsq(*rows).solution


def turned_pairs(matrix: Any) -> list[tuple[int, int]]:
    """Return which channels turn together, forwards: y_a = c x_a - s x_b, y_b = c x_b + s x_a."""
    pairs = []
    for a, b in (matrix > TURNS).nonzero().tolist():
        if a < b and matrix[b, a] < -TURNS:
            pairs.append((a, b))
        elif a < b or (a > b and not matrix[b, a] < -TURNS and matrix[a, b] > TURNS):
            msg = f"channels {a} and {b} do not turn forwards"
            raise ValueError(msg)
    if len({channel for pair in pairs for channel in pair}) != 2 * len(pairs):
        msg = "a channel turns with two others"
        raise ValueError(msg)
    return pairs


def pairing(pairs: list[tuple[int, int]]) -> str:
    first = pairs[0][0]
    if pairs == [(first + 2 * i, first + 2 * i + 1) for i in range(len(pairs))]:
        return "interleaved"
    gaps = {b - a for a, b in pairs}
    if [a - first for a, _ in pairs] == list(range(len(pairs))) and len(gaps) == 1:
        return "half"
    msg = f"pairs are {pairs[:4]} ..."
    raise ValueError(msg)


def with_weights(original: Any, config: Any) -> Any:
    """Return a layer like one without memory, with random weights."""
    if list(original.buffers()):  # made when the layer is, so not without memory
        layer = type(original)(copy.deepcopy(config), layer_idx=0)
    else:
        layer = copy.deepcopy(original).to_empty(device="cpu")
    for parameter in layer.parameters():  # norms, of one dimension, must not stretch a channel
        parameter.normal_(0, 0.02) if parameter.ndim > 1 else parameter.fill_(1)
    if hasattr(layer, "config"):
        layer.config = copy.deepcopy(layer.config)
        layer.config._attn_implementation = "eager"
    return layer.float().eval()


def measured(model: Any, config: Any, original: Any, layer_type: str | None) -> dict[str, Any]:
    """Return the pairing of a layer and all else that shows, nothing where it does not rotate."""
    layer = with_weights(original, config)
    width = next(m.in_features for m in layer.modules() if isinstance(m, torch.nn.Linear))
    x = torch.randn(1, TOKENS, width)

    def at(*axes: int) -> dict[str, tuple[Any, Any]]:
        positions = torch.tensor(axes)[:, None, None].expand(-1, 1, TOKENS)
        positions = positions[0] if len(axes) == 1 else positions
        given = {"hidden_states": x, "position_ids": positions, "attention_mask": None}
        made = tables(model, config, x, positions, layer_type)
        if made is not None:
            given |= {"position_embeddings": made, "rotary_pos_emb": made, "freqs_cis": made}
        return run(layer, given)

    try:
        still, turned = at(0), at(1)
    except Exception:  # it may want three positions a token
        still, turned = at(0, 0, 0), at(1, 1, 1)
    names = [name for name in turned if name != "query"]
    in_head = []
    if "query" in turned:
        in_head = turned_pairs(solved(still["query"][0], turned["query"][0]))
    if not names:
        if in_head:
            msg = "the rotation has no function of its own"
            raise ValueError(msg)
        return {}
    order = solved(*still[names[0]])
    inverse = torch.linalg.pinv(order)
    rotation = solved(*turned[names[0]]) @ inverse
    pairs = turned_pairs(rotation)
    result: dict[str, Any] = {"pairing": pairing(pairs)}
    result["width"] = 2 * len(pairs)
    middle = len(pairs) // 2  # w = base ** (-i / pairs), should the base be fixed in the code
    if middle:
        a, b = pairs[middle]
        angle = math.atan2(float(rotation[a, b]), float(rotation[a, a]))
        result["base"] = float(f"{angle ** (-len(pairs) / middle):.3g}")
    if (order - torch.eye(len(order))).abs().max() > TURNS:
        result["output"] = "halves"
    if in_head and in_head[0][0]:
        result["part"] = "last"
    with contextlib.suppress(Exception):  # most families have but one position a token
        alone = [at(1, 0, 0), at(0, 1, 0), at(0, 0, 1)]
        owned = [turned_pairs(solved(*one[names[0]]) @ inverse) for one in alone]
        if sorted(pair for own in owned for pair in own) == pairs and all(owned):
            result["owners"] = [[pair in own for own in owned].index(True) for pair in pairs]
    return result


def layout(owners: list[int]) -> str:
    sections = [owners.count(axis) for axis in range(3)]
    chunked = [axis for axis, size in enumerate(sections) for _ in range(size)]
    if owners == chunked:
        return "chunked"
    interleaved = [0] * sum(sections)
    for axis in (1, 2):
        interleaved[axis : 3 * sections[axis] : 3] = [axis] * sections[axis]
    if owners == interleaved:
        return "interleaved"
    msg = f"axes own pairs in the order {owners}, sections are {sections}"
    raise ValueError(msg)


def old_spelling(config_class: Any, layers: dict[str, Any]) -> dict[str, Any]:
    """Return by which keys a flat configuration reaches the layer types, found by setting them."""
    keys: dict[str, str] = {}
    for key in BASE_KEYS:
        rope = config_class(**{key: 3.0}).rope_parameters
        keys |= {layer: key for layer in layers if rope[layer]["rope_theta"] == 3.0}
    linear = config_class(rope_scaling={"rope_type": "linear", "factor": 8.0}).rope_parameters
    scaled = [layer for layer in layers if linear.get(layer, {}).get("factor") == 8.0]
    return {"base_keys": keys, "scaled": scaled} if keys else {}


def family(model_type: str, outer: Any) -> dict[str, Any]:
    config = inner(outer)
    defaults = copy.deepcopy(getattr(config, "rope_parameters", None))
    for rope in flat(config.rope_parameters if defaults else None):
        rope["rope_theta"] = BASE
    model = built(outer)
    found: dict[str | None, dict[str, Any]] = {}
    heads: dict[str | None, int | None] = {}
    for layer, layer_type in attention_layers(model, config):
        one = measured(model, config, layer, layer_type)
        if one or layer_type not in found:
            found[layer_type], heads[layer_type] = one, getattr(layer, "head_dim", None)
    rotated = {key: one for key, one in found.items() if one}
    if not rotated:
        msg = "no layer rotates"
        raise ValueError(msg)
    for key in ("pairing", "part", "output", "owners"):
        if len({str(one.get(key)) for one in rotated.values()}) > 1:
            msg = f"layer types differ in {key}"
            raise ValueError(msg)
    some = next(iter(rotated.values()))
    entry: dict[str, Any] = {"pairing": some["pairing"]}
    entry |= {key: some[key] for key in ("part", "output") if key in some}
    if model_type in NEEDS:
        entry["needs"] = NEEDS[model_type]
    if some.get("part") == "last" and not getattr(config, "qk_rope_head_dim", None):
        msg = "the rotated part is not the first of the head"
        raise ValueError(msg)
    fields = type(config).__dataclass_fields__
    for key in ("head_dim", "kv_channels", "qk_rope_head_dim", "rotary_dim"):
        default = fields[key].default if key in fields else None
        if isinstance(default, int) and (key != "rotary_dim" or default == some["width"]):
            entry[key] = default
    if defaults and flat(defaults) == [defaults]:
        entry["rope_theta"] = float(defaults["rope_theta"])
        for key in ("partial_rotary_factor", "rope_type"):
            filled = FILLED.get(model_type, {}).get("rope_parameters", {})
            if key not in filled and defaults.get(key) not in {None, 1.0, "default"}:
                entry[key] = defaults[key]
    elif defaults:
        entry["layers"] = {key: layer for key, layer in defaults.items() if layer}
        with contextlib.suppress(Exception):  # most take none
            entry |= old_spelling(type(config), entry["layers"])
    else:
        entry["rope_theta"] = some["base"]
    if entry.get("rope_type") == "axial":
        msg = "it rotates by places in a picture"
        raise ValueError(msg)
    if "owners" in some:
        entry["axes"] = layout(some["owners"])
    unrotated = {key for key, one in found.items() if not one} - set(entry.get("layers", {}))
    if unrotated - {None}:
        entry["unrotated"] = sorted(unrotated - {None})
    if heads.get("full_attention") != heads.get("sliding_attention") and len(heads) > 1:
        entry["global_head_dim"] = heads["full_attention"]
    return entry


def main() -> None:
    torch.manual_seed(0)
    torch.set_grad_enabled(False)
    transformers.logging.set_verbosity_error()
    families: dict[str, Any] = copy.deepcopy(READ)
    inside = dict(SAME)
    for model_type in sys.argv[1:] or sorted(CONFIGS):
        try:
            outer = default_config(model_type)
            config = inner(outer)
            if config.model_type != model_type:
                inside[model_type] = config.model_type
                if config.model_type in CONFIGS:
                    continue
            source = inspect.getsource(modeling(config)) if modeling(config) else "rotary"
            if config.model_type not in {*families, *REFUSED} and "rota" in source:
                families[config.model_type] = family(config.model_type, outer)
        except Exception as error:  # any family may fail in its own way
            sys.stderr.write(f"{model_type}: {type(error).__name__}: {error}\n")
    for name, more in MORE.items():
        if name in families:
            families[name] |= more
    known = {*families, *REFUSED}
    inside = {outer: text for outer, text in inside.items() if text in known and outer not in known}
    measured_with = {
        "transformers": transformers.__version__,
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
    }
    parts: dict[str, dict[str, Any]] = {"families": families, "inside": inside, "refused": REFUSED}
    lines = [f'"measured": {json.dumps(measured_with)}']
    for name, part in parts.items():
        rows = (f"{json.dumps(key)}: {json.dumps(part[key])}" for key in sorted(part))
        lines.append(f'"{name}": {{\n' + ",\n".join(rows) + "\n}")
    sys.stdout.write("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
