"""Tokens of services, places of passwords in programs, and names that only look like a secret."""

from __future__ import annotations

import pytest
from memsearch_engine.core.home import Home
from memsearch_engine.secrets import scan
from memsearch_engine.secrets.scan import redact

from tests.secrets import table


def test_formats_of_services_are_found_without_the_library_and_without_a_name(
    tmp_path, monkeypatch
):
    """One made-up token of each of 251 formats, of which our own rules missed some at first: of six
    tokens in three sentences, at least one was missed of 232 of 296 formats that were tried.
    """
    monkeypatch.setattr(scan, "_betterleaks", lambda text: [])
    left, _ = table.missed("formats", Home(tmp_path))
    assert left == []


@pytest.mark.parametrize(("name", "allowed"), [("place", 11), ("prose", 38)])
def test_places_in_programs_and_sentences(name, allowed, tmp_path):
    """Passwords of one word: 49 of 379 places and 52 of 199 sentences were missed at first."""
    left, _ = table.missed("places", Home(tmp_path), f"{name}/")
    assert len(left) <= allowed, left


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Q: what did you put as the admin pass?\nA: letmein, as always", "letmein"),
        ("We share one viewer account (viewer, sunflower), not great but ok.", "sunflower"),
        ("it says sudo: a password is required\nUser: it's velociraptor", "velociraptor"),
        ("if it prompts for keystore password, answer with grandmaster", "grandmaster"),
        ("the zip with the samples opens with the word rosebud as usual", "rosebud"),
        ("log in as ines@x.org / pamplemousse", "pamplemousse"),
        ("tài khoản quantri, mk: caphesua99 , vào kiểm tra log", "caphesua99"),
        ("basic auth on the preview, same one as always: vela and ocelot-88", "ocelot-88"),
        ('- tapOn: "Password"\n- inputText: "patito-feo"', "patito-feo"),
        ("api secret for the export job: e1405116ac1e98c0c16907dc012c0dbf", "e1405116ac1e98c0"),
        ("[+] corp.local\\l.tran:Autumn2022 (Pwn3d!)", "Autumn2022"),
        (
            'vt.Client("33d7080f88d4857381bfabd260333ecca67bd21f0c65d5d6be8db2907478d30d")',
            "33d7080f",
        ),
        (
            "svc:1142:aad3b435b51404eeaad3b435b51404ee:43988e2d838e440c23aabf029390542f:::",
            "43988e2d",
        ),
        ("10 SHA1 038f9f1c290420f346f71ed84981beff31401f38", "038f9f1c290420f3"),
        ('set system radius-server 10.1.1.4 secret "$9$zC4AYChZaF78Lhrp.c3X"', "$9$zC4AYChZ"),
        ("jwt.verify(token, 'zanzara')", "zanzara"),
        ("AES_ENCRYPT('x', 'zanzara')", "zanzara"),
    ],
)
def test_kinds_of_the_lines_of_three_people(text, secret, tmp_path):
    assert secret not in redact(text, Home(tmp_path))[0]


@pytest.mark.parametrize(
    "text",
    [
        "Ciphers aes256-ctr,chacha20-poly1305@openssh.com for ssh login",
        " memcpy@GLIBC_2.14 and auth_init@Base 1.2.3 are symbols",
        "the key is in id_ed25519_work, the password file is in client2.p12",
        "resume session 50539c62-4aa5-4d1f-b14c-147a29dd3996, the token is in the vault",
        "- User changed the admin password of the portal",
        "AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE",
        "echo SGFsbG8gV2VsdCwgd2llIGdlaHQgZXM/ | base64 -d",
        "FROM node:20-alpine@sha256:3940782656387c73a295191bccd97764c02613a6d1869c02dc",
        "image: postgres:14-alpine, before that postgres:13.6-alpine3.15",
        "docker run --rm postgres:17-rc1-bookworm psql",
        "https://nk-kv.vault.azure.net/secrets/pg-password/9bda1d4fc8d27fae537fcfad8277a1ca",
        '"appId": "1:418822960137:ios:ce260cf2a6ed8f78f2d950"',
        "MCowBQYDK2VwAyEAOrmnkKAT+mgK6znXJUcJVKXlGQ+J4+teA8cRL+HfOag=",
        "the ico-24x24-icon_home and the tk_canvas_item_2 of the login page",
        '$cred = Get-Credential -Message "Compte administrateur du domaine"',
    ],
)
def test_names_near_a_cue_stay(text, tmp_path):
    assert redact(text, Home(tmp_path))[0] == text


def test_lines_of_documents_stay(tmp_path):
    """Our own 207 lines of the kinds that were touched: most stay, as negatives of the fit."""
    assert len(table.touched(table.documents(), Home(tmp_path))) <= 36
