"""The rotation of a published model from its config.json: what is refused, and how that is said."""

import re
from pathlib import PurePosixPath
from typing import Any

import numpy as np
import pytest
from tests.refusals import exactly
from tests.test_config import FAMILIES, LLAMA, LONG, config_of, refused

import ropewalk as rw

TO_LOAD = "; json.load makes one of a file, json.loads of its text"


class Config:
    """As transformers has them, with much to show of itself."""

    def to_dict(self) -> dict[str, Any]:
        return LLAMA


@pytest.mark.parametrize(
    ("config", "got"),
    [
        (None, "NoneType"),
        (3, "int"),
        ([("model_type", "llama")], "list"),
        ("config.json", "str" + TO_LOAD),
        (b"{}", "bytes" + TO_LOAD),
        (PurePosixPath("config.json"), "PurePosixPath" + TO_LOAD),
        (Config(), "Config; config.to_dict() is one"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_configuration_is_a_mapping(config: Any, got: str) -> None:
    with pytest.raises(TypeError, match=exactly(f"config must be a mapping, got {got}")):
        rw.rotary_from_config(config)


@pytest.mark.parametrize("key", ["attention_factor", "factor"])
def test_parameters_are_not_taken_for_layer_types(key: str) -> None:
    rope: dict[str, Any] = {"rope_type": "llama3", key: {}}
    message = f"rope_type must be a mapping as {key} is, or neither be one, got 'llama3' and {{}}"
    refused(LLAMA | {"rope_parameters": rope}, message, TypeError)


@pytest.mark.parametrize("value", ["yarn", "", 0, False, True, [], np.ones(2)], ids=repr)
@pytest.mark.parametrize("key", ["text_config", "rope_scaling", "rope_parameters"])
def test_parts_of_a_configuration_are_mappings(key: str, value: Any) -> None:
    got = f"an array of shape {value.shape}" if isinstance(value, np.ndarray) else repr(value)
    refused(LLAMA | {key: value}, f"{key} must be a mapping, got {got}", TypeError)


@pytest.mark.parametrize("key", ["text_config", "rope_scaling", "rope_parameters"])
@pytest.mark.parametrize("value", [None, {}], ids=repr)
def test_parts_of_a_configuration_may_be_empty(key: str, value: object) -> None:
    assert rw.rotary_from_config(LLAMA | {key: value}) == rw.rotary_from_config(LLAMA)


@pytest.mark.parametrize("model_type", [None, 3, ["llama"]], ids=str)
def test_a_family_has_a_name(model_type: Any) -> None:
    message = f"model_type must be a str, got {model_type!r}"
    refused(LLAMA | {"model_type": model_type}, message, TypeError)


@pytest.mark.parametrize("model_type", ["bert", "gpt2", "", "Llama"])
def test_an_unknown_family_is_refused(model_type: Any) -> None:
    refused(LLAMA | {"model_type": model_type}, f"model_type {model_type!r} is not known")


@pytest.mark.parametrize("model_type", FAMILIES["refused"])
def test_a_family_that_is_not_sure_is_refused(model_type: str) -> None:
    message = f"model_type {model_type!r} is refused: {FAMILIES['refused'][model_type]}"
    refused(LLAMA | {"model_type": model_type}, message)
    refused(LLAMA | {"model_type": model_type, "rope_interleave": True}, message)


@pytest.mark.parametrize(
    ("outer", "key", "inner"),
    [
        ("t5gemma2", "decoder", "t5gemma2_decoder"),
        ("dia", "decoder_config", "dia_decoder"),
        ("colpali", "vlm_config", "paligemma"),
        ("qwen2_5_omni", "thinker_config", "qwen2_5_omni_thinker"),
        ("t5gemma", "decoder", "t5_gemma_module"),
    ],
)
def test_the_part_about_text_is_asked_for(outer: str, key: str, inner: str) -> None:
    message = f"config must be the part about text, config[{key!r}], got all parts"
    refused({"model_type": outer, key: {"model_type": inner, "head_dim": 64}}, message)


@pytest.mark.parametrize(
    ("model_type", "layer_type"),
    [
        ("lfm2", "conv"),
        ("granitemoehybrid", "mamba"),
        ("recurrent_gemma", "recurrent"),
        ("qwen3_next", "linear_attention"),
        ("qwen3_5_text", "linear_attention"),
    ],
)
def test_a_layer_without_rotation_is_refused(model_type: str, layer_type: str) -> None:
    config = LLAMA | {"model_type": model_type, "layer_types": [layer_type, "full_attention"]}
    if model_type == "granitemoehybrid":
        config["position_embedding_type"] = "rope"
    message = f"layer_type {layer_type!r} does not rotate in {model_type!r}"
    with pytest.raises(ValueError, match=message):
        rw.rotary_from_config(config, layer_type=layer_type)


@pytest.mark.parametrize("key", ["hidden_size", "num_attention_heads"])
def test_the_size_of_a_head_must_be_there(key: str) -> None:
    config = {name: value for name, value in LLAMA.items() if name != key}
    refused(config, f"head_dim is missing, and so is {key}")


@pytest.mark.parametrize(("size", "heads"), [(4097, 32), (4096, 31), (2048, 24), (1, 2)])
def test_heads_must_share_out_the_features(size: int, heads: int) -> None:
    message = (
        "hidden_size must be a multiple of num_attention_heads where head_dim is missing, got "
        f"{size} and {heads}"
    )
    sizes = {"hidden_size": size, "num_attention_heads": heads}
    refused(LLAMA | sizes, message)
    assert rw.rotary_from_config(LLAMA | sizes | {"head_dim": 64})["rotary_dim"] == 64


@pytest.mark.parametrize(
    ("given", "message", "error"),
    [
        ({"rotary_pct": 2}, "rotary_pct must be at most 1, got 2", ValueError),
        (
            {"rotary_emb_base": -1},
            "rotary_emb_base must be positive and finite, got -1.0",
            ValueError,
        ),
        ({"n_embd": "a", "n_head": 2}, "n_embd must be an integer, got 'a'", TypeError),
        ({"n_embd": 8, "n_head": 0}, "n_head must be an integer from 1 to ", ValueError),
        ({"n_embd": 9, "n_head": 2}, "n_embd must be a multiple of n_head where ", ValueError),
    ],
    ids=str,
)
def test_refusals_name_keys_as_they_are_written(
    given: dict[str, Any], message: str, error: type[Exception]
) -> None:
    sizes = {} if "n_embd" in given else {"hidden_size": 64, "num_attention_heads": 4}
    refused({"model_type": "gpt_neox"} | sizes | given, message, error)


@pytest.mark.parametrize("value", [0, -1])
def test_the_size_of_a_head_must_be_positive(value: int) -> None:
    for key in ("head_dim", "hidden_size", "num_attention_heads"):
        refused(LLAMA | {key: value}, f"{key} must be an integer from 1 to ")


NEEDED = {
    "linear": ["factor"],
    "dynamic": ["factor", "original_max_position_embeddings"],
    "yarn": ["factor", "original_max_position_embeddings"],
    "longrope": ["short_factor", "long_factor", "original_max_position_embeddings"],
    "llama3": ["factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"],
}
VALUES = LONG | {
    "factor": 2.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}


@pytest.mark.parametrize(("kind", "key"), [(k, key) for k, keys in NEEDED.items() for key in keys])
def test_a_missing_parameter_is_named(kind: str, key: str) -> None:
    rope = {name: VALUES[name] for name in NEEDED[kind] if name != key}
    trained = "original_max_position_embeddings"
    either = f"{trained}, or else max_position_embeddings," if key == trained else key
    refused(
        LLAMA | {"rope_scaling": rope | {"rope_type": kind}},
        f"{either} is missing where rope_type is {kind!r}",
    )


def test_the_key_that_gives_the_trained_length_is_named() -> None:
    config = LLAMA | {"rope_scaling": {"type": "dynamic", "factor": 2.0}}
    message = "max_position_embeddings must be an integer, got 4096.0"
    refused(config | {"max_position_embeddings": 4096.0}, message, TypeError)


@pytest.mark.parametrize("key", ["rope_type", "type"])
@pytest.mark.parametrize("kind", ["ntk", "YaRN", "default ", ""])
def test_an_unknown_schedule_is_refused(key: str, kind: str) -> None:
    rope = {key: kind, "factor": 2.0}
    with pytest.raises(ValueError, match=f"^{key} must be one of 'default', .*, got {kind!r}$"):
        rw.rotary_from_config(LLAMA | {"rope_scaling": rope})


@pytest.mark.parametrize("key", ["rope_type", "type"])
@pytest.mark.parametrize("kind", [3, ["yarn"], {"yarn"}], ids=str)
def test_a_schedule_has_a_name(key: str, kind: Any) -> None:
    refused(LLAMA | {"rope_scaling": {key: kind}}, f"{key} must be a str, got {kind!r}", TypeError)


def test_two_schedules_are_refused() -> None:
    rope = {"rope_type": "yarn", "type": "linear", "factor": 2.0}
    message = "rope_type and type must agree, got 'yarn' and 'linear'"
    refused(LLAMA | {"rope_scaling": rope}, message)


@pytest.mark.parametrize(
    ("kind", "key"),
    [("default", "factor"), ("linear", "beta_fast"), ("linear", "alpha"), ("yarn", "alpha")],
)
def test_a_parameter_that_is_not_understood_is_named(kind: str, key: str) -> None:
    rope = {name: VALUES[name] for name in NEEDED.get(kind, [])} | {"rope_type": kind, key: 3.0}
    message = f"{key} is not understood where rope_type is {kind!r}, got 3.0"
    refused(LLAMA | {"rope_scaling": rope}, message)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("rotary_emb_interleaved", True),
        ("rotary_scaling_factor", 2.0),
        ("rotary_emb_scale_base", 512),
        ("rotary_base", 1e6),
        ("rotary_percent", 0.25),
        ("rotary", {"base": 10000, "type": "dynamic"}),
        ("rotary", False),
        ("rope_ratio", 500),
        ("rope_type", "linear"),
        ("rope_dim", 8),
        ("rope_scaling_factor", 2.0),
        ("rope_traditional", True),
        ("use_dynamic_ntk", True),
        ("use_rope", False),
        ("use_rope_layers", [1, 0]),
        ("rope_local_base_freq", 10000.0),
        ("mrope_section", [4, 2, 2]),
        ("mrope_section", np.ones(3)),
    ],
    ids=str,
)
def test_a_key_about_the_rotation_that_is_not_read_is_named(key: str, value: Any) -> None:
    text = LLAMA | {key: value}
    for config in (text, {"model_type": "llava", "text_config": text}):
        refused(config, f"{key} is not understood, got ")


OTHER = LLAMA | {"model_type": "my_llama", "rope_interleave": False, "rope_theta": 1e4}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("rope_local_base_freq", 10000.0),
        ("global_rope_theta", 1e6),
        ("swa_rope_theta", 1e4),
        ("use_rotary", False),
        ("use_mrope", True),
        ("no_rope", True),
        ("use_xpos", True),
        ("xpos_base", 512),
    ],
    ids=str,
)
def test_what_may_be_about_the_rotation_is_named_in_a_family_that_nobody_knows(
    key: str, value: Any
) -> None:
    refused(OTHER | {key: value}, f"{key} is not understood, got ")


