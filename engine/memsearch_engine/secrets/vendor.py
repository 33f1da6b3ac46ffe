"""Tokens of a known format: a vendor's prefix, length and alphabet.

Each rule has words, one of which is in every match, or a pattern for a part of every match. A rule
without them in the text is not run. The rules run in RE2 with time linear in any text
(https://github.com/google/re2/wiki/WhyRE2).
RE2 has no look-around: a left edge is part of the match, and a right edge is checked afterwards.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from typing import Any, NamedTuple

from memsearch_engine.secrets.linear import compile

#: A token's left edge: not inside an ASCII word (other scripts may be directly beside tokens), but
#: also after an escaped newline or an ANSI color code, which end with a letter.
_LEFT = r"(?:^|[^0-9A-Za-z]|\\[nrt]|[0-9;]m|\[m)"
_UPPER = frozenset(string.ascii_uppercase + string.digits)
_WORD = frozenset(string.ascii_letters + string.digits + "_-")
_BASE64 = frozenset(string.ascii_letters + string.digits + "+/=")


class Part(str):
    """A pattern for a part of every match, in lower case, if the words of a rule are too common."""


class Rule(NamedTuple):
    """A pattern for a secret, which is its only group that matches, or for text to pass over.

    Attributes:
        words: lower case; one of them is in every text that matches. Or such a ``Part``.
        not_before: characters that must not follow the secret.
    """

    name: str
    words: tuple[str, ...] | str
    pattern: Any
    not_before: frozenset[str]

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the (start, stop) of each secret in *text*."""
        for match in self.pattern.finditer(text):
            start, stop = match.span(match.lastindex or 1)
            if start >= 0 and (stop == len(text) or text[stop] not in self.not_before):
                yield start, stop


def _token(name: str, words: str, shape: str, not_before: frozenset[str] = frozenset()) -> Rule:
    return rule(name, words, f"{_LEFT}({shape})", not_before)


def rule(name: str, words: str, pattern: str, not_before: frozenset[str] = frozenset()) -> Rule:
    """Create a rule. *words* are separated by blanks."""
    needed = words if isinstance(words, Part) else tuple(words.split())
    return Rule(name, needed, compile(pattern), not_before)


