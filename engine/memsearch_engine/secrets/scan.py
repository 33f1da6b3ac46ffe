"""Finding secrets in text and replacing them."""

from __future__ import annotations

import re

import msgspec

from memsearch_engine.ids import digest

#: What betterleaks 2.0 misses (bearer headers, lone key ids, keys in assignments), and the common shapes for platforms
#: where it has no wheel. Linear: no nested repeats. Group 1 is the secret.
_RULES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("pem-private-key", re.compile(r"(-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY-----[\s\S]{0,8000}?(?:-----END [A-Z0-9 ]{0,30}KEY-----|\Z))")),
    ("bearer", re.compile(r"(?i)\b(?:authorization\s*[:=]\s*)?bearer\s+([A-Za-z0-9._~+/=-]{16,})")),
    ("basic-auth", re.compile(r"(?i)\bauthorization\s*[:=]\s*basic\s+([A-Za-z0-9+/=]{12,})")),
    ("aws-access-key-id", re.compile(r"\b((?:AKIA|ASIA)[A-Z0-9]{16})\b")),
    ("github-token", re.compile(r"\b(gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{30,})")),
    ("openai-key", re.compile(r"\b(sk-(?:proj-|ant-|or-)?[A-Za-z0-9_-]{20,})")),
    ("slack-token", re.compile(r"\b(xox[abposr]-[A-Za-z0-9-]{10,})")),
    ("stripe-key", re.compile(r"\b([sr]k_(?:live|test)_[A-Za-z0-9]{16,})")),
    ("google-key", re.compile(r"\b(AIza[A-Za-z0-9_-]{35})")),
    ("jwt", re.compile(r"\b(eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{6,})")),
    ("url-password", re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@]{1,80}:([^\s/@]{3,200})@")),
    (
        "assigned-secret",
        re.compile(
            r"(?i)\b[A-Z0-9_.-]{0,40}(?:secret|password|passwd|api_?key|access_?key|auth_?token|private_?key)[A-Z0-9_]{0,20}"
            r"[\"']?\s*(?:=|:=|:)\s*[\"']?((?=[^\s\"']*[0-9])(?=[^\s\"']*[A-Za-z])[^\s\"',;]{12,200})"
        ),
    ),
)  # fmt: skip
_REDACTED = re.compile(r"\[REDACTED:[a-z0-9-]+:[0-9a-f]{8}\]")


class Finding(msgspec.Struct, frozen=True):
    rule: str
    secret: str

    @property
    def fingerprint(self) -> str:
        return digest("secret", self.secret, size=4)

    @property
    def placeholder(self) -> str:
        return f"[REDACTED:{self.rule}:{self.fingerprint}]"


def find(text: str) -> list[Finding]:
    """Secrets in *text*, longest first. Low-confidence ``generic-*`` hits on prose are left out."""
    text = _REDACTED.sub(" ", text)  # what was replaced before is no secret
    found: dict[str, Finding] = {}
    for rule, pattern in _RULES:
        for match in pattern.finditer(text):
            found.setdefault(match[1], Finding(rule, match[1]))
    for rule, secret in _betterleaks(text):
        found.setdefault(secret, Finding(rule, secret))
    return sorted((finding for finding in found.values() if len(finding.secret) >= 3), key=lambda f: -len(f.secret))


def redact(text: str) -> tuple[str, list[Finding]]:
    """*text* with every secret replaced, and what was found."""
    findings = find(text)
    for finding in findings:
        text = text.replace(finding.secret, finding.placeholder)
    return text, findings


def _betterleaks(text: str) -> list[tuple[str, str]]:
    try:
        import betterleaks
    except (ImportError, OSError):  # no wheel for this platform: our own rules stand alone
        return []
    try:
        findings = betterleaks.scan_string(text)
    except betterleaks.BetterleaksError:
        return []
    return [(f.rule_id, f.match.value) for f in findings if not f.rule_id.startswith("generic-") and f.match.value]
