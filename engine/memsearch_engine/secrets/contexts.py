"""Passwords in the places of single programs, devices and protocols, where nothing else can be.

The rules work as in ``places``.
"""

from __future__ import annotations

from memsearch_engine.secrets.places import _A, _L, _PIPED, _V
from memsearch_engine.secrets.vendor import Part, Rule, rule


def _argument(programs: str, flags: str, value: str = _A, words: str = "") -> Rule:
    """Return a rule for an argument of command-line programs.

    Args:
        programs: their names, separated by blanks.
        flags: a pattern of the options whose argument is a password.
        words: rarer words than the names, one of which is in every such command.
    """
    names = programs.replace(" ", "|")
    pattern = rf"\b(?:{names})\b[^\n|;]{{0,160}}?\s(?:{flags})[= \t]{{1,2}}{value}"
    return rule("command-password", words or programs, pattern)


#: Judged as chosen passwords, which may have letters only.
LETTERS: tuple[Rule, ...] = (
    _argument("ncftp ncftpput ncftpget ncftpls", "-p"),
    _argument("signtool", "/p"),
    _argument("etcdctl nats", "--user", rf"[\w.@-]{{1,80}}:{_V}"),
    _argument("snmpget snmpwalk snmpset snmpbulkwalk snmptable snmptrap", "-A"),
    _argument("snmpget snmpwalk snmpset snmpbulkwalk snmptable snmptrap", "-X"),
    _argument("snmpget snmpwalk snmpset snmpbulkwalk snmptable snmptrap", "-c"),
    _argument("security", "-[pPw]"),
    _argument("ssh-keygen", "-N"),
    _argument("ssh-keygen", "-P"),
    _argument("isql", r"(?:-\w[ \t]+){0,3}\S{1,60}[ \t]+[\w.@-]{1,60}"),
    _argument("ejabberdctl prosodyctl", r"(?:register|change_password)(?:[ \t]+\S{1,80}){2}"),
    _argument("transmission-remote", "(?:-n|--auth)", rf"[\w.@-]{{1,80}}:{_V}"),
    _argument("steamcmd", r"\+login[ \t]+\S{1,60}"),
    _argument("swift", "-K"),
    _argument("mkpasswd", r"-m[ \t]+\S{1,20}"),
    _argument("pdftk", r"(?:input|user|owner)_pw"),
    rule("command-password", "ftp>", rf"ftp>[ ]?user[ \t]+\S{{1,60}}[ \t]+{_V}"),
    rule("command-password", "/secure", rf"(?:^|\s)/secure set \S{{1,60}} {_V}"),
    _argument("dsadd dsmod", "-pwd"),
    _argument("networksetup", r"-setairportnetwork\s+\S{1,20}\s+\S{1,60}"),
    _argument("iscsiadm", r"\S{0,60}password[ \t]+-v"),
    _argument("mc", r"alias[ \t]+set[ \t]+\S{1,40}[ \t]+\S{1,200}[ \t]+\S{1,100}", words="alias"),
    _argument("qpdf", "--encrypt"),
    _argument("qpdf", r"--encrypt[ \t]+\S{1,100}"),
    _argument("keytool jarsigner", "-(?:src|dest)?(?:store|key)pass"),
    _argument("keytool jarsigner", "-(?:key|deststore|destkey)pass"),
    _argument("rclone", r"config\s+create[^\n|;]{0,120}?\b(?:pass(?:word)?|\w{0,20}key|token)"),
    _argument(  # digits alone are a port
        "airflow mosquitto_pub mosquitto_sub",
        "(?i:-pw?|--?password)",
        r"[\"'`]?(\d*[^\s\d\"'`$<>|;,(){}\[\]\\/&*-][^\s\"'`|;<>\\]{3,200})",
    ),
    _argument("useradd usermod adduser", "(?:-p|--password)"),
    rule(
        "terraform-default",
        "variable",
        r"(?i)\bvariable\s+\\?\"[^\"\n]{0,60}(?:password|passwd|secret|"
        r"token|api_?key|credential|private_key)"
        r"[^\"\n]{0,30}\"\s*\{[^{}]{0,600}?\bdefault\s*=\s*\\?\"([^\"\n\\/]{6,300})\\?\"",
    ),
    rule(
        "command-password",
        "login",
        r"\b(?:docker|podman|helm|oc|cf|skopeo|nerdctl|buildah|oras|crane|cosign)[ \t]+"
        r"(?:registry[ \t]+|auth[ \t]+)?login\b[^\n|;]{0,120}?[ \t](?:-p|--password)[= \t]"
        rf"{_A}",
    ),
    rule(
        "command-password",
        "-auth --creds --credentials --userpass login= userpwd= auth=",
        r"(?:[ \t]--?(?:basic-auth|auth|creds|credentials|userpass)[= \t]|"
        r"\b(?:login|userpwd|auth)=)[\"']?[\w.@-]{1,80}:"
        rf"{_V}",
    ),
    rule(
        "command-password",
        "wpa_passphrase",
        rf"\bwpa_passphrase\s+(?:\"[^\"\n]{{1,40}}\"|'[^'\n]{{1,40}}'|[^\s\"']{{1,40}})\s+{_A}",
    ),
    rule(
        "user-password",
        "basic http htpasswd htaccess",
        r"(?i)\b(?:basic[ -]?auth\w{0,12}|http[ -]auth\w{0,12}|htpasswd|htaccess)\b[^\n]{0,80}?"
        r"(?:[ ](?:to|is|are|as|uses?|with|using|=)|:)[ ][\"'`]?[\w.@-]{1,40}"
        r"(?::|[ ]/[ ])([^\s\"'`$<>|;,(){}\[\]\\/:]{4,80})",
    ),
    # -- what a command prints for another
    rule(
        "command-password",
        "<(echo <(printf",
        r"(?i)(?:pass|secret|auth|key|file|[ ]-p[ ])[^\n|;<]{0,40}<\([ ]?(?:echo|printf)[ ]"
        r"(?:-\w+[ ])?"
        r"(?:[\"'][^\"'\n%]{0,60}(?:\\n|%s[\"'][ ][\"']|=%s[\"'][ ][\"']))?[\"']?"
        r"([^\s\"'`|;<>\\()$%]{4,200})",
    ),
    rule(
        "command-password",
        "echo printf",
        r"(?i)\b(?:echo|printf)[ ](?:-\w+[ ])?(?:\"([^\"\n$<]{4,100})\"|'([^'\n$<]{4,100})'|"
        r"([^\s\"'`$<>|;,(){}\\-][^\s\"'`|;<>\\]{3,100}))[ ]?>{1,2}[ ]?[^\s|;]{0,80}?"
        r"(?:passw\w{0,6}|passphrase|[._-]pass|[._-]pw|secret|token)(?:[^a-z]|$)",
    ),
    rule(
        "command-password",
        "echo printf",
        r"\b(?:echo|printf)[ ](?:-\w+[ ])?[\"'][^\s\"'\\]{4,100}\\n([^\s\"'\\$<>]{4,100})"
        rf"(?:\\n)?[\"']\s*\|\s*{_PIPED}",
    ),
    rule(
        "share-code",
        "码 碼",
        r"(?:提取码|访问码|取件码|解压码|解压密码|分享码|验证码|提取碼|驗證碼)"
        r"[ ]?[:：是为]?[ ]{0,2}([A-Za-z0-9]{4,20})",
    ),
    _argument("add-user.sh", r"(?:-u[ \t]+)?\w\S{0,40}(?:[ \t]+-p)?"),
    _argument("ldappasswd", "-[sa]"),
    _argument(r"knife check_\w{2,20}", "-[pP]", words="knife check_"),
    _argument("htpasswd", r"(?:-\w+\s+){0,4}-\w{0,4}n\w{0,4}\s+(?:-\w+\s+){0,4}[\w.@]\S{0,80}"),
    _argument("dscl", r"-passwd[ \t]+\S{1,80}"),
    _argument("dscl", r"-passwd[ \t]+\S{1,80}[ \t]+\S{1,80}"),
    _argument("altool notarytool", "(?:-p|--password)"),
    rule(
        "protocol-password",
        "setcookie erlang",
        r"(?i)(?:-setcookie|erlang[ ._-]?cookie)[\"']?[ =:]{1,3}[\"']?" + _V,
    ),
    rule(
        "directory-password",
        "{plain} {clear} {cleartext}",
        r"(?i)\{(?:plain|clear|cleartext)\}([^\s:\"'<>]{4,200})",
    ),
    rule("command-password", "nickserv", rf"(?i)nickserv\s+identify\s+(?:\S{{1,40}}[ \t]+)?{_V}"),
    rule("command-password", "nickserv", rf"(?i)nickserv\s+register[ ]{_V}"),
    rule(
        "command-password", ":pserver:", r":pserver:[\w.-]{1,60}:([^\s\"'@/]{4,100})@[\w.-]{2,80}:"
    ),
    rule("command-password", "createuser", rf"\bcreateUser\s+\S{{1,40}}\s+\w{{2,8}}\s+{_A}"),
    rule(
        "command-password",
        "createuser",
        rf"\bcreateUser\s+\S{{1,40}}\s+\w{{2,8}}\s+\S{{1,80}}\s+(?:AES|DES)\w{{0,4}}\s+{_A}",
    ),
    # -- protocols
    rule(
        "protocol-password",
        Part(r"\n[> \t]*pass[ \t]"),
        rf"(?m)^[> \t]*USER[ \t]+\S{{1,80}}[ \t]*\n(?:[^\n]{{0,120}}\n)?[> \t]*PASS[ \t]+{_V}",
    ),
    rule("protocol-password", "331 ", rf"(?m)^331[^\n]{{0,120}}\n[> \t]*PASS[ \t]+{_V}"),
    rule("protocol-password", "@tcp( @unix(", rf"[\w.-]{{1,60}}:{_V}@(?:tcp|unix)\("),
    rule("protocol-password", "auth ", rf"(?m)^AUTH[ \t]+(?:\w{{1,40}}[ \t]+)?{_V}[ \t]*$"),
    rule(
        "connection-password",
        "password= passwd= pwd=",
        r"(?i)\b(?:user|username|user[ _]?id|uid|login)=[^\s;,=()]{1,80}[;,]"
        r"(?:password|passwd|pwd|pass)=([^\s;,\"'()<>${}]{5,200})",
    ),
    # -- directives
    rule(
        "config-password",
        "password passwd passphrase authtok bindpw",
        r"(?im)^[ \t]*[a-z][\w-]{0,24}[_-](?:password|passwd|passphrase|authtok|bindpw)"
        rf"(?:[ \t]+|[ \t]*=[ \t]*){_A};?[ \t]*$",
    ),
    rule(
        "config-password",
        "remotepass localpass",
        rf"(?im)^[ \t]*(?:remotepass|localpass)[ \t]*[=:][ \t]*{_A}[ \t]*$",
    ),
    rule(
        "config-password",
        "password",
        rf"(?im)^[ \t]*[a-z]{{2,12}} [a-z]{{2,12}} password[ \t]*=[ \t]*{_A}[ \t]*$",
    ),
    rule(
        "config-password",
        Part(r"client\s"),
        rf"\bclient\s+\S{{1,80}}\s*\{{[^{{}}]{{0,300}}?\b(?:shared_?)?secret\s*=\s*{_A}",
    ),
    rule(
        "config-password",
        "password",
        r"(?im)^[ \t]*(?:user|login|account|username|line)[ \t][^\n]{0,80}\n"
        rf"(?:[^\n]{{0,80}}\n){{0,2}}?[ \t]*password[ \t]+(?:\d[ \t]+)?{_V}[ \t]*$",
    ),
    rule(
        "config-password",
        Part(r'"[ \t]+"?\*'),
        rf"(?m)(?:^|[ ])\"[\w.@-]{{1,60}}\"[ \t]+\"?\*\"?[ \t]+\"?{_V}\"?(?:[ \t]+\*|[ \t]*$)",
    ),
    # chap-secrets; "*" inside a line is rather a product
    rule(
        "config-password",
        Part(r"[ \t]\*[ \t]*(?:#|\r?\n|\r?$)"),
        rf"(?m)^[\w.@-]{{1,60}}[ \t]+\*[ \t]+\"?{_V}\"?[ \t]+\*[ \t]*(?:#|\r?$)",
    ),
    rule(
        "config-password",
        "psk= pre-shared-key=",
        rf"\b(?:[\w-]{{0,10}}pre-shared-key|psk)=[\"']{_L}[\"']",
    ),
    rule(
        "config-password",
        "plain-text-password-value authentication-key pre-shared-key",
        r"\b(?:plain-text-password-value|authentication-key|pre-shared-key(?:[ \t]+ascii-text)?)"
        rf"[ \t]+{_A}",
    ),
    rule(
        "config-password",
        "isakmp key-string message-digest-key neighbor chap addauth",
        r"(?i)\b(?:isakmp key|key-string|message-digest-key \d+ md5|neighbor \S{1,60} password|"
        rf"chap (?:secret|password)|addauth digest \w{{1,30}}:)[ \t]?(?:[07][ \t]+)?{_A}",
    ),
    rule(
        "config-password",
        "wireless. wifi. wlan.",
        rf"(?i)\b(?:wireless|wi-?fi|wlan)\.[\w.@\[\]-]{{0,40}}(?:key|psk)[ \t]?=[ \t]?{_A}",
    ),
    rule(
        "config-password",
        "tacacs radius",
        rf"(?i)\b(?:tacacs|radius)(?:-server)?[^\n]{{0,60}}?(?:\n[ \t]+[^\n]{{0,60}})?"
        rf"\bkey[ \t]+(?:\d[ \t]+)?{_A}",
    ),
    rule(
        "config-password",
        "define(",
        r"(?i)\bdefine\(\s*[\"']\w{0,40}(?:PASSWORD|PASSWD|PASS|PWD)[\"']\s*,\s*"
        rf"[\"']{_L}[\"']",
    ),
    # -- parameters of calls and comparisons
    rule(
        "call-password",
        "pgp_sym_ aes_encrypt aes_decrypt x509certificate2 pkcs12 jwt. connect(",
        r"(?i)(?:\b(?:pgp_sym_\w{7}|AES_\w{7}|X509Certificate2|load_pkcs12|pkcs12\.\w{4,40}|"
        r"jwt\.(?:sign|verify|encode|decode))\([^()\n]{1,120}?,|"
        r"\bconnect\(\s*[\"']\w{1,40}[\"'],(?-s:.{2,100},\s*[\"']\w{1,8}://)?)"
        rf"\s*b?[\"']{_L}[\"']\s*[,)]",
    ),
    rule(
        "call-password",
        "cookieparser( decrypt( authenticate( protect",
        r"(?i)\b(?:cookieParser\(|\w{0,12}(?:reader|pdf|doc|workbook|wb)\w{0,8}\.(?:decrypt|"
        rf"authenticate)\(|[\w.()]{{1,40}}\.(?:un)?protect[ (](?:password:=)?)[\"']{_L}[\"']",
    ),
    rule(
        "call-password",
        "storepassword keypassword",
        rf"(?i)\b(?:store|key|trust)Password[ (]{{1,2}}[\"']{_L}[\"']",
    ),
    # -- scripts of tests
    rule(
        "call-password",
        Part(r"input (?:text|password)[ \t]{2}"),
        r"(?i)\binput (?:text|password)[ \t]{2,}\S{0,40}(?:pass|pwd|pw)\S{0,20}[ \t]{2,}"
        rf"{_V}",
    ),
    rule(
        "call-password",
        Part(r"[\"'],? (?:with:?|mit|to|as) [\"']"),
        r"(?i)[\"'][^\"'\n]{0,30}pass(?:word|wort|phrase)?[\"'],? (?:with:?|mit|to|as) "
        rf"[\"']{_L}[\"']",
    ),
    rule(
        "call-password",
        "passw",
        rf"(?i)\b(?:enter|type|fill|input)\w{{0,3}} (?:in )?[\"']{_L}[\"'] (?:in|into|for|as)"
        r"(?: the)? [\"']?(?:\w{1,20} )?passw",
    ),
    # -- results of programs that guess passwords
    rule(
        "user-password",
        "hashcat potfile cracked recovered john",
        r"(?i)\b(?:hashcat|potfile|cracked|recovered|john)\b[^\x00]{0,300}?"
        rf"(?:[0-9a-f]{{32,128}}:{_V}|\n{_V}[ \t]+\([\w.$\\-]{{1,40}}\))",
    ),
    rule(
        "user-password",
        "impacket- exec.py dump.py spns.py npusers.py",
        r"(?i)\b(?:impacket-\w{2,20}|\w{2,20}\.py)[ ][^\n|;]{0,80}?[\w.-]{1,40}/[\w.$-]{1,40}:"
        r"([^\s\"'@:]{4,100})(?:@|[\s\"']|$)",
    ),
    rule(
        "config-password",
        Part(r":[ ]?[|>][+-]?[ ]*\n"),
        rf"(?im)pass(?:word|phrase|wd)?[\"']?:[ ]?[|>][+-]?[ ]*\n[ \t]+{_V}[ \t]*$",
    ),
    rule(
        "call-password",
        Part(r"(?:login|connect|auth|authenticate)\("),
        r"(?i)\b\w{0,20}(?:login|connect|authenticate|auth)\(\s{0,20}(?:\w{1,20}\.)?"
        rf"(?:\w{{0,12}}user\w{{0,10}}|e?mail|login|account)\s?,\s{{0,20}}b?[\"']{_L}[\"']",
    ),
    rule(
        "call-password",
        "connect getconnection pdo",
        r"(?i)(?:connect|getconnection|PDO|PDO->__construct)\(\s{0,20}[\"'][^\"'\n]{1,200}[\"']"
        r",\s{0,40}"
        rf"[\"'][^\"'\n]{{1,60}}[\"'],\s{{0,40}}[\"']{_L}[\"']",
    ),
    rule(
        "call-password",
        "set_password setpassword set_passphrase setpassphrase",
        rf"(?i)set_?pass(?:word|phrase)\(\s*[\"']{_L}[\"']\s*\)",
    ),
    rule(
        "call-password",
        "tochararray",
        r"(?i)(?:key|pass|spec|store|ssl|"
        r"p12)[^\n\"']{0,80}(?:[\"'][^\n\"']{0,80}[\"'][^\n\"']{0,40})?"
        rf"[\"']{_L}[\"']\.toCharArray\(\)",
    ),
    rule(
        "call-password", ".auth( :auth( >auth(", rf"[.:>]auth\(\s{{0,4}}[\"']{_L}[\"']\s{{0,4}}\)"
    ),
    rule(
        "config-password",
        "_authtoken _password",
        rf":_(?:authToken|password)(?:[ \t]*=[ \t]*|[ \t]+){_A}",
    ),
    rule(
        "call-password",
        "bcrypt argon2 pwd_context passlib",
        r"(?i)\b(?:bcrypt\w{0,4}|argon2|pwd_context|passlib[\w.]{0,30})\.(?:hash|hashpw|"
        r"hash_?sync|verify|"
        rf"compare|compare_?sync|encrypt|generate_from_password)\(\s*b?[\"']{_L}[\"']",
    ),
    rule(
        "call-password",
        "sudo passw",
        r"(?i)(?:sudo|passw)[^\n]{0,80}?(?:communicate\(|stdin\.write\(|input=)b?[\"']"
        r"([^\s\"'\\${}]{4,100})(?:\\n)?[\"']",
    ),
    rule(
        "call-password",
        "passw passphrase pwd pass",
        r"(?i)\b\w{0,20}(?:passwo?r?d|passphrase|pwd|pass)\w{0,12}[)\]]?(?:[ ]?[!=]={1,2}[ ]?|"
        rf"[ ]-c?eq[ ]|\.equals\(|,[ ])[\"']{_L}[\"'][ ]?\)",
    ),
    rule(
        "call-password",
        "jwt token crypt auth signing",
        r"(?i)[\"']?\w{0,20}(?:jwt|crypt|auth|signing|token)\w{0,20}[\"']?:[ ]?\{[^{}]{0,120}?"
        rf"[\"'](?:secret|key|signing_?key)[\"']:[ ]?[\"']{_L}[\"']",
    ),
    rule(
        "call-password",
        "inputtext typetext entertext sendkeys fill",
        r"(?i)(?:pw|pwd|pass(?:word|wort|code)?)[\"')\]]{0,3}[ ]*\n[\s>-]{0,12}(?:\w{1,20}\.)?"
        r"(?:input_?text|type_?text|enter_?text|send_?keys|fill)[\"']?[ ]?[:(][ ]?"
        rf"[\"']{_L}[\"']",
    ),
    rule(
        "call-password",
        "quote",
        rf"(?i)(?:://|passw)[^\n]{{0,120}}?quote(?:_plus)?\(\s*[\"']{_L}[\"']\s*[,)]",
    ),
    rule(
        "command-password", "net", rf"(?i)\bnet\s+use\s[^\n]{{1,120}}?/u(?:ser)?:\S{{1,80}}[ ]{_A}"
    ),
    rule(
        "command-password",
        "snmp",
        r"(?i)\bsnmp[^\n]{1,120}?\bauth (?:sha|md5)[\d-]{0,6} (?:\S{4,100} priv (?:aes|3?des)"
        rf"(?:[ -]?\d{{2,3}})? )?{_A}",
    ),
    rule("user-password", "[+]", rf"\[\+\][ \t]+[\w.-]{{1,60}}\\[\w.$-]{{1,60}}:{_V}"),
    rule(
        "said",
        Part(" with (?:the )?(?:pass)?word"),
        r"(?i)\b(?:open|unlock|decrypt|extract|unzip)\w{0,3} with (?:the )?(?:pass)?word[ ]{1,2}"
        rf"{_A}",
    ),
    rule(
        "call-password",
        "send_keys sendkeys fill type(",
        r"(?i)(?:pw|pwd|pass(?:word|wd)?)[^\s\"']{0,20}[\"'][^\n\"']{0,20}(?:\.(?:send_?keys|"
        r"fill|type)\(\s*|,\s*)"
        rf"[\"']{_L}[\"']\s*\)",
    ),
)

