"""Settings that have been renamed, so that saved models, bases, TOML files and results still load."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_ENCODER = {
    "contextual": "language_model_width",
    "own_dropout": "network_dropout",
    "wide": "lexical_features",
}

# By method: the renamed settings of its table `adaptation`.
_ADAPTATION: dict[str, dict[str, str]] = {
    "crossdomain-lm": {"longest": "max_words"},
    "datnet": {"balance": "focal_alpha", "focus": "focal_gamma"},
    "named": {
        "borders": "border_weight",
        "eager": "entity_bias",
        "empty": "empty_sentence_weight",
        "firm": "source_penalty_factor",
        "move_penalty": "transition_penalty",
        "name": "name_weight",
        "sources": "use_source_labels",
        "states": "state_share",
        "text": "unlabelled_weight",
        "text_most": "max_unlabelled",
        "tune_from": "fine_tune_from",
    },
    "pdaln": {"keep": "teacher_decay"},
    "stm-elmo": {"longest": "max_words", "text": "lm_text"},
}

# Pretraining on raw text has no method.
_TEXT_PRETRAINING = {
    "followed": "distilled_sentences",
    "forgotten": "word_dropout",
    "guesses": "cloze_words",
    "longest": "max_words",
}

_FACTS = {"taught": "fine_tuned_encoder"}


def current_settings(method: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The nested settings of ``method`` under today's names; unknown names and values are kept."""
    tables = {"encoder": _ENCODER, "adaptation": _ADAPTATION.get(method, {})}
    return {
        name: _renamed(tables[name], value)
        if name in tables and isinstance(value, Mapping)
        else value
        for name, value in settings.items()
    }


def current_run(content: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a pretraining run with its configuration under today's names."""
    config = current_settings(content.get("method", ""), content.get("config", {}))
    if "method" not in content:
        config = _renamed(_TEXT_PRETRAINING, config)
    return {**content, "config": config}


def current_manifest(content: Mapping[str, Any]) -> dict[str, Any]:
    """The content of a manifest with its encoder and its method's settings under today's names."""
    current = current_settings("", content)  # `encoder` stands beside `config` in a manifest
    if isinstance(config := content.get("config"), Mapping):
        current["config"] = current_settings(str(content.get("method")), config)
    if isinstance(facts := content.get("facts"), Mapping):
        current["facts"] = _renamed(_FACTS, facts)
    return current


def _renamed(names: Mapping[str, str], settings: Mapping[str, Any]) -> dict[str, Any]:
    """If both names of a setting are given, the old one stays and is refused as unknown."""
    return {
        names[old] if old in names and names[old] not in settings else old: value
        for old, value in settings.items()
    }
