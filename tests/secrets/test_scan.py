"""Secrets are found where conversations hold them, and what only looks like one stays.

The cases were written by somebody who did not write the rules: vendor tokens, headers, command
lines, configuration files, source code, prose in several languages; and hashes, references,
placeholders, code. All values are made up.
"""

from __future__ import annotations

import importlib.util
import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memsearch_engine.core.home import Home
from memsearch_engine.secrets import scan
from memsearch_engine.secrets.linear import any_of
from memsearch_engine.secrets.scan import find, redact

from tests.secrets import table

HERE = Path(__file__).parent


def cases(name: str) -> list[dict]:
    files = [HERE / f"{name}.jsonl", HERE / f"{name}_more.jsonl"]
    return [
        json.loads(line)
        for file in files
        if file.exists()
        for line in file.read_text(encoding="utf-8").splitlines()
    ]


@pytest.mark.parametrize("case", cases("positive"), ids=lambda case: case["name"])
def test_a_secret_does_not_survive(case):
    clean, found = redact(case["text"], Home.from_env())
    left = [secret for secret in case["secrets"] if secret in clean]
    assert not left, clean
    assert found and redact(clean, Home.from_env()) == (clean, [])  # what was cleaned stays


@pytest.mark.parametrize("case", cases("negative"), ids=lambda case: case["name"])
def test_what_is_no_secret_stays(case):
    assert redact(case["text"], Home.from_env())[0] == case["text"]


@pytest.mark.parametrize("case", cases("collateral"), ids=lambda case: case["name"])
def test_only_the_secret_goes(case):
    clean, _ = redact(case["text"], Home.from_env())
    assert not [secret for secret in case["secrets"] if secret in clean]
    assert not [kept for kept in case["keep"] if kept not in clean]


@pytest.mark.slow
def test_our_own_rules_stand_alone_where_the_library_has_no_wheel(monkeypatch):
    monkeypatch.setattr(scan, "_betterleaks", lambda text: [])
    missed = [
        c["name"]
        for c in cases("positive")
        if any(secret in redact(c["text"], Home.from_env())[0] for secret in c["secrets"])
    ]
    assert missed == []


@pytest.mark.skipif(
    importlib.util.find_spec("betterleaks") is None, reason="no wheel of the library here"
)
def test_the_library_is_asked_too_and_in_pieces():
    token = "ghp_" + "k3Vx9Qm2Zt7Rb1Lw8Np4Yc6Hd5Jf0Gs3Ea2U"
    text = "plain words " * 3000 + token + " and plain words " * 3000
    assert token in [secret for _, secret in scan._betterleaks(text)]


def test_equal_secrets_have_equal_names_and_no_word_of_them():
    secret = "ghp_" + "k3Vx9Qm2Zt7Rb1Lw8Np4Yc6Hd5Jf0Gs3Ea2U"
    clean, found = redact(f"one {secret} and {secret}, in https://x/{secret}", Home.from_env())
    assert (
        len(found) == 3
        and len({f.placeholder for f in found}) == 1
        and clean.count(found[0].placeholder) == 3
    )
    assert secret[:8] not in clean and secret[-8:] not in clean


def test_a_repeated_argument_has_one_rule(tmp_path):
    text = 'user.update!(password: "Tr0ub4dor&3x!", password_confirmation: "Tr0ub4dor&3x!")'
    _, found = redact(text, Home(tmp_path))
    assert [one.rule for one in found] == ["assigned-secret"] * 2


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("sorry caps lock, it's harvestthimble6449 not the other one", "harvestthimble6449"),
        ("for the password they wrote fpYkgRQRGPPo.", "fpYkgRQRGPPo"),
        ("unlock the backup drive w/ walnut ripple pickle 55, thanks", "walnut ripple pickle 55"),
        ("GET /login?u=odalys&p=goblet989lantern&next=%2F HTTP/1.1", "goblet989lantern"),
        ('sqlcmd -S tcp:sql02 -U sa -P "Gasket nimbus 90$" -Q "SELECT 1"', "Gasket nimbus 90$"),
        ("cvs -d :pserver:mira:velvet_pebble_26!@cvs.x.org:/cvs login", "velvet_pebble_26!"),
    ],
)
def test_values_with_little_around_them(text, secret, tmp_path):
    assert secret not in redact(text, Home(tmp_path))[0]


