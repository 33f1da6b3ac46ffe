"""Passwords in a known place: an argument, a directive, a parameter, or the answer to a prompt.

The rules work as in ``vendor``: they use RE2, and a rule runs only if one of its words occurs. The
places of ``letters`` rules are unambiguous, so passwords of letters only are accepted. The other
rules require letters mixed with digits or symbols.
"""

from __future__ import annotations

from memsearch_engine.secrets.vendor import Part, Rule, rule

_Q = r"[\"'`]?"
_V = r"([^\s\"'`$<>|;,(){}\[\]\\/&*-][^\s\"'`|;<>\\]{3,200})"
_L = r"([^\s\"'`$<>|;(){}\[\]\\-][^\"'`\n\\]{3,200})"  # in quotes
_D = (  # with a digit
    r"([^\s\"'`$<>|;,(){}\[\]\\/&*-][\wÀ-ɏ.!#+~?=%^-]{2,40}\d[\w.!#+~?=%^-]{0,20}?)"
    r"(?:$|[\s,;)\"'`]|\.(?:\s|$))"
)
_A = rf"(?:\"([^\"\n$<]{{3,200}}[^\"\n<])\"|'([^'\n$<][^'\n<]{{3,200}})'|`?{_V}`?)"  # an argument
_SECRET = r"(?:passw|passphrase|pwd|secret|token|api_?key|_pass|_pw)"
_COMMANDS = (
    r"mongo(?:sh|dump|restore|export|import)?|psexec(?:64)?(?:\.exe)?|"
    r"sqlcmd|bcp|xfreerdp3?|wfreerdp|rdesktop|winexe|netexec|nxc|"
    r"crackmapexec|pihole|hydra|medusa|ncrack|evil-winrm|smbmap|plink|pscp|puttygen|influx|cqlsh|"
    r"clickhouse-client|ipmitool|aria2c|svn|veracrypt|esxcli|tabcmd|msoffcrypto-tool|certutil|az|"
    r"vncviewer|runas|schtasks|wmic|taskkill|impala-shell|beeline|couchbase-cli|cbq|"
    r"rclone|proxmox-backup-client|oc|argocd|mc|jfrog"
)
_PIPED = (
    r"(?:sudo\s+-\w*S|(?:sudo\s+(?:-\w+\s+)?)?(?:chpasswd|passwd\b|"
    r"smbpasswd|cryptsetup|gpg2?\b|openssl\b|kinit\b|docker\s+login|(?:docker|"
    r"podman)\s+secret\s+create|"
    r"podman\s+login|helm\s+registry\s+login|gh\s+(?:auth|secret)|pass\s+insert|"
    r"wrangler\s+secret|keepassxc-cli\b|(?:gcloud|kubectl|aws|az|glab|fly|flyctl|vercel|"
    r"heroku|doppler|op|bw)\b"
    r"[^\n|;]{0,80}(?:secret|passw|token)|vault\b|htpasswd\b|age\b|su\b|zfs\b|borg\b|encfs\b|"
    r"gocryptfs\b|mount\b|openconnect\b|[\w./-]{0,60}(?:keystore|passwd)\b|"
    r"\w[\w./-]{0,60}\b[^\n|;]{0,100}-stdin\b|npx\s+wrangler|hdiutil\b))"
)

