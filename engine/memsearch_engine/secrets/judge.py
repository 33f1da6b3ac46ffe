"""Decides whether a value in the place of a secret is one.

Names, references and placeholders are not.

The rules that use this know a place (such as "after ``password=``") but no format. A value is no
secret if it reads like code or prose: a reference (``$VAR``, ``env:NAME``, ``vault:…``), a
placeholder (``your-key``, ``****``), a call or an attribute, or words of a language. Words have
long runs of letters, random values have short ones.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable

_REFERENCE = re.compile(
    r"(?i)^\$|\$\{|\{\{|^<|^%(?![0-9A-F]{2}\w)|^\(|^\[|^\{|^@|\*{3}|x{6}|•|…|\.{3}|"
    r"your[-_]|^(?:replace|insert|fill)[_-]|^todo|^(?-i:A-Z|a-z)|^op://|^vault:|^arn:|^ENC\[|"
    r"^/(?![A-Za-z0-9+/]{19,}=+$|[A-Za-z0-9+/]{39}$|[A-Za-z0-9/]*\+[A-Za-z0-9+/]{12,}={0,2}$)"
    r"|^\./|^~|://|^env:|^file:|"
    r"^\*\*?/|^unix:|^null$|^none$|^true$|^false$|^[\[<(]?redacted[\])>]?$|^0x(?:[0-9a-f]{1,8}|"
    r"[0-9a-f]{40})$|"
    r"^HTTP/\d|^--|^~?\^?\d+\.\d+\.\d|^scram-sha|^sha(?:256|384|512)|::|^:|^AAAA[BCE][23]|"
    r"(?-i:^MII[BC]Ij|^MIIBCgK|^MIG[bf]MA0G|^MFkwEwYH|^MHYwEAYH|^MCowBQYDK2V|"
    r"^AKIA[A-Z0-9]{9}EXAMPLE$)|"
    r"^\d:\d{9,13}:(?:ios|android|web):"
)
_RUNS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_WORD_LENGTH = (
    3.2  # letters per run: random base64 has about 1.6, identifiers and prose have more than 4
)
_ATTRIBUTE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+!?$")
_PLACEHOLDER = re.compile(r"__\w+__$|@@\w+@@$|(?:PASSWORD|PASSWD|PASS|PWD|SECRET|TOKEN|KEY)$")
_PUBLISHABLE = re.compile("pk_(?:live|test)_")
#: Where a secret is, in words joined by "_": "stored_in_vault", "from_env", "not_set".
_ELSEWHERE = re.compile(
    r"(?:(?:[a-z]{2,}ed|kept|set|read|held|taken|given|found|get)_(?:in|from|by|via|with|at|as|for|"
    r"to|on)|not|see|from|in|via)(?:_[a-z]+)+[.,;:)]*$"
)
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
#: What services call things by, which opens nothing.
IDENTIFIER = re.compile(
    r"(?:toolu|tool|msg|message|call|chatcmpl|cmpl|req|request|run|thread|asst|file|resp|rs|fc|evt|"
    r"event|cus|pi|pk|pm|seti|sub|price|prod|acct|in|ch|ses|session|conv|user|org|team|batch"
    r"|step|vs|"
    r"pubkey|"
    r"sha\d*|id|prt|ord|pvc|pod|vol|node|job|task|build|trace|span|tx|order|snap|img|doc|wf)[_-]"
)
_FEW_CHARACTERS = 5  # a token with fewer different characters is an example


def is_reference(value: str) -> bool:
    """Whether *value* refers to a secret or is a placeholder for one."""
    return bool(
        _REFERENCE.search(value)
        or _PLACEHOLDER.match(value)
        or _PUBLISHABLE.match(value)
        or _ELSEWHERE.match(value)
    )


def is_sealed(text: str, place: int) -> bool:
    """Whether a place is inside of what sops encrypted."""
    begin = max(0, place - 400)
    return text.rfind("ENC[", begin, place) > text.rfind("]", begin, place)


def wordy(value: str, length: float = _WORD_LENGTH) -> bool:
    """Whether *value* reads like words or an identifier.

    Args:
        length: the smallest mean length of its runs of letters.
    """
    digits = sum(map(str.isdigit, value))
    if digits * 10 > len(value) * 3:
        return False
    runs = _RUNS.findall(value)
    return not runs or sum(map(len, runs)) / (len(runs) + digits / 3) >= length


def mixed(value: str) -> bool:
    """Whether *value* has both digits and letters."""
    return any(map(str.isdigit, value)) and any(map(str.isalpha, value))


def uncased(value: str) -> bool:
    """Whether *value* has letters of a script without capitals, such as Chinese or Arabic."""
    return not value.isascii() and any(c.isalpha() and c.lower() == c.upper() for c in value)


#: The version of a container image, such as "14-alpine3.19".
_IMAGE_TAG = (
    r"\d+(?:\.\d+)*-(?:(?:alpine|slim|debian|ubuntu|bookworm|bullseye|buster|trixie|focal|jammy|"
    r"noble|management|alpha|beta|rc)[\d.]*-?){1,3}"
)
#: Versions, numbers, addresses, paths, hashes and identifiers.
NO_SECRET = re.compile(
    rf"^(?:{_IMAGE_TAG}|"
    r"[vV]?\d+(?:[.:/-]\d+)+\S*|[a-z]+(?:-[a-z]+)+@\d+|\d{1,9}(?:\.\d+)?%?|"
    r"[\w.+-]+@[\w.-]+\.\w+|(?:[\w-]+\.)+[a-z]{2,6}(?::\d+)?|\d+/\w+|"
    r"[a-z]+(?:[-_/.+][a-z0-9]+)*|[A-Z]+(?:_[A-Z0-9]+)+|(?:\d+[a-z]{1,6}){1,3}|"
    r"\d+[KMGT]i?(?:[Bb](?:it|ps)?|Hz)|[0-9a-f]{7,64}|"
    r"[A-Za-z][a-z]{2,}(?:\d?[A-Z][a-z]{2,})+\d{0,2}|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+|"
    r"[A-Z]{2,6}-?\d{1,6}|[a-z]{1,20}\d{0,2}|![a-z_]+|!?\*\.\w+|[A-Z][a-z]+\d?)$"
)
_METHOD = re.compile(
    r"(?i)(?:argon2\w*|[bs]crypt\w*|pbkdf2\w*|sha-?\d+|md5\w*|base\d\d(?:-\w+)?|"
    r"utf-?\d+|1password|bitwarden|(?:ctrl|alt|shift|cmd|meta)\+.*|oauth\d?\S*)$"
)
SYMBOLS = "!#%&*?+=~^@$§"


_CALL = re.compile(r"\w[(\[{]\w*[)\]}]|://|^[/.#-]|\.\.")


def is_scrambled(value: str) -> bool:
    """Whether a value has characters of every kind without order, as generators make it."""
    return (
        len(value) >= 10
        and value.isascii()
        and not value.isalnum()
        and mixed(value)
        and value.lower() != value != value.upper()
        and not wordy(value, 2.5)
        and not _CALL.search(value)
    )


def is_written_secret(value: str) -> bool:
    """Whether a word is a secret that prose or a table gives.

    It mixes letters with digits or symbols, and is no name, number, date, version, address or path.
    """
    if (
        not 6 <= len(value) <= 200
        or any(map(str.isspace, value))
        or is_reference(value)
        or NO_SECRET.match(value)
        or _METHOD.match(value)
    ):
        return False
    if not is_scrambled(value) and re.search(
        r"://|[()\[\]{}=|\\<>]|\.\.|^[/.#-]|[:…]$|[^\x21-\x7eÀ-ÖØ-öø-ž]", value
    ):
        return False
    letters = any(map(str.isalpha, value))
    symbols = any(char in SYMBOLS for char in value.rstrip("!?.…"))
    digits = any(map(str.isdigit, value))
    if not letters or not (digits or symbols):
        return False
    return (
        symbols
        or not wordy(value, 5.0)
        or (digits and len(value) >= 8 and "." not in value and "/" not in value)
    )


def is_token(rule: str, value: str) -> bool:
    """Whether a match of a vendor's or a place's rule is a secret."""
    if is_reference(value) or (
        rule in ("said", "auth-header") and (not mixed(value) or _METHOD.match(value))
    ):
        return False
    if rule == "basic-auth":
        try:
            plain = base64.b64decode(value + "=" * (-len(value) % 4))
            return b":" in plain or (len(value) >= 16 and mixed(value) and not wordy(value))
        except (binascii.Error, ValueError):
            return False
    if rule == "otp-seed":
        return len(set(value)) >= _FEW_CHARACTERS and (
            any(map(str.isdigit, value)) or len(value) >= 16
        )
    if rule == "random-token":
        return (
            value.lower() != value != value.upper()
            and sum(map(str.isdigit, value)) >= _DIGITS
            and not (wordy(value, 2.4) or IDENTIFIER.match(value))
        )
    if rule in ("hf-token", "github-token", "slack-token"):
        return len(set(value[8:])) >= _FEW_CHARACTERS
    if rule == "query-token":
        return not wordy(value, 4.0) and len(set(value[8:])) >= _FEW_CHARACTERS
    if rule in ("bearer", "openai-key", "auth-header", "cookie"):
        return not wordy(value) and len(set(value[8:])) >= _FEW_CHARACTERS
    if rule in ("said", "cli-password") and (wordy(value) or "/" in value):
        return any(char in "!#%&*?+=~^" for char in value)
    return True


def is_phrase(value: str) -> bool:
    """Whether a quoted value of several words is a chosen phrase, and not a message about one."""
    words = value.split()
    return (
        2 <= len(words) <= 8
        and all(word.isalpha() and word.lower() not in _ORDINARY for word in words)
        and not _NAMES_ITSELF.search(value)
    )


#: Values in the place of a password that are not secret: types, states, labels, examples, words of
#: a sentence.
_ORDINARY = frozenset(
    "arguments anonymous clause include omit import continue account address admin administrator "
    "algorithm already always another anything argument authentication available based because "
    "before "
    "between boolean browser bytes cannot capital change changed changeme changeit changes "
    "character characters check checked choose client "
    "combination command config configuration confirm confirmation confirmed contains correct "
    "correctly create created custom database "
    "default defaults deleted deprecated describe description different disabled display during "
    "dummy either email empty enabled encoder "
    "encrypted encryption entered entry environment error everywhere example examples exists "
    "expired external false field fields flag "
    "foobar foobared form format forgotten function generated generation generator gibberish "
    "given guest handling hashed hashes hashing hidden history identical "
    "ignored immediately important included incorrect input instead integer internal invalid "
    "issues keychain keyring label lastname later length letters "
    "literal locked login lookup manager managers managing masked match matches maximum meaning "
    "method minimum missing module mismatch must needed "
    "never nobody nothing nullable nullptr number numbers object obtained obvious official "
    "optional options option output override parameter "
    "parameters phrase plain plaintext please policies policy postgres postgresql private "
    "production project prompt prompts properties property "
    "protected protection provided provider public quality query question random readonly "
    "received redacted refers rejected removed repeat request require "
    "required requirement requirements requires reset resets response restricted return returned "
    "returns rotation rules safely salted sample scheme "
    "securely security select sensitive server service session setting settings should simple "
    "skipped something somewhere special "
    "staging standard storage store stored strength string strings strong strongly support "
    "supported switch system template temporary testing "
    "text through timeout together token toggle transport undefined unchanged unencrypted unicode "
    "unique unknown unlocked unsafe unset unspecified updated update useful "
    "username users using validation validator value values variable vault verification verified "
    "verify version visible warning weak without "
    "whatever whenever where which while wrong yourself welcome benutzer benutzername "
    "erforderlich pflichtfeld falsch feil forkert szükséges expirat "
    "ungültig geheim gesetzt leer siehe vergessen "
    "requis obligatoire incorrecte oublié utilisateur obligatoria obligatorio incorrecta "
    "requerida requerido usuario olvidada obrigatória obrigatorio "
    "richiesta richiesto obbligatoria obbligatorio errata dimenticata utente verplicht onjuist "
    "vergeten gebruiker wymagane nieprawidłowe niepoprawne "
    "zapomniane krävs saknas felaktigt glömt användare gerekli zorunlu yanlış kullanıcı mandatory "
    "numeric alphanumeric compare comparison "
    "encode encoded decoded obscured getpass crypt bcrypt scrypt argon laravel rails django "
    "optionally interactive interactively whether "
    "matching failure success successfully exactly ordinary specified specifies sentence support "
    "mentions alice bitwarden lastpass keepass "
    "secretstr varchar character nocrypt trust ident peer gssapi kerberos oauth stdin stdout "
    "envvar dialog widget textbox "
    "hunter pollen person pattern another person first second third hardcoded leaked exposed "
    "entering cleared printed shown written "
    "typed saved written expose valore valeur valor wert wartość värde "
    "değer waarde sempre toujours siempre immer altijd zawsze alltid "
    "expire expires pflicht krypterat opcional encore pazienza verlopen väärä oikea tyhjä "
    "vaadittu unverändert inchangé "
    "inchangée "
    "obligatoriskt obligatorisk pakollinen povinne vereist wymagana wymagany salah benar kosong "
    "vide vides vacía vacío vazia vazio vuota vuoto leeg puste tom tomt boş пустой порожній kosong "
    "guardada guardado gravada gravado salva salvata salvato enregistré opgeslagen zapisane sparas "
    "lagras hämtas läses gespeichert hinterlegt приходит хранится берётся читается лежит меняется "
    "зберігається wordt komt staat pochodzi jest saklanıyor okunuyor geliyor laga lagao dalo karo "
    "nahi trong được lưu phải moet musi måste skal täytyy pitää должен должна повинен musí kell "
    "trebuie "
    "πρέπει harus mindestens legalább alespoň najmniej minst mindst vähintään ít nhất minimal "
    "minstens "
    "almeno moins menos минимум gelesen geladen vergeben lue lues leída lida letta letto gelezen "
    "czytane czytany wczytane pobierane läst læst luetaan tallennetaan okunur tutuluyor čteno "
    "uloženo "
    "citită stocată tárolva olvassa primaria primaire primária primario primär chiffré cifrada "
    "crittografata versleuteld szyfrowane kryptert krypterat salattu зашифрован шифруется "
    "disimpan diambil dibaca "
    "wajib ugyldig ugyldigt felaktig forkert vanhentunut virheellinen unchanged".split()
)
#: Words of sentences, which a phrase that somebody chose does not have.
_SENTENCE = frozenset(
    "is are be must not no please enter see your you required optional too short long least "
    "should does muss nicht darf doit pas debe stored the and or of to for from in on at by "
    "with we they it this that will can may has have had do did if when as than an der die das "
    "ist oder mit von le la les est un une des el los es en para por que".split()
)


def is_grammar(word: str) -> bool:
    """Whether a word in lower case belongs to sentences about something."""
    return word in _SENTENCE


def is_ordinary(word: str) -> bool:
    """Whether a word in lower case is a type, a state or a word that describes a password."""
    return word in _ORDINARY or word in _STATES


_NAMES_ITSELF = re.compile(
    r"(?i)passw|passphr|passcode|de passe|^pass$|^mypass|^yourpass|pwd|secret|token|"
    r"credential|keyfile|passwort|kennwort|senha|contrase|wachtwoord|placeholder|"
    r"has[łl]o|redact|xxxx|\*\*\*|^your|^my[_-]|^some|^the[_-]|^test(?:ing)?$|"
    r"^change[_-]?(?:it|me|this)(?:[^\W\d]|$)|^replace|^insert|^enter[_-]|^put[_-]|^user|^os\.|"
    r"^self\.|^this\.|"
    r"^process\.|^env[._]|^config\.|^req\.|^None$|^null$|^NULL$|^True$|^undefined$|here$"
)
#: A capital in the middle of a word or a name with two kinds of joints, which no identifier has.
ODD_CASE = re.compile(
    r"\b[a-z]{1,2}[A-Z][a-z]*[-_.][a-z]|[a-z]-\w*[a-z]_[A-Za-z]|[a-z]_\w*-[A-Za-z]"
)
_CAPITALS = re.compile(r"[A-Z][A-Z_]*$")
_LETTERS_ONLY = re.compile(r"[^\W\d_a-z]?[^\W\d_A-Z]{6,39}$")
_WORDS_ONLY = re.compile(r"[^\W\d_]+(?:[ -][^\W\d_]+)+$")
_FILE = re.compile(
    r"[(){}\[\]]|^,|\.\w+\(|^[\w.-]+\.(?:txt|json|ya?ml|pem|key|zip|7z|crt|"
    r"log|env|py|sh|conf|toml)$|^--|^[\w.+-]+@[\w-]+\.[a-z]+$|^[\d.]+:\d"
)
#: Values of an option or a setting, types and names of variables, in their own place.
_STATES = frozenset(
    "void uint size null true false none auto self this user users root test data args opts conf "
    "line item node text info hash salt body form read write list dict tuple type types name names "
    "file path pass int32 int64 char chars long short float double bool uuid "
    "date time once both only also each every other some more less same next last first main "
    "foo bar baz qux lorem ipsum then else with from into over when what that they there these "
    "auth basic digest bearer login cookie header param params props state store input inputs "
    "field value values model token tokens secret secrets never always ask asks yes no prompt "
    "blank wheel root dashboard empty plain clear local remote admin guest anyone peer "
    "md5 trust reject cert ldap fine good okay pair".split()
)
_HEX = re.compile(r"(?=.{0,400}\d)(?=.{0,400}[A-Fa-f])[0-9a-fA-F]{16,}")
FAKE = re.compile(r"(?i)key|test|fake|mock|dummy|needed|example|sample")
_CAMEL = re.compile(r"[A-Za-z][a-z]+(?:[A-Z][a-z]*)+$")
_SNAKE = re.compile(
    r"(?:[a-z][a-z0-9]*|[A-Z][A-Z0-9]*|[A-Za-z]+)_(?:[a-z0-9_]*|[A-Z0-9_]*|[A-Za-z_]*)$|"
    r"[a-z]+(?:\.[a-z0-9]+)+$"
)
_SHORTEST, _LONGEST = 4, 400
_DIGITS = 2  # fewer may number a name, such as "userPassword2"


def _names_itself(value: str) -> bool:
    """Whether a value names what stands in its place; "Passw0rd.19" is a password nevertheless."""
    cased = value.lower() != value != value.upper() and "_" not in value
    many = sum(map(str.isdigit, value)) >= _DIGITS
    return not (cased and many) and bool(_NAMES_ITSELF.search(value))


def is_chosen(value: str) -> bool:
    """Whether a value in the place of a password is a password that a person chose.

    It may have letters only, but must not name, refer to or describe a password.
    """
    value = value.rstrip(".,;:)")
    if (
        len(value) < 5
        or len(value) > 200
        or is_reference(value)
        or _names_itself(value)
        or _CAPITALS.match(value)
    ):
        return False
    if uncased(value) and not mixed(value):
        return False
    if value.lower() in _ORDINARY or (value.isdigit() and len(value) < 6) or _METHOD.match(value):
        return False
    if _FILE.search(value):
        return False
    if ODD_CASE.search(value):
        return True
    if any(char.isdigit() or char in SYMBOLS for char in value):
        return any(map(str.isalpha, value)) or len(value) >= 6
    if _WORDS_ONLY.match(value):
        return len(re.split(r"[ -]", value)) >= 4 and not any(
            word in _ORDINARY for word in value.lower().split()
        )
    return _is_random(value) or bool(_LETTERS_ONLY.match(value))


def is_certain(value: str, *, camel: bool = False) -> bool:
    """Whether a value is a secret in a place where nothing else is usual.

    It may be one short word, or a few words. Types, states, references, files, code, messages and
    names of a password are not.

    Args:
        camel: a value in camel case is one, too.
    """
    value = value.strip().rstrip(".,;:)") if " " not in value else value.strip()
    words = [word.lower() for word in re.findall(r"[^\W\d_]+", value)]
    if (
        not _SHORTEST <= len(value) <= _LONGEST
        or is_reference(value)
        or _names_itself(value)
        or _METHOD.match(value)
        or _FILE.search(value)
        or len(set(value)) < 3
        or value.lower() in _STATES
        or value.lower() in _ORDINARY
    ):
        return False
    if " " in value:
        return len(words) <= 8 and not any(
            word in _ORDINARY or word in _STATES or word in _SENTENCE for word in words
        )
    if uncased(value) and not mixed(value):
        return False
    if (
        _CAPITALS.match(value)
        or (_SNAKE.match(value) and wordy(value))
        or (_CAMEL.match(value) and not camel)
    ):
        return False
    return value.isalpha() or any(map(str.isalnum, value))


_VERSION_OR_STEP = re.compile(
    rf"\d+\.\d\w*$|(?i:step|stage|part|page|user|v)\d{{1,2}}$|{_IMAGE_TAG}$"
)


def is_in_place(rule: str, value: str) -> bool:
    """Whether a match of a place's rule is a password, which may have letters only.

    A version or a numbered word after a name is none.
    """
    if rule == "user-password" and _VERSION_OR_STEP.match(value):
        return False
    own = rule == "command-password"
    random = own and value.isalpha() and value.isupper() and len(value) >= 8
    return random or is_certain(value, camel=own) or is_chosen(value)


#: Identifiers, encodings and numbered documents.
NAME_OF_CODE = re.compile(
    r"[A-Z][a-z]+-(?:19|20)\d\d|[a-z]+(?:-[a-z0-9]+)*-v\d+|[A-Za-z]+-\d+(?:\.\d+)+|"
    r"[A-Z]{2,8}(?:-\d+)+|"
    r"[a-z_][a-z0-9]*(?:_[a-z0-9]+)+|[A-Z_][A-Z0-9]*(?:_[A-Z0-9]+)+|[A-Za-z]+(?:_[A-Za-z]+)+|"
    r"_\w+|(?:base|b|utf-?)\d\d\S*|a-z\S*|\w+![a-z]"
)
#: Characters of a path, a call or an attribute.
IN_CODE = re.compile(r"[:/&?%\x24]|^[!@*.+-]|@$|^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+!?$")


def is_mixed(value: str) -> bool:
    """Whether a chosen password also has digits or symbols, and is no name, number or path."""
    value = value.rstrip(".,;:)")
    return is_chosen(value) and is_written_secret(value)


def is_encoded_text(value: str) -> bool:
    """Whether a value is words in base64. What they say is scanned apart."""
    try:
        text = base64.b64decode(value + "=" * (-len(value) % 4), validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        return False
    return " " in text and text.isprintable()


_ADDRESS = re.compile("0x[0-9a-fA-F]{40}")  # of a wallet, which is public
_NUMBERED_WORD = re.compile("[a-z]{4,}[0-9]")
_HYPHENED = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)+")


def shape(value: str) -> str:
    """Return a label of what a value looks like, such as "word", "hex" or "coded"."""
    return (
        _shape_of_words(value)
        if " " in value
        else next(label for label, holds in _SHAPES if holds(value))
    )


def _shape_of_words(value: str) -> str:
    if is_certain(value):
        return "phrase"
    if mixed(value) and len(value) >= 8:
        return "mixed words"
    return "words" if is_phrase(value) else "sentence"


def _is_random(value: str) -> bool:
    return value.isalpha() and len(value) >= 10 and not wordy(value, 2.5)


#: The first that holds decides.
_SHAPES: tuple[tuple[str, Callable[[str], object]], ...] = (
    ("uuid", _UUID.fullmatch),
    ("address", _ADDRESS.fullmatch),
    ("hex", _HEX.fullmatch),
    ("numbered word", _NUMBERED_WORD.fullmatch),
    ("number", str.isdigit),
    ("coded name", lambda value: _NAMES_ITSELF.search(value) and mixed(value) and not wordy(value)),
    ("name", _NAMES_ITSELF.search),
    (
        "ordinary",
        lambda value: (
            value.lower() in _ORDINARY or value.lower() in _STATES or _METHOD.match(value)
        ),
    ),
    ("file", _FILE.search),
    ("capitals", _CAPITALS.match),
    ("attribute", lambda value: _ATTRIBUTE.match(value) and wordy(value)),
    ("camel", lambda value: _CAMEL.match(value) and wordy(value, 2.5)),
    ("random", lambda value: _CAMEL.match(value) or _is_random(value)),
    ("coded", lambda value: is_written_secret(value) and not wordy(value)),
    ("written", is_written_secret),
    ("mixed", lambda value: mixed(value) and not wordy(value)),
    ("mixed snake", lambda value: mixed(value) and _SNAKE.match(value)),
    ("mixed word", mixed),
    ("snake", _SNAKE.match),
    ("uncased", uncased),
    ("capital word", lambda value: value.isalpha() and value[0].isupper()),
    ("word", str.isalpha),
    ("hyphened", _HYPHENED.fullmatch),
    ("symbols", lambda value: any(char in SYMBOLS for char in value)),
    ("other", lambda _: True),
)