@pytest.mark.parametrize(
    "line",
    ["alice * {} *", "joe\t*\t{}\t*  # office", 'xfinity * "{}" *\r\nkim * x *', '"m" * "{}" *'],
)
def test_the_secrets_of_ppp_need_no_quotes(line, tmp_path):
    for secret in ("pfeifente", "MyPa55word"):
        assert secret not in redact(line.format(secret), Home(tmp_path))[0]


@pytest.mark.parametrize("text", ["width * height * depth", "area = width * height *\n  depth"])
def test_a_product_stays(text, tmp_path):
    assert redact(text, Home(tmp_path))[0] == text


@pytest.mark.parametrize(
    "text",
    [
        "STRIPE_PUBLISHABLE_KEY=pk_test_519M779hAjkZzqgmpuxtZN29Sl6duRKPD7qFDhPejj1bXzjRnL1baIOK",
        "subject key identifier: CE:36:27:79:F0:B3:79:AA:72:FB:29:BF:45:B5:F6:C6:95:6F:73:44",
    ],
)
def test_public_keys_stay(text, tmp_path):
    assert redact(text, Home(tmp_path))[0] == text


@pytest.mark.parametrize("name", ["unseen", "heldout"])
def test_sets_whose_misses_were_closed_are_found(name, tmp_path):
    left, _ = table.missed(name, Home(tmp_path))
    assert left == []


def test_a_set_run_once_is_found_as_often_as_then(tmp_path):
    """Written before the rules were read; 17 of 118 were missed at its first run. Rules were made
    for some of them since.
    """
    left, _ = table.missed("unseen2", Home(tmp_path))
    assert len(left) <= 6, left


@pytest.mark.parametrize(
    ("name", "allowed"),
    [("unseen3", 3), ("unseen4", 6), ("unseen5", 6), ("unseen6", 12), ("unseen7", 6)],
)
def test_shapes_of_later_sets(tmp_path, name, allowed):
    """Written before rules for them: 79 of 286, 24 of 138, 22 of 125, 26 of 250 and 87 of 575 were
    missed at their first runs. Rules were made for many of their kinds since, and the weights of
    ``evidence`` were fitted to all.
    """
    left, _ = table.missed(name, Home(tmp_path))
    assert len(left) <= allowed, left


@pytest.mark.parametrize(
    ("name", "allowed"),
    [
        ("unseen8", 1),
        ("unseen10", 1),
        ("trained", 12),
        ("trained2", 15),
        ("trained3", 6),
        ("trained4", 10),
        ("trained5", 3),
        ("phrases", 6),
    ],
)
def test_sets_of_the_newest_fit(tmp_path, name, allowed):
    """Eight of 150 and 89 of 845 lines were missed before rules were made for their kinds, and 44
    of the 390 lines of ``trained2`` that three people wrote who did not know the rules, and 14 of
    the 250 lines of a fourth. Of ``unseen10``, 20 of 250 were missed until it became training, and
    59 of the 430 lines of ``trained3``. Of the 470 lines of ``trained4``, 32 were missed at first,
    and 25 of the 750 of ``trained5``.
    """
    left, _ = table.missed(name, Home(tmp_path))
    assert len(left) <= allowed, left


