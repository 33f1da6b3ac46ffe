"""Passwords and keys in prose, in many languages.

If a line names a password and contains a word that reads like one, the word is the password,
whatever the grammar between them: "use X as the password", "hasło do bazy to X",
"비밀번호는 X입니다". The search around each name covers a limited part of its line, so the time is
linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memsearch_engine.secrets.evidence import (
    PossibleSecret,
    Span,
    common_words,
    labels,
    secrets_among,
)
from memsearch_engine.secrets.judge import is_certain, is_chosen, uncased, wordy
from memsearch_engine.secrets.linear import anchored, compile

_LATIN = (
    r"passwor[dt][a-zä-ü]{0,6}|passwd|pass[ -]?(?:phrase|code|key)|"
    r"kennwort|zugangsdaten|logindaten|contrase(?:ñ|n)as?|clave|"
    r"mots? de passe|phrase (?:secrète|de passe)|frase se[cg]reta|mdp|identifiants|senhas?|"
    r"palavra[ -]passe|"
    r"parol[aąeęy](?:m|mi|yı|nın|sı|sını)?|wachtwoord(?:en)?|toegangscode|"
    r"has(?:ł|l)(?:o|a|em|u|le)|lösen(?:ord(?:et|en)?)?|"
    r"losenord(?:et)?|kodeord(?:et)?|adgangskoden?|passord(?:et)?|"
    r"salasana(?:n|a|ksi)?|(?:ş|s)ifre(?:si|sini|yi|nin|niz|m)?|"
    r"jelsz(?:ó|av|avai?|ava)t?|hesl(?:o|a|em|u)|lozink[aeuo]m?|"
    r"parol(?:ă|a)|geslo|slaptažod[a-z]{1,3}|parool[a-z]?|lykilorð[a-z]{0,2}|contrasenya|"
    r"contrasinal|cyfrinair|pasfhocal|wagwoord|passwuert|kata laluan|pasahitz[a-z]{0,2}|"
    r"fjalëkalim[a-z]{0,3}|nenosiri|mật khẩu|"
    r"kata sandi(?:nya|mu|ku)?|pwd|pw|pass|psk|log-?in|credentials?|creds|wi-?fi|wlan"
)
OTHER_NAMES = (
    r"парол[а-яії]{0,3}|лозинк[а-я]{1,2}|비밀 ?번호|비번|암호|"
    r"패스워드|パスワード|(?:管理者|ログイン)の?パス|暗証番号|パスフレーズ|合言葉|密码|密碼|口令|"
    r"كلمة (?:المرور|السر|مرور|سر)|ال(?:باس ?و+رد|رقم السري|رمز السري)|رمز (?:المرور|الدخول)|"
    r"باس ?و+رد|पासवर्ड|कूटशब्द|κωδικ[α-ωό]{1,4}(?: πρόσβασης)?|συνθηματικ[όο]|"
    r"סיסמ[א-ת]{1,3}|รหัส(?:ผ่าน|ลับ)|พาส(?:เวิร์ด|โค้ด)|رمز عبور|گذرواژه|پسورد|پاس ورڈ|"
    r"গোপন নম্বর|পাসওয়ার্ড|கடவுச்சொல்|పాస్‌?వర్డ్|ಪಾಸ್‌?ವರ್ಡ್|പാസ്‌?വേഡ്|પાસવર્ડ|ਪਾਸਵਰਡ|"
    r"මුරපදය|ពាក្យសម្ងាត់|ລະຫັດຜ່ານ|စကားဝှက်|የይለፍ ?ቃል|нууц ?үг|"
    r"գաղտնաբառ[ա-և]{0,2}|"
    r"პაროლ[ა-ჰ]{0,3}|құпия ?сөз"
)
_NAME = compile(
    rf"(?i)(?:^|[^a-z0-9_.$]|(?-i:[A-Z0-9]_))(?:{_LATIN})(?:$|[^a-z0-9_(=-])|{OTHER_NAMES}"
)
_A = "A-Za-zÀ-ÖØ-öø-ɏͰ-ϿЀ-ӿḀ-ỿ"
#: A word with a digit or a symbol, or else a plain one.
_WORD = compile(
    rf"[!#$%&*+./0-9:?@^_~{_A}-]{{0,99}}[!#$%&*+0-9?@^~]"
    rf"[!#$%&*+./0-9:?@^_~{_A}-]{{0,300}}|[{_A}](?:[{_A}]|[_-][{_A}]){{3,39}}"
)
_DIGEST = re.compile(
    r"(?i)\b(?:commit|sha-?\d*(?:sum)?|fixed in|hash|digest|"
    r"checksum|md5(?:sum)?|etag|uuid|revision|fingerprint|merge)\b|提交|コミット|커밋|коммит"
)
_USER = re.compile(
    r"(?i)(?:\b(?:user(?:name)?|id|account|benutzer|nutzer|utente|usuario|"
    r"utilisateur|gebruiker|kullanıcı|użytkownik|användare|e-?mail|host|server|"
    r"version|ticket|issue|branch|file|model|ssid|profile|project|"
    r"namespace|cluster|bucket|network|netzwerk|réseau)(?: (?:is|ist|est))?|"
    r"아이디는?|"
    r"账号|пользовател[а-я]{1,3})[ \t]*(?:[:=][ \t]*)?[\"'`]?$"
)
#: Characters beside a word of code, but not beside a word of prose.
_OPENS, _CALLS = frozenset("[{|=<\\.$"), frozenset("([{}|=\\")
_IS_WORDS = (
    "is was are lautet ist est es era é è är er jest be to now heißt это на de til till equals "
    "vale vaut luidt lyder brzmi zní reads its so here namely actually actualy have"
).split()
_NOW_WORDS = "now jetzt maintenant ahora теперь это just still".split()
_SIGNS = "'s ’s : = ： → — – -> => 은 는 이 가 は を 是 为 為".split()
_OPENING = "\"'`“„«‘「『《（(【*"
_GIVES = re.compile(
    rf"(?i)(?:\b(?:{'|'.join(_IS_WORDS)})|{'|'.join(_SIGNS)})[ \t]{{0,3}}"
    rf"(?:(?:{'|'.join(_NOW_WORDS)}) )?[{_OPENING}]{{0,3}}$"
)
#: One of them is at the end of every text that gives, before blanks and opening marks.
_GIVING = (*_IS_WORDS, *_NOW_WORDS, *_SIGNS)
_AS_WORDS = "as|als|como|come|comme|jako|som"
_AS_NAME = re.compile(rf"(?i)[\"'`”]?\s(?:{_AS_WORDS})\s")
#: In every text with a password beside "pass", which is also a verb.
_GIVES_PASS = compile(
    rf"(?i)(?:^|[^a-z0-9_])(?:{'|'.join(_IS_WORDS)}|{_AS_WORDS})|{'|'.join(_SIGNS)}"
)
#: Names that also mean something else.
_WEAK = frozenset(
    "pass pw pwd psk login log-in wifi wi-fi wlan creds credentials credential".split()
)
#: Words before a name whose value follows.
_LEAD = re.compile(
    r"(?i)(?:\b(?:with|and|using|use|und|mit|et|avec|con|y|e|com|en|met|och|med|i|z|my|mein)"
    r"(?: (?:the|das|dem|le|la|el|il|a|het))?|[,/])[ ]$"
)
_BLANK = re.compile(r"\s|$")
_SHORTEST, _DIFFERENT = 4, 2  # characters
_SEALED = re.compile(r"SealedSecret|encryptedData|ENC\[")
_BEFORE, _AFTER = 80, 90

#: Names that have no other meaning.
FULL_NAMES = _LATIN.partition("|pwd|")[0]
_QUOTE = "[\"'`“”„«»‘’]"
_PLAIN = rf"{_QUOTE}?([A-Za-zÀ-ÖØ-öø-ž][a-zß-öø-ž]{{3,39}}\d{{0,4}}){_QUOTE}?"
_SAID_NAME = compile(
    rf"(?i)(?:^|[^{_A}0-9.$-]|[a-z][.-])(?:(?:{FULL_NAMES}|pwd|pw|pass)(?:nya)?|{OTHER_NAMES})"
)
#: Between a name and its value: a complement, a word for "is", and words before the value.
_OF = r"(?:[ ](?:[^\s:：=,.;\"'`“„«(]{1,20}|'[^'\n]{1,80}')){0,6}?"
_IS = (
    r"(?P<is> ?['’]s(?= )| (?:is|was|used to be|should be|will be|ist|war|lautet|heißt|est|sera|"
    r"es|era|è|é|são|är|er|on|jest|to|je|este acum|este|adalah|ialah|là|είναι|هي|هو|היא|הוא|है|"
    r"(?:was |is |has been |been |got )?(?:set|changed|reset|updated) to|bylo|było|var|idi|oli|"
    r"это|был|будет|c['’]est|=|[-–—]{1,2}|->|→)(?= )| ?[:：→]| (?=\()| ?[은는이가はが是为為])"
)
_NOW = (
    r"(?:[ ]?(?:now|still|just|currently|again|also|simply|literally|temporarily|probably|called|"
    r"jetzt|noch|aktuell|maintenant|toujours|ahora|todavía|agora|ora|adesso|nu|teraz|nyní|şimdi|"
    r"сейчас|теперь|это|такой|такая|(?:all )?(?:lower|upper)[ -]?case|capital [A-Z]|"
    r"spell?ed|:)(?= )){0,3}[ ]?"
)
_SAID = (
    r"(?:[\"'`“„«「『(](?P<q>[^\"'`“”»」』()\n]{4,60})[\"'`”“»」』)]|"
    rf"(?P<v>(?=\S{{4}})(?-i:[{_A}][{_A}\d]{{1,40}}(?:[-_.][{_A}\d]{{1,20}}){{0,4}})[!?]?))"
)
_END = r"(?:$|[\n,;)!。、，]|\.(?:\s|$)|です|だ|であ|입니다|이다|예요|야|이야| 입니다)"
#: Words that go on with the sentence after a value.
_ON = (
    r"[ ](?:\(|(?:by the way|ok|okay|right|thx|anyway|though|btw|for|on|in|at|and|but|or|so|"
    r"please|thanks|if|with|everywhere|before|until|since|then|again|"
    r"yesterday|today|user(?:name)?|für|auf|und|aber|bitte|am|im|pour|sur|et|mais|para|en|y|pero|"
    r"per|sul|e|ma|voor|op|maar|na|dla|do|i|ale|för|på|och|men|til|og|pro|için|для|на|и|но)\b)"
)
_GOES_ON = anchored(rf"(?i){_ON}")
_CLAUSE = anchored(rf"(?i){_OF}{_IS}{_NOW}{_SAID}(?:(?P<end>{_END})|(?P<on>{_ON})|(?P<other>))")
_AGAIN = anchored(
    rf"(?i)[ ,;]{{1,3}}(?:(?:but|and|aber|und|mais|pero|ma)[ ])?(?:now[ ])?"
    rf"(?:it['’]s|it is|is|es ist|"
    rf"c['’]est|es|ahora es|è|jetzt(?: ist es)?)[ ]{_NOW}{_SAID}{_END}"
)
_VERB_LAST = anchored(rf"[ ]{_SAID}[ ](?:olarak|yap[tı]|oldu|olsun|belirle|ayarla)")
_AS = r"(?:as|als|como|come|comme|jako|som)(?: (?:the|your|its|das|de|het|la|el|a|o|il))?(?: new)?"
#: Passwords of letters only, in grammar in which the value is before the name or far from it.
_LETTERS = (
    compile(
        r"(?i)\b(?:and|und|et|y|e|en|i|och|with|use|typed|entered|used|set|usa|utilise|nimm|"
        r"gebruik|"
        rf"użyj|använd|take|enter|try) {_PLAIN} {_AS} (?:\w{{1,20}} )?(?:{FULL_NAMES})(?:$|[^a-z])"
    ),
    compile(
        r"(?i)(?:log(?:ge|ga|g)?[ -]?(?:in|on|into)|sign in|anmelde[a-z]{0,20}|melde dich|"
        r"connecte[a-z-]{0,20}|accedi|entra|entrar|inloggen|zaloguj|logga|giriş|as|user|als)"
        rf"[^\n]{{1,60}} (?:the |dem |het |le |il |la |"
        rf"z )?(?:{FULL_NAMES}|pw|pwd):? {_PLAIN}(?:$|[\n,.;)]| (?:and|und|et|y|e|en|i|och|an)\b)"
    ),
    compile(
        rf"(?i)\b(?:for|enter|ask[a-z]*)[^\n]{{1,30}} password[,;:]? (?:enter|"
        rf"type|use|is|say|answer(?: with)?) {_PLAIN}(?:$|[\n,.;)])"
    ),
    compile(
        r"(?i)\b(?:usa(?:te|re|r)?|usi|utilisez?|utilizza|utiliza|gebruik|nimm|benutze|użyj|"
        rf"använd|use) (?:la|le|il|el|a|o|het|das|the|hasła|lösenordet) (?:(?:{FULL_NAMES}) )?"
        rf"{_PLAIN} (?:per|pour|para|voor|für|do|dla|till|for) (?:l'|"
        r"il |la |le |el |los |o |a |het |de |das |den |the )?[A-Za-z]"
    ),
    compile(
        r"(?i)(?:\b(?:user(?:name)?|login|account|e-?mail|ssid|wi-?fi|meeting|benutzer|usuario|"
        r"utente|utilisateur|gebruiker|użytkownik|användare|usuário|kullanıcı(?: adı)?|"
        r"bruker(?:navn)?|käyttäjä|uživatel|felhasználó|utilizator)|логин|пользователь|用户名?|"
        rf"ユーザー名?|아이디)[ :=：]{{1,3}}([^\s/&|,-]\S{{0,59}}?),? "
        r"(?:(?:and|und|y|e|et|en|i|och|/) )?"
        rf"(?:{FULL_NAMES}|pass|pw|pwd|{OTHER_NAMES}):? [\"'`“„«]?([{_A}]{{4,40}}\d{{0,4}})"
        r"(?:$|[\n,;)\"'`”“»]|\.(?:\s|$))"
    ),
    compile(rf"(?i)\bpassw[a-z]{{2,6}} from {_PLAIN} to \S"),
    compile(rf"(?i)\bpassw[a-z]{{2,6}} from \S{{1,80}} to {_PLAIN}(?:$|[\n,;)]|\.(?:\s|$))"),
    compile(
        r"(?i)\b(?:creds|credentials|login|zugangsdaten|logindaten|identifiants|wi-?fi|wlan|ssid)\b"
        r"[^\n]{0,40}?(?:is|are|sind|:) [\w.@-]{1,60} ?[/:] ?"
        rf"{_PLAIN}(?:$|[\n,;) ]|\.(?:\s|$))"
    ),
    compile(
        r"(?i)\b(?:wi-?fi|wlan)\b[^\n]{0,60}\b(?:key|schlüssel|psk|pass|pw)[: ]{1,2}(?:is |ist )?"
        rf"{_PLAIN}(?:$|[\n,;)]|\.(?:\s|$))"
    ),
    compile(
        rf"(?i)(?:^|[^a-z0-9_])(?:{FULL_NAMES}|{OTHER_NAMES}(?: [^\s]{{1,8}} [^\s]{{1,20}})?)"
        r" ([a-z]{4,39}\d{1,4})(?:$|[\n,;)]|\.(?:\s|$)|입니다|です)"
    ),
    compile(
        rf"(?i)\b(?:type|enter|use|give|answer|say) {_PLAIN} (?:when|if|once|where|after)"
        rf"\b[^\n]{{0,40}}"
        rf"(?:{FULL_NAMES})"
    ),
    compile(
        rf"(?i)(?:{FULL_NAMES})(?: are| is|:)? \S{{4,40}} for \S{{1,20}} (?:and|und) {_PLAIN} for "
    ),
    compile(
        rf"(?:{OTHER_NAMES})[은는이가를을はをが]? ?([A-Za-z][\w!@#.-]{{3,40}}) ?"
        r"(?:으로|로|입니다|이에요|예요|이야|입력|です|で|を入力)"
    ),
    compile(rf"(?i)\b(?:{FULL_NAMES}) [\"'`“„«]([A-Z][a-z]{{5,39}})[\"'`”“»] [a-z]"),
    compile(rf"(?i)\blogin\b[^\n]{{0,40}}: [\w.@-]{{1,60}} (?:and|/) {_PLAIN}(?:$|[\n,.;)])"),
)
_NO_USER = frozenset(
    "after before and or with via using by if needs has no the a und mit con avec".split()
)
_LOOSE = 3  # index of the pattern above that a participle could match
#: The new value of a changed password.
_TO = r"[\"'`“„«「]?([^\s\"'`“”„«»‘’「」,;]{4,100}?)[\"'`”“»」]?"
_CHANGED = (
    compile(
        rf"(?i)(?:^|[^a-z])(?:zmien[a-zł]{{1,6}}|zmień|zmieni[a-zł]{{1,5}}|ustawi[a-zł]{{1,5}}|"
        rf"mude[i]?|muda[a-z]{{0,4}}|alter(?:ei|ou|e|ar|ada)|troque[i]?|troc(?:ou|ar)|"
        rf"cambi[a-zéó]{{1,5}}|impost[a-z]{{1,5}}|changé[er]?|ändra[a-z]{{0,2}}|"
        rf"bytt?e?|gewijzigd|veranderd|gezet|endre[a-z]{{0,2}}|změni[a-z]{{1,3}})"
        rf"[^\n]{{0,30}}?[ \t](?:{FULL_NAMES})(?: [^\s]{{1,20}}){{0,4}} (?:na|"
        rf"para|a|en|in|à|par|naar|till|til) {_TO}(?:$|[\s,;)]|\.(?:\s|$))"
    ),
    compile(
        rf"(?:смени[а-я]{{1,3}}|поменя[а-я]{{1,3}}|измени[а-я]{{1,3}})[^\n]{{0,30}}? "
        rf"(?:{OTHER_NAMES})(?: [^\s]{{1,20}}){{0,4}} на {_TO}(?:$|[\s,;)]|\.(?:\s|$))"
    ),
    compile(
        rf"(?i)(?:{FULL_NAMES})(?: [^\s]{{1,20}}){{0,5}} (?:aangepast|gewijzigd|veranderd|"
        rf"gezet|changed|"
        rf"zmienione|ändrat|endret|ændret|cambiat[ao]|cambiad[ao]|alterad[ao]|modifié|changé) "
        rf"(?:naar|to|na|till|til|in|a|para|en) {_TO}(?:$|[\s,;)]|\.(?:\s|$))"
    ),
    compile(
        rf"(?i)(?:{FULL_NAMES})(?: [^\s]{{1,20}}){{0,6}} auf {_TO} "
        r"(?:geändert|gesetzt|zurückgesetzt|umgestellt|gestellt)"
    ),
    compile(rf"パスワード[をは]{_TO}(?:に|へ)(?:変更|設定|更新|して|した|しま|変え)"),
    compile(
        r"(?:密码|密碼|口令)(?:已)?(?:改成|改为|改為|设为|設為|"
        rf"设置为|换成|更新为)了?[ \t]?{_TO}(?:$|[\s，。；、了])"
    ),
    compile(rf"(?:비밀번호|암호|비번)[를을]?[ \t]{_TO}(?:으?로)[ \t]?(?:변경|바꾸|바꿨|설정|바뀌)"),
)
_PLACE = re.compile(r"(?:[euyiеуиы]|ach|ах|ion|ción)$")  # endings after "on the server"
_MARKED = re.compile(r"[\d!#%&*?+=~^@$]")
_MAY_NAME = compile(
    rf"(?i)(?:{FULL_NAMES}|{OTHER_NAMES}|pass|pw|login|creds|credentials|wi-?fi|wlan)"
    r"[ \t]{0,2}(?:[^a-z]|$)"
)
_ENGLISH = re.compile(
    r"(?i)(?:ed|ing|able|ible|ory|ive|ly|ous|ful|less|ary|tion|ment|ity|ness|where|thing)$|"
    r"^(?:un|in|non|mis)[a-z]{5,}(?:en|al|ant|ent|id|ct)$"
)
_ROMANCE = re.compile(
    r"(?i)(?:[aiu]t[aeio]|puest[ao]s?|[ai]d[ao]s?|ée?s?|te|de|ne|iv[aeo]|oria|bile|able|ire)$"
)
#: The beginnings of names in a language, and the endings of its words that describe a password.
_DESCRIBE = tuple(
    (re.compile(names), re.compile(endings))
    for names, endings in (
        (
            r"(?i)passwort|kennwort|zugangs|logind",
            r"^(?:ge|ver|be|ent|er|un|ab|an|auf|aus|ein|zu|über|nicht|noch|hinter|vor)[a-zäöüß]{3,}"
            r"(?:t|en|lich|ig|bar|sch|los)$|[a-zäöüß]+(?:lich|ig|bar|isch|los)$",
        ),
        (r"(?i)l[öo]sen|adgang|kodeord|passord", r"(?:[aeiy][td]|[dr]t|lig|igt?|ande|[adlr]s)$"),
        (r"(?i)salasan", r"(?:nen|n[uy]t|tt[uy]|t[oö]n|va)$"),
        (r"(?i)[şs]ifre", r"(?:l[iıuü]|s[iıuü]z|m[iı]ş|[dt][iıuü]r?)$"),
        (r"(?i)пар|лоз", r"(?:[ыио]й|[еёа]н[оаы]?|[её]к|[еёиюя]т|ть?ся)$"),
        (r"(?i)has[łl]o|hesl|lozink", r"(?:n[aeyéáý]|t[aeyéáý]|st[ea]|sz[ey])$"),
    )
)
_CALLED_ENGLISH = re.compile(r"(?i)passw|passp|passc|^pw|^pass")
_ROMANCE_IS = ("è", "é", "est", "es", "era", "sera")
_OWNER = re.compile(r"(?i)\b(?:user|login|account|wi-?fi|server|root|admin|db|database)(?:'s)?$")
_LOGS_IN = re.compile(r"(?i)\b(?:user|login|log in|account|wi-?fi|ssh|server|root|admin)")
_NUMBERED = re.compile(
    r"(?i)(?:python|version|postgres|postgresql|windows|server|level|sprint|chapter|section|"
    r"example|"
    r"account|users?|hosts?|option|client|worker|database|release|ubuntu|debian|argon|number|"
    r"column|"
    r"method|device|system|office|field|version|password|group)\d+$"
)
#: Names of a number that opens something, in Latin and other letters.
_PIN_NAME = (
    r"(?:^|[^a-z0-9_-])(?:(?-i:PIN)|otp|puk|(?:[a-z]{2,12}[ -])?(?:pin|puk|pass)[ -]?(?:code|"
    r"nummer|"
    r"number|kode?n?|koodi)|(?:my|your|our|the|il|el|le|o|der|die|das|de|sim|card|bank|phone|user|"
    r"admin|mi|mon|mein|mijn|min|mój|meu|mio|signal|tv|app) pin|pin(?: for| on| of| do)|kode?n? "
    r"(?:till|til|do|dla|for|k) |"
    r"comb(?:o|ination)(?: (?:for|of|to))?|(?:opens?|unlocks?) with|geheim(?:zahl|nummer)|"
    r"(?:door|gate|alarm|safe|backup|rescue|unlock|entry|lock|access|keypad|security|"
    r"login|pairing|sms|2fa|one[ -]time|recovery|voicemail|tür|zugangs|bestätigungs|"
    r"sicherheits|toegangs|deur|kluis|dörr|larm|port|verificatie|verifierings)[ -]?"
    r"(?:\w{1,12} )?(?:code|pin|password|kode?n?)|"
    r"code (?:(?:i|you|he|she|we|they) )?(?:just )?(?:texted|sent|got|received)|"
    r"code (?:from|in) (?:the|my) (?:sms|text|app|authenticator|e-?mail)|"
    r"code (?:pin|secret|d['’]accès|de (?:la porte|l['’]alarme|sécurité|vérification|validation)|"
    r"du (?:coffre|portail|digicode|cadenas))|digicode|"
    r"c[óo]digo (?:pin|d[ao] (?:porta|portão|alarme|cofre|portaria)|de (?:acceso|acesso|seguridad|"
    r"segurança|verifica[a-zçãó]+|recupera[a-zçãó]+|la (?:puerta|alarma|caja)))|"
    r"codice (?:pin|segreto|di (?:accesso|sicurezza|verifica|recupero|sblocco)|"
    r"d(?:ella|el|i|ell['’]) ?(?:porta|cancello|cassaforte|allarme))|"
    r"kod(?:u|em)? (?:pin|do (?:drzwi|bramy|alarmu|domofonu|sejfu|furtki)|dostępu|"
    r"weryfikacyjny|sms)|(?:kapı|alarm|kasa|onay|doğrulama|güvenlik|giriş) (?:kodu|şifresi)|"
    r"mã (?:pin|otp|xác (?:nhận|minh|thực))|kode (?:otp|verifikasi|akses)|пин-?(?:код[а-я]{0,2})?|"
    r"код[а-я]{0,2} (?:от |для |из )?(?:двер|сейф|домофон|доступ|подтвержден|смс|sms|ворот|"
    r"подъезд|замк)[а-яё]{0,3})",
    r"(?:暗証番号|確認コード|認証コード|PINコード|验证码|提取码|访问码|门锁密码|인증 ?(?:번호|"
    r"코드)|핀 ?번호)",
)
_PIN = compile(
    rf"(?i)(?:{_PIN_NAME[0]}[^\n\d:=#]{{0,40}}?(?:[ ](?:is|was|ist|lautet|est|es|é|è|är|er|to|"
    rf"jest|je|vale|zní|–|—|-)|[ ]?[:=])?[ \t]{{1,2}}|{_PIN_NAME[1]}[^\n\d:：]{{0,12}}?[ ]?)"
    r"[\"'`*]{0,2}(#?\d{4,10}[#*]?|\d{2,4}(?:[ -]\d{2,4}){1,4})"
    r"(?:$|[^\d.%\w:/-]|\.(?:\s|$)|[입で이です])"
)


def clauses(text: str) -> Iterator[Span]:
    """Find passwords and keys near their names, and plain words in unambiguous grammar."""
    if _SEALED.search(text):  # encrypted for somebody else
        return
    yield from secrets_among(beside(text), text)
    named = _MAY_NAME.search(text)
    if named:
        yield from _said(text)
    for number, pattern in enumerate(_LETTERS if named else ()):
        for match in pattern.finditer(text):
            value = match[match.lastindex or 1]
            if match.lastindex == 2 and match[1].lower() in _NO_USER:
                continue
            if (
                (is_certain if match.lastindex == 2 else is_chosen)(value)
                and not _NUMBERED.match(value)
                and not (number == _LOOSE and _ROMANCE.search(value))
                and not (number == _LOOSE and value.lower() in common_words())
                and not (match.lastindex == 2 and _ENGLISH.search(value))
            ):
                yield *match.span(match.lastindex or 1), "said"
    for pattern in _CHANGED if named else ():
        for match in pattern.finditer(text):
            word = match[1]
            asian = uncased(match[0])
            if (is_chosen(word) and word.isascii() >= asian) and (
                _MARKED.search(word)
                or asian
                or not (_PLACE.search(word) or _ROMANCE.search(word) or _ENGLISH.search(word))
            ):
                yield *match.span(1), "said"
    for match in _PIN.finditer(text):
        yield *match.span(1), "said"


def _said(text: str) -> Iterator[Span]:
    """Passwords in clauses: a name, a complement, a word for "is", the value."""
    for name in _SAID_NAME.finditer(text):
        if _COMPOUND.search(name[0]):
            continue
        match = _VERB_LAST.match(text, name.end()) or _CLAUSE.match(text, name.end())
        changed = bool(_CHANGES.search(text, max(0, name.start() - 40), name.start() + 1))
        while match:
            quoted = match["q"]
            if not _is_said(name[0], match, changed):
                break
            yield *match.span("q" if quoted else "v"), "said"
            match = _AGAIN.match(text, match.end("q" if quoted else "v"))


_CHANGES = re.compile(r"(?i)\b(?:(?:re)?set|chang\w+|updat\w+|switch\w+|rotat\w+)\b[^\n]*$")
_COMPOUND = re.compile(r"(?i)passwor[dt][a-zä-ü]{4,}$")
_PLAINLY = ("is", ":", "was", "'s", "=")
#: Words for "is" that mean something else beside names of other languages.
_TIED = {
    "to": ("has", "гас"),
    "on": ("sala",),
    "oli": ("sala",),
    "je": ("hes", "loz", "gesl"),
    "bylo": ("hes", "has"),
    "er": ("adgang", "kode", "passord", "lykil"),
    "är": ("lös", "los"),
    "é": ("senha", "pala", "pass"),
    "são": ("senha", "pala"),
    "è": ("pass", "paro", "pin"),
    "var": ("lös", "adgang", "kode", "passord"),
    "este": ("paro", "contra"),
    "es": ("contra", "clave", "pass"),
    "era": ("contra", "clave", "senha", "paro", "pass"),
    "là": ("mật", "pass"),
}


def _is_said(name: str, match: re.Match[str], changed: bool) -> bool:
    """Whether the value of a clause is a password, and no word that describes one."""
    groups = match.groupdict()
    verb = (groups.get("is") or "").strip().lower()
    bare = name.lstrip(" \t\n([\"'*`").lower()
    between = match[0][: match.start("is") - match.start()] if verb else ""
    lead = match.string[max(0, match.start() - len(name) - 80) : match.start() - len(name)]
    belongs = not between or between.startswith((" for ", " of ", " to ", " on ", " in "))
    strict = (verb == "to" and changed) or bare == "pass" or verb == "="
    in_brackets = "is" in groups and not verb
    if (
        (verb in _TIED and not bare.startswith(_TIED[verb]) and not (verb == "to" and changed))
        or (strict and (not belongs or " to " in between))
        or (in_brackets and (groups["v"] or not is_chosen(groups["q"])))
        or (bare == "pass" and verb not in _PLAINLY)
        or (bare == "pass" and verb in ("is", "was") and not _LOGS_IN.search(lead))
        or (verb == "=" and not between and not _OWNER.search(lead))
    ):
        return False
    if value := groups["q"]:
        one = " " not in value
        return is_certain(value, camel=True) and not (one and _describes(bare, value, verb))
    value = groups["v"]
    open_end = groups.get("other") is not None
    if open_end or _NUMBERED.match(value) or not is_certain(value) or _describes(bare, value, verb):
        return False
    if groups.get("on"):
        return is_chosen(value)
    return True


def _describes(name: str, value: str, verb: str) -> bool:
    """Whether a word has an ending of words that describe a password, in the name's language."""
    word = value.strip("!? ")
    if word[-1:].isdigit():
        return False
    for names, endings in _DESCRIBE:
        if names.match(name):
            return bool(endings.search(word))
    english = _CALLED_ENGLISH.search(name) and verb not in _ROMANCE_IS
    return bool((_ENGLISH if english else _ROMANCE).search(word))