@pytest.mark.parametrize(
    ("family", "key", "value"),
    [
        ("hunyuan_v1_dense", "use_rotary_pos_emb", True),
        ("bamba", "attn_rotary_emb", 64),
        ("minimax_m2", "swa_rope_theta", -1.0),
        ("llama", "global_rope_theta", None),
    ],
)
def test_what_the_code_of_a_family_does_not_read_is_passed_over(
    family: str, key: str, value: Any
) -> None:
    config = LLAMA | {"model_type": family, "rope_theta": 1e4}
    assert rw.rotary_from_config(config | {key: value}) == rw.rotary_from_config(config)


@pytest.mark.parametrize(
    "given",
    [
        {"rotary": True, "rotary_dim": None, "rotary_value": True},
        {"use_rope": True, "use_rope_layers": [], "use_dynamic_ntk": False},
        {"rotary_emb_interleaved": False, "rotary_emb_scale_base": None},
        {"no_rope_layers": [1, 0], "no_rope_layer_interval": 4},
    ],
    ids=str,
)
def test_keys_about_the_rotation_may_say_nothing(given: dict[str, Any]) -> None:
    assert rw.rotary_from_config(LLAMA | given) == rw.rotary_from_config(LLAMA)
    of_another = {"use_rotary_embeddings": True, "use_mrope": False, "global_rope_theta": None}
    for config in (OTHER | given, OTHER | of_another, OTHER | {"indexer_rope_interleave": True}):
        assert rw.rotary_from_config(config) == rw.rotary_from_config(OTHER)