#: Judged as chosen passwords, which may have letters only.
LETTERS: tuple[Rule, ...] = (
    rule(
        "command-password",
        "7z rar",
        rf"(?i)\b(?:7z[azr]?|(?:un)?rar)(?:\.exe)?\s[^\n|;]{{0,200}}?\s[\"']?-h?p{_A}",
    ),
    rule(
        "command-password",
        "zip",
        rf"\b(?:un)?zip\b[^\n|;]{{0,160}}?\s(?:-\w{{0,6}}P[ \t]?|--password[ =]){_A}",
    ),
    rule(
        "command-password",
        "net",
        rf"(?i)\bnet1?(?:\.exe)?\s+user\s+{_Q}[^\s/]{{1,80}}[ \t]+{_A}[ \t]+/",
    ),
    rule(
        "command-password",
        "net",
        rf"(?i)\bnet\s+use\s+[^\n]{{1,120}}?[ \t]{_Q}"
        rf"([^\s\"'$<>/\\*:][^\s\"']{{4,100}}){_Q}[ \t]+/u(?:ser)?:",
    ),
    rule(
        "command-password",
        "lftp ncftp",
        rf"\b(?:lftp|ncftp\w*)\b[^\n|;]{{0,80}}?\s-u\s*{_Q}[^\s,\"']{{1,80}},{_V}",
    ),
    rule(
        "command-password",
        "mongo psexec sqlcmd bcp freerdp rdesktop winexe nxc netexec crackmap "
        "pihole hydra medusa ncrack winrm smbmap plink pscp putty influx cqlsh "
        "click ipmi aria svn vnc runas schtasks wmic taskkill impala "
        "beeline couch cbq rclone proxmox oc argocd mc jfrog veracrypt esxcli tabcmd msoffcrypto "
        "certutil az",
        rf"(?i)\b(?:{_COMMANDS})\b[^\n|;]{{0,160}}?\s(?:-p|-pw|-pass|"
        rf"--?password|/p:|/pass:|/rp)(?:[ =]|[ \t]){{0,2}}{_A}",
    ),
    rule(
        "command-password",
        "-u --user -l -x --login /u",
        r"\s(?:-[ulxU]|--user(?:name)?|--login|/u:|/user:|-username)[= ]?[\"']?"
        r"[\w.@\\+-]{1,80}[\"']?(?:[ \t]+--?[\w-]{1,20}(?:[= ][^\s-]\S{0,60})?){0,4}[ \t]+"
        rf"(?:-pw[ ]|--pass(?:word|wd)?[= ]|/p(?:ass(?:word)?)?:){_A}",
    ),
    rule(
        "command-password",
        "<<<",
        r"\b(?:login|sign-?in|unlock|auth|passw\w{0,6}|stdin|luks\w{1,12})\b[^\n|;<]{0,60}"
        rf"<<<\s*[\"']?{_V}",
    ),
    rule(
        "command-password",
        "ftp",
        r"(?m)\bftp\b[^\n]{0,80}\n(?:[^\n]{0,80}\n){0,3}?[ \t]*user[ \t]+\S{1,60}[ \t]+"
        rf"{_V}[ \t]*$",
    ),
    rule(
        "command-password",
        "ldap",
        r"\bldap(?:search|modify|add|delete|whoami|passwd|"
        rf"compare)\b[^\n|;]{{0,200}}?\s-[ws][ \t]+{_A}",
    ),
    rule(
        "command-password",
        "mysql mariadb",
        r"\b(?:mysql|mysqldump|mysqladmin|mysqlimport|"
        rf"mariadb|mariadb-dump)\b[^\n|;]{{0,160}}?\s-p{_A}",
    ),
    rule(
        "command-password",
        "openssl",
        rf"\bopenssl\b[^\n|;]{{0,200}}?\s(?:-k[ \t]+|-K[ \t]+|pass:){_A}",
    ),
    rule("command-password", "/pass: /p: /password:", rf"(?i)\s/(?:p|pass|password):{_A}"),
    rule(
        "command-password",
        "echo printf yes",
        rf"\b(?:echo|printf|yes)\s+(?:-\w+\s+)?{_Q}(?:\w+:)?{_V}(?:\\n)?{_Q}"
        rf"(?:;[ ]?echo[^\n|;]{{0,100}}\))?\s*\|\s*{_PIPED}",
    ),
    rule(
        "command-password",
        "echo printf yes",
        rf"\b(?:echo|printf|yes)\s+(?:-\w+\s+)?[\"'](?:\w+:)?{_L}"
        rf"(?:\\n[^\"'\n]{{0,120}})?[\"']\s*\|\s*{_PIPED}",
    ),
    rule("command-password", "<<<", rf"{_PIPED}[^\n|;]{{0,80}}<<<\s*[\"']?{_V}"),
    rule("command-password", "<<", rf"{_PIPED}[^\n|;]{{0,80}}<<-?[ ]?[\"']?\w{{1,12}}[\"']?\n{_V}"),
    rule(  # typed twice
        "command-password",
        "<<",
        rf"passwd\b[^\n|;]{{0,80}}<<-?[ ]?[\"']?\w{{1,12}}[\"']?\n[^\n]{{1,100}}\n{_V}\n",
    ),
    rule(
        "command-password",
        "setx",
        rf"(?i)\bsetx\s+(?:/\w\s+)?\w{{0,40}}(?:pass|pwd|secret|token|key)\w{{0,20}}\s+{_A}",
    ),
    rule(
        "command-password",
        "pulumi",
        rf"\bpulumi\s+(?:-\S+\s+)?config\s+set\s+(?:--\S+\s+){{0,3}}--secret\s+"
        rf"(?:--\S+\s+){{0,3}}[\w.:-]{{1,80}}\s+(?:--\s+)?{_A}",
    ),
    rule(
        "command-password",
        "pulumi",
        rf"(?i)\bpulumi\s+config\s+set\s+\S{{0,60}}{_SECRET}\S{{0,20}}\s+{_A}",
    ),
    rule(
        "command-password",
        "pulumi",
        rf"\bpulumi\s+config\s+set\s+[\w.:-]{{1,80}}\s+{_A}\s+--secret",
    ),
    rule(
        "command-password",
        "securestring",
        r"(?i)\bConvertTo-SecureString\s+(?:-(?:AsPlainText|"
        rf"Force)\s+){{0,2}}(?:-String\s+)?{_A}",
    ),
    rule(
        "command-password",
        "securestring",
        rf"(?i)[\"']{_L}[\"'][ \t]*\|[ \t]*ConvertTo-SecureString",
    ),
    rule(
        "command-password",
        "rabbitmqctl",
        r"\brabbitmqctl\s+(?:-\S+\s+\S+\s+)?(?:add_user|"
        rf"change_password|authenticate_user)\s+\S{{1,80}}\s+{_A}",
    ),
    rule(
        "command-password",
        "passwd",
        rf"\b(?:ht|mosquitto_)passwd\s+(?:-\w+\s+){{0,4}}-\w*b\w*\s+"
        rf"(?:-\w+\s+){{0,4}}\S{{1,80}}\s+\S{{1,80}}\s+{_A}",
    ),
    rule(
        "command-password",
        "redis-cli valkey-cli",
        rf"\b(?:redis|valkey)-cli\b[^\n|;]{{0,120}}?\s(?:-a|--pass)[ \t]+{_A}",
    ),
    rule("command-password", "sshpass", rf"\bsshpass\s+-p[ \t]*{_A}"),
    rule(
        "command-password",
        "http",
        rf"\b(?:https?|xh)\b[^\n|;]{{0,80}}?\s(?:-a|--auth)[ =]{_Q}[^\s:\"']{{1,80}}:{_V}",
    ),
    rule(
        "command-password",
        "curl",
        rf"\bcurl\b[^\n|;]{{0,300}}?\s(?:-[a-zA-Z]{{0,8}}[uU]|"
        rf"--user|--proxy-user)[ =]?{_Q}[^\s:\"'$]{{1,80}}:{_V}",
    ),
    rule(
        "command-password",
        "smbclient rpcclient winexe mount.cifs net",
        r"\b(?:smbclient|rpcclient|winexe|"
        rf"net)\b[^\n|;]{{0,120}}?\s-U[ \t]?{_Q}[\w\\/.-]{{1,80}}%{_V}",
    ),
    rule(
        "command-password",
        "http-basic",
        rf"\bhttp-basic\.\S{{1,80}}\s+[\w.@-]{{1,60}}\s+{_A}",
    ),
    rule(
        "command-password",
        "sqlplus jdbc expdp impdp rman sqlldr connect",
        r"(?i)(?:\b(?:sqlplus|expdp|impdp|rman|sqlldr|exp|imp)\b[^\n|;]{0,40}?\s|"
        r"jdbc:oracle:thin:|\bconnect[ \t]+)[\w$#]{1,40}/\"?([^\s\"'$<>|;@/][^\s\"'@]{3,100})",
    ),
    # -- directives of configuration files
    rule(
        "config-password",
        "requirepass masterauth auth-pass sentinel",
        r"(?i)(?:^|[^\w#])(?:requirepass|masterauth|"
        rf"(?:sentinel )?auth-pass\s+\S{{1,60}})[ \t]+{_A}",
    ),
    rule(
        "config-password",
        Part(r"user[ \t]"),
        rf"(?im)(?:^|> ?)(?:acl setuser|user)[ \t]+\S{{1,60}}[ \t][^\n]{{0,80}}?>{_V}",
    ),
    rule(
        "config-password",
        "auth",
        rf"(?m)(?:\d>|redis>|valkey>)[ \t]*(?i:auth)[ \t]+(?:\w{{1,40}}[ \t]+)?{_A}[ \t]*$",
    ),
    rule(
        "config-password",
        "snmp rocommunity rwcommunity",
        rf"(?i)(?:\bsnmp-server\s+community|\br[ow]community6?)[ \t]+{_A}",
    ),
    rule(
        "config-password",
        "password secret",
        r"(?im)^[ \t]*(?:username[ \t]+\S{1,60}[ \t][^\n]{0,40}?|"
        r"enable[ \t]+)(?:password|secret)[ \t]+(?:\d[ \t]+)?([^\s\"'<>]{4,200})[ \t]*$",
    ),
    rule("config-password", "psk xauth eap", rf"(?m):[ \t]*(?:PSK|XAUTH|EAP|NTLM)[ \t]+\"{_L}\""),
    rule(
        "config-password",
        "chpasswd",
        rf"chpasswd[^\n]{{0,40}}\n(?:[^\n]{{0,60}}\n)"
        rf"{{0,6}}?[ \t-]{{0,12}}[a-z_][\w-]{{0,30}}:{_V}",
    ),
    rule(
        "config-password",
        "auth-user-pass",
        r"auth-user-pass>?\s*\n[^\n]{1,100}\n([^\s<]{5,200})[ \t\r]*(?:\n|$)",
    ),
    rule(
        "config-password",
        "]:",
        r"(?m)(?:^|[ \t])\[[\w.-]{1,100}\](?::\d{1,5})?[ \t]+[^\s:]{1,100}:(\S{5,200})$",
    ),
    rule(
        "config-password",
        "socks http",
        r"(?m)^(?:socks[45]|"
        r"https?)[ \t]+[\d.]{7,15}[ \t]+\d{1,5}[ \t]+\S{1,60}[ \t]+(\S{5,100})[ \t]*$",
    ),
    rule(
        "config-password",
        "identified",
        r"(?i)(?:\b(?:user|grant|role|connect to)\b[^\n]{0,200}?[ \t])identified[ \t]+"
        r"(?:with[ \t]+\S{1,40}[ \t]+)?by[ \t]+"
        rf"(?:password[ \t]+)?[\"'`]?{_V}",
    ),
    rule("config-password", "password", rf"(?i)\bpassword(?:[ \t]+|[ \t]*=[ \t]*)N?'{_L}'"),
    rule(
        "config-password",
        "<key>",
        r"(?i)<key>[^<\n]{0,60}(?:passw|passphrase|secret|token|api_?key|pwd|credential|"
        r"private_?key|licen[sc]e_?key|auth_?key|client_?key|server_?key)"
        r"[^<\n]{0,30}</key>\s{0,20}<(?:string|data)>\s{0,20}([^<>$\n]{5,400}?)\s{0,20}</",
    ),
    rule(
        "config-password",
        "password passwd",
        r"(?i)<(?:\w{1,20}:)?\w{0,30}(?:password|passwd|"
        r"passphrase)>\s{0,20}(?:<value>\s{0,20})?([^<>$\s{][^<>\n]{4,200}?)\s{0,20}</",
    ),
    rule(
        "config-password",
        "password passphrase",
        r"(?i)\bpass(?:word|phrase)[ \t]+(?:\"([^\"\s$<{]{4,100})\"|'([^'\s$<{]{4,100})')"
        r"[ \t]*(?:[;}]|\)?$)",
    ),
    rule(
        "command-password",
        Part(r"[\"'(](?:echo|printf) "),
        r"(?i)pass(?:word|phrase)?[_-]?(?:eval|command|cmd)?[ \t]*(?:=[ \t]*)?(?:[\"']|=\$\()"
        r"(?:echo|printf) (?:-\w+ )?['\"]?"
        r"([^\s\"'`$<>|;,(){}\[\]\\/&*-][^\s\"'`|;<>\\)]{3,200})",
    ),
    # -- answers to prompts
    rule(
        "prompt-password",
        Part(r"enter (?:\w{1,12} )?pass"),
        rf"(?im)(?:^|[\s>])enter (?:\w{{1,12}} )?pass(?:word|"
        rf"phrase) for [^\n]{{1,120}}?:[ \t]+{_V}[ \t]*$",
    ),
    rule(
        "prompt-password",
        "send",
        r"(?i)(?:assw?ord|passphrase|PIN)[^\n]{0,40}\n?[ \t]*(?:[\w.]{1,40}\.)?send(?:line|"
        r"_slow|_human)?\b[ \t]*(?:\([ \t]*)?(?:-h[ \t]+)?(?:--[ \t]+)?(?:b|"
        r"f|r)?[\"']([^\"'$\n\\{]{4,100})(?:\\{1,3}[rn])*[\"']",
    ),
    # -- parameters of calls
    rule(
        "call-password",
        "login logon log_in signin sign_in auth credential user passw wifi.begin basic",
        r"(?i)\b\w{0,30}(?:log_?[io]n|sign_?in|auth|authenticate|credentials?|"
        r"authentication(?:token)?|wifi\.begin|userinfo|basic|"
        r"user(?:name)?_?(?:and_?)?(?:pw|pass)\w{0,12}|"
        r"(?:create|add|change|set|reset|update)_?\w{0,20}(?:user|passwo?r?d))"
        r"(?:\]?::new|\.new|\.of)?\s?[=(,]?\s?[ (]\s{0,20}(?:[^\s,()\"']{1,40}\s{0,4},\s{0,20})?"
        r"(?:[\"']{2},\s{0,20}|[\"'][\w.-]{1,80}:\d{2,5}[\"'],\s{0,20}[\"'][^\"'\n]{0,80}[\"']"
        r",\s{0,20})?"
        r"[bruN]?[\"'][^\"'\n]{0,120}[\"'](?:\.\w{1,20}\(\))?\s{0,4},\s{0,20}(?:Some\()?"
        rf"[bruN]?[\"']{_L}[\"']",
    ),
    rule(
        "call-password",
        "passw superuser create_user createuser passphrase",
        r"(?i)(?:superuser|create_?user|\b(?:passwo?r?d|passphrase)|(?:set|change|update|"
        r"reset|create|add|"
        r"make|new|with|sql|hash|encrypt|verify|check)_?\w{0,12}(?:passwo?r?d|passphrase))"
        r"\s?[({]\s{0,20}"
        rf"(?:[\"'][^\"'\n]{{0,120}}[\"']\s{{0,4}},\s{{0,20}}){{0,2}}(?:[\w:.]{{1,40}}\()?"
        rf"[bruL@]?[\"']{_L}[\"']"
        rf"\s{{0,4}}\)?(?:,[^()\n]{{0,80}})?[)}}]",
    ),
    rule(
        "call-password",
        "connect pdo open dbi newinstance mysqli sequelize database(",
        r"(?i)(?:\b\w{0,20}connect(?:ion)?|new \\?pdo|\b(?:sql|conn)\.open|dbi->connect|"
        r"newinstance|\bmysqli|\bdatabase|sequelize)"
        r"\s{0,3}[( ]\s{0,20}(?:[^\s,()\"']{1,80}|[\"'][^\"'\n]{1,200}[\"'])\s{0,4},\s{0,20}"
        rf"[\"'][^\"'\n]{{0,80}}[\"']\s{{0,4}},\s{{0,20}}[\"']{_L}[\"']",
    ),
    rule(
        "user-password",
        "sign log authenticate anmeld melde connecte conect acced inicia entra ssh router panel",
        r"(?i)\b(?:sign(?:ed)? in|log(?:ged|ging)?[ -]?(?:in|on|into)|authenticate[sd]?|ssh|"
        r"router|panel|anmeld[a-z]{1,3}|melde|einlogg[a-z]{1,3}|connecte?[a-z-]{0,6}|"
        r"conect[a-z]{1,4}|acced[a-z]{1,3}|inicia[a-z]{0,2}|entra[a-z]?|zaloguj|"
        r"inlogg[a-z]{1,3}|logga)\b[^\n]{0,60}?[ ,:](?:(?:using|with|as|mit|avec|con|com|met|"
        r"med|jako|als)[ \t]+[\"'`]?[\w.@+-]{1,40}|admin|root|pi|ubuntu)"
        rf"(?:[ \t]?[/:,][ \t]?|[ \t](?:and|und|y|e|et|en|i|och)[ \t]){_D}",
    ),
    rule(
        "user-password",
        Part(r"(?:use|try|nimm|usa|gebruik)[ \t]"),
        r"(?i)\b(?:use|try|nimm|usa|gebruik)[ \t]+[\w.@+-]{1,40}[ \t]?[/:][ \t]?"
        rf"{_D}[^\n]{{1,40}}\b(?:log[ -]?in|sign[ -]?in|account|creds)",
    ),
    rule(
        "user-password",
        "creds credential login logow inlog zugangs anmelde identifiants credenzial credencia",
        r"(?i)\b(?:creds|credentials|login|zugangsdaten|anmeldedaten|logindaten|identifiants|"
        r"credenziali|credenciales|credenciais|inloggegevens|dane logowania|inloggning)\b"
        r"[^\n]{0,30}?(?:is|are|sind|son|sono|sont|zijn|to|är|[:=])[ ]"
        rf"[\w.@-]{{1,60}}[ ]?[/:,][ ]?{_D}",
    ),
    rule(
        "user-password",
        "admin root elastic postgres",
        r"(?i)(?:: |, )(?:admin(?:istrator)?|root|elastic|postgres)(?:[ ]/[ ]|/|:)" + _D,
    ),
    rule(
        "command-password",
        "--proxy-user auth register",
        r"(?:--proxy-user[= ]|\bstats[ \t]+auth[ \t]+|\bregister[ \t]*=>?[ \t]*)[\"']?"
        r"[\w.-]{1,60}:([^\s\"'`$<>|;,(){}@]{4,100})",
    ),
    rule(
        "protocol-password",
        "login",
        rf"(?m)^[\w.]{{1,8}}[ ]LOGIN[ ](?:\"[^\"\n]{{1,80}}\"|[^\s\"]{{1,80}})[ ]{_A}[ \t\r]*$",
    ),
    rule("sql-password", "pragma", rf"(?i)\bpragma[ ](?:re)?key[ ]?=[ ]?'{_L}'"),
    rule(
        "user-password",
        "admin: root: postgres:",
        rf"(?i)\b(?:with|as|using|login|creds|is|use|allow)[ \t]"
        rf"(?:admin|administrator|root|postgres):{_V}",
    ),
    # -- default values of variables that are not set
    rule(
        "default-password",
        "env",
        r"(?:env|ENV)(?:\.fetch)?[.\[(\"' ]{1,4}[A-Za-z0-9_]{0,40}(?i:pass(?:word|"
        r"wd|phrase)?|pwd|secret|token|api_?key|_key)[A-Za-z0-9_]{0,20}[\"'\])]{0,3}[ \t]*"
        r"(?:\|\||\?\?|\bor\b|,|\?:)[ \t]*[\"']([^\"'\n$<{]{5,200})[\"']",
    ),
    rule(
        "default-password",
        "${",
        r"\$\{[A-Za-z0-9_.-]{0,60}(?i:password|passwd|pwd|secret|token|"
        r"api[_.-]?key)(?::-|:=|:|-)([^\s}\"'$<{?-][^\s}\"'$]{4,200})\}",
    ),
)