#: The option before the value is a word, so a sentence about the program can match, too.
COMMANDS: tuple[Rule, ...] = (
    _argument("netsh", "key"),
    _argument("ngrok", "(?:add-)?authtoken"),
    _argument("dotnet", r"user-secrets[ \t]+set[ \t]+[\"']?[\w:.-]{1,80}[\"']?"),
    _argument("cargo npm vault", "login", words="login"),
    _argument("nuget", "(?i:setapikey)"),
    _argument("ansible-vault", "encrypt_string"),
    _argument("rclone", "obscure"),
    _argument("dsmc", r"set[ \t]+password"),
    _argument("dsmc", r"set[ \t]+password[ \t]+\S{1,80}"),
    _argument("openssl", r"passwd(?:[ \t]+-\w{1,8}){0,3}"),
    _argument("redis-cli valkey-cli", r"(?:AUTH|auth)(?:[ \t]+default)?"),
    # the answer to a question for a password
    rule(
        "said",
        "pass kennwort contrase senha wachtwoord parola",
        r"(?i)\b(?:what|wie|was|quel(?:le)?|c['’]est quoi|cu[aá]l|qual|wat|which)\b[^\n?]{0,70}"
        r"\b(?:password|pass|passphrase|passwort|kennwort|mot de passe|contraseña|senha|"
        r"wachtwoord)\b[^\n?]{0,40}\?[\"”]?[ ]?\n[ >]{0,4}(?:[\w ]{1,12}[:>][ ]{1,2})?"
        r"(?:(?:it['’]?s|that['’]?s|c['’]est|es ist|das ist|es|è|é|use|try)[ ])?"
        r"[\"'`]?([\w!#%&*+?@^~.-]{5,60}?)[\"'`]?(?:[,;.]?[ \t]*(?:\n|$)|,[ ])",
    ),
    rule(
        "said",
        "password passphrase",
        r"(?i)\b(?:password|passphrase)\b[^\n]{0,60}\n[ >]{0,4}(?:[\w ]{1,12}[:>][ ]{1,2})?"
        r"(?:it['’]?s|that['’]?s|use|try)[ ]"
        r"[\"'`]?([\w!#%&*+?@^~.-]{5,60}?)[\"'`]?(?:[,;.]?[ \t]*(?:\n|$))",
    ),
    _argument("bw", r"(?:unlock|login[ \t]+\S{1,80})", words="unlock login"),
)