@pytest.mark.parametrize("key", ["short_factor", "long_factor"])
@pytest.mark.parametrize("size", [0, 7, 9])
def test_lists_must_have_a_number_for_every_pair(key: str, size: int) -> None:
    rope = LONG | {"type": "longrope", "original_max_position_embeddings": 64, key: [1.0] * size}
    config = LLAMA | {"rope_scaling": rope, "max_position_embeddings": 128}
    refused(config, f"{key} must have shape (8,)")


@pytest.mark.parametrize(
    ("key", "value", "error"),
    [
        ("factor", -1.0, ValueError),
        ("factor", "2", TypeError),
        ("low_freq_factor", 5.0, ValueError),
        ("original_max_position_embeddings", 0, ValueError),
        ("original_max_position_embeddings", 64.5, TypeError),
        ("rope_theta", 0.0, ValueError),
        ("rope_theta", "1e4", TypeError),
    ],
)
def test_a_bad_parameter_is_named_as_it_is_spelled(
    key: str, value: Any, error: type[Exception]
) -> None:
    rope = {name: VALUES[name] for name in NEEDED["llama3"]} | {"rope_type": "llama3", key: value}
    refused(LLAMA | {"rope_scaling": rope}, f"{key} must be ", error)


LONGROPE = LONG | {"rope_type": "longrope", "original_max_position_embeddings": 64}
LLAMA3 = {name: VALUES[name] for name in NEEDED["llama3"]} | {"rope_type": "llama3"}