#: Values that must mix letters with digits or symbols.
MIXED: tuple[Rule, ...] = (
    rule(
        "command-password",
        "-u --user -l -x --login /u",
        r"(?i)\s(?:-u|-l|-x|--user(?:name)?|--login|/u:|/user:|"
        rf"-username)[= ]?[\"']?[\w.@\\+-]{{1,80}}[\"']?[ \t][^\n|;]{{0,100}}?(?:-p|"
        rf"-pw|-w|--pass(?:word|wd)?|/p(?:ass(?:word)?)?:)[= ]?[\"']?{_V}",
    ),
    rule(
        "command-password",
        "net",
        rf"(?im)\bnet1?(?:\.exe)?\s+user\s+{_Q}[^\s/]{{1,80}}[ \t]+{_A}[ \t]*$",
    ),
    rule(
        "command-password",
        "@",
        r"(?m)(?:^|[\s\"'=])(?:[\w./:-]{1,160}@sha256:|"
        r"[\w./\\-]{1,60}:[\"']?([^\s\"'`$<>|;,@:]{4,100})[\"']?@"
        r"(?:(?:\d{1,3}\.){3}\d{1,3}|[\w.-]{1,80}:(?:\d{2,5}|/))(?:[^.]|$))",
    ),
    rule(
        "prompt-password",
        "password",
        r"(?im)\b(?:temporary|initial|generated|new|default) password[^\n]{0,80}: (\S{6,100})"
        r"[ \t]*$",
    ),
    rule(  # how a debugger prints it
        "assigned-secret",
        "=[ =( :[ =< some(",
        r"(?i)(?:passw(?:or)?d|passphrase|pwd|secret|token|api_?key)[\"']?[=:][ "
        r"]?(?:Some)?[\[(<][\"']?"
        r"([^\s\[\](){}<>\"',]{6,200})[\"']?[\])>]",
    ),
    rule(
        "user-password",
        Part("(?:in|authenticate) (?:using|with) "),
        r"(?i)\b(?:authenticate|log ?in|sign ?in)[ ](?:using|with)[ ]"
        r"([A-Za-z0-9._-]{1,40}[#$%^&*!~+][A-Za-z0-9#$%^&*!~+._-]{1,40})(?:$|[\s,;)])",
    ),
    rule(
        "user-password",
        "creds credential login account zugangsdaten identifiants",
        r"(?i)\b(?:creds|credentials|logins?|account|zugangsdaten|identifiants)"
        r"\b[^\n]{0,40}\n[ \t>-]{0,4}"
        rf"[\w.+-]{{1,60}}(?:@[\w.-]{{1,60}})?[ \t]*\n[ \t>-]{{0,4}}{_V}[ \t]*(?:\n|$)",
    ),
    rule(
        "user-password",
        Part("(?:user|name|login)[: ]"),
        rf"(?i)\b(?:user(?:name)?|login)[: ]{{1,2}}[\w.@-]{{1,40}}[ ]?[/|,][ "
        rf"]?(?:pass(?:word)?[: ]{{1,2}})?{_V}",
    ),
    rule("command-password", "-u", rf"\s-u[ =]?{_Q}[\w.@-]{{1,80}}:{_V}"),
    rule(
        "config-password",
        "define",
        rf"#[ \t]*define[ \t]+\w{{0,40}}(?:SECRET|TOKEN|KEY)[ \t]+L?\"{_L}\"",
    ),
    rule(
        "user-password",
        "admin root postgres @",
        r"(?im)(?:^|[^a-z0-9_./@-])(?:admin(?:istrator)?|root|postgres|"
        r"[\w.+-]{1,60}@[\w-]{1,40}\.[\w.]{2,20})"
        r"(?:[ \t]?[/:|][ \t]?|,[ ])"
        r"([^\s\"'`$<>|;,(){}\[\]\\/:&*.-][^\s\"'`|;<>\\/:.]{7,60})(?:$|[\s\"'`),;.])",
    ),
    rule(
        "config-password",
        "://",
        rf"(?m)^https?://\S{{4,120}}[ \t]+[\w.@-]{{2,40}}[ \t]+{_V}[ \t]*$",
    ),
    rule(
        "config-password",
        Part(r'[\w.@-]"[ \t]+"[^"\n]{4}'),
        r"(?m)^[ \t]*\"[\w.@-]{1,60}\"[ \t]+\"([^\"\n]{4,200})\"[ \t]*$",
    ),
    rule(
        "licence-key",
        "licen serial product key",
        r"(?i)\b(?:licen[sc]e|product|serial|activation|windows)[ -]?(?:key|number|"
        r"code)?[^\n]{0,20}?[ :=\"'`]([A-Z0-9]{4,6}(?:-[A-Z0-9]{4,7}){1,7})(?:[^A-Za-z0-9-]|$)",
    ),
)