@pytest.mark.parametrize(
    ("name", "allowed"),
    [("unseen9", 15), ("unseen11", 12), ("unseen12", 8), ("unseen13", 2), ("unseen14", 8)],
)
def test_a_set_that_no_weight_was_fitted_to(name, allowed, tmp_path):
    """Of ``unseen9``, 28 of 202 lines were missed at first, and its kinds were known when rules
    were made since. ``unseen11`` was only counted, but several times: 21 of 250 were missed at
    first. No rule was made after the counts of the other sets; 14 of their 750 lines are missed.
    """
    left, _ = table.missed(name, Home(tmp_path))
    assert len(left) <= allowed, left


def test_prose_that_mentions_passwords_stays(tmp_path):
    assert len(table.touched(table.mentions(), Home(tmp_path))) <= 2


#: What siblings are of, and how many of them are missed.
SIBLINGS = {
    **dict.fromkeys(("fernet", "session cookies", "twilio", "fcm", "spring letters only"), 0),
    **dict.fromkeys(("plist", "securestring", "net user", "expect", "requirepass", "pulumi"), 0),
    **dict.fromkeys(("login with", "it", "ko", "pl", "nl", "sv"), 0),
    "7z": 1,
    "tr": 1,
}


@pytest.mark.parametrize("kind", SIBLINGS)
def test_siblings_of_known_shapes(tmp_path, kind):
    rows = [c for c in cases("siblings") if c["name"].partition("/")[2] == kind]
    home = Home(tmp_path)
    left = [
        c["text"] for c in rows if any(one in redact(c["text"], home)[0] for one in c["secrets"])
    ]
    assert len(rows) >= 3
    assert len(left) <= SIBLINGS[kind], left


@pytest.mark.slow
def test_passwords_in_spoken_clauses(tmp_path):
    """127 patterns in 15 languages with words of many languages: at least 15 of 16 are found."""
    left, count = table.missed("spoken", Home(tmp_path))
    assert len(left) <= count // 16, left


@pytest.mark.parametrize(
    ("group", "allowed"),
    [
        ("code", 0),
        ("command", 3),
        ("config", 8),
        ("header", 0),
        ("prose", 7),
        ("prose-foreign", 1),
        ("sql", 0),
        ("token", 0),
    ],
)
def test_shapes_in_groups(tmp_path, group, allowed):
    """Pasted lines that were written before the rules were read.

    About a third was missed at the first run. The grammar was extended for their causes since.
    """
    left, _ = table.missed("shapes", Home(tmp_path), f"{group}/")
    assert len(left) <= allowed, left


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        # a name, a connector, a value
        ("userPassword: mieze", "mieze"),
        ('db_password <- "rstudio1"', "rstudio1"),
        ("SMTP_PASS: 'pass word with spaces'", "pass word with spaces"),
        ("imapsync --password1 alteswort --host2 b", "alteswort"),
        (
            'variable "db_password" {\n  type = string\n  default = "terra-incognita"\n}',
            "incognita",
        ),
        ('<Pass encoding="base64">U3RyYW5ka29yYg==</Pass>', "U3RyYW5k"),
        ('vercel env add KV_TOKEN production <<< "vk_9sd8f7g6h5j4"', "vk_9sd8f7g6h5j4"),
        ("consul kv put app/db/password Konsulat", "Konsulat"),
        ("'password' => Hash::make('kunsthandwerk'),", "kunsthandwerk"),
        ('keyring.set_password("smtp", "bot", "Keyringer")', "Keyringer"),
        # clauses
        ("my password used to be oldhorse but now it is newhorse", "newhorse"),
        ("you'll need the passphrase (kupferkessel) to unlock it", "kupferkessel"),
        ("I set POSTGRES_PASSWORD to elefantenhaus in compose", "elefantenhaus"),
        ("Das Passwort lautet Buchweizen.", "Buchweizen"),
        ("Şifre kelebek olarak ayarlandı", "kelebek"),
        ("я поменял пароль на одуванчик", "одуванчик"),
        ("The PIN for the alarm panel is 2580.", "2580"),
    ],
)
def test_a_name_a_connector_a_value(text, secret, tmp_path):
    assert secret not in redact(text, Home(tmp_path))[0]


