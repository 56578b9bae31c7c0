"""The audit's rules: what each finds, how to fix it, its source, and its patterns if no detector finds it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import partial

# Counts up when a rule, a pattern or the form of a finding changes, so that earlier findings are discarded.
RULES_VERSION = 8


class Risk(str, Enum):
    """How serious a finding is: `critical` hardly has an honest explanation, `medium` and `low` are for reviewers."""

    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"

    @property
    def rank(self) -> int:
        """The place in the order of severity, 0 for the worst."""
        return _RANKS[self]

    def eased(self) -> Risk:
        """Return the next lower severity."""
        return list(Risk)[min(self.rank + 1, len(_RANKS) - 1)]


_RANKS = {risk: rank for rank, risk in enumerate(Risk)}


class Where(Enum):
    """What a pattern is looked for in: a text as one line, its lines, or the lines of files that are not prose."""

    PROSE = "prose"
    COMMANDS = "commands"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression over a folded text, with bounded repeats only.

    `needs` are words, separated by `|`: a text without any of them is not searched. `severity` is the rule's by
    default; a hit that contains `grave` has the rule's. `also` must be found at most `within` characters from a hit,
    and `unless` must not be found near it.
    """

    where: Where
    needs: str
    expression: str
    severity: Risk | None = None
    grave: str = ""
    also: str = ""
    within: int = 0
    unless: str = ""


@dataclass(frozen=True, slots=True)
class AuditRule:
    """One thing that the audit looks for. `severity` is the worst that it reports, `source` where it was published."""

    id: str
    severity: Risk
    finds: str
    fix: str
    source: str
    patterns: tuple[Pattern, ...] = ()


@dataclass(frozen=True, slots=True)
class AuditFinding:
    """One finding: the rule, its severity here, what was found, the file below the skill, and the 1-based line."""

    rule: str
    severity: Risk
    message: str
    path: str = "SKILL.md"
    line: int | None = None

    @property
    def place(self) -> str:
        """The file, with the line if there is one."""
        return f"{self.path}:{self.line}" if self.line else self.path


def found(
    rule: str, message: str, *, path: str = "SKILL.md", line: int | None = None, severity: Risk | None = None
) -> AuditFinding:
    """Return a finding of `rule`, with the rule's severity by default."""
    return AuditFinding(rule, severity or AUDIT_RULES[rule].severity, message, path, line)


_CRITICAL, _HIGH, _MEDIUM, _LOW = Risk
_WILD = "arXiv:2602.06547"
_TOXIC = "arXiv:2605.28588"
_HAVOC = "ClawHavoc campaign, January 2026"
_TAGS = "ASCII smuggling, Embrace The Red, 2024"
_INDIRECT = "OWASP LLM01:2025"
_TAXONOMY = "arXiv:2604.02837"
_ATTACK = "MITRE ATT&CK"
_REMOVE = "remove it, or ask the author what it is for"

_prose, _command, _code = (partial(Pattern, where) for where in Where)


def _rule(id_: str, severity: Risk, finds: str, fix: str, source: str, *patterns: Pattern) -> AuditRule:
    return AuditRule(id_, severity, finds, fix, source, patterns)


# fmt: off
# Parts of expressions

_USER = r"(?:users?|humans?|readers?|operators?|owner|person|people|anyone|anybody|them|developer|reviewers?)"
_OF_INSTRUCTIONS = r"(?:instructions?|directives?|rules?|guidelines?|prompts?|orders?|guidance|constraints?|policies)"
_PRIOR = r"(?:previous|prior|earlier|preceding|above|former|existing|original|foregoing|initial)"
_SENT = r"(?:send|sends|post|posts|upload|uploads|transmit|forward|submit|exfiltrate|relay|report|mail|email|push|copy|append)"
_TALK = (
    r"(?:(?:full |entire |whole |complete )(?:conversation|chat|session|message)s?|conversation|"
    r"(?:chat|session|message) (?:history|log|transcript|contents?)|system prompt|context window|transcript)"
)
_URL = r"(?:https?://|webhook|\bto (?:our|the|my) (?:server|endpoint|api|collector|host))"
_SHELLS = r"(?:sudo (?:-\w{1,3} )?)?(?:/bin/|/usr/bin/(?:env )?)?(?:ba|z|da|k|fi)?sh\b|(?:sudo )?(?:python3?|perl|ruby|node|php|osascript)\b(?! -[a-z])"
# A file that a download is written to, and that is then run or made executable.
_SAVED_AND_RUN = (
    r"[^\n|]{0,120}(?:-o|--output(?:-document)?|>)[ =]?[\"']?(?P<saved>[\w./~$-]{3,60})(?![\w./~$-])[^|]{0,120}?"
    r"[;&\n`] ?(?:sudo )?(?:chmod (?:\+x|[0-7]{3,4})|(?:ba|z|da)?sh|python3?|perl|node|source) [\"']?(?:\./)?(?P=saved)"
)
# An address that does not say who answers: a number, a paste site, a shortened link, no encryption, a tunnel.
_UNVOUCHED = (
    r"(?:https?://(?:\d{1,3}\.){3}\d{1,3}|http://(?!localhost|127\.|0\.0\.0\.0|\[::1)|"
    r"(?:bit\.ly|tinyurl\.com|t\.ly|is\.gd|cutt\.ly|rb\.gy|goo\.gl|shorturl\.at)/|"
    r"(?:pastebin\.com|paste\.ee|hastebin\.com|rentry\.(?:co|org)|glot\.io|termbin\.com|dpaste\.\w{2,4}|transfer\.sh|file\.io|0x0\.st|gist\.githubusercontent\.com)/|"
    r"[\w-]\.(?:ngrok(?:-free)?\.(?:io|app|dev)|trycloudflare\.com|serveo\.net|localhost\.run|loca\.lt|workers\.dev)\b)"
)
_CATCHERS = (
    r"(?:webhook\.site|requestbin\.(?:com|net)|[\w-]\.(?:m\.)?pipedream\.net|beeceptor\.com|requestcatcher\.com|hookbin\.com|"
    r"interact\.sh|(?<!\w)oast\.(?:pro|live|site|online|fun|me)|burpcollaborator\.net|canarytokens\.com|dnslog\.cn|ptsv\d?\.com|"
    r"discord(?:app)?\.com/api/webhooks/|api\.telegram\.org/bot|transfer\.sh|file\.io|0x0\.st|bashupload\.com|"
    r"[\w-]\.(?:ngrok(?:-free)?\.(?:io|app|dev)|trycloudflare\.com|serveo\.net|loca\.lt))"
)
_KEYS = (
    r"(?:\.ssh/(?:id_|config|\*|authorized|known_hosts)|(?<![\w.])\.ssh\b|\bid_(?:rsa|ed25519|ecdsa)\b|\.aws/(?:credentials|config)|(?<![\w.])\.aws\b|"
    r"\.config/gcloud|\.azure/|\.kube/config|\.docker/config\.json|\.netrc|\.git-credentials|\.npmrc|\.pypirc|\.gnupg|"
    r"/etc/shadow|\.vault-token|\.config/gh/hosts|\.password-store|\.config/op/|logins\.json|key4\.db|"
    r"login data|cookies\.sqlite|local state|\.clawdbot/\.env|\.openclaw/|\.claude\.json|\.codex/auth\.json|\.config/solana|wallet\.dat)"
)
_ENVIRONMENT = (
    r"(?:\$\((?:env|printenv|set)(?= ?[)|])|\bprintenv\b|`(?:env|printenv)`|os\.environ(?!\.get|\[|\.setdefault|\.pop)|"
    r"process\.env(?![.\[])|get-childitem env:|\$env:\w{0,20}(?:key|token|secret))"
)
_SENDS = (
    r"(?:curl\b[^\n]{0,120}(?:\s-d\b|--data|\s-f\b|--form|\s-t\b|--upload-file|-x (?:post|put)|post)|requests\.(?:post|put)|httpx\.(?:post|put)|"
    r"urllib\.request\.(?:urlopen|request)|urlopen\(|fetch\([^\n]{0,120}post|axios\.(?:post|put)|invoke-(?:webrequest|restmethod)[^\n]{0,80}post|"
    r"\bnc (?:-\w{1,3} )?[\w.]{4,60} \d{2,5}|smtplib|sendmail|\.sendto\(|http\.client|wget[^\n]{0,80}--post|https?\.request\(|"
    r"\bscp\b|\brsync\b[^\n]{0,100}[\w.-]{2,60}:)"
)
_LOGIN_SCRIPTS = r"\.(?:bashrc|zshrc|profile|bash_profile|zprofile|zshenv)"


