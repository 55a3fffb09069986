"""What views say: their titles, and in Japanese the words of the page by the English ones in it."""

from __future__ import annotations

from ropewalk._japanese import WORDS

# Of views, unless one is given.
TITLES = {
    "attention": {"en": "Attention", "ja": "注意機構"},
    "encoding": {"en": "Sinusoidal encoding", "ja": "正弦波位置符号"},
    "rotation": {"en": "Rotary position embedding", "ja": "回転位置埋め込み (RoPE)"},
}

JAPANESE = {
    **WORDS,
    # all views
    "save SVG": "SVG を保存",
    "save PNG": "PNG を保存",
    "A saved page: what is greyed out needs Python.": (
        "保存したページです。灰色の項目を変えるには Python が必要です。"
    ),
    "{}, pairs 0 to {}": "{}、組 0 から {} まで",
    "pair {}: a turn in {} positions": "組 {}: {} 位置で一周",
    "heat map, arrow keys move": "ヒートマップ、矢印キーで移動",
    "hatched: hidden": "斜線: マスク済み",
    "hatched: hidden, or 0": "斜線: マスク済み、または 0",
    "grey: not finite": "灰色: 有限でない",
    # attention
    "Attention": "注意機構",
    "feature {}": "特徴 {}",
    "key {} “{}”": "キー {} 「{}」",
    "query {} “{}” · {} · {} {}": "クエリ {} 「{}」 · {} · {} {}",
    "heads": "ヘッド",
    "logarithmic colours": "対数目盛の色",
    "stage": "段階",
    "temperature": "温度",
    "causal": "因果マスク",
    "window: before": "窓: 前",
    "after": "後",
    "window: after": "窓: 後",
    "mask": "マスク",
    "Values and outputs of attention": "注意機構のバリューと出力",
    "values": "バリュー",
    "outputs, that of query {} larger": "出力 (クエリ {} を大きく表示)",
    # encoding
    "Encoding": "位置符号",
    "position": "位置",
    "position {} · {} · {}": "位置 {} · {} · {}",
    "Wave of a dimension": "一つの次元の波",
    "{}, wavelength {}": "{}、波長 {}",
    "Hands of a position": "一つの位置の針",
    "hands of position {}": "位置 {} の針",
    "base": "底",
    "dim": "次元数",
    "schedule": "スケジュール",
    "standard": "標準",
    "linear": "線形補間",
    "ntk": "NTK",
    "yarn": "YaRN",
    "factor": "倍率",
    # rotation
    "Pairs of the query": "クエリの組",
    "pairs of the query at position {}": "位置 {} でのクエリの組",
    "Score against distance": "距離とスコア",
    "score, exact angles": "スコア (正確な角度)",
    "score, float32 angles": "スコア (float32 の角度)",
    "distance": "距離",
    "distance {}": "距離 {}",
    "distance {} · score {} · with float32 angles {}": (
        "距離 {} · スコア {} · float32 の角度では {}"
    ),
    "play": "再生",
    "first position": "最初の位置",
}