def _surroundings(text: str, name: re.Match[str], least: int) -> tuple[int, int]:
    """Return the part of the line around a name. It begins with a whole word, after *least*."""
    first = text.rfind("\n", 0, name.start() + 1) + 1
    begin = max(first, name.start() - _BEFORE, least)
    if begin > max(first, least) and (blank := _BLANK.search(text, begin - 1, name.start() + 1)):
        begin = blank.start()
    stop = text.find("\n", max(name.end() - 1, 0), name.end() + _AFTER)
    return begin, min(name.end() + _AFTER, len(text)) if stop < 0 else stop


def beside(text: str) -> Iterator[PossibleSecret]:
    """Yield plain words beside the name of a password, after a verb or before "as password"."""
    done = 0
    for name in _NAME.finditer(text):
        if name.end() + _AFTER // 3 < done:
            continue
        begin, stop = _surroundings(text, name, done - 100)
        done = stop
        called = name[0].strip(" \t\n\"'`:").lower()
        if called == "pass" and not _GIVES_PASS.search(text[begin : stop + 120]):
            continue
        for word in _WORD.finditer(text[begin : stop + 100]):
            first, end = begin + word.start(), begin + word.end()
            if first >= stop:
                break
            whole = text[first:end]
            value = whole.rstrip(".:*?").lstrip("*")
            start = first + whole.find(value)
            if _MARKED.search(value) or _is_code(text, start, end, whole, value):
                continue
            gap = start - name.end()
            gives = _gives(text, max(begin, start - 20), start)
            role = _AS_NAME.match(text, end)
            named = (
                role
                or (0 <= gap <= 2 and called != "pass")
                or (gives and not text.startswith("to ", name.end()))
            )
            if not named or _USER.search(text, begin, start):
                continue
            around = labels(
                gives=gives,
                role=role,
                quoted=text[start - 1 : start] in tuple("\"'`“„«‘「『"),
                digest=_DIGEST.search(text, begin, stop),
                foreign=not name[0].isascii(),
                weak=called in _WEAK,
                ahead=end <= name.start() + 1,
                next=0 <= gap <= 2,
                direct=gives and 0 <= gap <= 8,
                close=2 < gap <= 20,
                end=not text[end : end + 2].strip(" .,;)\"'`”!\n"),
                given=_LEAD.search(text, begin, name.start() + 1),
                on=_GOES_ON.match(text, end),
                romance=_ROMANCE.search(value),
                describes=_describes(called, value, ""),
                **{"pass": called == "pass"},
            )
            yield PossibleSecret(start, start + len(value), "said", "line", "word", around)


def _gives(text: str, begin: int, end: int) -> re.Match[str] | None:
    """Match a word or a sign before a value, such as "is", up to the *end*."""
    ending = text[begin:end].rstrip(_OPENING + " \t").lower()
    return _GIVES.search(text, begin, end) if ending.endswith(_GIVING) else None


def _is_code(text: str, start: int, end: int, word: str, value: str) -> bool:
    """Whether a word is too short, a part of another word, or code."""
    before, after = text[start - 1 : start], text[end : end + 1]
    argument = text[start - 2 : start] in ("('", '("') and wordy(value)
    return (
        len(value) < _SHORTEST
        or len(set(value)) < _DIFFERENT
        or word.endswith(":")
        or (before.isalpha() and ord(before) < 0x500)
        or before in _OPENS
        or after in _CALLS
        or argument
    )