@pytest.mark.parametrize(
    ("rope", "longest", "message"),
    [
        (LONGROPE, 4096.5, "max_position_embeddings must be an integer, got 4096.5"),
        (
            LONGROPE,
            None,
            "one of max_position_embeddings, factor and attention_factor must be given in longrope",
        ),
        (
            {"rope_type": "yarn", "original_max_position_embeddings": 0},
            128,
            "original_max_position_embeddings must be positive and finite, got 0.0",
        ),
        (
            LLAMA3 | {"low_freq_factor": 5.0},
            None,
            "low_freq_factor must be at most high_freq_factor, 4.0, got 5.0",
        ),
        (
            {"rope_theta": 1e300},
            None,
            "a frequency of standard(16, rope_theta=1e+300) must be 0 or from 2**-100 to 2**60",
        ),
        ({"rope_theta": "base"}, None, "rope_theta must be a real number, got 'base'"),
    ],
    ids=str,
)
def test_messages_speak_of_keys(rope: dict[str, Any], longest: float | None, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=f"^{re.escape(message)}"):
        rw.rotary_from_config(LLAMA | {"rope_parameters": rope, "max_position_embeddings": longest})


@pytest.mark.parametrize(
    ("config", "key"),
    [
        (LLAMA, "rope_theta"),
        (LLAMA | {"rope_parameters": {"rope_theta": 1e4}}, "rope_theta"),
        ({"model_type": "laguna", "head_dim": 64}, "rope_theta"),
        (LLAMA, "hidden_size"),
        (LLAMA, "partial_rotary_factor"),
        (LLAMA | {"partial_rotary_factor": 0.5}, "rotary_dim"),
        (LLAMA | {"model_type": "falcon"}, "alibi"),
    ],
    ids=str,
)
def test_an_array_in_place_of_a_number_is_refused(config: dict[str, Any], key: str) -> None:
    layer_type = "full_attention" if config["model_type"] == "laguna" else None
    with pytest.raises((TypeError, ValueError), match=f"^{key} .*must .*array"):
        rw.rotary_from_config(config | {key: np.array([1, 2])}, layer_type=layer_type)


@pytest.mark.parametrize("sections", [[16, 24, 23], [64], [], [16, 24, 0], "16"])
def test_sections_must_share_out_the_pairs(sections: Any) -> None:
    config = config_of("Qwen2-VL 7B, as first published")
    config["rope_scaling"] = {"type": "mrope", "mrope_section": sections}
    with pytest.raises((ValueError, TypeError), match=r"^(each of )?mrope_section must "):
        rw.rotary_from_config(config)


@pytest.mark.parametrize("sections", [[32, 32], [16, 24, 23, 1]])
def test_a_family_has_as_many_sections_as_positions(sections: list[int]) -> None:
    config = config_of("Qwen2-VL 7B, as first published")
    config["rope_scaling"] = {"type": "mrope", "mrope_section": sections}
    message = f"mrope_section must be three numbers in 'qwen2_vl_text', got {sections}"
    refused(config, message)


def test_a_family_deals_out_its_sections_in_its_own_way_unless_it_is_said() -> None:
    config = config_of("Qwen3-VL 4B")
    scaling = {"mrope_section": [24, 20, 20], "rope_type": "default"}
    text = config["text_config"] | {"rope_scaling": scaling}
    assert rw.rotary_from_config(config | {"text_config": text}) == rw.rotary_from_config(config)