#: Tokens that are known by their place.
SHAPES: tuple[Rule, ...] = (
    rule(
        "encryption-key",
        Part(r"\[\s{0,2}\d{1,3},"),
        r"(?i)(?:solana|keypair|secret|private|wallet|seed"
        r"|id\.json)[^\[\n]{0,60}(?:\n[^\[\n]{0,20})?"
        r"(\[\s{0,2}(?:\d{1,3},\s{0,2}){31,63}\d{1,3}\s?\])",
    ),
    rule(
        "character-secret",
        Part(r"'[^'\n]',\s?b?'"),
        r"(?i)(?:key|pw|pwd|pass\w{0,8}|token|secret)\w{0,20}(?:\[\])?[ ]?[:=][ ]?[\[({][ ]?"
        r"((?:b?'[^'\n]',\s?){5,60}b?'[^'\n]')",
    ),
    rule(
        "otp-seed",
        "authenticator totp otp 2fa mfa authy",
        r"(?i)(?:authenticator|totp|otp|2fa|mfa|authy)[^\n]{0,60}?[ :=]"
        r"((?:[a-z2-7]{4}[ -]){5,15}[a-z2-7]{4})(?:[^a-z0-9]|$)",
    ),
    rule(
        "recovery-code",
        "recovery backup rescue scratch",
        r"(?i:\b(?:recovery|backup|rescue|scratch)[ _-]?(?:code|key)s?)\b[ \t]*"
        r"(?:(?:is|was|:|=)[ \t]*)?\"?((?:[A-Z0-9]{4,8}-){1,7}[A-Z0-9]{4,8}|"
        r"(?:[A-Za-z0-9]{4}-){2,12}[A-Za-z0-9]{4}|"
        r"[a-z0-9]{0,5}\d[a-z0-9]{0,5}-[a-z0-9]{0,5}\d[a-z0-9]{0,5}|\d{4}[ -]?\d{4}|"
        r"[A-Z]{1,3}\d{4,8})\b",
    ),
    rule(
        "recovery-code",
        "recovery backup rescue scratch 2fa",
        r"(?i:\b(?:recovery|backup|rescue|scratch|2fa)[ _-]?(?:code|key)s?)\b[^\n:=]{1,60}[:=]"
        r"[ \t]*[\"'`]?([A-Z0-9]{4,8}(?:-[A-Z0-9]{4,8}){1,7}|[0-9a-f]{5}-[0-9a-f]{5})\b",
    ),
    rule(
        "encryption-key",
        "aes chacha box cipher crypt algorithms.",
        r"(?i)(?:\bAES(?:GCM|CCM|SIV)?(?:\.new)?|ChaCha20\w{0,12}(?:\.new)?|\w{0,8}SecretBox|"
        r"algorithms\.\w{2,12}|\w{0,12}cipher\w{0,8}|(?:en|de)crypt\w{0,12})\(\s*"
        r"(?:[^()\n]{0,60},\s*)?(?:[\w.]{1,40}\(){1,2}b?[\"']"
        r"([0-9a-f]{32,128}|[A-Za-z0-9+/_-]{22,88}={0,2})[\"']",
    ),
    rule(
        "prompt-password",
        "passwor",
        r"(?i)passwor[dt]\b[^\n]{0,60}:[ \t]*\n\n?[ \t]*([A-Za-z_!.-]{0,40}[0-9]"
        r"[\w!#$%&*+=?@^~.-]{9,63})"
        r"[ \t]*(?:\n|$)",
    ),
    rule(
        "prompt-password",
        "base64",
        r"(?i)(?:jsonpath|secret|passw)[^\n]{0,120}base64 (?:-d|--decode)[^\n]{0,20}\n"
        r"([\w!#$%&*+=?@^~./-]{8,200})[ \t]*(?:\n|$)",
    ),
    rule(
        "protocol-password",
        "334 ugfzc3dvcmq6",
        r"334 UGFzc3dvcmQ6\r?\n(?:[C>:<-]{1,3} ?)?([A-Za-z0-9+/]{8,}={0,2})",
    ),
    rule(
        "sql-password",
        "insert",
        r"(?i)\binsert\s+into\s+\S{1,80}\s*\([^()]{0,200}\bpass(?:word|wd)?[\"`]?\s*\)\s*values\s*"
        rf"\((?:[^()]{{0,200}},)?\s*'{_L}'\s*\)",
    ),
    rule(
        "app-password",
        "pass",
        r"(?i:pass\w{0,6}[\"']?(?:[ \t]*[:=][ \t]*|\s{1,40}value:[ \t]*)|"
        r"(?:login|auth)\([\"'][^\n\"']{1,80}[\"'],[ ]?)[\"']?((?:[a-z]{4} ){3}[a-z]{4})"
        r"[\"']?[ \t)]*(?:\n|$)",
    ),
    rule(
        "encryption-key",
        "crypt",
        r"(?i)crypt\w{0,6}[\"']?(?::\s{0,20}\{?\s{0,20}[\"']?key[\"']?:|[ ]?[:=])[ ]?[\"']?"
        r"([A-Za-z0-9+/]{43}=)",
    ),
    rule(
        "pre-shared-key", "psk", r"(?i)\bpsk\b[^\n]{0,40}?[ :=\"']([0-9a-f]{32,256})(?:[^0-9a-z]|$)"
    ),
    rule(
        "encryption-key",
        "network_key networkkey",
        r"(?i)network_?key[\"']?\s?[:=]\s?\[\s{0,20}((?:(?:0x)?[0-9a-f]{1,3},\s{0,20}){15}"
        r"(?:0x)?[0-9a-f]{1,3})",
    ),
    rule(
        "prompt-password",
        "random_password length",
        r"(?:random_password[^\x00]{0,400}?|\"length\":\s?\d+,[^{}]{0,300}?)"
        r"\"(?:result|bcrypt_hash)\":\s?\"([^\"\n]{8,200})\"",
    ),
    rule("protocol-password", ".erlang.cookie", r"\.erlang\.cookie[^\n]*\n([A-Z0-9]{12,64})\b"),
    rule("protocol-password", "setcookie", r"-setcookie[ =][\"']?([A-Z]{12,64})\b"),
    rule(
        "cookie",
        Part(r"(?:true|false)[ \t]+/"),
        r"(?im)[ \t](?:TRUE|FALSE)[ \t]+/\S*[ \t]+(?:TRUE|FALSE)[ \t]+\d+[ "
        r"\t]+(?:\S{0,40}(?:sess|sid|"
        r"auth|token|login|remember|jwt|secure|id|sso)\S{0,40}[ \t]+(\S{8,1000})|\S+[ "
        r"\t]+(\S{32,1000}))",
    ),
    rule(
        "private-key-hex",
        "0x",
        r"(?i)(?:accounts\\?[\"']?:?[ ]?[(\[]|wallet\(|signer\(|private_?keys?\W{1,6}|"
        r"(?:fromkey|from_key|privatekeytoaccount)\()\s{0,20}[\"'`](0x[0-9a-f]{64})\b",
    ),
    rule("wordpress-salt", "define(", r"define\(\s*'\w{0,40}(?:KEY|SALT)',\s*'([^'\n]{32,200})'"),
    rule(
        "encryption-key",
        Part(r"[\"']key[\"']"),
        r"(?i)(?:crypt|user|cipher|secret|api)[^\n]{0,80}?[\"']key[\"']\s?(?:=>|"
        r":)\s?[\"']([0-9a-f]{32,64})"
        r"[\"']",
    ),
    rule("password-hash", ":::", r":\d{3,6}:([0-9a-f]{32}:[0-9a-f]{32}):::"),
    rule(
        "protocol-password",
        Part(r"\d[ \t]+(?:sha|md5|aes)"),
        r"(?m)^[ \t]*\d{1,5}[ \t]+(?:SHA|MD5|AES)\w{0,8}[ \t]+([0-9a-f]{32,64})[ \t]*(?:#|$)",
    ),
    rule(
        "api-key",
        "client( api(",
        r"\b\w{0,20}(?:[Cc]lient|[Aa]pi|API)\(\s{0,20}[\"']([0-9a-f]{32,64})[\"']\s?[,)]",
    ),
    rule(
        "command-password",
        Part(r"[ \t]-[kt][ \t][0-9a-f]{8}"),
        r"[ \t]-[kKt][ \t]([0-9a-f]{32,64})\b",
    ),
    rule("k3s-token", "k10", r"\b(K10[0-9a-f]{64}::[\w.-]{1,60}:[A-Za-z0-9._-]{16,80})"),
    rule("sim-puk", "puk", r"\bPUK[12]?[ \t]*(?:(?:is|:|=)[ \t]*)?(\d{8})\b"),
    rule("protocol-password", "auth ", r"(?m)\bAUTH (?:PLAIN|LOGIN) ([A-Za-z0-9+/]{12,}={0,2})"),
    rule("command-password", "codecov", r"\bcodecov\b[^\n|;]{0,120}[ ]-t[ =]([0-9a-f-]{36})\b"),
    rule("command-password", "/p:", r"(?i)[ ]\"/p(?:ass(?:word)?)?:([^\"\n]{4,100})\"(?:[ \n]|$)"),
    rule(
        "prompt-password",
        "temporary",
        r"(?i)\btemporary password is generated for \S{1,80}: (\S{8,64})",
    ),
    rule("mailgun-key", "key-", r"(?:^|[^\w-])(key-[0-9a-z]{32})(?:[^0-9a-z]|$)"),
)

#: Links that open what they lead to, by a random part of the path.
LINKS: tuple[Rule, ...] = (
    rule(
        "link-token",
        "http",
        r"(?i)https?://(?:[\w.-]{1,80}\.vault\.azure\.net/\S+|"
        r"[^\s\"'<>]{0,200}?(?:[/#][a-z_-]{0,20}(?:secret|reset|passw\w{0,12}|magic|"
        r"invit\w{0,8}|login|signin|activat\w{0,4}|verif\w{0,8}|confirm\w{0,8}|share|send|hooks?|"
        r"webhooks?|token|auth|private|otp|catch|ping|key)[a-z_-]{0,20}[/#=]|/private-|/s[#/]|"
        r"[/.](?:reset|invit|confirm|verif|activat|magic)[a-z_-]{0,20}\?"
        r"(?:\w{1,20}=[^\s&\"'<>]{0,40}&){0,3}?\w{1,12}=|"
        r"/p/|(?:hc-ping|infura|alchemy|quiknode|ankr|make|zapier)\.(?:com|io|pro)/|/push/|"
        r"\.com/\w{4,20}#)(?:v?\d\w{0,20}/|[a-z]{2}/|catch/|push/){0,3}?([A-Za-z0-9_-]{16,400}))",
    ),
)
