"""Japanese words that figures and interactive views share, by the English ones."""

from __future__ import annotations

WORDS = {
    "query": "クエリ",
    "key": "キー",
    "feature": "特徴",
    "head {}": "ヘッド {}",
    "scores": "スコア",
    "capped": "ソフトキャップ後のスコア",
    "biased": "バイアス後のスコア",
    "weights": "重み",
    "output": "出力",
    "dimension": "次元",
    "dimension {} ({})": "次元 {} ({})",
}