@pytest.mark.parametrize(
    "text",
    [
        "Das Passwort ist Pflicht.",
        "Hasło jest wymagane",
        "La password è scaduta.",
        "password: z.string().min(8)",
        "    password: ReadableBuffer, *, salt: ReadableBuffer",
        "Arguments to pass to numexpr",
        "The pass is scheduled for Friday.",
        "The password was set to expire",
        "The password to authenticate with the registry",
        "bugs identified by upstream",
        "username, password = split",
        "Das Passwort ist in der Umgebungsvariable DB_PASSWORD hinterlegt.",
        "密码：请联系管理员获取",
        "access_key, secret_key = s3_connection",
    ],
)
def test_words_that_describe_a_password_stay(text, tmp_path):
    assert redact(text, Home(tmp_path))[0] == text


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("helm registry login -u ci -p otter-Reef8 registry.corp.io", "otter-Reef8"),
        ("jdbc:mysql://db;user=sa;password=sageTrail8;", "sageTrail8"),
        ("//nas/s /mnt cifs username=bob,password=plumTree4 0 0", "plumTree4"),
        ("useradd -m -p plainText9 kim", "plainText9"),
        ("java -jar cli.jar -auth kim:pumpkinSeed2 build", "pumpkinSeed2"),
        ("gh secret set DEPLOY_PW --body 'firefly303'", "firefly303"),
        ("recovery code: 7K3M-9XQP-2VLT", "7K3M-9XQP-2VLT"),
        ("restic init --password-file <(echo schilfrohr)", "schilfrohr"),
        ("printf 'eins\\nseegras9\\n' | passwd kim", "seegras9"),
        ("echo 'schilfrohr' > ~/.vault_pass", "schilfrohr"),
        ("rclone obscure Schilfrohr", "Schilfrohr"),
        ("vault login Schilfrohr", "Schilfrohr"),
        ("airflow users create -u kim --password schilfrohr", "schilfrohr"),
        ("mosquitto_sub -h broker -p 1883 -u kim -P schilfrohr", "schilfrohr"),
        ("redis-cli -h x -a 4821", "4821"),
        ("htpasswd -nbB admin 'Schilf#3'", "Schilf#3"),
        ("xcrun altool -u k@c.com -p abnq-wdkt-plmz-xvey", "abnq-wdkt-plmz-xvey"),
        ("cme smb corp/jd:Schilf.26@10.0.0.8", "Schilf.26"),
        ('if (pass == "schilfrohr") login();', "schilfrohr"),
        ("bcrypt.hash('schilfrohr', 10)", "schilfrohr"),
        ("password: |-\n  schilfrohr", "schilfrohr"),
        ("SIM PIN 4821, PUK: 93847261", "93847261"),
    ],
)
def test_arguments_and_lists_of_settings_with_a_password(text, secret, tmp_path):
    assert secret not in redact(text, Home(tmp_path))[0]