def test_an_unknown_family_may_have_sections() -> None:
    rope = {"rope_theta": 100.0, "mrope_section": [4, 2, 2]}
    config = LLAMA | {"model_type": "my_model", "rope_interleave": False, "rope_parameters": rope}
    for interleaved in (False, True):
        rope["mrope_interleaved"] = interleaved
        expected = rw.frequencies.mrope(16, sections=(4, 2, 2), interleaved=interleaved, base=100.0)
        assert rw.rotary_from_config(config)["frequencies"] == expected


def test_sections_must_be_there_for_three_positions_a_token() -> None:
    config = config_of("Qwen2-VL 7B, as first published") | {"rope_scaling": {"type": "mrope"}}
    refused(config, "mrope_section is missing")


def test_sections_must_not_contradict_the_family() -> None:
    config = config_of("Qwen2-VL 7B, as first published")
    config["rope_scaling"] = config["rope_scaling"] | {"mrope_interleaved": True}
    refused(config, "mrope_interleaved must not be True in 'qwen2_vl_text'")
    refused(LLAMA | {"rope_scaling": {"mrope_section": [4, 2, 2]}}, "mrope_section must not be")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"rope_theta": 1.0, "rope_parameters": {"rope_theta": 2.0}},
            "rope_theta of rope_parameters and rope_theta",
        ),
        (
            {"rope_theta": 1.0, "rope_scaling": {"type": "linear", "factor": 2, "rope_theta": 2.0}},
            "rope_theta of rope_scaling and rope_theta",
        ),
        ({"rope_theta": 1.0, "rotary_emb_base": 2.0}, "rope_theta and rotary_emb_base"),
        (
            {"rotary_pct": 0.5, "partial_rotary_factor": 0.25},
            "partial_rotary_factor and rotary_pct",
        ),
        ({"rotary_dim": 4, "partial_rotary_factor": 0.5}, "rotary_dim and partial_rotary_factor"),
        (
            {"rope_scaling": {"type": "linear"}, "rope_parameters": {"type": "yarn"}},
            "type of rope_parameters and of rope_scaling",
        ),
    ],
    ids=str,
)
def test_contradictions_are_refused(given: dict[str, Any], message: str) -> None:
    refused(LLAMA | given, f"{message} must agree, got ")


@pytest.mark.parametrize("fraction", [0.0, -0.5, 1.5])
def test_part_of_a_head_must_be_above_0_and_at_most_1(fraction: float) -> None:
    refused(LLAMA | {"partial_rotary_factor": fraction}, "partial_rotary_factor must be ")


@pytest.mark.parametrize(
    ("widths", "found"),
    [
        ({"partial_rotary_factor": 0.2}, 3),
        ({"partial_rotary_factor": 0.01}, 0),
        ({"head_dim": 7}, 7),
        ({"rotary_dim": 5}, 5),
    ],
)
def test_part_of_a_head_must_be_even(widths: dict[str, Any], found: int) -> None:
    message = (
        "rotary_dim, or else head_dim times partial_rotary_factor, must be an even integer, "
        f"2 or more, got {found}"
    )
    refused(LLAMA | widths, message)


@pytest.mark.parametrize("width", [0, -2, 17, 18])
def test_the_rotated_width_must_fit_the_head(width: int) -> None:
    refused(LLAMA | {"rotary_dim": width}, "rotary_dim must be an integer from 1 to 16")


@pytest.mark.parametrize("layer_type", [None, "global", "chunked_attention"])
def test_one_of_several_layer_types_must_be_named(layer_type: str | None) -> None:
    message = "layer_type must be one of 'sliding_attention', 'full_attention', got "
    refused(config_of("Gemma 3 12B"), message + repr(layer_type), layer_type=layer_type)


@pytest.mark.parametrize("name", [["x"], {}, 1, None], ids=repr)
def test_layer_types_are_texts(name: object) -> None:
    message = f"each of layer_types must be a str, got {name!r}"
    refused(LLAMA | {"layer_types": [name]}, message, TypeError, layer_type="x")


@pytest.mark.parametrize("value", ["x", "", 0, False, {}], ids=repr)
def test_layer_types_are_a_list(value: object) -> None:
    message = f"layer_types must be a list, got {value!r}"
    refused(LLAMA | {"layer_types": value}, message, TypeError, layer_type="x")


