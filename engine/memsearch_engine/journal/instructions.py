"""Finds lines in a note that address an agent.

Matching words stops no attacker (arXiv 2605.08442). It is a mark for the owner's eye and a reason
not to inject such a line before a decision. Trust is decided by where a note comes from.
"""

from __future__ import annotations

import re

_ORDERS = re.compile(
    r"""(?ix)
    \b(?:ignore|disregard|forget)\s+(?:all\s+|any\s+|the\s+|your\s+|of\s+)*
        (?:previous|prior|above|earlier|preceding|existing)\s+
        (?:instruction|prompt|rule|message|direction|context)s?
    | \b(?:new|updated|real|actual|hidden)\s+(?:system\s+)?(?:instructions?|prompt)\s*:
    | \b(?:do\s+not|don't|never)\s+(?:tell|inform|show|mention|reveal|ask|warn)\b
        [^.\n]{0,30}\b(?:the\s+)?(?:user|human|owner|developer)\b
    | \byou\s+(?:must|are\s+required\s+to|have\s+to|shall)\s+
        (?:now\s+|always\s+|immediately\s+|first\s+)?
        (?:run|execute|install|call|send|post|upload|fetch|delete|write|open|visit|obey|follow)\b
    | </?(?:system|system-reminder|assistant|human|instructions?|important|admin)\b[^>\n]{0,80}>
    | \b(?:curl|wget)\b[^\n|]{0,300}\|\s*(?:sudo\s+)?(?:ba|z|da)?sh\b
    | \bwhen(?:ever)?\s+(?:you|an?\s+(?:ai|agent|assistant|llm))\s+
        (?:read|see|summari[sz]e|process)s?\s+this\b
    | (?:忽略|无视)(?:之前|以上|上面|先前)的?(?:所有|全部)?的?(?:指令|指示|提示|规则)
    | 不要(?:告诉|通知)用户
    """
)
_DOING = (
    r"(?:run|execute|eval|source|curl|wget|install|download|fetch|send|upload|"
    r"post|push|deploy|delete|remove|disable|ignore|disregard|paste|open|"
    r"visit|pipe|call|invoke|skip|bypass|approve|grant|reveal|obey)"
)
#: How a text of an agent's tells another what to do, which a note of what was found or decided does
#: not. Compiled at the first use, since most processes need none.
_INSTRUCTS = rf"""(?ix)
    ^\W*(?:please\W+|always\W+|never\W+|first\W+|then\W+|now\W+|do\s+not\W+|don't\W+|
        immediately\W+|make\s+sure\s+(?:to|you)\W+)*{_DOING}\b
    | \b(?:before|after|when(?:ever)?|if|on|at|prior\s+to|
        (?:every|each|any)\s+(?:time|session|agent|run))\b[^.\n]{{1,80}}[,:;]\W*
        (?:please\W+|always\W+|never\W+|first\W+|then\W+|
        you\s+(?:must|should|have\s+to|need\s+to)\W+)*{_DOING}\b
    | \b(?:always|must|never|should|shall|(?:need|have|has)\s+to|make\s+sure\s+(?:to|you)|
        be\s+sure\s+to|remember\s+to)\s+(?:be\s+)?(?:\w+ly\s+|first\s+)?{_DOING}\b
    | \b(?:you|agents?|assistants?|models?|sessions?)\s+
        (?:must|should|shall|have\s+to|need\s+to|may|can|are\s+(?:allowed|required))\b
    | \b(?:every|each|all|any|other|future)\s+(?:coding\s+)?
        (?:agents?|assistants?|models?|sessions?)\s+(?:to|always|never)\b
    | \b(?:skip|bypass|omit|no\s+need\s+(?:for|to))\b[^.\n]{{0,20}}
        \b(?:ask\w*|permissions?|approvals?|confirm\w*|consent)\b
    """
