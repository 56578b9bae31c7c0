"""What hostile skills say: phrases in prose, by language. Data for `matching`; the text is folded to one line."""

from __future__ import annotations

from typing import NamedTuple

from skillhub_mcp.auditing.matching import Pattern
from skillhub_mcp.auditing.rules import Risk

_HIGH, _MEDIUM = Risk.HIGH, Risk.MEDIUM


class _Language(NamedTuple):
    """How a language tells a reader to ignore what came before, and to keep something from the user."""

    needs: tuple[str, ...]
    override: str
    silent: tuple[str, ...]
    secrecy: str


# Each has `verb … what … which`, in the order of the language, with few words between.
_LANGUAGES = {
    "German": _Language(
        ("anweisung", "vorgabe", "regeln", "instruktion", "befehle"),
        r"\b(?:ignorier\w{0,3}|vergiss|vergessen sie|missachte\w{0,2}|verwirf|überschreibe)\b.{0,25}"
        r"\b(?:alle\w{0,2}|bisherige\w?|vorherige\w?|vorige\w?|frühere\w?|obige\w?|andere\w?)\b.{0,25}"
        r"(?:anweisung|vorgabe|regel|instruktion|befehl)",
        ("nutzer", "benutzer", "anwender", "niemand"),
        r"\b(?:sag|sage|sagen sie|erzähl\w?|verrate\w?|erwähne\w?|teile?|informiere\w?|zeige?)\b.{0,30}"
        r"\b(?:nutzer\w{0,2}|benutzer\w{0,2}|anwender\w{0,2}|niemandem)\b.{0,30}"
        r"\b(?:nichts|nicht|kein wort|niemals)\b"
        r"|\bniemandem (?:davon|etwas)|\bohne (?:wissen|kenntnis) de[rs] (?:be)?nutzer|\b(?:vor|gegenüber) (?:dem|der|den)"
        r" (?:be)?nutzer.{0,20}(?:verberg|verheimlich|versteck|verschweig|nicht erwähn)",
    ),
    "French": _Language(
        ("instruction", "consigne", "règle", "directive"),
        r"\b(?:ignore[zr]?|oublie[zr]?|néglige[zr]?|ne tiens pas compte|ne tenez pas compte|fais abstraction)\b.{0,25}"
        r"(?:instruction|consigne|règle|directive)\w{0,2}.{0,12}"
        r"(?:précédent|antérieur|ci-dessus|du système|données|reçues)",
        ("utilisateur", "personne"),
        r"\b(?:ne|n')\s?(?:le |la |lui |en )?(?:dis|dites|dire|mentionne[zr]?|révèle[zr]?|informe[zr]?|parle[zr]?|préviens|montre[zr]?)\b"
        r".{0,30}(?:pas|rien|jamais).{0,30}(?:utilisateur|personne)"
        r"|à l'insu de l'utilisateur|sans (?:que l'utilisateur|en informer l'utilisateur|prévenir l'utilisateur)",
    ),
    "Spanish": _Language(
        ("instruccion", "regla", "órdenes", "directri", "indicacion"),
        r"\b(?:ignora|ignore|ignorar|olvida|olvide|olvidar|descarta|descarte|omite|no sigas)\b.{0,25}"
        r"(?:instruccion|regla|órdenes|directri|indicacion)\w{0,3}.{0,12}"
        r"(?:anterior|previa|de arriba|recibida|del sistema)",
        ("usuario", "nadie"),
        r"\bno (?:se )?(?:lo |la |le )?(?:digas|diga|menciones|mencione|reveles|revele|cuentes|cuente|informes|informe|avises|muestres)\b"
        r".{0,30}(?:usuario|nadie)|sin que el usuario (?:lo )?(?:sepa|se entere|note)|sin (?:informar|avisar) al usuario",
    ),
    "Portuguese": _Language(
        ("instruç", "instruco", "regra", "ordens", "diretri", "orientaç"),
        r"\b(?:ignore|ignora|ignorar|esqueça|esqueca|esquece|desconsidere|descarte)\b.{0,25}"
        r"(?:instruç|instruco|regra|ordens|diretri|orientaç)\w{0,4}.{0,12}(?:anterior|prévia|acima|recebida|do sistema)",
        ("usuário", "usuario", "utilizador", "ninguém"),
        r"\bnão (?:o |a |lhe )?(?:diga|digas|conte|contes|mencione|menciones|revele|informe|avise|mostre|fale)\b"
        r".{0,30}(?:usuário|usuario|utilizador|ninguém)|sem (?:que o|o conhecimento do) (?:usuário|utilizador)"
        r"|sem (?:informar|avisar) o (?:usuário|utilizador)",
    ),
    "Italian": _Language(
        ("istruzion", "regole", "ordini", "direttiv", "indicazion"),
        r"\b(?:ignora|ignorare|ignorate|dimentica|dimenticare|dimenticate|trascura|scarta)\b.{0,25}"
        r"(?:istruzion|regole|ordini|direttiv|indicazion)\w{0,2}.{0,12}(?:precedent|anterior|sopra|ricevut|di sistema)",
        ("utente", "nessuno"),
        r"\bnon (?:lo |la |gli )?(?:dire|dirlo|dica|menzionare|menzionarlo|rivelare|rivelarlo|informare|mostrare|avvisare|parlarne)\b"
        r".{0,30}(?:utente|nessuno)|all'insaputa dell'utente|senza (?:che l'utente|informare l'utente|dirlo all'utente)",
    ),
    "Dutch": _Language(
        ("instructies", "opdrachten", "aanwijzingen", "regels"),
        r"\b(?:negeer|vergeet|sla over)\b.{0,25}\b(?:alle|vorige|eerdere|voorgaande|bovenstaande)\b.{0,25}"
        r"(?:instructies|opdrachten|aanwijzingen|regels)",
        ("gebruiker", "niemand"),
        r"\b(?:vertel|zeg|meld|noem|verklap|laat)\b.{0,30}\b(?:gebruiker|niemand)\b.{0,30}\b(?:niets|niet|nooit|hierover)\b"
        r"|zonder medeweten van de gebruiker|zonder de gebruiker te (?:informeren|vertellen)",
    ),
    "Polish": _Language(
        ("instrukcj", "poleceni", "zasad", "wytyczn"),
        r"\b(?:zignoruj|ignoruj|zapomnij|pomiń|odrzuć)\b.{0,25}(?:poprzedni|wcześniejsz|powyższ|dotychczasow)\w{0,3}.{0,25}"
        r"(?:instrukcj|poleceni|zasad|wytyczn)",
        ("użytkownik", "nikomu"),
        r"\bnie (?:mów|wspominaj|informuj|ujawniaj|pokazuj|zdradzaj)\b.{0,30}(?:użytkownik|nikomu)|bez wiedzy użytkownika",
    ),
    "Turkish": _Language(
        ("talimat", "kural", "yönerge"),
        r"(?:önceki|yukarıdaki|eski|tüm).{0,20}(?:talimat|kural|yönerge)\w{0,8}.{0,12}"
        r"(?:unut|yok say|görmezden gel|dikkate alma)",
        ("kullanıcı",),
        r"kullanıcı\w{0,6}.{0,25}(?:bahsetme|söyleme|haber verme|gösterme|bildirme)|kullanıcının haberi olmadan",
    ),
    "Russian": _Language(
        ("инструкци", "указани", "правил", "команд"),
        r"(?:игнориру|проигнориру|забуд|отбрось|не обращай внимания на|пренебрег)\w{0,4}.{0,25}"
        r"(?:предыдущ|прежн|прошл|выше|ранее|предшествующ|все)\w{0,5}.{0,25}(?:инструкци|указани|правил|команд)",
        ("пользовател", "никому"),
        r"(?:не|ничего не|никогда не) (?:говори|сообщай|упоминай|рассказывай|показывай|раскрывай|информируй)\w{0,4}.{0,30}"
        r"(?:пользовател|никому)|без ведома пользователя|незаметно для пользователя"
        r"|(?:скрой|скрывай|утаи)\w{0,3}.{0,20}от пользователя",
    ),
    "Ukrainian": _Language(
        ("інструкці", "вказівк", "правил"),
        r"(?:ігноруй|проігноруй|забудь|відкинь)\w{0,4}.{0,25}(?:попередн|усі|всі|вище)\w{0,4}.{0,25}"
        r"(?:інструкці|вказівк|правил)",
        ("користувач", "нікому"),
        r"(?:не|нічого не) (?:кажи|повідомляй|згадуй|розповідай|показуй)\w{0,4}.{0,30}(?:користувач|нікому)",
    ),
    "Chinese": _Language(
        ("指令", "指示", "规则", "規則", "提示", "说明", "要求"),
        r"(?:忽略|无视|無視|忘记|忘記|忘掉|不要理会|抛弃|丢弃|覆盖).{0,12}"
        r"(?:之前|以前|先前|此前|以上|上面|上述|前面|所有|一切|系统).{0,8}(?:指令|指示|规则|規則|提示|说明|要求)",
        ("用户", "用戶", "使用者", "任何人"),
        r"(?:不要|别|勿|不得|切勿|不能|請勿|请勿).{0,6}(?:告诉|告訴|告知|提及|透露|通知|提醒|让|讓|向).{0,8}(?:用户|用戶|使用者|任何人)"
        r"|(?:对|對|向)(?:用户|用戶|使用者).{0,6}(?:隐瞒|隱瞞|保密|隐藏)|(?:瞒着|背着|瞞著)(?:用户|用戶)"
        r"|在(?:用户|用戶|使用者)不知情",
    ),
    "Japanese": _Language(
        ("指示", "命令", "ルール", "プロンプト", "指令"),
        r"(?:これまで|以前|前|上記|上|すべて|全て|先|システム).{0,8}(?:指示|命令|ルール|プロンプト|指令).{0,10}"
        r"(?:無視|忘れ|破棄|従わな|上書き)",
        ("ユーザ", "利用者", "誰に"),
        r"(?:ユーザー?|利用者|誰)(?:に|には|にも)?.{0,12}(?:言わない|伝えない|知らせない|話さない|見せない|報告しない|教えない|明かさない|秘密|知られ|気づかれ)",
    ),
    "Korean": _Language(
        ("지시", "명령", "규칙", "프롬프트", "지침"),
        r"(?:이전|앞|지금까지|위|모든|기존|시스템).{0,8}(?:지시|명령|규칙|프롬프트|지침).{0,10}(?:무시|잊|따르지|버리|폐기)",
        ("사용자", "아무에게"),
        r"(?:사용자|아무)(?:에게|한테|에게도)?.{0,12}(?:말하지|알리지|언급하지|보여주지|밝히지|보고하지|모르게|비밀)",
    ),
    "Arabic": _Language(
        ("التعليمات", "الأوامر", "القواعد", "تعليمات"),
        r"(?:تجاهل|انس|انسَ|اهمل|أهمل).{0,15}(?:التعليمات|الأوامر|القواعد|تعليمات).{0,15}(?:السابقة|أعلاه|سابقة)",
        ("المستخدم", "أحد"),
        r"(?:لا تخبر|لا تذكر|لا تقل|دون علم|دون إخبار).{0,20}(?:المستخدم|أحد)",
    ),
    "Hindi": _Language(
        ("निर्देश", "आदेश", "नियम"),
        r"(?:पिछले|पहले|ऊपर|सभी).{0,15}(?:निर्देश|आदेश|नियम).{0,20}(?:अनदेखा|भूल|नज़रअंदाज़|नजरअंदाज)",
        ("उपयोगकर्ता", "यूज़र"),
        r"(?:उपयोगकर्ता|यूज़र).{0,10}(?:मत बता|न बता|मत कह|जानकारी के बिना)",
    ),
}  # fmt: skip