def test_lengths_of_yarn_are_numbers() -> None:
    rope = {"rope_type": "yarn", "original_max_position_embeddings": "4096"}
    config = LLAMA | {"rope_scaling": rope, "max_position_embeddings": 8192}
    message = "original_max_position_embeddings must be a real number, got '4096'"
    refused(config, message, TypeError)


def test_a_layer_type_must_be_there() -> None:
    message = "layer_type must be left out where layer_types is, got 'full_attention'"
    refused(LLAMA, message, layer_type="full_attention")


def test_a_layer_type_that_does_not_rotate_says_so() -> None:
    message = "layer_type 'full_attention' does not rotate in 'cohere2'"
    refused(config_of("Command R7B"), message, layer_type="full_attention")
    rope = {"full_attention": None, "sliding_attention": {"rope_theta": 5e4}}
    message = "layer_type 'full_attention' does not rotate in 'llama'"
    refused(LLAMA | {"rope_parameters": rope}, message, layer_type="full_attention")


@pytest.mark.parametrize("given", [{"rope_theta": 7.0}, {"rope_scaling": {"type": "linear"}}])
def test_families_without_an_old_spelling_refuse_it(given: dict[str, Any]) -> None:
    config = {"model_type": "laguna", "head_dim": 128} | given
    key = "rope_theta" if "rope_theta" in given else "rope_parameters"
    with pytest.raises(ValueError, match=f"^{key} .*must be (in rope_parameters|given)"):
        rw.rotary_from_config(config, layer_type="full_attention")


@pytest.mark.parametrize(
    ("model_type", "key", "value", "needed"),
    [
        ("falcon", "alibi", True, False),
        ("esm", "position_embedding_type", "absolute", "rotary"),
        ("esm", "position_embedding_type", None, "rotary"),
        ("granitemoehybrid", "position_embedding_type", "nope", "rope"),
    ],
)
def test_a_model_that_does_not_rotate_says_so(
    model_type: str, key: str, value: Any, needed: Any
) -> None:
    config = LLAMA | {"model_type": model_type, key: value}
    refused(config, f"{key} must be {needed!r} for {model_type!r} to rotate, got {value!r}")
    assert rw.rotary_from_config(config | {key: needed})["rotary_dim"] == 16


def test_a_family_of_many_schedules_needs_one() -> None:
    config = config_of("gpt-oss 20B") | {"rope_scaling": None}
    refused(config, "rope_parameters is missing, and models of 'gpt_oss' differ in it")


@pytest.mark.parametrize("length", [0, -1, 2**53 + 1])
def test_length_must_be_positive(length: int) -> None:
    refused(LLAMA, "length must be an integer from 1 to ", length=length)


@pytest.mark.parametrize("length", [1.0, "8192"])
def test_length_must_be_an_integer(length: Any) -> None:
    refused(LLAMA, "length must be an integer, got ", TypeError, length=length)


@pytest.mark.parametrize("value", ["true", 1, [True]])
def test_rope_interleave_must_be_a_truth_value(value: Any) -> None:
    refused(LLAMA | {"rope_interleave": value}, "rope_interleave must be a bool, got ", TypeError)


def test_a_config_without_a_family_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^config must have model_type"):
        rw.rotary_from_config({"hidden_size": 64, "num_attention_heads": 4})


@pytest.mark.parametrize("base", [[1e4], {}, "1e4"], ids=str)
@pytest.mark.parametrize("family", ["laguna", "neomme"])
def test_a_base_that_is_no_number_is_named(family: str, base: object) -> None:
    with pytest.raises((TypeError, ValueError), match="rope_theta"):
        rw.rotary_from_config(
            {"model_type": family, "head_dim": 64, "rope_theta": base}, layer_type="full_attention"
        )


SCALED = LLAMA | {"max_position_embeddings": 4096, "rope_theta": 1e4}


def test_a_factor_of_yarn_does_not_follow_from_one_length() -> None:
    refused(SCALED | {"rope_scaling": {"type": "yarn"}}, "factor is missing where rope_type is")


@pytest.mark.parametrize("value", [0, False])
def test_a_key_that_is_not_understood_may_be_0(value: object) -> None:
    rope = {"rope_type": "linear", "factor": 4.0, "beta_fast": value}
    message = f"beta_fast is not understood where rope_type is 'linear', got {value!r}"
    refused(SCALED | {"rope_scaling": rope}, message)