#: The same in other languages: a word for when or how often, or for a duty, before or after a verb
#: that orders an action.
_WHEN = (
    r"antes\s+de|después\s+de|depois\s+de|cada|siempre|nunca|debes|tienes\s+que|"
    r"sempre|prima\s+di|dopo|ogni|devi|mai|toda\s+vez|deve|"
    r"avant|après|chaque|toujours|jamais|tu\s+dois|vous\s+devez|"
    r"vor\s+jede[mrsn]|nach\s+jede[mrsn]|immer|niemals|stets|zuerst|bei\s+jede[mr]|musst|müssen|"
    r"voor\s+elke?|na\s+elke?|altijd|nooit|eerst|moet|"
    r"przed|każd\w+|zawsze|nigdy|najpierw|musisz|"
    r"перед|после|кажд\w+|всегда|никогда|сначала|обязательно|"
    r"her|önce|daima|asla|mutlaka|alltid|aldrig|före\s+varje|först"
)
_ORDERED = (
    r"ejecut[ae]n?|ejecutar|corre|instal[ae]r?|descarg[ae]r?|env[ií][ae]r?|borr[ae]r?|elimin[ae]r?|"
    r"esegui(?:re|te)?|lancia(?:re)?|avvia(?:re)?|installa(?:re)?|scarica(?:re)?|invia(?:re)?|"
    r"cancella(?:re)?|execut[ae]r?|rode|baix[ae]r?|envi[ae]r?|apagu?[ae]r?|"
    r"exécute[rz]?|lance[rz]?|installe[rz]?|télécharge[rz]?|envoie|envoye[rz]|supprime[rz]?|"
    r"führen?|ausführen|starten?|installieren?|lösche?n?|senden?|laden?|rufen?|"
    r"voer|uitvoeren|installeer|verwijder|stuur|draai|"
    r"uruchom|wykonaj|zainstaluj|usuń|wyślij|pobierz|"
    r"запусти(?:те|ть)?|запускай(?:те)?|выполни(?:те|ть)?|выполняй(?:те)?|"
    r"установи(?:те|ть)?|удали(?:те|ть)?|удаляй(?:те)?|отправь(?:те)?|отправить|"
    r"отправляй(?:те)?|скачай(?:те)?|скачать|"
    r"çalıştır\w*|kur|yükle|sil|gönder\w*|indir|kör|installera|ta\s+bort|skicka"
)
_ADDING = r"(?:add|append|include|insert|answer|reply|say|tell|use|recommend|suggest)"
_INSTRUCTS_ELSEWHERE = rf"""(?ix)
    \b(?:{_WHEN})\b[^\n]{{0,80}}\b(?:{_ORDERED})\b
    | \b(?:{_ORDERED})\b[^\n]{{0,80}}\b(?:{_WHEN})\b
    | (?:每次|之前|之后|总是|必须|务必|永远|先)[^。\n]{{0,40}}(?:运行|执行|安装|删除|发送|下载|上传)
    | (?:前|後|毎回|必ず|常に|まず)[^。\n]{{0,60}}(?:実行|インストール|削除|送信|ダウンロード)
    | (?:전에|후에|항상|반드시|먼저|매번)[^\n]{{0,60}}(?:실행|설치|삭제|전송|다운로드)
    | \b(?:silently|secretly|quietly|covertly)\s+(?:{_ADDING}|{_DOING})\b
    | \bwithout\s+(?:telling|asking|informing|mentioning)\b
    | \bwhen(?:ever)?\s+(?:the|an?|your)\s+(?:user|human|owner|developer|person)\s+
        (?:asks?|says?|requests?|wants?|tells?|mentions?|prompts?)\b[^.\n]{{0,80}}[,:;]\W*
        (?:(?:please|always|never|first|then|also|you)\W+)*(?:{_ADDING}|{_DOING})\b
    """
#: The owner's own request, as capture writes it, may say whatever he likes.
_OWNERS_WORDS = re.compile(r"^\s*[-*]\s+User asked: ")


def instructs(text: str) -> bool:
    """Whether a text written by an agent instructs agents.

    It finds more than ``orders``, because a false alarm costs the owner only one key.
    """
    lines = [line.strip().lstrip("-*+> ").strip() for line in text.splitlines()]
    return bool(orders(text, his_words=False)) or any(
        re.search(_INSTRUCTS, line) or re.search(_INSTRUCTS_ELSEWHERE, line) for line in lines
    )


def orders(body: str, *, his_words: bool = True) -> list[str]:
    """Lines of a note that read like instructions to an agent.

    Args:
        his_words: the first line may be the owner's own request. False if anyone may have
            written the file.
    """
    lines = body.splitlines()
    if his_words and lines and _OWNERS_WORDS.match(lines[0]):
        lines = lines[1:]
    return [line.strip() for line in lines if _ORDERS.search(line)]