def _phrase(needs: str, expression: str) -> Pattern:
    """Return a pattern in which `@` stands for the words that a text needs, `…` and `‥` for at most 25 and 10 characters."""
    written = expression.replace("…", ".{0,25}").replace("‥", ".{0,10}")
    return _prose(needs, written.replace("@", f"(?:{needs})"))


# "Ignore what came before"
_OVERRIDES = {
    "German": _phrase("anweisung|vorgabe|regel|instruktion|befehl",
        r"\b(?:ignorier\w{0,3}|vergiss|vergessen sie|missachte\w{0,2}|verwirf|überschreibe)\b…\b(?:alle\w{0,2}|bisherige\w?|vorherige\w?|vorige\w?|frühere\w?|obige\w?|andere\w?)\b…@"),
    "French": _phrase("instruction|consigne|règle|directive",
        r"\b(?:ignore[zr]?|oublie[zr]?|néglige[zr]?|ne tiens pas compte|ne tenez pas compte|fais abstraction)\b…@\w{0,2}‥(?:précédent|antérieur|ci-dessus|du système|données|reçues)"),
    "Spanish": _phrase("instruccion|regla|órdenes|directri|indicacion",
        r"\b(?:ignora|ignore|ignorar|olvida|olvide|olvidar|descarta|descarte|omite|no sigas)\b…@\w{0,3}‥(?:anterior|previa|de arriba|recibida|del sistema)"),
    "Portuguese": _phrase("instruç|instruco|regra|ordens|diretri|orientaç",
        r"\b(?:ignore|ignora|ignorar|esqueça|esqueca|esquece|desconsidere|descarte)\b…@\w{0,4}‥(?:anterior|prévia|acima|recebida|do sistema)"),
    "Italian": _phrase("istruzion|regole|ordini|direttiv|indicazion",
        r"\b(?:ignora|ignorare|ignorate|dimentica|dimenticare|dimenticate|trascura|scarta)\b…@\w{0,2}‥(?:precedent|anterior|sopra|ricevut|di sistema)"),
    "Dutch": _phrase("instructies|opdrachten|aanwijzingen|regels",
        r"\b(?:negeer|vergeet|sla over)\b…\b(?:alle|vorige|eerdere|voorgaande|bovenstaande)\b…@"),
    "Polish": _phrase("instrukcj|poleceni|zasad|wytyczn",
        r"\b(?:zignoruj|ignoruj|zapomnij|pomiń|odrzuć)\b…(?:poprzedni|wcześniejsz|powyższ|dotychczasow)\w{0,3}…@"),
    "Turkish": _phrase("talimat|kural|yönerge",
        r"(?:önceki|yukarıdaki|eski|tüm)…@\w{0,8}‥(?:unut|yok say|görmezden gel|dikkate alma)"),
    "Russian": _phrase("инструкци|указани|правил|команд",
        r"(?:игнориру|проигнориру|забуд|отбрось|не обращай внимания на|пренебрег)\w{0,4}…(?:предыдущ|прежн|прошл|выше|ранее|предшествующ|все)\w{0,5}…@"),
    "Ukrainian": _phrase("інструкці|вказівк|правил",
        r"(?:ігноруй|проігноруй|забудь|відкинь)\w{0,4}…(?:попередн|усі|всі|вище)\w{0,4}…@"),
    "Chinese": _phrase("指令|指示|规则|規則|提示|说明|要求",
        r"(?:忽略|无视|無視|忘记|忘記|忘掉|不要理会|抛弃|丢弃|覆盖)‥(?:之前|以前|先前|此前|以上|上面|上述|前面|所有|一切|系统)‥@"),
    "Japanese": _phrase("指示|命令|ルール|プロンプト|指令",
        r"(?:これまで|以前|前|上記|上|すべて|全て|先|システム)‥@‥(?:無視|忘れ|破棄|従わな|上書き)"),
    "Korean": _phrase("지시|명령|규칙|프롬프트|지침",
        r"(?:이전|앞|지금까지|위|모든|기존|시스템)‥@‥(?:무시|잊|따르지|버리|폐기)"),
    "Arabic": _phrase("تعليمات|الأوامر|القواعد",
        r"(?:تجاهل|انس|انسَ|اهمل|أهمل)‥@…(?:السابقة|أعلاه|سابقة)"),
    "Hindi": _phrase("निर्देश|आदेश|नियम",
        r"(?:पिछले|पहले|ऊपर|सभी)…@…(?:अनदेखा|भूल|नज़रअंदाज़|नजरअंदाज)"),
}
# "Keep it from the user"
_SECRECIES = {
    "German": _phrase("nutzer|anwender|niemand",
        r"\b(?:sag|sage|sagen sie|erzähl\w?|verrate\w?|erwähne\w?|teile?|informiere\w?|zeige?)\b…@…\b(?:nichts|nicht|kein wort|niemals)\b|\bniemandem (?:davon|etwas)"
        r"|\bohne (?:wissen|kenntnis) de[rs] (?:be)?nutzer|\b(?:vor|gegenüber) (?:dem|der|den) (?:be)?nutzer…(?:verberg|verheimlich|versteck|verschweig|nicht erwähn)"),
    "French": _phrase("utilisateur|personne",
        r"\b(?:ne|n')\s?(?:le |la |lui |en )?(?:dis|dites|dire|mentionne[zr]?|révèle[zr]?|informe[zr]?|parle[zr]?|préviens|montre[zr]?)\b…(?:pas|rien|jamais)…@"
        r"|à l'insu de l'utilisateur|sans (?:que l'utilisateur|en informer l'utilisateur|prévenir l'utilisateur)"),
    "Spanish": _phrase("usuario|nadie",
        r"\bno (?:se )?(?:lo |la |le )?(?:digas|diga|menciones|mencione|reveles|revele|cuentes|cuente|informes|informe|avises|muestres)\b…@"
        r"|sin que el usuario (?:lo )?(?:sepa|se entere|note)|sin (?:informar|avisar) al usuario"),
    "Portuguese": _phrase("usuário|usuario|utilizador|ninguém",
        r"\bnão (?:o |a |lhe )?(?:diga|digas|conte|contes|mencione|menciones|revele|informe|avise|mostre|fale)\b…@"
        r"|sem (?:que o|o conhecimento do) (?:usuário|utilizador)|sem (?:informar|avisar) o (?:usuário|utilizador)"),
    "Italian": _phrase("utente|nessuno",
        r"\bnon (?:lo |la |gli )?(?:dire|dirlo|dica|menzionare|menzionarlo|rivelare|rivelarlo|informare|mostrare|avvisare|parlarne)\b…@"
        r"|all'insaputa dell'utente|senza (?:che l'utente|informare l'utente|dirlo all'utente)"),
    "Dutch": _phrase("gebruiker|niemand",
        r"\b(?:vertel|zeg|meld|noem|verklap|laat)\b…@…\b(?:niets|niet|nooit|hierover)\b|zonder medeweten van de gebruiker|zonder de gebruiker te (?:informeren|vertellen)"),
    "Polish": _phrase("użytkownik|nikomu",
        r"\bnie (?:mów|wspominaj|informuj|ujawniaj|pokazuj|zdradzaj)\b…@|bez wiedzy użytkownika"),
    "Turkish": _phrase("kullanıcı",
        r"@\w{0,6}…(?:bahsetme|söyleme|haber verme|gösterme|bildirme)|kullanıcının haberi olmadan"),
    "Russian": _phrase("пользовател|никому",
        r"(?:не|ничего не|никогда не) (?:говори|сообщай|упоминай|рассказывай|показывай|раскрывай|информируй)\w{0,4}…@"
        r"|без ведома пользователя|незаметно для пользователя|(?:скрой|скрывай|утаи)\w{0,3}…от пользователя"),
    "Ukrainian": _phrase("користувач|нікому",
        r"(?:не|нічого не) (?:кажи|повідомляй|згадуй|розповідай|показуй)\w{0,4}…@"),
    "Chinese": _phrase("用户|用戶|使用者|任何人",
        r"(?:不要|别|勿|不得|切勿|不能|請勿|请勿)‥(?:告诉|告訴|告知|提及|透露|通知|提醒|向)‥@|(?:不要|别|勿)(?:让|讓)@.{0,3}(?:知道|发现|發現|察觉|看到|得知)"
        r"|(?:对|對|向)@‥(?:隐瞒|隱瞞|保密|隐藏)|(?:瞒着|背着|瞞著)(?:用户|用戶)|在(?:用户|用戶|使用者)不知情"),
    "Japanese": _phrase("ユーザ|利用者|誰に",
        r"@ー?(?:に|には|にも)?‥(?:言わない|伝えない|知らせない|話さない|見せない|報告しない|教えない|明かさない|秘密|知られ|気づかれ)"),
    "Korean": _phrase("사용자|아무에게",
        r"@(?:에게|한테|에게도)?‥(?:말하지|알리지|언급하지|보여주지|밝히지|보고하지|모르게|비밀)"),
    "Arabic": _phrase("المستخدم|أحد",
        r"(?:لا تخبر|لا تذكر|لا تقل|دون علم|دون إخبار)…@"),
    "Hindi": _phrase("उपयोगकर्ता|यूज़र",
        r"@‥(?:मत बता|न बता|मत कह|जानकारी के बिना)"),
}
LANGUAGES = ("English", *_OVERRIDES)

