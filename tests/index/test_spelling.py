"""Words meet whatever their spelling: composed or not, with vowel signs or without, in capitals of
any language.
"""

from __future__ import annotations

import unicodedata

import pytest
from memsearch_engine.index.analyze import plain, query_terms, terms, words
from memsearch_engine.search.request import parse


@pytest.mark.parametrize(
    ("note", "query"),
    [
        ("Der Gärtnerplan heißt jetzt Öffnungsplan", "gartnerplan offnungsplan heisst"),
        ("Le relevé réécrit la clé", "releve reecrit cle"),
        ("ÇALIŞMA İZNİ iptal edildi", "çalışma izni"),
        ("çalışma izni iptal edildi", "CALISMA IZNI"),
        ("أُغْلِقَتِ الْبَوَّابَةُ", "اغلقت البوابة"),
        ("دَرْوَازَهٔ شُمالی بَسته", "دروازه شمالی"),
        ("שָׁלוֹם לַבָּנִים", "שלום לבנים"),
        ("नियम की सूची", "नियम सूची"),
        ("보관 기간은 열흘", "보관"),
        ("がぎぐ の設定", "がぎぐ"),
        ("Kø og Łódź", "ko lodz"),
        ("co\u00adopera\u200dtion", "cooperation"),
    ],
)
def test_a_word_is_found_by_each_of_its_spellings(note, query):
    for form in ("NFC", "NFD"):
        said, asked = unicodedata.normalize(form, note), set(query_terms(query))
        assert asked <= set(terms(said)), (form, terms(said), asked)
        assert set(words(query).split()) <= set(words(said).split())


def test_what_is_another_sign_stays_one():
    assert plain("はば") == "はば" and plain("ハバ") == "ハバ" and plain("한글") == "한글"
    assert plain("naïve_ID") == "naive_ID" and plain("x = 1") == "x = 1"
    assert all(term.isidentifier() or term.isalnum() for term in terms("مُدَّة نِظام Z͑ͫ̓A"))


def test_phrases_and_excluded_words_meet_in_any_form(box):
    box.write(
        "2026-01-01",
        "### 10:00\n- " + unicodedata.normalize("NFD", "Die Prüfsumme fällt weg") + "\n",
    )
    assert box.ok("search", '"prüfsumme fällt"', "--json", "--no-wait").json["hits"]
    assert not box.run("search", "prüfsumme -weg", "--json", "--no-wait").json["hits"]
    assert parse('"fällt weg"').phrases