_USER = r"(?:users?|humans?|readers?|operators?|owner|person|people|anyone|anybody|them|developer|reviewers?)"
_OF_INSTRUCTIONS = r"(?:instructions?|directives?|rules?|guidelines?|prompts?|orders?|guidance|constraints?|policies)"
_PRIOR = r"(?:previous|prior|earlier|preceding|above|former|existing|original|foregoing|initial)"
_SENT = r"(?:send|sends|post|posts|upload|uploads|transmit|forward|submit|exfiltrate|relay|report|mail|email|push|copy|append)"
_TALK = (
    r"(?:(?:full |entire |whole |complete )(?:conversation|chat|session|message)s?|conversation|"
    r"(?:chat|session|message) (?:history|log|transcript|contents?)|system prompt|context window|transcript)"
)
_URL = r"(?:https?://|webhook|\bto (?:our|the|my) (?:server|endpoint|api|collector|host))"


def _english() -> tuple[Pattern, ...]:
    override, secrecy = "override-instructions", "secrecy"
    return (
        Pattern(
            override,
            ("ignore", "disregard", "forget", "discard", "neglect"),
            rf"\b(?:ignore|disregard|forget|discard|neglect)(?: about)?(?: (?:all|any|every|each|the|of|your|my|these|those|other)){{0,4}}"
            rf" {_PRIOR}(?: (?:and|or|\w{{1,14}})){{0,3}} {_OF_INSTRUCTIONS}\b",
            quotable=True,
        ),
        Pattern(
            override,
            ("ignore", "disregard", "forget"),
            rf"\b(?:ignore|disregard|forget)(?: (?:all|any|the|every|of)){{0,3}}"
            r" (?:system|developer|operator|user'?s?|safety|host'?s?|agent'?s?)(?: (?:and|or|\w{1,12})){0,2}"
            rf" {_OF_INSTRUCTIONS}\b",
            quotable=True,
        ),
        Pattern(
            override,
            ("forget everything", "forget all", "ignore everything", "disregard everything", "forget what"),
            r"\b(?:forget|ignore|disregard) (?:everything|all|what) (?:that )?(?:you(?:'ve| have| were| know)?|before|above|prior|previous|came)\b"
            r".{0,40}(?:told|said|taught|learned|learnt|read|this|above|before|here|given|know)",
            quotable=True,
        ),
        Pattern(
            override,
            ("void", "superseded", "no longer apply", "no longer valid", "obsolete", "replaced by"),
            rf"\b(?:{_PRIOR}|system|your|all|other|given) .{{0,30}}{_OF_INSTRUCTIONS}\b.{{0,40}}"
            r"\b(?:are|is|have been|were) (?:now )?(?:void|superseded|no longer (?:apply|valid|in force)|null|cancelled|canceled|revoked|replaced by)",
            quotable=True,
        ),
        Pattern(
            override,
            ("precedence", "priority", "override", "supersede", "outrank"),
            r"\b(?:these|this|my|following|the) (?:\w{1,14} ){0,2}(?:instructions?|rules?|directives?|text|skill|document|file)\b"
            r".{0,25}\b(?:take precedence over|have priority over|override|overrides|supersedes?|outranks?)"
            r".{0,20}\b(?:the |any |all |your )?(?:user'?s?|system|operator|developer|safety|host)\b",
            _HIGH,
            quotable=True,
        ),
        Pattern(
            override,
            ("new instructions", "real instructions", "actual instructions", "true instructions", "only this document"),
            r"\byour (?:new|real|actual|true) (?:instructions|task|goal|objective|purpose)\b.{0,40}"
            r"\b(?:are|is|precedence|below|follow)|\bonly this (?:document|text|file|skill) counts",
            _HIGH,
            quotable=True,
        ),
        Pattern(
            "override-safety",
            ("no longer bound", "not bound by", "without restriction", "no restrictions", "unrestricted", "jailbr"),
            r"\byou(?:'re| are)? (?:now |are )?(?:no longer|not) (?:bound|restricted|limited|constrained) by\b"
            r"|\byou (?:now )?(?:have|operate|act|answer|respond) (?:with(?:out)?|no)(?: any)? (?:restrictions?|limits|limitations|filters?)\b"
            r"|\b(?:act|behave|operate) as (?:an? )?(?:unrestricted|unfiltered|jailbroken|uncensored)",
            quotable=True,
        ),
        Pattern(
            "override-safety",
            ("developer mode", "dan mode", "god mode", "jailbreak mode", "do anything now", "unrestricted mode"),
            r"\b(?:you(?:'re| are) (?:now )?in|enter|enable|activate|switch (?:in)?to) (?:developer|dan|god|jailbreak|unrestricted|debug) mode\b"
            r".{0,90}\b(?:polic|restrict|refus|filter|rule|safety|limit|anything|bypass|uncensored)",
            quotable=True,
        ),
        Pattern(
            "override-safety",
            ("safety", "content polic", "ethical", "guardrail"),
            r"\b(?:ignore|disregard|bypass|circumvent|disable|turn off|drop|suspend|override|switch off)(?: (?:all|any|your|the|every|of)){0,3}"
            r" (?:safety|ethical|content|security|built-in|moderation)(?: \w{1,12}){0,2} ?(?:guidelines?|rules?|polic(?:y|ies)|filters?|"
            r"restrictions?|guardrails?|protocols?|measures?|checks?|constraints?)\b",
            quotable=True,
        ),
        Pattern(
            "override-safety",
            ("refuse", "policies are off", "policy is off"),
            r"\b(?:no|never) (?:request|question|task|command)s? (?:may|can|must|should|is|are)(?: ever)? (?:be )?(?:not )?refused"
            r"|\b(?:you )?(?:must|may|can|should|will) (?:never|not) refuse (?:any|a|the|to)|content polic(?:y|ies) (?:is|are) off",
            _HIGH,
            quotable=True,
        ),
        Pattern(
            "override-safety",
            ("not apply", "pre-approved", "preapproved", "pre-authori", "need no"),
            r"\b(?:safety|security) (?:checks?|rules?|polic(?:y|ies)|guidelines?|filters?|reviews?|warnings?) (?:do|does) not apply\b"
            r"|\b(?:skill|document|file|command|script)s? (?:is|are|has been|have been) pre-?(?:approved|authori[sz]ed)\b"
            r"|\byou need no (?:confirmation|permission|approval|consent)\b",
            _HIGH,
            quotable=True,
        ),
        Pattern(
            secrecy,
            ("tell", "mention", "inform", "reveal", "disclose", "notify", "alert", "bring"),
            rf"\b(?:do not|don't|never|must not|should not|shouldn't|avoid|without) (?:ever |explicitly |directly )?"
            rf"(?:tell|telling|mention|mentioning|inform|informing|notify|notifying|alert|alerting|reveal|revealing|disclose|disclosing|bring)"
            rf"(?: (?:this|that|it|any of this|about|the|these|those|step|steps|of|up|its|existence|action|actions|command|upload|anything|what you did)){{0,5}}"
            rf"(?: (?:to|with|about|from))?(?: (?:the|your|a|any|end))? {_USER}\b(?! (?:to|how|which|where|that they|when|if)\b)",
            _HIGH,
            quotable=True,
        ),
        Pattern(
            secrecy,
            ("mention", "tell the user", "bring this", "reveal", "disclose"),
            rf"\b(?:do not|don't|never|must not) (?:ever )?(?:mention|reveal|disclose|bring|report|tell {_USER}(?: about)?|tell the {_USER}(?: about)?)"
            r" (?:this|it|that|any of this|these|the)(?: (?:hidden|secret|step|steps|action|instructions?|upload|command|check|request|call|section|note|up)){1,3}\b",
            quotable=True,
        ),
        Pattern(
            secrecy,
            ("mention", "reveal", "disclose", "report"),
            r"\b(?:and|but|or) (?:never|do not|don't) (?:mention|report|disclose|reveal|say) (?:it|this|that) (?:in|to|anywhere|at all)\b",
            quotable=True,
        ),
        Pattern(
            secrecy,
            ("knowledge", "knowing", "aware", "noticing", "noticed", "awareness", "consent"),
            rf"\bwithout (?:the |their |any )?{_USER}(?:'s|s')? (?:knowledge|knowing|awareness|noticing|being aware|realizing|realising)"
            rf"|\b(?:the )?{_USER} (?:does not|doesn't|need not|do not|must not|should not|mustn't|shouldn't) (?:need to |have to )?(?:know|notice|be aware|learn|see|find out)"
            r" (?:about|of|this|that|it)\b",
            quotable=True,
        ),
        Pattern(
            secrecy,
            ("nobody", "no one", "no-one"),
            r"\bno(?:body|[ -]one)(?: else)? (?:needs? to|has to|must|should|may) (?:ever )?(?:know|notice|see|find out|hear)\b",
            _HIGH,
            quotable=True,
        ),
        Pattern(
            secrecy,
            ("hide", "conceal", "secret", "trace", "silently", "quietly", "covert", "stealth"),
            r"\b(?:hide|conceal|keep) (?:this|it|that|these|all of this|the (?:upload|request|command|action|step|fact|call)s?)"
            rf"(?: (?:\w{{1,12}})){{0,3}} (?:secret |hidden )?from (?:the )?{_USER}\b"
            r"|\bconceal (?:the|this|that|any) (?:upload|transfer|command|request|action|step|change|activity)"
            r"|\bkeep (?:this|it|these steps?|that) (?:a )?secret\b"
            r"|\bleave no traces?\b.{0,60}(?:answer|log|transcript|output|history|command|response)",
            quotable=True,
        ),
        Pattern(
            secrecy,
            ("silently", "quietly", "covertly", "secretly", "stealthily", "in the background"),
            rf"\b(?:silently|quietly|covertly|secretly|stealthily) (?:{_SENT}|collect|run|execute|read|fetch|download|install|record)\b"
            r".{0,60}(?:https?://|server|host|remote|secret|token|key|credential|password|conversation|workspace|user'?s? (?:data|files?)|env\b|\.env|~/|to the (?:webhook|endpoint))",
            quotable=True,
        ),
        Pattern(
            "exfiltration",
            ("conversation", "chat", "transcript", "system prompt", "context", "session", "history"),
            rf"\b{_SENT}\b.{{0,40}}\b{_TALK}\b.{{0,60}}{_URL}",
            quotable=True,
        ),
        Pattern(
            "exfiltration",
            (
                "conversation",
                "chat",
                "transcript",
                "system prompt",
                "context",
                "summary",
                "secret",
                "api key",
                "message",
            ),
            r"!? ?\[[^\]\n]{0,40}\] ?\(https?://[^)\s]{1,120}[?&][\w-]{1,20}=[^)\n]{0,80}\)",
            also=r"\b(?:replac|where|with|fill|encod|insert|substitut|set)\w{0,5}\b.{0,60}\b(?:conversation|chat|summary|transcript|secret|prompt|key|contents?|messages?)\b",
            within=160,
        ),
        Pattern(
            "exfiltration",
            (
                "secret",
                "credential",
                "password",
                ".env",
                "api key",
                "private key",
                "token",
                "environment variables",
                "ssh",
            ),
            rf"\b{_SENT}\b.{{0,50}}(?:\bsecrets?\b|\bcredentials?\b|\bpasswords?\b|\.env\b|\bapi keys?\b|\bprivate keys?\b|\btokens?\b|\benvironment variables\b|ssh keys?|\.ssh\b).{{0,50}}"
            r"(?:https?://|\bto (?:an? )?(?:external|remote|attacker|third|our|my)\b|webhook)",
            _HIGH,
            quotable=True,
            unless=r"localhost|127\.0\.0\.1",
        ),
        Pattern(
            "exfiltration",
            (".env", "secret", "credential", "token", "api key"),
            r"\b(?:append|include|add|embed|insert|put|attach)\b.{0,30}(?:contents? of |values? of |all )?(?:\.env\b|the (?:repository'?s )?secrets|environment variables|credentials|api keys?|tokens)"
            r".{0,30}\b(?:to|in|into) (?:every|each|the|your|all) (?:commit|message|answer|response|request|output|url|comment|diagram)",
            _HIGH,
            quotable=True,
        ),
        Pattern(
            "exfiltration",
            (".env", ".pem", ".kube", ".ssh", ".aws", "credentials", ".netrc", "private key", ".npmrc", "tokens"),
            r"\b(?:collect|gather|harvest|find|grab|copy|zip|archive)\w{0,3}\b.{0,60}(?:\.env\b|\.pem\b|\.kube/|\.ssh\b|\.aws\b|\bcredentials\b|\.netrc|\bprivate keys?\b|\.npmrc|\btokens\b)"
            r".{0,120}\b(?:send|upload|post|transmit|forward|submit)\b.{0,60}https?://(?!localhost|127\.)",
            quotable=True,
        ),
        Pattern(
            "exfiltration",
            ("bcc", "blind copy"),
            r"\b(?:every|each|all|any) (?:\w{1,12} ){0,2}(?:(?:e-?)?mails?|messages?)\b.{0,60}\b(?:bcc|blind copy)\b",
            _HIGH,
            quotable=True,
        ),
        Pattern(
            "credential-access",
            ("in the chat", "into the chat", "in this chat", "into this chat"),
            r"\b(?:tell|ask|have|instruct) (?:the )?users? to (?:paste|enter|type|share|send|give)\b.{0,40}\b(?:keys?|passwords?|tokens?|secrets?|credentials)\b.{0,12}\b(?:in|into) (?:the|this) chat\b",
            _HIGH,
            quotable=True,
        ),
        Pattern(
            "credential-access",
            ("api key", "password", "secret", "token", "credentials", "private key"),
            r"\bask (?:the )?users? (?:to|for)\b.{0,30}\b(?:paste|enter|type|provide|give|share|tell|send)?\b.{0,20}\b(?:password|private key|secret key|api key|credentials)\b"
            r".{0,60}\b(?:print|echo|repeat|include|show|store|save|write|send)",
            _HIGH,
            quotable=True,
        ),
        Pattern(
            "wallet-access",
            ("seed phrase", "recovery phrase", "mnemonic", "wallet"),
            r"\b(?:ask|request|prompt|collect|get|read|store|send|enter|paste|provide)\w{0,4}\b.{0,50}\b(?:seed phrase|recovery phrase|mnemonic phrase|mnemonic words|wallet'?s? private key|secret recovery)\b",
            quotable=True,
        ),
        Pattern(
            "wallet-access",
            ("address",),
            r"\b(?:replace|swap|substitute|change|rewrite)\b.{0,40}\b(?:payment|wallet|bitcoin|btc|eth|crypto|deposit|bank|iban)\b.{0,30}\b(?:address|account|iban)"
            r"|\b(?:payment|wallet|bitcoin|btc|eth|crypto|deposit) address\w{0,2}\b.{0,40}\b(?:replace|swap|substitute)",
            quotable=True,
        ),
        Pattern(
            "remote-instructions",
            ("http",),
            r"\b(?:fetch|download|load|get|read|retrieve|pull|open|visit|curl)\b.{0,40}https?://[^\s)]{4,160}.{0,60}"
            r"\b(?:follow|obey|execute|do what|carry out|comply|perform|apply|treat (?:them|it) as)\b.{0,40}"
            r"\b(?:instructions?|says|steps|commands?|contains?|rules|part of this|directives)\b",
            quotable=True,
        ),
        Pattern(
            "remote-instructions",
            ("as if", "as though"),
            r"\btreat (?:its|the|their|that|any) (?:output|contents?|answer|response|text|reply|result)s?\b.{0,40}\bas (?:if|though) (?:the user|the operator|the system|i|they|it)\b",
            quotable=True,
        ),
        Pattern(
            "remote-instructions",
            ("instructions from", "commands from", "rules from", "prompt from", "heartbeat"),
            r"\b(?:load|fetch|get|read|take|follow|receive|poll|pull|execute)\b.{0,30}\b(?:instructions|commands|rules|directives|tasks?|prompt) from https?://"
            r"|\bevery (?:\w{1,8} )?(?:minutes?|hours?|days?|session|few)\b.{0,40}\b(?:fetch|download|check|poll|get)\b.{0,20}https?://[^\s)]{4,160}"
            r".{0,40}\b(?:do what|follow|execute|run|obey)",
        ),
        Pattern(
            "encoded-run",
            ("base64", "rot13", "hex", "decode", "encoded"),
            r"\bdecode\b.{0,60}\b(?:and|then)\b.{0,20}\b(?:follow|execute|obey|run|eval|carry out|do)\b.{0,30}(?:instructions?|it\b|commands?|says|result|them\b|output)?",
            _HIGH,
            quotable=True,
        ),
        Pattern(
            "safety-off",
            ("permission", "confirmation", "approval", "asking", "ask the user", "confirm"),
            r"\b(?:never|do not|don't|without) (?:ever )?(?:ask(?:ing)?|request(?:ing)?|wait(?:ing)?|prompt(?:ing)?|seek(?:ing)?)\b.{0,20}(?:user|human|operator)?.{0,12}\b(?:permission|confirmation|approval|consent)\b"
            r".{0,80}\b(?:run|execute|delete|send|install|command|proceed|all|every|any)",
            _MEDIUM,
            quotable=True,
        ),
        Pattern(
            "safety-off",
            (
                "auto-approve",
                "autoapprove",
                "auto approve",
                "accept all",
                "approve all",
                "authorised every",
                "authorized every",
            ),
            r"\bauto-?approve\b.{0,20}\b(?:all|every|any)\b|\b(?:accept|approve) all (?:of )?(?:(?:its|their|the|these) )?(?:prompts|tools|tool calls|commands|permissions|requests)\b"
            r"|\bhas (?:already )?(?:authori[sz]ed|approved|permitted) (?:every|all|any)\b.{0,20}(?:commands?|actions?|tools?|requests?)",
            quotable=True,
        ),
        Pattern(
            "safety-off",
            ("sandbox", "security check", "antivirus", "firewall", "verification"),
            r"\b(?:turn off|turn the|disable|switch off|deactivate|bypass|escape)(?: (?:the|all|every|any|your|its)){0,2} ?(?:sandbox|sandboxing|security checks?|firewall|guardrails?|every security check)\b",
            _HIGH,
            quotable=True,
        ),
        Pattern(
            "agent-tampering",
            (
                "claude.md",
                "agents.md",
                "soul.md",
                "memory.md",
                "gemini.md",
                ".cursorrules",
                "identity.md",
                "heartbeat.md",
                "user.md",
            ),
            r"\b(?:append|add|write|insert|put|save|store|edit|modify|inject|copy|update)\b.{0,60}"
            r"(?:/\.(?:claude|codex|gemini|openclaw|clawdbot)/[\w./-]{0,30}\.md|\bsoul\.md|\bmemory\.md|\bidentity\.md|\bheartbeat\.md).{0,80}"
            r"\b(?:every|always|later|future|trusted|persist|never|all sessions|load this|rules)",
            quotable=True,
        ),
        Pattern(
            "agent-tampering",
            ("soul.md", "memory.md", "claude.md", "agents.md"),
            r"\b(?:fully|always|completely) trusted\b.{0,60}|\bnever (?:to )?be (?:questioned|removed|changed)",
            also=r"soul\.md|memory\.md|claude\.md|agents\.md",
            within=120,
            quotable=True,
        ),
        Pattern(
            "agent-tampering",
            ("other skill", "every skill", "all skills", "skill.md"),
            r"\b(?:edit|modify|change|overwrite|rewrite|patch|infect|delete|disable|replace|copy this (?:text|section|line) (?:in)?to)\b.{0,12}\b(?:every|all|each|any)\b.{0,8}\b(?:other )?(?:skills?\b|skill\.md|installed skills?)",
            quotable=True,
        ),
        Pattern(
            "prerequisite",
            ("password", "passwort", "pass:"),
            r"\b(?:extract|unzip|unpack|open|decrypt|archive|zip|\.zip|\.rar|\.7z)\b.{0,60}\b(?:with (?:the )?(?:password|passphrase)|(?:password|pass)(?: is|:| =|=))(?: is|:|=)? ?[\w!@-]{2,24}.{0,80}\b(?:run|install|launch|execute|open|start)\b",
            quotable=True,
        ),
        Pattern(
            "prerequisite",
            ("glot.io", "pastebin", "paste.", "rentry", "hastebin", "ghostbin", "snippet"),
            r"(?:glot\.io|pastebin\.com|rentry\.(?:co|org)|hastebin|paste\.ee|dpaste|ghostbin|controlc\.com|termbin).{0,100}\b(?:paste|copy|run|execute)\b.{0,60}\b(?:terminal|shell|command prompt|powershell|console)",
            quotable=True,
        ),
        Pattern(
            "prerequisite",
            ("defender", "antivirus", "anti-virus", "gatekeeper", "smartscreen", "quarantine"),
            r"\b(?:turn off|disable|switch off|deactivate|exclude|add an exclusion|stop)\b.{0,20}\b(?:windows defender|defender|antivirus|anti-virus|gatekeeper|smartscreen|real-?time protection)",
            quotable=True,
        ),
        Pattern(
            "prerequisite",
            (".exe", ".dmg", ".pkg", ".msi", ".zip", ".scr"),
            r"\b(?:does not|doesn't|won't|will not|cannot|can't) (?:work|run|function|operate) (?:without|unless|until)\b.{0,80}\bdownload\b.{0,200}\.(?:exe|dmg|pkg|msi|scr|zip)\b.{0,60}\b(?:run|open|launch|execute|install)",
        ),
        Pattern(
            "prerequisite",
            (".exe", ".msi", ".scr", ".dmg", ".pkg"),
            r"\bdownload\b.{0,160}https?://[^\s)]{4,160}\.(?:exe|msi|scr|dmg|pkg)\b.{0,60}\b(?:run|open|launch|execute) it\b",
            _HIGH,
        ),
        Pattern(
            "pinned-imperative",
            ("before every", "before any", "before answering", "before each", "on every"),
            r"\b(?:always|must) (?:call|use|load|invoke|run|apply|read) this (?:skill|tool)\b.{0,30}\b(?:before|first|instead|on every|for every)\b.{0,40}"
            r"\b(?:never|instead of|do not|other (?:skill|tool)s?)\b",
            quotable=True,
        ),
    )


def _of(language: _Language) -> tuple[Pattern, Pattern]:
    return (
        Pattern("override-instructions", language.needs, language.override),
        Pattern("secrecy", language.silent, language.secrecy),
    )


PHRASES: tuple[Pattern, ...] = (*_english(), *(pattern for one in _LANGUAGES.values() for pattern in _of(one)))
LANGUAGES: tuple[str, ...] = ("English", *_LANGUAGES)