#: Its words have no checksum.
PHRASE = "fabric kitten harvest glove drift dolphin hazard window prefer canyon escape novel"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        # no name: the value alone shows it
        ("/opt/wildfly/bin/setup --quiet 'meadow#7223Saffron'", "meadow#7223Saffron"),
        (
            "nuget push x.nupkg dyiXQyK03t4kavuii3vAXpv4z2ppKt8F -s x",
            "dyiXQyK03t4kavuii3vAXpv4z2ppKt8F",
        ),
        # below a line that names it, or a command that prints it
        ("$ argocd admin initial-password\ndyGL0qlWslCkyr3c\n", "dyGL0qlWslCkyr3c"),
        (
            "$ openssl rand -hex 16\n0d9f945ffa4d1278220ad2cf1337349e",
            "0d9f945ffa4d1278220ad2cf1337349e",
        ),
        ("Password was reset.\nNew value: T+f=5w2-S21A3BKBvFXm", "T+f=5w2-S21A3BKBvFXm"),
        ('(gdb) p cfg->password\n$1 = 0x55d0 "iCDmO46ayJKP4G"', "iCDmO46ayJKP4G"),
        # an entry of a section that is named so
        ("[admins]\nkim = relax-Sofa-1999\n", "relax-Sofa-1999"),
        # a link that opens what it leads to
        ("https://x.org/reset-password/friyitcgw8dtirkfhoopelrmldsm8zp", "friyitcgw8dtirkf"),
        # brackets and all other characters of a generated password
        ("Login: kim\nSenha: Nq8)vLw4zT\n", "Nq8)vLw4zT"),
        ("A temporary password is generated for root@h: kd2;Yq8f>wLu", "kd2;Yq8f>wLu"),
        ("ConvertTo-SecureString 'Bck$upN1ght!ly' -AsPlainText", "Bck$upN1ght!ly"),
        ('db.setPassword(QStringLiteral("Ki0sk-lobby-West"));', "Ki0sk-lobby-West"),
        # other names and verbs
        ("die Geheimzahl fürs Display ist 2084", "2084"),
        ("DB_PASSWORD vale `m9Zt_Qu4dro`", "m9Zt_Qu4dro"),
        ("sorry typo in the password, should be Mercury_rises7", "Mercury_rises7"),
        ("链接 pan.x.cn/s/1 提取码: k7mq", "k7mq"),
        (
            'The wifi is called Loft-5G and the passphrase is "purple hedgehog marching", join',
            "purple hedgehog marching",
        ),
        ("API-avaimeni on 7c19f0e2b4d85a6631e0f9a2c4b7d8e5, joten", "7c19f0e2b4d85a66"),
        ("พาสเวิร์ดเป็น Rotfai-fah9 แล้วค่ะ", "Rotfai-fah9"),
        ("the db password's sunday_roast_44 and host is localhost", "sunday_roast_44"),
        (
            "it is 10.2.3.4, user deploy, password is Mango7Trestle — why is nginx down?",
            "Mango7Trestle",
        ),
        # pairs, ciphers and phrases in calls, rows of a table
        ("set the basic auth on the site to preview:marzipan-tower please", "marzipan-tower"),
        ('client.username_pw_set("sensor01", "drypp-Mose-12")', "drypp-Mose-12"),
        ("$ cat /etc/openvpn/auth.txt\np8812203\nxK2wallaby", "xK2wallaby"),
        ('AES.new(bytes.fromhex("192066bdb57f9cf328fc013475b351a7"), m)', "192066bdb57f9cf3"),
        (f'Wallet.fromPhrase("{PHRASE}")', PHRASE),
        (f"My seed phrase is {PHRASE} and the wallet derives another address", PHRASE),
        (
            "vault kv get secret/x\nKey   Value\n--    -----\nttl   768h\npin   1f9c28d117b16868e2",
            "1f9c28d117b16868e2",
        ),
        ("recovery codes, keep one for the test: 0ba46-d297e", "0ba46-d297e"),
    ],
)
def test_values_that_are_named_elsewhere_or_not_at_all(text, secret, tmp_path):
    assert secret not in redact(text, Home(tmp_path))[0]