TOKENS: tuple[Rule, ...] = (
    _token(
        "aws-access-key-id",
        "akia asia abia acca",
        r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}",
        not_before=_UPPER,
    ),
    _token(
        "aws-session-token",
        "iqojb3jpz2lu fwogzxivyxdz",
        r"(?:IQoJb3JpZ2lu|FwoGZXIvYXdz)[A-Za-z0-9+/=]{60,}",
    ),
    rule(
        "aws-secret-key",
        "akia asia",
        r"(?:AKIA|ASIA)[A-Z2-7]{16}.{0,11}?[^A-Za-z0-9+/\n]([A-Za-z0-9+/]{40})",
        not_before=_BASE64,
    ),
    _token(
        "github-token",
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        r"gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,}",
    ),
    _token(
        "gitlab-token",
        "glpat- glptt- gldt- glrt- glcbt- glsoat- glft- glimt- glagent-",
        r"gl(?:pat|ptt|dt|rt|cbt|soat|ft|imt|agent)-[A-Za-z0-9_.-]{20,}",
    ),
    _token("anthropic-key", "sk-ant-", r"sk-ant-[a-z0-9]{3,8}-[A-Za-z0-9_-]{40,}"),
    _token("openai-key", "sk-", r"sk-(?:proj-|svcacct-|admin-|or-v1-|None-)?[A-Za-z0-9_-]{20,}"),
    _token(
        "slack-token",
        "xox xapp-",
        r"xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9%-]{16,}|xapp-\d-[A-Za-z0-9-]{20,}",
    ),
    _token("stripe-key", "_live_ _test_ whsec_", r"(?:[sr]k_(?:live|test)|whsec)_[A-Za-z0-9]{16,}"),
    _token(
        "google-key",
        "aiza ya29. 1//0 4/0a gocspx-",
        r"4/0A[A-Za-z0-9_-]{50,}|AIza[A-Za-z0-9_-]{35}|ya29\.[A-Za-z0-9_-]{20,}|"
        r"1//0[A-Za-z0-9_-]{30,}|GOCSPX-[A-Za-z0-9_-]{20,}",
    ),
    _token(
        "atlassian-token",
        "atatt3x atctt3x atbb",
        r"AT(?:ATT|CTT)3x[A-Za-z0-9_=-]{50,}|ATBB[A-Za-z0-9]{28,}",
    ),
    _token("telegram-token", ":a", r"\d{8,10}:A[A-Za-z0-9_-]{34}", not_before=_WORD),
    rule("telegram-token", Part(r"bot\d{8}"), r"bot(\d{8,10}:A[A-Za-z0-9_-]{34})"),
    _token(
        "discord-token",
        Part(r"\.[\w-]{6}\.[\w-]{6}"),
        r"[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}",
    ),
    rule(
        "webhook",
        Part("webhooks/|services/t|/bot/v2/hook/|webhookb2/"),
        r"(?:discord(?:app)?\.com/api/webhooks/\d{10,20}/|"
        r"hooks\.slack\.com/services/T\w{6,12}/B\w{6,14}/|"
        r"/bot/v2/hook/|webhook\.office\.com/webhookb2/[0-9a-f@-]{30,80}/IncomingWebhook/)"
        r"([A-Za-z0-9_-]{16,80})",
    ),
    _token("hf-token", "hf_ api_org_", r"(?:hf|api_org)_[A-Za-z0-9]{30,}", not_before=_WORD),
    _token("npm-token", "npm_", r"npm_[A-Za-z0-9]{36}"),
    _token("pypi-token", "pypi-age", r"pypi-AgE[A-Za-z0-9_-]{50,}"),
    _token("docker-token", "dckr_", r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}"),
    _token("digitalocean-token", "_v1_", r"do[opr]_v1_[0-9a-f]{64}"),
    _token("heroku-key", "hrku-", r"HRKU-AA[A-Za-z0-9_-]{50,}"),
    _token("newrelic-key", "nrak- nral", r"NRAK-[A-Z0-9]{27}|[0-9a-f]{36}NRAL"),
    _token("sentry-token", "sntrys_ sntryu_", r"sntry[su]_[A-Za-z0-9+/=_]{40,}"),
    _token(
        "shopify-token",
        "shpat_ shpss_ shpca_ shppa_ shpua_ shptka_ prtapi_",
        r"(?:shp(?:at|ss|ca|pa|ua|tka)|prtapi)_[0-9a-f]{32}",
    ),
    _token("square-token", "sq0", r"sq0(?:csp|atp)-[A-Za-z0-9_-]{22,}"),
    _token(
        "paypal-token",
        "access_token$",
        r"access_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[0-9a-f]{32}",
    ),
    _token("databricks-token", "dapi dkea dose", r"(?:dapi|dkea|dose)[0-9a-f]{32}(?:-\d)?"),
    _token("supabase-key", "sbp_ sb_secret_", r"sbp_[0-9a-f]{40}|sb_secret_[A-Za-z0-9_-]{20,}"),
    _token("netlify-token", "nfp_", r"nfp_[A-Za-z0-9]{36}"),
    _token("linear-key", "lin_api_", r"lin_api_[A-Za-z0-9]{40}"),
    _token("notion-token", "secret_", r"secret_[A-Za-z0-9]{43}", not_before=_WORD),
    _token("notion-token", "ntn_", r"ntn_[A-Za-z0-9]{40,}"),
    _token("vault-token", "hvs. hvb. hvr.", r"hv[sbr]\.[A-Za-z0-9_-]{24,}"),
    _token("terraform-token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{60,}"),
    rule("roblox-cookie", "_|warning:", r"(_\|WARNING:[^\"'\s;]{20,1000})"),
    _token(
        "nkey-seed",
        Part(rf"{_LEFT}s[acnoux][a-z2-7]{{12}}"),
        r"S[ACNOUX][A-Z2-7]{56}",
        not_before=_WORD,
    ),
    _token("pulumi-token", "pul-", r"pul-[0-9a-f]{40}"),
    _token(
        "grafana-token",
        "glsa_ glc_",
        r"glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}|glc_eyJ[A-Za-z0-9+/=]{30,}",
    ),
    _token("postman-key", "pmak-", r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    _token("doppler-token", "dp.", r"dp\.(?:pt|st|ct|sa)\.[A-Za-z0-9]{40,}"),
    _token("planetscale-token", "pscale_", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.-]{32,}"),
    _token("rubygems-key", "rubygems_", r"rubygems_[0-9a-f]{48}"),
    _token("crates-token", "cio", r"cio[A-Za-z0-9]{32}", not_before=_WORD),
    _token("nuget-key", "oy2", r"oy2[a-z0-9]{43}", not_before=_WORD),
    _token("figma-token", "figd_", r"figd_[A-Za-z0-9_-]{40}"),
    _token("airtable-token", Part("pat[a-z0-9]{14}"), r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    _token("hubspot-token", "pat-", r"pat-(?:na|eu)\d-[0-9a-f]{8}-[0-9a-f-]{27}"),
    _token("tailscale-key", "tskey-", r"tskey-[a-z]{3,8}-[A-Za-z0-9-]{20,}"),
    _token("dynatrace-token", "dt0c01.", r"dt0c01\.[A-Z2-7]{24}\.[A-Z2-7]{64}"),
    _token("alibaba-key-id", "ltai", r"LTAI[A-Za-z0-9]{16,24}", not_before=_WORD),
    _token("contentful-token", "cfpat-", r"CFPAT-[A-Za-z0-9_-]{43}"),
    _token("elevenlabs-key", "sk_", r"sk_[0-9a-f]{48}"),
    _token("honeycomb-key", "hcaik_ hcaic_ hcbik_ hcxik_", r"hc[a-z]i[ck]_[a-z0-9]{58,64}"),
    _token("groq-key", "gsk_", r"gsk_[A-Za-z0-9]{52}"),
    _token("xai-key", "xai-", r"xai-[A-Za-z0-9]{80}"),
    _token("perplexity-key", "pplx-", r"pplx-[A-Za-z0-9]{48}"),
    _token("replicate-token", "r8_", r"r8_[A-Za-z0-9]{37}"),
    _token("langsmith-key", "lsv2_", r"lsv2_[ps][tk]_[0-9a-f]{32}_[0-9a-f]{10}"),
    _token("brevo-key", "xkeysib-", r"xkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16}"),
    _token("sendgrid-key", "sg.", r"SG\.[A-Za-z0-9_-]{20,24}\.[A-Za-z0-9_-]{40,46}"),
    rule("mailgun-key", "key-", r"(?:^|[^0-9A-Za-z-])(key-[0-9a-f]{32})", not_before=_WORD),
    _token("mailchimp-key", "-us", r"[0-9a-f]{32}-us\d{1,2}", not_before=_WORD),
    _token("mapbox-token", "sk.eyj", r"sk\.eyJ[A-Za-z0-9_-]{30,}\.[A-Za-z0-9_-]{20,}"),
    _token("okta-token", "ssws ", r"SSWS[ \t]+00[A-Za-z0-9_-]{38,42}"),
    _token(
        "uuid-token",
        "waka_ sdk- mob- api- xaat- xapt- depot_ ctx7sk- rgapi- sk_ hrku- luma- access- persona_ "
        "st.",
        r"(?:waka_(?:sec_)?|sdk-|mob-|api-|xa[ap]t-|depot_|ctx7sk-|RGAPI-|sk_(?:test_|sbox_)?|"
        r"HRKU-|luma-|access-(?:production|development|sandbox)-|persona_(?:production|sandbox)_|"
        r"st\.)[0-9a-f]{8}-[0-9a-f-]{27}(?:[.-][0-9a-f.-]{32,80})?",
    ),
    _token(
        "uuid-token",
        Part("[0-9a-f]:[0-9a-f]{8}"),
        r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}:[0-9a-f]{32}",
    ),
    # hexadecimal behind a short prefix, which names other things, too
    _token(
        "hex-token",
        "fc- key_ pk_ cs_ cu_ sb_ e2b_ fhb- gto_ gta_ sqp_ squ_ sqa_ sqb_ sd_ cal_",
        r"(?:(?:fc-|cu_|sd_|cal_(?:live_|test_)?)[0-9a-f]{32}|pk_[0-9a-f]{34}|(?:cs|sb|e2b|"
        r"gt[ao]|sq[abpu])_[0-9a-f]{40}|fhb-[0-9a-f]{32,64}|key_[0-9a-f]{28,64})",
        not_before=_WORD,
    ),
    _token("asana-token", Part(r"\d:[0-9a-f]{8}"), r"[0-2]/\d{10,20}(?:/\d{10,20})?:[0-9a-f]{32}"),
    _token("rapidapi-key", "msh", r"[0-9a-f]{10}msh[0-9a-f]{15}p1[0-9a-f]{5}jsn[0-9a-f]{12}"),
    _token(
        "ghost-key", Part("[0-9a-f]:[0-9a-f]{8}"), r"[0-9a-f]{24}:[0-9a-f]{64}", not_before=_WORD
    ),
    _token("zoho-token", "1000.", r"1000\.[0-9a-f]{32}\.[0-9a-f]{32}"),
    _token("salesforce-token", "00d", r"00D[A-Za-z0-9]{12}![A-Za-z0-9._]{60,}"),
    _token(
        "facebook-app-token",
        Part(r"\d\|[\w-]{8}"),
        r"\d{15,16}\|[A-Za-z0-9_-]{27}",
        not_before=_WORD,
    ),
    _token(
        "azure-key",
        "azdo jqqj99 azfu azse azca acdb",
        r"[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}|[A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{26}|"
        r"[A-Za-z0-9+/_-]{40,76}(?:AzFu|AzSe|AzCa|ACDb)[A-Za-z0-9+/_-]{5,8}={0,2}",
    ),
    _token("backblaze-key", "k00", r"K00[0-9][A-Za-z0-9+/]{27}", not_before=_BASE64),
    _token("rancher-token", "token-", r"token-[a-z0-9]{5}:[a-z0-9]{54}"),
    _token("octopus-key", "api-", r"API-[A-Z0-9]{25,32}", not_before=_WORD),
    _token("key-in-capitals", "pk_", r"pk_(?:\d{6,10}|prod|test)_[A-Z0-9]{28,32}"),
    _token("cloudflare-token", "v1.0-", r"v1\.0-[0-9a-f]{24}-[0-9a-f]{100,200}"),
    _token("configcat-key", "configcat-sdk-", r"configcat-sdk-\d/[\w-]{22}/[\w-]{22}"),
    _token("baidu-key", "bce-v3/", r"bce-v3/ALTAK-\w{16,32}/[0-9a-f]{40}"),
    _token("astra-token", "astracs:", r"AstraCS:[A-Za-z0-9]{24}:[0-9a-f]{64}"),
    _token("fly-token", "fm1_ fm2_", r"fm[12]_[A-Za-z0-9+/=]{60,}"),
    _token("docker-token", "swmkey-", r"SWMKEY-1-[A-Za-z0-9+/]{43}"),
    _token(
        "authress-key", ".acc", r"[a-z]{2,8}_[a-z0-9]{5,30}\.[a-z0-9]{4,6}\.acc[_-][\w.-]{40,160}"
    ),
    _token("base64-token", "absk bbdc-", r"(?:ABSK|BBDC-)[A-Za-z0-9+/]{32,280}={0,2}"),
    _token("harness-key", "pat. sat.", r"[ps]at\.[\w-]{22}\.[0-9a-f]{24}\.\w{20}"),
    _token("telnyx-key", "key0", r"KEY0[\w-]{50,60}"),
    _token("twitter-token", "aaaaaaaaaaaaaaaaaaaa", r"A{20,23}[B-Zb-z0-9%][A-Za-z0-9%]{58,120}"),
    _token("maxmind-key", "_mmk", r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk"),
    _token("siliconflow-key", "sk-", r"sk-[a-z]{48}", not_before=_WORD),
    # a vendor that is not known: letters of both cases with digits after a short prefix; not a pod
    rule(
        "random-token",
        Part("[_-][a-z0-9]{16}"),
        r"\bpods?[ /][\w-]+|(?i:_id|\bid)[\"']?[ ]?[:=][ ]?[\"']?[\w-]+|"
        rf"{_LEFT}([a-z][a-z0-9]{{1,8}}[_-](?:[A-Za-z0-9]{{1,12}}[_-]){{0,2}}[A-Za-z0-9]{{24,}})",
        not_before=_BASE64 | {"-", "_", "."},
    ),
    rule(
        "random-token",
        "key token",
        r"(?im)(?:^|[^\sc][ \t])[\"']?(?:key|token)[\"']?[ \t:=]{1,3}[\"'`]?([\w+/-]{20,100}=?)",
    ),
    _token(
        "random-token",
        Part(
            r"(?:exo|eaa|bsa|yc|aq\.|o\.|t1\.|a21aa|[af][ks]-|re_|pa-|dataset-|md-|pat_)[\w.-]{6}"
        ),
        r"(?:EXO|EAA|BSA|YC|AQ\.|o\.|t1\.|A21AA|[af][ks]-|re_|pa-|dataset-|md-|pat_)"
        r"[\w.-]{18,400}\w",
        not_before=_BASE64,
    ),
    _token("wallet-key", "prv", r"[xyzt]prv[1-9A-HJ-NP-Za-km-z]{100,112}"),
    _token(
        "1password-key",
        "a3- ops_ey",
        r"A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}|"
        r"ops_eyJ[\w-]{50,}",
    ),
    _token("laravel-key", "base64:", r"base64:[A-Za-z0-9+/]{43}="),
    _token("bitlocker-key", Part(r"\d-\d{6}-\d"), r"\d{6}(?:-\d{6}){7}", not_before=_WORD),
    _token("age-key", "age-secret-key-", r"AGE-SECRET-KEY-1[0-9A-Z]{40,64}"),
    _token("azure-secret", "q~", r"[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,34}"),
    # no hyphen before it: "sha512-" is the prefix of digests
    rule(
        "azure-key",
        Part(r"[a-z0-9+/]==(?:[\"';\s]|$)"),
        r"(?:^|[^A-Za-z0-9+/-])([A-Za-z0-9+/]{86}==)(?:[\"';\s]|$)",
    ),
    rule("sas-signature", "sig=", r"[?&;]sig=([A-Za-z0-9%+/=]{40,80})"),
    _token(
        "jwt",
        "eyj",
        r"eyJ[A-Za-z0-9_]{10,}(?:\.|"
        r"-[A-Za-z0-9_-]*\.)[A-Za-z0-9_-]*\.[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]{6,}){0,2})|"
        # what is no token is passed over in one pass
        r"(?:eyJ[A-Za-z0-9_-]*",
    ),
    rule(
        "pem-base64",
        "ls0tls1crudjti",
        r"(LS0tLS1CRUdJTi[A-Za-z0-9+/]{0,40}?(?:UFJJVkFURSBLRV|"
        r"QUklWQVRFIEtFW|BSSVZBVEUgS0VZ)[A-Za-z0-9+/=]{20,})",
    ),
)

#: Prefixes that services give their tokens.
_PREFIXES = (
    "AIK_CI_ AIK_SECRET_ bedrock-api-key- p8e- AKID AKLT ALTAK- AKCp cmVmdGtu bkua_ "
    "bkaa_ bkaj_ bkar_ bkct_ bkpt_ bkpat_ bkps_ cnvca sk_car_ csk- CCIPAT_ CCIPRJ_ CLOJARS_ cfut_ "
    "cfat_ cfk_ 0x4AAAAAAA csa_ CCDB1_ crsr_ ddapp_ ddp_ ddw_ dnkey- apk_user_ cog_ dvc_server_ "
    "SWMTKN-1- duffel_live_ duffel_test_ EZAK EZTK essu_ IGQV FLWSECK- FLWSECK_TEST- fo1_ fio-u- "
    "glffct- gloas- glwt- GR1348941 eyJrIjoi dG9rO ico- s-s4t2 ion_ lip_ llx- mlsn. xsmtpsib- m0- "
    "mercury_production_ Mid-server- mdb_sa_ napi_ NRII- NRRA- NRIQ- NRSP- nvapi- nyk_ os_v2_app_ "
    "os_v2_org_ api_live. api_live_ sha256~ pdl_live_ pdl_sdbx_ pcsk_ pina_ polar_at_ polar_oat_ "
    "polar_pat_ phx_ phs_ pnu_ pnb_ prf_cli_ ramp_sec_ rdme_ rpa_ rnd_ rootly_ samsara_api_ tk-us- "
    "sgp_ sgd_ slk_ sm_aat_ sm_pat_ sm_sat_ shippo_live_ shippo_test_ snyk_uat. snyk_sat. EAAA "
    "sbp_v0_ tss_ tgp_v1_ tfp_ unkey_ ucat_ AYNgAS vtwn_ vcp_ vck_ vca_ vcr_ vci_ vercel_blob_rw_ "
    "wandb_v1_ xnd_production_ xnd_development_ AQVN y0_ zpka_ APP_USR- skey_test_ skey_live_ "
    "klarna_live_api_ klarna_test_api_ secret-live- secret-test- ory_pat_ ory_at_ ory_rt_ ory_ac_ "
    "nbp_ lin_oauth_ lin_wh_ ATTA figu_ figo_ nfc_ nfo_ nfu_ nfb_ dbtc_ dbtu_ dbts_ hxtp_ hxtw_ "
    "xau_ AVNS_ sec-c- fw_ jina_ tvly- sk-helicone- bb_live_ bb_test_ esecret_ aph0_ mfa. tk_ "
    "nsec1 n8n_api_ cztei_ gitpod_pat_ tsec_ sgamp_user_ apify_api_ sk-lf- STS. sl.u. xwfp- npg_"
)
_PREFIX = "|".join(map(re.escape, _PREFIXES.split()))

#: The alphabets behind these prefixes differ, so the rest of a token is judged.
PREFIXED: tuple[Rule, ...] = (
    rule(
        "service-token",
        _PREFIXES.lower(),
        rf"{_LEFT}((?:{_PREFIX})[A-Za-z0-9_.-]{{9,600}}[A-Za-z0-9_-]={{0,2}})",
        not_before=_BASE64,
    ),
)


def without_prefix(token: str) -> str:
    """Return a token of a service without its prefix."""
    return re.sub(_PREFIX, "", token, count=1)


#: Secrets in a known place: an option of a command, a header, a query, a field of a file format.
PLACES: tuple[Rule, ...] = (
    rule("bearer", "bearer", r"(?i)(?:^|[^a-z0-9])bearer[ \t]+\\?[\"']?([A-Za-z0-9._~+/:=-]{16,})"),
    rule(
        "basic-auth",
        "basic",
        r"(?i)\bauthorization\\{0,3}[\"']?\s{0,3}[:=,]?\s{0,3}"
        r"\\{0,3}[\"']?basic[ \t]+([A-Za-z0-9+/]{12,}={0,2})",
    ),
    rule(
        "auth-header",
        "authorization api-key -token -key",
        r"(?i)\b(?:authorization|x-[a-z-]{0,20}(?:token|key)|(?:dd-)?api-key|"
        r"private-token)\\{0,3}[\"']?\s{0,3}[:,=]\s{0,3}\\{0,3}[\"'`]?(?:(?:token|"
        r"api-?key|api-token|ssws|splunk|sso-key|geniekey|deepl-auth-key|snowflake|[a-z]{3,12}-key)"
        r"[ \t]+)?([A-Za-z0-9._~+/:=-]{20,})",
    ),
    rule(
        "query-token",
        "token= key= secret= auth= password= pwd= code= appid=",
        r"(?i)[?&](?:[a-z_]{0,20}token|api_?key|key|secret|"
        r"auth|password|pwd|access_key|code|appid)=([A-Za-z0-9._~+/%-]{16,400})",
    ),
    rule(
        "cli-password",
        "-pass -token -secret -api -auth -account -store -key --",
        r"(?i)(?:^|[^\w-])--?(?:[a-z-]{0,20}(?:password|passwd|"
        r"passphrase|token|secret|api-?key|auth-?key|account-key)|"
        r"storepass|keypass)(?:=|[ \t]+)[\"']?([^\s\"'$<-][^\s\"'$<]{5,200})",
    ),
    rule(
        "cli-password",
        "sshpass login twine",
        r"\b(?:sshpass|(?:docker|podman|az|twine)\s+(?:login|"
        r"upload))\b[^\n|;]{0,160}?\s-p[ \t]*[\"']?([^\s\"'$<-][^\s\"'<]{5,300})",
    ),
    rule(
        "cli-argument",
        Part("pass:|htpasswd|smbclient|net use|sqlplus|jdbc:oracle|gh secret"),
        r"(?i)\b(?:openssl\b[^\n|;]{0,160}?\bpass:|htpasswd\s+-\w*b\w*\s+\S{1,80}\s+\S{1,80}\s+|"
        r"smbclient\b[^\n]{0,80}?-U\s?\w+%|net use [^\n]{0,80}?/user:\S{1,80}\s+|sqlplus\s+\w+/|"
        r"jdbc:oracle:thin:\w+/|gh secret set \w+ --body \"?)([^\s\"'$@;|]{6,200})",
    ),
    rule(
        "cli-argument",
        Part(r"set\s+-"),
        r"(?i)\bset\s+-\w+\s+\w{0,40}(?:token|secret|"
        r"pass|pwd|_pw|key)\w{0,20}\s+[\"']?([^\s\"'$(]{6,200})",
    ),
    rule(
        "pgpass",
        Part(r":(?:\d{2,5}|\*):[\w*-]"),
        r"(?m)(?:^|[ \t])[\w.*-]{1,100}:(?:\d{2,5}|\*):[\w*-]{1,100}:[\w*-]{1,100}:"
        r"([^\s:]{4,100})$",
    ),
    rule(
        "setter",
        "setapikey setsecret settoken plaintext(",
        r"(?i)(?:\bset(?:apikey|secret|token)|plaintext)\(\s*[\"']([^\"'\s]{8,200})[\"']",
    ),
    rule("unseal-key", "unseal", r"(?i)\bunseal(?: key \d:)?\s+([A-Za-z0-9+/=]{40,200})"),
    rule("jwk", '"d":', r"\"d\":\s?\"([A-Za-z0-9_-]{40,})\""),
    rule("docker-auth", '"auth":', r"\"auth\":\s?\"([A-Za-z0-9+/]{12,}={0,2})\""),
    rule(
        "said",
        "passw passphrase api token secret",
        r"(?i)\b(?:passw(?:or)?d|passphrase|api[ -]key|token|secret)(?:\s+(?:is|"
        r"was|now|to)\b:?|\s)\s{0,3}[\"'`“]?([^\s\"'`“”,;:()<>$]{8,200})",
    ),
    rule("otp-seed", "otpauth:", r"(?i)otpauth://[^\s\"'<>]{0,300}?[?&]secret=([A-Z2-7]{16,128})"),
    rule(
        "otp-seed",
        "totp otp 2fa mfa authenticator authy manually",
        r"(?:(?i:\b(?:totp|otp|2fa|mfa|authenticator|authy)\b[^\n]{0,40}?\b(?:secret|seed|key)\b|"
        r"\bkey manually)[^\n]{0,40}?[ :=\"'`]|(?i:totp)\([\"']|\boathtool\b[^\n|;]{0,80}?\s)"
        r"((?:[A-Z2-7]{16,64})|(?:[A-Z2-7]{4} ){3,15}[A-Z2-7]{4})(?:[^A-Za-z0-9]|$)",
    ),
    rule(
        "cli-argument",
        "aws configure",
        r"\baws configure set \S{1,60}(?:secret|token)\S{0,30}\s+[\"']?([^\s\"'$]{16,400})",
    ),
    rule(
        "crypto-key",
        "hmac jwt cipher fernet signwith signingkey keyspec",
        r"(?:createHmac|create(?:C|Dec)ipheriv|jwt\.(?:sign|verify|encode|decode)|"
        r"hmac\.new|Hmac\w{0,8}|Fernet|SecretKeySpec|signWith|setSigningKey|"
        r"HMAC\w{0,6})\((?:[^()\n\"']{0,60}|"
        r"[^()\n]{0,60},)\s*(?:Buffer\.from\()?b?[\"']([A-Za-z0-9+/=_.!#%&*@-]{12,200})[\"']",
    ),
    rule("maven-password", "password>{", r"<password>\{([A-Za-z0-9+/=]{20,200})\}</password>"),
)