_TABLE = (
    # Text that is not seen
    _rule("hidden-tags", _CRITICAL, "text in Unicode tag characters, which people do not see and models read", _REMOVE, _TAGS),
    _rule("hidden-selectors", _CRITICAL, "runs of variation selectors, which can carry bytes unseen", _REMOVE, _TAGS),
    _rule("hidden-zero-width", _HIGH,
        "zero-width characters inside words, or runs of them",
        "remove them: 'skillhub show' prints them as escapes", _TAGS),
    _rule("hidden-bidi", _HIGH,
        "bidirectional controls, which show text in another order than a model reads it",
        "remove them: 'skillhub show' prints them as escapes", "Trojan Source, CVE-2021-42574"),
    _rule("hidden-comment", _CRITICAL,
        "instructions or commands in a comment, or in text styled to be invisible",
        "write instructions for the agent as visible text, or remove them", _INDIRECT),
    # Orders to the agent
    _rule("override-instructions", _CRITICAL,
        "a demand to ignore or outrank the instructions of the user, the system or the developer", _REMOVE, _INDIRECT,
        _prose("ignore|disregard|forget|discard|neglect",
            rf"(?<!n't )(?<!not )(?<!never )\b(?:ignore|disregard|forget|discard|neglect)(?: about)?(?: (?:all|any|every|each|the|of|your|my|these|those|other)){{0,4}} {_PRIOR}(?: (?:and|or|\w{{1,14}})){{0,3}} {_OF_INSTRUCTIONS}\b"
            r"|\b(?:ignore|disregard|forget)(?: (?:all|any|the|every|of)){0,3} (?:system|developer|operator|user'?s?|safety|host'?s?|agent'?s?)(?: (?:and|or|\w{1,12})){0,2}"
            rf" {_OF_INSTRUCTIONS}\b"
            r"|(?<!n't )(?<!not )(?<!never )\b(?:forget|ignore|disregard) (?:everything|all|what) (?:that )?(?:you(?:'ve| have| were| know)?|before|above|prior|previous|came)\b"
            r".{0,40}(?:told|said|taught|learned|learnt|read|this|above|before|here|given|know)"),
        _prose("void|superseded|no longer apply|no longer valid|obsolete|replaced by",
            rf"\b(?:{_PRIOR}|system|your|all|other|given) .{{0,30}}{_OF_INSTRUCTIONS}\b.{{0,40}}"
            r"\b(?:are|is|have been|were) (?:now )?(?:void|superseded|no longer (?:apply|valid|in force)|null|cancelled|canceled|revoked|replaced by)"),
        _prose("precedence|priority|override|supersede|outrank",
            r"\b(?:these|this|my|following|the) (?:\w{1,14} ){0,2}(?:instructions?|rules?|directives?|text|skill|document|file)\b"
            r".{0,25}\b(?:take precedence over|have priority over|override|overrides|supersedes?|outranks?).{0,20}\b(?:the |any |all |your )?(?:user'?s?|system|operator|developer|safety|host)\b",
            _HIGH),
        _prose("new instructions|real instructions|actual instructions|true instructions|only this document",
            r"\byour (?:new|real|actual|true) (?:instructions|task|goal|objective|purpose)\b.{0,40}\b(?:are|is|precedence|below|follow)|\bonly this (?:document|text|file|skill) counts",
            _HIGH),
        *_OVERRIDES.values()),
    _rule("override-safety", _CRITICAL, "a demand to drop safety rules or refusals", _REMOVE, _TOXIC,
        _prose("no longer bound|not bound by|without restriction|no restrictions|unrestricted|jailbr",
            r"\byou(?:'re| are)? (?:now |are )?(?:no longer|not) (?:bound|restricted|limited|constrained) by\b"
            r"|\byou (?:now )?(?:have|operate|act|answer|respond) (?:with(?:out)?|no)(?: any)? (?:restrictions?|limits|limitations|filters?)\b"
            r"|\b(?:act|behave|operate) as (?:an? )?(?:unrestricted|unfiltered|jailbroken|uncensored)"),
        _prose("developer mode|dan mode|god mode|jailbreak mode|do anything now|unrestricted mode",
            r"\b(?:you(?:'re| are) (?:now )?in|enter|enable|activate|switch (?:in)?to) (?:developer|dan|god|jailbreak|unrestricted|debug) mode\b"
            r".{0,90}\b(?:polic|restrict|refus|filter|rule|safety|limit|anything|bypass|uncensored)"),
        _prose("safety|content polic|ethical|guardrail",
            r"\b(?:ignore|disregard|bypass|circumvent|disable|turn off|drop|suspend|override|switch off)(?: (?:all|any|your|the|every|of)){0,3}"
            r" (?:safety|ethical|content|security|built-in|moderation)(?: \w{1,12}){0,2} ?(?:guidelines?|rules?|polic(?:y|ies)|filters?|"
            r"restrictions?|guardrails?|constraints?|(?<=your safety )(?:protocols?|measures?|checks?)|(?<=all safety )(?:protocols?|measures?|checks?))\b"),
        _prose("refuse|policies are off|policy is off|not apply|pre-approved|preapproved|pre-authori|need no",
            r"\b(?:no|never) (?:request|question|task|command)s? (?:may|can|must|should|is|are)(?: ever)? (?:be )?(?:not )?refused"
            r"|\b(?:you )?(?:must|may|can|should|will) (?:never|not) refuse (?:any|a|the|to)|content polic(?:y|ies) (?:is|are) off"
            r"|\b(?:safety|security) (?:checks?|rules?|polic(?:y|ies)|guidelines?|filters?|reviews?|warnings?) (?:do|does) not apply\b"
            r"|\b(?:skill|document|file|command|script)s? (?:is|are|has been|have been) pre-?(?:approved|authori[sz]ed)\b"
            r"|\byou need no (?:confirmation|permission|approval|consent)\b",
            _HIGH)),
    _rule("override-role", _HIGH,
        "text that imitates a system message, or the host's own markup", "remove the markup; a skill speaks as a skill", _TAXONOMY,
        _command("system|im_start|<<sys>>|</skill|</available_skills|</tool_result|</function_results",
            r"</?system-reminder>|<\|im_start\|> ?system|<\|system\|>|<<sys>>|</(?:skill-loaded|skill_loaded|skill|available_skills|tool_result|function_results)>|(?:^|\n)<system>|(?:^|\n)\[system\]:? ")),
    _rule("secrecy", _CRITICAL, "a demand to keep something from the user", _REMOVE, _WILD,
        _prose("tell|mention|inform|reveal|disclose|notify|alert|bring",
            r"\b(?:do not|don't|never|must not|should not|shouldn't|avoid|without) (?:ever |explicitly |directly )?"
            r"(?:tell|telling|mention|mentioning|inform|informing|notify|notifying|alert|alerting|reveal|revealing|disclose|disclosing|bring)"
            r"(?: (?:this|that|it|any of this|about|the|these|those|step|steps|of|up|its|existence|action|actions|command|upload|anything|what you did)){0,5}"
            rf"(?: (?:to|with|about|from))?(?: (?:the|your|a|any|end))? {_USER}\b(?! (?:to|how|which|where|that they|when|if)\b)",
            _HIGH),
        _prose("mention|tell|bring this|reveal|disclose|report",
            rf"\b(?:do not|don't|never|must not) (?:ever )?(?!(?:reveal|disclose) (?:this|these|the) instructions?)(?:mention|reveal|disclose|bring|report|tell {_USER}(?: about)?|tell the {_USER}(?: about)?)"
            r" (?:this|it|that|any of this|these|the)(?: (?:hidden|secret|step|steps|action|instructions?|upload|command|request|call)){1,3}\b"
            r"|\b(?:and|but|or) (?:never|do not|don't) (?:mention|report|disclose|reveal|say) (?:it|this|that) (?:in|to|anywhere|at all)\b"),
        _prose("knowledge|knowing|aware|noticing|know|notice|see|learn|find out",
            rf"\bwithout (?:the |their |any )?(?!readers?\b){_USER}(?:'s|s')? (?:knowledge|knowing|awareness|noticing|being aware|realizing|realising)"
            rf"|\b(?:the )?{_USER} (?:(?:does not|doesn't|do not) (?:need to|have to)|need not|must not|should not|mustn't|shouldn't) (?:know|notice|be aware|learn|see|find out)"
            r" (?:about|of|this|that|it)\b"),
        _prose("nobody|no one|no-one",
            r"\bno(?:body|[ -]one)(?: else)? (?:needs? to|has to|must|should|may) (?:ever )?(?:know|notice|see|find out|hear)\b", _HIGH),
        _prose("hide|conceal|secret|trace",
            r"\b(?:hide|conceal|keep) (?:this|it|that|these|all of this|the (?:upload|request|command|action|step|fact|call)s?)"
            rf"(?: (?:\w{{1,12}})){{0,3}} (?:secret |hidden )?from (?:the )?{_USER}\b"
            r"|\bconceal (?:the|this|that|any) (?:upload|transfer|command|request|action|step|change|activity)"
            r"|\bkeep (?:this|these steps?|that) (?:a )?secret\b|(?<!and )\bkeep it (?:a )?secret\b"
            r"|\bleave no traces?\b.{0,60}(?:answer|log|transcript|output|history|command|response)"),
        _prose("silently|quietly|covertly|secretly|stealthily",
            rf"\b(?:silently|quietly|covertly|secretly|stealthily) (?:{_SENT}|collect|run|execute|read|fetch|download|install|record)\b"
            r"(?:[^.]|\.(?! )){0,60}(?:https?://|server|host|remote|secret|token|key|credential|password|conversation|workspace|user'?s? (?:data|files?)|env\b|\.env|~/|to the (?:webhook|endpoint))"),
        *_SECRECIES.values()),
    _rule("pinned-imperative", _HIGH,
        "a description that gives orders, above all of a skill that is always applied",
        "describe what the skill does and when to use it", "MCP tool poisoning, Invariant Labs, 2025",
        _prose("before every|before any|before answering|before each|on every",
            r"\b(?:always|must) (?:call|use|load|invoke|run|apply|read) this (?:skill|tool)\b.{0,30}\b(?:before|first|instead|on every|for every)\b.{0,40}"
            r"\b(?:never|instead of|do not|other (?:skill|tool)s?)\b")),
    _rule("remote-instructions", _HIGH,
        "instructions that are fetched when the skill is used, and can change after any review",
        "put the instructions into the skill's own files", _TOXIC,
        _prose("http",
            r"\b(?:fetch|download|load|get|read|retrieve|pull|open|visit|curl)\b.{0,40}https?://[^\s)]{4,160}.{0,60}"
            r"\b(?:follow|obey|execute|do what|carry out|comply|perform|apply|treat (?:them|it) as)\b.{0,40}"
            r"\b(?:instructions?|says|steps|commands?|contains?|rules|part of this|directives)\b"
            r"|\b(?:load|fetch|get|read|take|follow|receive|poll|pull|execute)\b.{0,30}\b(?:instructions|commands|rules|directives|tasks?|prompt) from https?://"
            r"|\bevery (?:\w{1,8} )?(?:minutes?|hours?|days?|session|few)\b.{0,40}\b(?:fetch|download|check|poll|get)\b.{0,20}https?://[^\s)]{4,160}"
            r".{0,40}\b(?:do what|follow|execute|run|obey)"),
        _prose("as if|as though",
            r"\btreat (?:its|the|their|that|any) (?:output|contents?|answer|response|text|reply|result)s?\b.{0,40}\bas (?:if|though) (?:the user|the operator|the system|i|they|it)\b")),
    # Downloads and encoded code
    _rule("download-run", _CRITICAL, "a download that is executed unseen",
        "name a package of a package manager, or ship the script and its checksum with the skill", _HAVOC,
        _command("curl|wget|fetch ", rf"\b(?:curl|wget|fetch|aria2c|http)\b[^\n|]{{4,240}}\| ?(?:{_SHELLS})", _HIGH, _UNVOUCHED),
        _command("$(curl|$(wget|<(curl|<(wget|`curl|`wget",
            r"(?:\b(?:ba|z|da)?sh(?: -c)?|\beval|\bsource|\s\.) ?[\"']?(?:<\(|\$\(|`)(?:curl|wget)\b[^\n)`]{0,200}", _HIGH, _UNVOUCHED),
        _command("iex|invoke-expression",
            r"(?:\biex\b|\binvoke-expression\b)[^\n]{0,60}(?:\biwr\b|\birm\b|downloadstring|invoke-webrequest|invoke-restmethod|webclient)"
            r"|(?:\biwr\b|\birm\b|downloadstring|invoke-webrequest|invoke-restmethod)[^\n|]{0,160}\| ?(?:iex|invoke-expression)",
            _HIGH),
        _command("chmod|curl|wget", rf"\b(?:curl|wget)\b{_SAVED_AND_RUN}", _HIGH, rf"{_UNVOUCHED}|(?:/tmp|/dev/shm)/\."),
        _command("hidden|chmod|exec(|eval(|(eval|mshta|certutil|bitsadmin|regsvr32|rundll32",
            r"powershell(?:\.exe)?[^\n]{0,60}(?:-w(?:indowstyle)? hidden)[^\n]{0,120}(?:iex|iwr|irm|downloadstring|http)"
            r"|(?:curl|wget)\b[^\n]{0,160}(?:-o|-o ?|>|-p) ?[\"']?(?:/tmp/|/var/tmp/|/dev/shm/|\.)[^\n]{0,120}chmod \+?[0-7ugoax+]{1,5}[^\n]{0,80}(?:&&|;) ?(?:nohup )?(?:/tmp|/var/tmp|/dev/shm|\./|sh )"
            r"|\b(?:exec|eval)\([^\n]{0,40}(?:urlopen|requests\.get|httpx\.get|await fetch)\(|\bfetch\([^\n]{0,200}\.then\(\(?(?:eval|new function)\b"
            r"|\bmshta(?:\.exe)? https?:|\bcertutil(?:\.exe)?[^\n]{0,30}-urlcache|\bbitsadmin[^\n]{0,40}/transfer|\bregsvr32[^\n]{0,30}/i:https?:|\brundll32(?:\.exe)? [^\n\])]{0,60}https?:"),
        _code("exec(|eval(|new function(|os.system|subprocess|execsync|spawn",
            r"\b(?:exec|eval)\(\s{0,4}(?:compile\()?\s{0,4}(?:urllib\.request\.urlopen|urlopen|requests\.get|httpx\.get|await fetch)"
            r"|https?[\"')]{0,3}\)?\.get\([^\n]{0,300}\b(?:eval|new function)\("
            r"|(?:os\.system|os\.popen|subprocess\.\w{3,12}|execsync|exec|spawn)\([^\n]{0,40}(?:curl|wget)\b[^\n]{0,160}\| ?(?:ba)?sh"),
        _code("urlopen|requests.get|urlretrieve", r"(?:urlretrieve|urlopen|requests\.get)\([^\n]{0,160}", _HIGH,
            also=r"\bexec\(|os\.startfile|os\.(?:spawn|exec)[lv]\w{0,2}\(|os\.system\([^\n]{0,60}(?:/tmp|path|file)|subprocess\.(?:popen|run|call)\(\[?(?:path|out|dest|target|file|tmp|[\"']/tmp)",
            within=600)),
    _rule("prerequisite", _CRITICAL,
        "a prerequisite in the manner of known campaigns: locked archives, paste sites, protection turned off", _REMOVE, _HAVOC,
        _prose("password|passwort|pass:",
            r"\b(?:extract|unzip|unpack|open|decrypt|archive|zip|\.zip|\.rar|\.7z)\b.{0,60}\b(?:with (?:the )?(?:password|passphrase)|(?:password|pass)(?: is|:| =|=))(?: is|:|=)? ?[\w!@-]{2,24}.{0,80}\b(?:run|install|launch|execute|open|start)\b"),
        _prose("glot.io|pastebin|paste.|rentry|hastebin|ghostbin|controlc|termbin",
            r"(?:glot\.io|pastebin\.com|rentry\.(?:co|org)|hastebin|paste\.ee|dpaste|ghostbin|controlc\.com|termbin).{0,100}\b(?:paste|copy|run|execute)\b.{0,60}\b(?:terminal|shell|command prompt|powershell|console)"),
        _prose("defender|antivirus|anti-virus|gatekeeper|smartscreen|protection",
            r"(?<!/)\b(?:turn off|disable|switch off|deactivate|exclude|add an exclusion|stop)\b.{0,20}\b(?:windows defender|defender|antivirus|anti-virus|gatekeeper(?!-)|smartscreen|real-?time protection)"),
        _prose(".exe|.dmg|.pkg|.msi|.zip|.scr",
            r"\b(?:does not|doesn't|won't|will not|cannot|can't) (?:work|run|function|operate) (?:without|unless|until)\b.{0,80}\bdownload\b.{0,200}\.(?:exe|dmg|pkg|msi|scr|zip)\b.{0,60}\b(?:run|open|launch|execute|install)"),
        _prose(".exe|.msi|.scr|.dmg|.pkg", r"\bdownload\b.{0,160}https?://[^\s)]{4,160}\.(?:exe|msi|scr|dmg|pkg)\b.{0,60}\b(?:run|open|launch|execute) it\b", _HIGH),
        _command("xattr|spctl", r"\bxattr -\w{0,3}[dc]\w{0,2} (?:com\.apple\.quarantine)?[^\n]{0,60}|\bspctl --master-disable", _HIGH),
        _command("mppreference|netsh advfirewall", r"(?:set|add)-mppreference -(?:disable\w{2,30}\b(?! (?:\$false|0))|exclusion\w{2,12})|netsh advfirewall set allprofiles state off")),
    _rule("encoded-run", _CRITICAL,
        "encoded code that is executed, or encoded instructions that are to be followed", "write it in clear", _WILD,
        _prose("base64|rot13|hex|decode|encoded",
            r"\bdecode\b.{0,60}\b(?:and|then)\b.{0,20}\b(?:follow|execute|obey|run|eval|carry out|do)\b.{0,30}(?:instructions?|it\b|commands?|says|result|them\b|output)?", _HIGH),
        _command("base64|b64decode|xxd|openssl enc|atob",
            r"\bbase64 (?:-{1,2}d\w{0,5}|-di?|-d)[^\n|]{0,120}\| ?(?:sudo )?(?:ba|z|da|k)?sh\b|\bbase64 (?:-{1,2}d\w{0,5})[^\n|]{0,120}\| ?(?:python3?|perl|node|ruby)\b"
            r"|\bxxd -r[^\n|]{0,80}\| ?(?:ba|z|da)?sh\b|(?:eval|(?:ba|z)?sh -c) [\"']?(?:\$\(|`)[^\n)]{0,300}base64 -{1,2}d"),
        _command("exec(|eval(|function(|loads(|compile(|system(|subprocess",
            r"\b(?:exec|eval|new function|compile|marshal\.loads|pickle\.loads|os\.system|subprocess\.\w{3,12})\([^\n]{0,60}"
            r"(?:b64decode|b32decode|a85decode|bytes\.fromhex|unhexlify|zlib\.decompress|codecs\.decode|atob\(|fromcharcode|buffer\.from\([^\n]{0,200}base64|rot_?13|unescape\(|reversed\(|\[::-1\])"),
        _command("-e|frombase64string",
            r"powershell(?:\.exe)?[^\n]{0,60} -e(?:nc|ncodedcommand|c)? [\"']?[a-z0-9+/=]{24}|frombase64string\([^\n]{0,200}(?:iex|invoke-expression)|(?:iex|invoke-expression)[^\n]{0,80}frombase64string"),
        _code("$", r"\| ?\$\{?\w{1,16}\}?\$\{?\w{1,16}\}?(?: |\n|$)", _HIGH)),
    _rule("encoded-text", _HIGH,
        "an encoded text that is hostile once decoded, or that cannot be read",
        "write it in clear, or ship the file that it stands for", _TOXIC),
    # Theft
    _rule("credential-access", _CRITICAL, "keys, tokens or passwords that are read, or sent on",
        "let the user pass the one credential that is needed, by its documented variable", _WILD,
        _prose("chat|api key|password|secret|credentials|private key",
            r"\b(?:tell|ask|have|instruct) (?:the )?users? to (?:paste|enter|type|share|send|give)\b.{0,40}\b(?:keys?|passwords?|tokens?|secrets?|credentials)\b.{0,12}\b(?:in|into) (?:the|this) chat\b"
            r"|\bask (?:the )?users? (?:to|for)\b.{0,30}\b(?:paste|enter|type|provide|give|share|tell|send)?\b.{0,20}\b(?:password|private key|secret key|api key|credentials)\b"
            r".{0,60}\b(?:print|echo|repeat|include|show|store|save|write|send)",
            _HIGH),
        _command(".ssh|id_rsa|id_ed25519|.aws|gcloud|.netrc|.git-credentials|.npmrc|.kube|shadow|.gnupg|login data|key4.db|logins.json|wallet.dat|solana|.pypirc|cookies.sqlite|.claude.json",
            _KEYS, also=_SENDS, within=240),
        _command(".ssh|id_rsa|id_ed25519|.aws/cred|gcloud|.netrc|.git-credentials|shadow|login data|key4.db|logins.json|cookies.sqlite",
            r"\b(?:cat|tar|cp|zip|base64|scp|less|head|tail|grep|type|get-content|readfile\w{0,4}|read_text|open|read|include|print|upload|copy\w?|collect)\b[^\n]{0,60}"
            r"(?:\.ssh/(?:id_\w{2,8}|\*|config)|\bid_(?:rsa|ed25519|ecdsa)\b(?!\.pub)|\.aws/credentials|\.config/gcloud|\.netrc|\.git-credentials|/etc/shadow|login data|key4\.db|logins\.json|cookies\.sqlite)",
            _HIGH),
        _command("-password|dump-keychain|secret-tool|vaultcmd|grep|awk| rg |169.254.169.254|metadata.google.internal",
            r"\bsecurity (?:find-(?:generic|internet)-password\b[^\n]{0,40}-\w{0,2}w|dump-keychain)|\bsecret-tool (?:lookup|search --all)|\bvaultcmd /listcreds"
            r"|\b(?:env|printenv|set) ?\| ?(?:grep|egrep|rg|awk)[^\n]{0,40}(?:key|token|secret|pass)"
            r"|(?:169\.254\.169\.254|metadata\.google\.internal)[^\n]{0,60}(?:iam|security-credentials|token)",
            _HIGH),
        _code("os.environ.items|process.env)",
            r"\bin os\.environ\.items\(\)|object\.entries\(process\.env\)|json\.stringify\(process\.env\)", _HIGH,
            also=r"\bprint\(|console\.log|\.write\(|logging\.", within=120)),
    _rule("wallet-access", _HIGH, "wallets, recovery phrases or payment addresses", _REMOVE, _HAVOC,
        _prose("seed phrase|recovery phrase|mnemonic|wallet|address",
            r"\b(?:ask|request|prompt|collect|get|read|store|send|enter|paste|provide)\w{0,4}\b.{0,50}\b(?:seed phrase|recovery phrase|mnemonic phrase|mnemonic words|wallet'?s? private key|secret recovery)\b"
            r"|\b(?:replace|swap|substitute|change|rewrite)\b.{0,40}\b(?:payment|wallet|bitcoin|btc|eth|crypto|deposit|bank|iban)\b.{0,30}\b(?:address|account|iban)"
            r"|\b(?:payment|wallet|bitcoin|btc|eth|crypto|deposit) address\w{0,2}\b.{0,40}\b(?:replace|swap|substitute)"),
        _command("exodus|electrum|atomic|ledger|wallet.dat|solana/id.json|nkbihfbeogaeaoehlefnkodbefgpgknn|keystore",
            r"\.config/solana/id\.json|\bwallet\.dat\b|\.electrum/wallets|nkbihfbeogaeaoehlefnkodbefgpgknn|(?:application support|appdata)[^\n]{0,30}/(?:exodus|electrum|atomic|ledger)|\.ethereum/keystore")),
    _rule("miner", _CRITICAL, "a miner of crypto currency", _REMOVE, f"{_ATTACK} T1496",
        _command("xmrig|stratum+|minerd|cpuminer|coinhive|cryptonight",
            r"\bxmrig\b[^\n]{0,30}|stratum\+(?:tcp|ssl)://|\bminerd -|\bcpuminer\b|coinhive|cryptonight",
            _HIGH, r"stratum|minerd -|\bxmrig[\w.]{0,8} -|coinhive[.\w]{0,20}\(")),
    _rule("exfiltration", _CRITICAL,
        "data that is sent out: the conversation, the environment, files; or a service made to catch such data",
        "remove it, or say in the description what is sent where, and why", "arXiv:2601.10338",
        _prose("conversation|chat|transcript|system prompt|context|session|message", rf"\b{_SENT}\b.{{0,40}}\b{_TALK}\b.{{0,60}}{_URL}"),
        _prose("secret|credential|password|.env|api key|private key|token|environment variables|ssh",
            rf"\b{_SENT}\b.{{0,50}}(?:\bsecrets?\b|\bcredentials?\b|\bpasswords?\b|\.env\b|\bapi keys?\b|\bprivate keys?\b|\btokens?\b|\benvironment variables\b|ssh keys?|\.ssh\b).{{0,50}}"
            r"(?:https?://|\bto (?:an? )?(?:external|remote|attacker|third|our|my)\b|webhook)",
            _HIGH, unless=r"localhost|127\.0\.0\.1"),
        _prose(".env|secrets|credentials|tokens|api key|environment variables|bcc|blind copy",
            r"\b(?:append|include|add|embed|insert|put|attach)\b.{0,30}(?:contents? of |values? of |all )?(?:\.env\b|the (?:repository'?s )?secrets|environment variables|credentials|api keys?|tokens)"
            r".{0,30}\b(?:to|in|into) (?:every|each|the|your|all) (?:commit|message|answer|response|request|output|url|comment|diagram)"
            r"|\b(?:every|each|all|any) (?:\w{1,12} ){0,2}(?:(?:e-?)?mails?|messages?)\b.{0,60}\b(?:bcc|blind copy)\b",
            _HIGH),
        _prose(".env|.pem|.kube|.ssh|.aws|credentials|.netrc|private key|.npmrc|tokens",
            r"\b(?:collect|gather|harvest|find|grab|copy|zip|archive)\w{0,3}\b.{0,60}(?:\.env\b|\.pem\b|\.kube/|\.ssh\b|\.aws\b|\bcredentials\b|\.netrc|\bprivate keys?\b|\.npmrc|\btokens\b)"
            r".{0,120}\b(?:send|upload|post|transmit|forward|submit)\b.{0,60}https?://(?!localhost|127\.)"),
        _command("conversation|chat|transcript|system prompt|context|summary|secret|api key|message",
            r"!? ?\[[^\]\n]{0,40}\] ?\(https?://[^)\s]{1,120}[?&][\w-]{1,20}=[^)\n]{0,80}\)",
            _HIGH, r"!",
            also=r"\b(?:replac|where|with|fill|encod|insert|substitut|set)\w{0,5}\b.{0,60}\b(?:conversation|chat|summary|transcript|secret|prompt|key|contents?|messages?)\b",
            within=160),
        _command("environ|printenv|process.env|$(env|env:", _ENVIRONMENT, also=_SENDS, within=300),
        _command("env |printenv|export -p|token|secret|-password|op read|pass show|cat ",
            r"(?:(?:^|[\s;&(`])(?:env|printenv|export -p)(?= ?\|)|\bgh auth token\b|\bkubectl get secrets?\b|\bsecurity find-\w{7,8}-password\b|\bop read\b|\bpass show\b|"
            rf"tojson\(secrets\)|\bcat (?:{_KEYS}|[^\n|]{{0,40}}(?:\.env\b|\.pem\b|/\.\w{{3,16}}rc\b)))[^\n]{{0,120}}\| ?(?:xargs )?[^\n|]{{0,40}}\b(?:curl|wget|nc|ncat|netcat)\b",
            unless=r"localhost|127\.0\.0\.1"),
        _command("tojson(secrets)|tar |zip |git archive|git bundle",
            r"tojson\(secrets\)|\b(?:tar|zip|git archive|git bundle) [^\n|]{0,100}\| ?(?:[^\n|]{0,60}\| ?)?(?:curl|nc|ncat|netcat)\b", _HIGH),
        _command("push --mirror", r"\bgit push --mirror\b", _HIGH, also=r"\b(?:quietly|silently|each|every)\b", within=160),
        _command("webhook.site|requestbin|pipedream|beeceptor|requestcatcher|hookbin|interact.sh|oast.|burpcollaborator|canarytokens|dnslog|ptsv|transfer.sh|file.io|0x0.st|bashupload|"
            "ngrok|trycloudflare|serveo|loca.lt|api/webhooks|api.telegram.org",
            _CATCHERS,
            also=r"(?:~/|\$home|(?<!\w)\.env\b|\benviron\b|file contents?|process\.env|\bcat\b|<\s?~|@[\"']?[\w./~$]{2,40}|whole file)",
            within=160,
            unless=r"localhost:\d|webhook_url|your[_-]|\.org/bot(?:\$|\{|<|%|\[|token)"),
        _command("webhook.site|requestbin|pipedream.net|requestcatcher|hookbin|interact.sh|burpcollaborator|dnslog", _CATCHERS, _MEDIUM),
        _command("nslookup|dig |host |ping ",
            r"(?<!-)\b(?:nslookup|dig|host|ping -c \d{1,2}) [\"']?(?:\+short )?(?:\$\(|`|\$\{?\w{1,24}\}?\.)[^\n]{0,120}",
            also=r"base64|xxd|od -|hex|cat |whoami|~/|\$part|\$chunk|\$data", within=200),
        _command("gethostbyname|getaddrinfo|resolve(", r"(?:gethostbyname|getaddrinfo|resolve)\([^\n]{0,40}(?:\+|f[\"']|format)[^\n]{0,60}",
            also=r"b64encode|hexlify|\.hex\(\)|b32encode", within=400),
        _command("tar |zip ", r"\b(?:tar|zip) [^\n]{0,100}(?:~/|\$home|/home/|\.config|documents)[^\n]{0,120}", also=_SENDS, within=240)),
    # What stays, and what it changes
    _rule("reverse-shell", _CRITICAL, "a shell that is opened to another machine", _REMOVE, f"{_ATTACK} T1059",
        _command("/dev/tcp/|/dev/udp/", r"(?:>&|<>|<|>|exec \d{1,2}<>) ?/dev/(?:tcp|udp)/[\w.$\{\}-]{1,80}/[\d$\{\}\w]{1,12}[^\n]{0,40}",
            also=r"\bsh\b|bash|0>&1|exec", within=80),
        _command("nc |nc.|ncat|netcat|socat|mkfifo|tcpclient|fsockopen|net.connect|net.socket",
            r"\b(?:nc|ncat|netcat)(?:\.exe|\.traditional)? (?:[^\n]{0,40} )?-\w{0,4}[ec] ?/?(?:bin/)?(?:ba|z)?(?:sh|cmd|powershell)|\bsocat [^\n]{0,100}exec:"
            r"|mkfifo [^\n]{0,120}\b(?:nc|ncat|telnet|openssl s_client)\b|\bsh -i [^\n]{0,40}\| ?(?:nc|ncat|netcat)\b"
            r"|new-object (?:system\.)?net\.sockets\.tcpclient|fsockopen\([^\n]{0,80}exec\(|net\.(?:connect|socket)\([^\n]{0,120}(?:/bin/sh|spawn\()"),
        _command("dup2|pty.spawn", r"dup2\([^\n]{0,40}fileno\(\)[^\n]{0,200}|pty\.spawn\([\"']/bin/(?:ba)?sh",
            also=r"socket\.socket|\.connect\(", within=400),
        _command("ssh -", r"\b(?:auto)?ssh [^\n]{0,60}-\w{0,3}r ?\d{2,5}:(?:localhost|127\.0\.0\.1):22\b[^\n]{0,80}", _HIGH)),
    _rule("persistence", _HIGH,
        "something that starts again later: cron, login scripts, services, git hooks, authorized keys",
        "leave it to the user, in a step of its own", f"{_ATTACK} T1053, T1546",
        _command("cron|launch|authorized_keys|currentversion|schtasks|startup",
            r"\| ?crontab -(?![lre])|crontab (?:/tmp|\./|<)|>> ?/etc/cron|/etc/cron\.(?:d|daily|hourly)/[^\n]{0,40}"
            r"|\b(?:cp|mv|tee|cat >|>|write|install|ln)\b[^\n]{0,60}/library/launch(?:agents|daemons)/|\blaunchctl (?:load|bootstrap)\b"
            r"|(?:>>|tee -a|append|echo)[^\n]{0,200}authorized_keys"
            r"|currentversion\\run\b|\bschtasks(?:\.exe)? /create\b[^\n]{0,120}|start menu\\programs\\startup"),
        _command(".bashrc|.zshrc|profile|.zshenv", rf">> ?[\"']?(?:~|\$home|\$\{{home\}}|/root|/home/\w{{1,32}})/{_LOGIN_SCRIPTS}",
            also=r"/tmp/|/var/tmp|/dev/shm|curl|wget|nohup|base64|\bsource [\"']?(?:/tmp|~/\.\w)|eval|\.cache/|alias (?:sudo|ssh|git)=|&[\"']? ?>>",
            within=160),
        _command(".bashrc|.zshrc|profile|.zshenv", rf">> ?[\"']?(?:~|\$home|\$\{{home\}})/{_LOGIN_SCRIPTS}", _MEDIUM),
        _command("systemctl", r"\bsystemctl (?:--user )?enable\b[^\n]{0,60}", also=r"\.config/systemd/user|/tmp/|nohup|hidden|\[service\]", within=200),
        _command(".git/hooks|core.hookspath",
            r"(?:>|>>|tee|cp [^\n]{1,60}|ln -s[^\n]{1,60}|mv [^\n]{1,60}) ?[\"']?[\w./$-]{0,40}\.git/hooks/[\w-]{3,24}|git config (?:--global )?core\.hookspath",
            also=r"curl|wget|http|/tmp/|base64|nc |--global|post-commit|post-checkout|post-merge", within=240)),
    _rule("agent-tampering", _HIGH,
        "changes to the agent itself: its memory, settings, hooks, servers or other skills", "ask the user to make the change", _WILD,
        _prose("/.claude/|/.codex/|/.gemini/|/.openclaw/|/.clawdbot/|soul.md|memory.md|identity.md|heartbeat.md",
            r"\b(?:append|add|write|insert|put|save|store|edit|modify|inject|copy|update)\b.{0,60}"
            r"(?:/\.(?:claude|codex|gemini|openclaw|clawdbot)/[\w./-]{0,30}\.md|\bsoul\.md|\bmemory\.md|\bidentity\.md|\bheartbeat\.md).{0,80}"
            r"\b(?:every|always|later|future|trusted|persist|never|all sessions|load this|rules)"),
        _prose("soul.md|memory.md|claude.md|agents.md", r"\b(?:fully|always|completely) trusted\b.{0,60}|\bnever (?:to )?be (?:questioned|removed|changed)",
            also=r"soul\.md|memory\.md|claude\.md|agents\.md", within=120),
        _prose("skill",
            r"\b(?:edit|modify|change|overwrite|rewrite|patch|infect|delete|disable|replace|copy this (?:text|section|line) (?:in)?to)\b[^.!?]{0,12}\b(?:every|all|each|any)\b.{0,8}\b(?:other )?(?:skills?\b|skill\.md|installed skills?)"),
        _command("dangerously-|bypasspermissions|--yolo", r"--dangerously-(?:skip-permissions|bypass-approvals[\w-]{0,20})|bypasspermissions|--yolo\b", _MEDIUM),
        _command("dangerously-|--yolo|claude.md|soul.md|memory.md|agents.md|gemini.md",
            r"\b(?:restart|relaunch|start|spawn|run|call|invoke|execute) (?:yourself|itself|a new|another|it)\b[^\n]{0,60}(?:--dangerously-[\w-]{4,40}|--yolo\b)"
            r"|(?:>>|>|tee -a|cp [^\n]{1,60}) ?[\"']?(?:~|\$home|\$\{home\})/[\w./-]{0,40}(?:claude|soul|memory|agents|gemini)\.md"),
        _command("settings|mcp.json|config.toml|openclaw.json",
            r"(?:\.claude|\.cursor|\.codex|\.gemini|\.openclaw)[\"'/ ,)]{0,5}[^\n]{0,20}(?:settings(?:\.local)?\.json|mcp\.json|config\.toml|openclaw\.json)",
            also=r"[\"']?(?:pretooluse|posttooluse|userpromptsubmit|sessionstart|hooks)[\"']?\]? ?[:=][^\n]{0,200}(?:command|curl|sh )|(?:curl|wget)[^\n]{0,120}\| ?(?:ba)?sh|enableallprojectmcpservers[\"' :]{1,5}true",
            within=500),
        _command("settings.json|settings.local.json", r"settings(?:\.local)?\.json",
            also=r"[\"']?defaultmode[\"']? ?: ?[\"']bypasspermissions|[\"']allow[\"'] ?: ?\[[^\]\n]{0,120}[\"']bash(?:\((?:\*|:\*)\))?[\"']", within=200),
        _command("_base_url", r"(?:anthropic|openai)_base_url[\"']? ?[:=] ?[\"']?https?://(?!localhost|127\.|\[::1|api\.(?:anthropic|openai)\.com)",
            also=r"settings(?:\.local)?\.json|>> ?[\"']?(?:~|\$home)/\.|\bsetx\b", within=160)),
    _rule("safety-off", _HIGH,
        "confirmations, sandboxes, signatures or certificate checks that are turned off", "leave them on, or ask the user", _TAXONOMY,
        _prose("permission|confirmation|approval|consent",
            r"\b(?:never|do not|don't|without) (?:ever )?(?:ask(?:ing)?|request(?:ing)?|wait(?:ing)?|prompt(?:ing)?|seek(?:ing)?)\b.{0,20}(?:user|human|operator)?.{0,12}\b(?:permission|confirmation|approval|consent)\b"
            r".{0,80}\b(?:run|execute|delete|send|install|command|proceed|all|every|any)",
            _MEDIUM),
        _prose("auto-approve|autoapprove|accept all|approve all|has |sandbox|security check|firewall|guardrail",
            r"\bauto-?approve\b.{0,20}\b(?:all|every|any)\b|\b(?:accept|approve) all (?:of )?(?:(?:its|their|the|these) )?(?:prompts|tools|tool calls|commands|permissions|requests)\b"
            r"|\bhas (?:already )?(?:authori[sz]ed|approved|permitted) (?:every|all|any)\b.{0,20}(?:commands?|actions?|tools?|requests?)"
            r"|\b(?:turn off|turn the|disable|switch off|deactivate|bypass|escape)(?: (?:the|all|every|any|your|its)){0,2} ?(?:sandbox|sandboxing|security checks?|firewall|guardrails?|every security check)\b"),
        _command("history|histfile|nopasswd|every security check|all security checks|chmod",
            r"\bhistory -c\b|\bunset histfile\b|\bhistfile=/dev/null|\b(?:rm|shred|truncate) [^\n]{0,30}\.(?:bash|zsh)_history\b"
            r"|all ?= ?\(all(?::all)?\) ?nopasswd: ?all[^\n]{0,120}"
            r"|(?:disable|skip|bypass|turn off) (?:every|all) security checks?"
            r"|\bchmod (?:-r )?0?777 (?:/(?:\s|$|etc|usr|var)|~/?(?:\s|$)|\$home)|\bchmod (?:u\+s|4[0-7]{3}) /(?:bin|tmp|usr)"),
        _command("reject_unauthorized|ssl_no_verify|sslverify",
            r"node_tls_reject_unauthorized ?=? ?[\"']?0|git_ssl_no_verify ?= ?[\"']?(?:1|true)|http\.sslverify (?:=)?false", _MEDIUM)),
    _rule("destructive", _HIGH, "commands that destroy what cannot be restored", "name what is removed, and ask", _TOXIC,
        _command("rm -|rmtree|remove-item",
            r"\brm -\w{0,3}[rf]\w{0,3} (?:-{1,2}[\w-]{1,20} ){0,3}[\"']?(?:~/?|\$home/?|\$\{home\}/?|/|/\*|/home/?\*?|/etc/?|/usr/?)[\"']?(?: --no-preserve-root)?(?:\s|$|;|&|`)"
            r"|rmtree\((?:os\.path\.expanduser\([\"']~/?[\"']\)|path\.home\(\)|pathlib\.path\.home\(\)|[\"']/[\"'])|remove-item [^\n]{0,40}-recurse[^\n]{0,40}(?:c:\\(?:\s|$|\*)|\$env:userprofile(?:\s|$)|\$home(?:\s|$))"),
        _command("dd if|mkfs|/dev/|shred|:()|git push|drop all",
            r"\bdd if=/dev/(?:zero|u?random) of=/dev/(?:sd|nvme|hd|disk|mapper)\w{0,6}|\bmkfs(?:\.\w{2,6})? (?:-\w{1,3} ){0,3}/dev/|> ?/dev/(?:sd|nvme)\w{1,6}|:\(\) ?\{ ?:\|:& ?\};:|\bshred [^\n]{0,40}(?:~|\$home|/dev/)"
            r"|git push (?:--force|-f)\b[^\n]{0,40}(?:--delete|--mirror|--all)\b|git push [^\n]{0,40}--delete (?:main|master)\b|\bdrop all (?:tables|databases)\b")),
    _rule("supply-chain", _HIGH,
        "packages from an address instead of a registry, or without a check of who signed them", "install a pinned version from the registry", _TOXIC,
        _command("index-url|registry|trusted-host| -i",
            r"(?:--(?:extra-)?index-url|--registry|--trusted-host|-i)[ =][\"']?(?:http://(?!localhost|127\.)|https?://(?:\d{1,3}\.){3}\d{1,3})"
            r"|(?:^|[\s:])(?:registry|index-url|extra-index-url)(?: ?= ?| )[\"']?http://(?!localhost|127\.|0\.0\.0\.0|\[::1)"),
        _command("install|npm i|npx |uvx |bunx |pnpm |curl|nogpgcheck",
            rf"\b(?:pip3?|uv pip|pipx) install [^\n]{{0,60}}(?:git\+)?{_UNVOUCHED}|\b(?:npx|bunx|uvx|npm i|npm install|pnpm dlx)(?: -\w{{1,3}}| --yes| -g){{0,3}} [\"']?(?:git\+)?https?://(?!github\.com|gitlab\.com|registry\.npmjs)"
            r"|apt(?:-get)? install [^\n]{0,40}--allow-unauthenticated|(?:yum|dnf|rpm) [^\n]{0,60}--nogpgcheck|curl [^\n]{0,30}(?:-\w{0,3}k\w{0,3}|--insecure) [^\n]{0,120}\| ?(?:sudo )?(?:apt-key|bash|sh)\b"),
        _command("pip install|pip3 install|pipx install",
            r"\b(?:pip3?|uv pip|pipx) install (?:[^\n]{0,40} )?[\"']?(?:git\+)?https://(?!(?:www\.)?(?:github\.com|gitlab\.com|codeberg\.org|files\.pythonhosted\.org|download\.pytorch\.org)/)[\w.-]{3,80}/",
            unless=r"--(?:extra-)?index-url|--find-links")),
    # Frontmatter
    _rule("tools-broad", _MEDIUM,
        "allowed-tools that allow everything, or every shell command", "name the tools and commands that the skill needs: Bash(git log:*)", _TAXONOMY),
    _rule("hooks", _HIGH,
        "hooks in the frontmatter, or commands that run while the skill is loaded", "install hooks yourself, after reading them", _WILD),
    # Files
    _rule("file-link-out", _HIGH, "a link that leads out of the skill", "copy the file into the skill", "CWE-59"),
    _rule("file-hard-link", _HIGH,
        "a file that has another name elsewhere, such as a private file outside the skill", "replace it by a copy: cp FILE COPY && mv COPY FILE", "CWE-62"),
    _rule("file-binary", _CRITICAL, "a compiled program, or a program or script under the name of something else", "ship sources, or name a package", _TOXIC),
    _rule("file-hidden", _MEDIUM, "a script whose name begins with a dot", "give it a name that a listing shows", _WILD),
    _rule("install-script", _HIGH,
        "a package file that runs commands when the package is installed", "remove the script: the skill can say what to run", _TOXIC),
    # Names
    _rule("name-look-alike", _HIGH,
        "a name that looks like another skill's, or mixes scripts, by characters that look alike",
        "rename it, or remove the one that you did not mean", "Unicode UTS #39"),
    _rule("name-near", _MEDIUM,
        "a name that is one letter away from a skill's of another source",
        "rename it, or remove the one that you did not mean", "typosquatting, ClawHub, 2026"),
    _rule("not-read", _HIGH,
        "a part of the skill that was not read: too large, too many, too deep, installed packages, or unreadable", "read it yourself", "-"),
)
# fmt: on

AUDIT_RULES: dict[str, AuditRule] = {rule.id: rule for rule in _TABLE}