@pytest.mark.parametrize(
    "text",
    [
        "See String#to_i2 and Array#each_slice2 for the difference",
        "trace id 4bF92f3577B34dA6a3Ce929d0E0e4736 in Jaeger",
        "https://github.com/x/auth/blob/4d229bf9f583d593aa103287aee0a77c9fbc3a79/a.py#L6",
        "sha256sum token.bin\n9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "[users]\nshell = /bin/bash\nhome = /home/kim\n",
        "request id is 50539c62-4aa5-4d1f-b14c-147a29dd3996, it says invalid api key",
        "пароль приходит из переменной окружения PGPASSWORD",
        'b"ABzY8zd+h!0{>%R7=D0pU<_bnWW*tkYAhobTNnu$jnkEkXqp)j;w1Tzk)UH3X%SZd&fFZ2fC2yj"',
        '_SEND_MESSAGE_TOKEN = "send_message"',
        "#################### BEGIN LICENSE PASS ####################",
        "Ο κωδικός πρόσβασης πρέπει να έχει τουλάχιστον 10 χαρακτήρες.",
        "wifi network is Loft5G, speed 300Mbit",
        "credentials come from the file, profile acme-prod2",
        "Key      Value\n---      -----\nbuild    1f9c28d117b16868e2",
    ],
)
def test_what_only_looks_generated_stays(text, tmp_path):
    assert redact(text, Home(tmp_path))[0] == text


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        # an unusual word near a cue, before or after it, or below
        ("DON'T commit this but sudo on that box wants iluvmycat2", "iluvmycat2"),
        ("type mossy-teapot-vandal-octave when it asks for the passphrase", "mossy-teapot-vandal"),
        ("the keypad on the server room door is 7719#, hand it over", "7719#"),
        ("this is my npm 2fa recovery code:\n83e6c397bc720ee63a5328edce02c3a6", "83e6c397bc720ee6"),
        (
            "微信小程序的AppSecret刚重置过,新的是75740fbc6be74964796a6c18494d18bb",
            "75740fbc6be74964",
        ),
        ("api key for maps is 3f2b8c10-7d4e-4b19-9f0a-1c2d3e4f5a6b", "3f2b8c10-7d4e-4b19"),
        ("db pasword for prod is urhoxgkkpg i know its bad", "urhoxgkkpg"),
        # phrases
        ("SSID is Bandsaw, passphrase dovetail joints forever. Write it", "dovetail joints"),
        ("de wachtwoordzin was gewoon fietsen door de polder. zet dat", "fietsen door de polder"),
        (
            "own seed: gravity mimic lunar slender oyster tackle fabric rebel canyon divert hobby "
            "wisdom. ok",
            "slender oyster",
        ),
        # places
        ('DBI->connect("dbi:mysql:x", "kassa", "nwlbvofsf", {})', "nwlbvofsf"),
        ("#0 Db.php(31): PDO->__construct('mysql:host=db4', 'shop', 'sHRS2AU-raal')", "sHRS2AU"),
        ("KEYSTORE_PW = {'D', 'g', 'l', 'e', 'A', 'W', '4', 'x'};", "'D', 'g', 'l'"),
        ("cat ~/.config/solana/id.json\n[" + ",".join(["67", "104"] * 32) + "]", "67,104,67"),
        ("redis-cli -h x -a juniperSaddle INFO", "juniperSaddle"),
    ],
)
def test_unusual_words_near_a_cue_and_phrases(text, secret, tmp_path):
    assert secret not in redact(text, Home(tmp_path))[0]


@pytest.mark.parametrize(
    "text",
    [
        "commit d2e0d0caa460518d9fe5acb2d7114436b1ad403d fixes the password form",
        "密钥从环境变量读取，提交记录是 8057a0db52ff，没有写进仓库",
        "request 50539c62-4aa5-4d1f-b14c-147a29dd3996 has an invalid token",
        "the token fix is in src/auth/refresh2.py, version 2.4.1",
        "github.com/x/vault/api v1.15.0 h1:IoXfNvUK2RvqA9wuIZhHE2/otbSmR/cVaDPfxro8/es=",
        "PASSWORD: ENC[AES256_GCM,data:d4UqO6Yl2vlTIAcK1eBu,iv:KhLGg7Ic7K3IB9zB9O3Pf963Y1v20g56=]",
        'part prt_1ffdafa57001N5YGWZBmoDKPCo, {"order_id":"ord_c5WfsBLUEDJi6hKJtsR7QtEt"}',
        "die Passphrase muss mindestens vier Wörter haben",
        "la contraseña la tiene soporte, yo no la se",
        "Update the signing key. @ada 3f2c9d1e0b7a68c5d4e3f2a1b0c9d8e7f6a5b4c3",
        "Broken by 6b1f0c9d2 when the exit code for a timeout was changed",
        "Unpin the formatter (#4711), the door sensor needs it (#4712)",
        "Android.mk: add missing lossless files",
        "GetClassId() is gone\n- n-api: support type-tagging objects",
    ],
)
def test_names_of_things_near_a_cue_stay(text, tmp_path):
    assert redact(text, Home(tmp_path))[0] == text