#: Tokens that are known by their format.
SHAPES: tuple[Rule, ...] = (
    rule(
        "app-password",
        Part("-[a-z]{4}-[a-z]{4}"),
        r"(?i:-p|pass\w{0,6}|app)[ =:\"'`]"
        r"[^\n]{0,30}?[ =:\"'`]?([a-z]{4}-[a-z]{4}-[a-z]{4}-[a-z]{4})(?:[^\w-]|$)",
    ),
    rule(
        "app-password",
        Part("(?:app|application|specific)[ -](?:password|passwort|kennwort)"),
        r"(?i)\bapp(?:lication)?[ -](?:specific[ -])?(?:password|passwort|"
        r"kennwort)[^\n]{0,30}?[ :=\"'`]((?:[a-z]{4}[ -]){3}[a-z]{4})(?:[^a-z]|$)",
    ),
    rule(
        "password-hash",
        "$1$ $2a$ $2b$ $2y$ $5$ $6$ $7$ $8$ $9$ $y$ $apr1$ $argon2 pbkdf2_sha",
        r"(pbkdf2_sha\d{1,3}\$\d{3,8}\$[^\s$\"']{4,64}\$[A-Za-z0-9+/]{27,88}={0,2}|"
        r"\$argon2(?:id|i|d)\$v=\d+\$[\w=,]{6,60}\$[A-Za-z0-9+/]{8,88}\$[A-Za-z0-9+/]{16,128}|"
        r"\$9\$[A-Za-z0-9./-]{10,200}|\$2[abxy]\$\d\d\$[./A-Za-z0-9]{53}|"
        r"\$7\$\d+\$[+/A-Za-z0-9]{8,24}\$[+/A-Za-z0-9=]{22,100}|"
        r"\$(?:1|5|6|8|9|y|"
        r"apr1)\$(?:rounds=\d{1,9}\$)?[./A-Za-z0-9$]{0,24}\$[./A-Za-z0-9]{22,100})",
    ),
    rule(
        "password-hash",
        "sha} sha256} sha384} sha512} md5} crypt} pbkdf2",
        r"(?i)\{(?:s?sha(?:256|384|512)?|s?md5|crypt|"
        r"pbkdf2[\w-]{0,10})\}([A-Za-z0-9+/=$.,]{20,200})",
    ),
    rule(
        "rails-key",
        ".key",
        r"(?i)[\w/]\.key\b[^\n0-9a-z]{0,6}(?:(?:is|was|holds|contains|content|"
        r"value|ist|es)\b)?[^\n0-9a-z]{0,6}\n?[ \t]*([0-9a-f]{32})(?:[^0-9a-z]|$)",
    ),
    rule(
        "rails-key",
        ".key",
        r"(?i)(?:^|[^0-9a-z])([0-9a-f]{32})[\"']?[ \t]*(?:>{1,2}|"
        r"\|[ \t]*tee)[ \t]*[\w./-]{0,80}\.key\b",
    ),
    rule(
        "private-key-hex",
        "key privat privad privée prywatny приватн 私钥 私鑰 秘密鍵 개인",
        r"(?i)(?:priv(?:ate)?[ _-]?key|privat[a-z]{0,3} schlüssel|privatekey|clé privée|"
        r"clave privada|chave privada|chiave privata|klucz prywatny|"
        r"приватн[а-я]{2,3} ключ[а-я]{0,2}|私钥|私鑰|秘密鍵|"
        r"개인 ?키)[^\n]{0,40}?(?:[^0-9a-z]|0x)([0-9a-f]{64})(?:[^0-9a-z]|$)",
    ),
    rule(
        "signed-cookie",
        Part(r"s(?:%3a|:)[\w-]{16}"),
        r"((?:s%3A|s:)[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9%+/_-]{27,120}=?)",
    ),
    rule(
        "signed-cookie",
        "ej",
        r"(?:^|[^A-Za-z0-9_.-])(\.?eJ[A-Za-z0-9_-]{12,}\.[A-Za-z0-9_-]{5,8}\.[A-Za-z0-9_-]{20,90})",
    ),
    rule("aspnet-cookie", "cfdj8", r"(?:^|[^A-Za-z0-9_-])(CfDJ8[A-Za-z0-9_-]{40,})"),
    rule(
        "fcm-key",
        ":apa91b",
        r"(?:^|[^A-Za-z0-9_-])([A-Za-z0-9_-]{8,30}:APA91b[A-Za-z0-9_-]{60,300})",
    ),
    rule(
        "twilio-token",
        Part("(?:ac|sk)[0-9a-f]{8}"),
        r"\b(?:AC|SK)[0-9a-f]{32}[^\n0-9a-f]{1,4}"
        r"(?:[^\n]{0,80}?[^\n0-9a-z])?([0-9a-f]{32})(?:[^0-9a-zA-Z]|$)",
    ),
    rule(
        "twilio-token",
        "twilio auth",
        r"(?is)\btwilio\b.{0,160}?\b(?:auth|token)\b.{0,40}?[^0-9a-z]([0-9a-f]{32})(?:[^0-9a-z]|$)",
    ),
    rule("fernet-key", "fernet", r"(?i)fernet[^\n]{0,160}?[^A-Za-z0-9_+/-]([A-Za-z0-9_+/-]{43}=)"),
    rule("fernet-key", "b'", r"b'([A-Za-z0-9_-]{43}=)'"),
    rule("fernet-key", Part(r'b"[\w-]{16}'), r"b\"([A-Za-z0-9_-]{43}=)\""),
    rule(
        "fernet-key", "fernet", r"(?is)fernet.{0,60}\n.{0,40}?[^A-Za-z0-9_+/-]([A-Za-z0-9_-]{43}=)"
    ),
    rule(
        "pulumi-secret", "secure:", r"(?m)^[ \t]+secure:[ \t]+\"?((?:v1:)?[A-Za-z0-9+/=:]{32,})\"?$"
    ),
    rule(
        "signature",
        "signature= security-token=",
        r"(?i)[?&](?:x-amz-signature|x-amz-security-token|x-goog-signature|"
        r"x-amz-credential|signature)=([A-Za-z0-9%+/_=-]{20,1000})",
    ),
)