def test_all_groups_of_words_are_found_at_once():
    """Also where they overlap or one begins another; no word at all gives no number."""
    found = any_of([("pass", "pwd"), ("password",), ("sword",), ("$1$", "a b"), ("none",)])
    assert found("my password: $1$") == [0, 1, 2, 3]
    assert found("nothing") == []


@pytest.mark.parametrize(
    "text",
    [
        "The seed phrase must be written down before anyone could ever touch their wallet again",
        "Enter password for the router: required",
        '#define PASSWORD_LENGTH "silvermoon"',
        "Password for the router: forgotten",
        "backup codes: 10 of them, all used",
        "docker run --user app:wheel -p 8080:8080 web",
        "gh secret set DEPLOY_PW < file.txt",
        "useradd -m -p $HASH kim",
        "connect(user=name,password=password)",
        "usa la password generata per il wifi",
        "Hasło zmieniłem na serwerze",
        "the public key is 0x" + "ab12" * 16,
        "contract token: 0x" + "9e77ab20" * 5,
        "password = keyring.get_password('service1', username)",
        "the password manager is installed, the password generator too",
        "postgres://user:password@localhost/db",
        "PublicKeyToken=b77a5c561934e089",
        "#define WIFI_PASS CONFIG_WIFI_PASSWORD",
        "パスワードは8文字以上です",
        "echo done > passed.log",
        "npm login failed with E401",
        "npm login works now",
        "npm login timed out",
        "npm login against the company registry",
        "vault login succeeded",
        "cargo login page",
        "ansible-vault encrypt_string failed",
        "nuget setapikey failed",
        "redis-cli auth failed again",
        "use python/3.11x to log in",
        "sign in as user1/step2",
        "airflow db init -u x -p 5432",
        "mosquitto_sub -h broker -p 1883 -t topic",
        "the pod app-7d9f8c6b5dX2x4zA1b2C3d4E5f6 restarts",
    ],
)
def test_what_reads_nearly_like_one_stays(text, tmp_path):
    assert redact(text, Home(tmp_path))[0] == text


@pytest.mark.parametrize("name", ["password is ", "DB_PASSWORD=", "the password: "])
@pytest.mark.parametrize(
    "words",
    ["stored_in_vault", "from_env", "not_set", "see_vault", "set_by_ci", "needed_for_login"],
)
def test_words_that_say_where_a_secret_is_are_none(name, words, tmp_path):
    assert redact(f"{name}{words}", Home(tmp_path))[0] == f"{name}{words}"
    phrase = f"{name}purple_monkey_dishwasher"
    assert "monkey" not in redact(phrase, Home(tmp_path))[0]


@pytest.mark.slow
def test_innocent_lines_stay(tmp_path):
    """Lines of a person's in twelve languages, and the installed library's: at most one in a
    thousand is touched.
    """
    assert table.touched(table.by_hand(), Home(tmp_path)) == []
    lines = table.installed(2_000)
    assert len(table.touched(lines, Home(tmp_path))) <= len(lines) // 1000


@settings(max_examples=300)
@given(st.text(max_size=400))
def test_any_text_can_be_cleaned_and_spans_are_what_they_say(text):
    clean, found = redact(text, Home.from_env())
    assert all(
        text[f.start : f.start + len(f.secret)] == f.secret for f in find(text, Home.from_env())
    )
    assert redact(clean, Home.from_env())[0] == clean or found


@pytest.mark.parametrize(
    "unit",
    [
        "password=",
        "-eyJaaaaaaaaaaaaa",
        "-----BEGIN PRIVATE KEY-----\n",
        "bearer ",
        "ab://cd:",
        "a://b:c",
        "password" + " " * 200,
        "secret_",
        "0123456789abcdef",
    ],
)
def test_time_is_linear_in_hostile_text(unit, monkeypatch):
    monkeypatch.setattr(scan, "_betterleaks", lambda text: [])

    assert _is_linear(lambda size: unit * (size // len(unit)))


@pytest.mark.parametrize("run", [" ", "\t", "a ", "x=", " for a", "-", "{ "])
def test_time_is_linear_in_what_follows_a_name(run, monkeypatch):
    monkeypatch.setattr(scan, "_betterleaks", lambda text: [])
    assert _is_linear(lambda size: "db_password" + run * (size // len(run)))


def _is_linear(text_of: Callable[[int], str]) -> bool:
    """Whether eight times the text takes less than thirty times as long.

    Quadratic work would be 64 times as much; linear work is 8, and machines are noisy.
    """

    def taken(text: str) -> float:
        best = float("inf")
        for _ in range(3):
            start = time.process_time()
            find(text, Home.from_env())
            best = min(best, time.process_time() - start)
        return best

    return taken(text_of(80_000)) < 30 * max(taken(text_of(10_000)), 0.001)


def test_many_secrets_in_one_text_are_all_found(tmp_path):
    """Names that stand in each other's values are given up on after a few; names beside each other
    never are.
    """
    values = [f"Tr0ub{number}dor&3x!" for number in range(30)]
    assigned = "\n".join(f"DB_{number}_PASSWORD={value}" for number, value in enumerate(values))
    said = "\n".join(
        f"the password for box {number} is {value}" for number, value in enumerate(values)
    )
    between = "\n".join(
        f"password: none\nPASSWORD=$OTHER\nAPI_{n}_PASSWORD={value}"
        for n, value in enumerate(values)
    )
    for text in (assigned, said, between):
        clean, _ = redact(text, Home(tmp_path))
        assert [value for value in values if value in clean] == []


def test_a_short_secret_is_replaced_where_it_is_one_and_nowhere_else(tmp_path):
    """Of the library's findings those of a few signs may be words elsewhere; longer ones are the
    same secret wherever they stand.
    """
    for secret, is_everywhere in (
        ("dkea0123456", False),
        ("sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc", True),
    ):
        text = f'stripe_key = "{secret}"\n' if is_everywhere else f"PASSWORD={secret}\n"
        clean, _ = redact(f"{text}\n\n\nand then {secret} again", Home(tmp_path))
        assert (secret in clean) != is_everywhere and secret not in clean.partition("\n")[0]


def test_every_rule_compiles():
    """Patterns are compiled when a text has their words, so an error would be seen late."""
    assert all(rule.pattern.search for rule, _ in scan._RULES)


@pytest.mark.parametrize(
    "text",
    [
        "- The login token expires after 900 s [mem:4f06f9d1b2c3]",
        "- Rotated the api key\n- and the password of the portal [mem:4f06f9d1b2c3, 9be1cd97c041]",
        "- The wifi password is in the vault\n<!-- superseded-by:4f06f9d1b2c3 -->",
        "- The passphrase of the vault: see entry 4f06f9d1b2c3",
        "### 12:52\n<!-- session:6cc0a961-de74-5f63-a75f-e35b60a41c68"
        " turn:baf39937-2e10-5ea8-a505-b6592bc11759 transcript:/home/kim/agents/claude/projects/"
        "-home-kim-demo-projects-orders-api/6cc0a961-de74-5f63-a75f-e35b60a41c68.jsonl -->\n"
        "- Added 54 unit tests for app/customers/service.py, all green.\n",
    ],
)
def test_the_id_of_a_note_near_a_cue_stays(text, tmp_path):
    assert redact(text, Home(tmp_path))[0] == text
