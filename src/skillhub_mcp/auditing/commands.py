"""What hostile skills run: commands and code, line by line. Data for `matching`; the text is folded to small letters."""

from __future__ import annotations

from skillhub_mcp.auditing.matching import Pattern
from skillhub_mcp.auditing.rules import Risk

_HIGH, _MEDIUM = Risk.HIGH, Risk.MEDIUM

_SHELLS = r"(?:sudo (?:-\w{1,3} )?)?(?:/bin/|/usr/bin/(?:env )?)?(?:ba|z|da|k|fi)?sh\b|(?:sudo )?(?:python3?|perl|ruby|node|php|osascript)\b(?! -[a-z])"
_GETS = r"(?:curl|wget|fetch|aria2c|http)\b"
# A file that a download is written to, and that is then run or made executable.
_SAVED_AND_RUN = (
    r"[^\n|]{0,120}(?:-o|--output(?:-document)?|>)[ =]?[\"']?(?P<saved>[\w./~$-]{3,60})(?![\w./~$-])[^|]{0,120}?"
    r"[;&\n`] ?(?:sudo )?(?:chmod (?:\+x|[0-7]{3,4})|(?:ba|z|da)?sh|python3?|perl|node|source) [\"']?(?:\./)?(?P=saved)"
)
# An address that says nothing of who answers: a number, a paste site, a shortened link, no encryption, a tunnel.
_UNVOUCHED = (
    r"(?:https?://(?:\d{1,3}\.){3}\d{1,3}|http://(?!localhost|127\.|0\.0\.0\.0|\[::1)|"
    r"(?:bit\.ly|tinyurl\.com|t\.ly|is\.gd|cutt\.ly|rb\.gy|goo\.gl|shorturl\.at)/|"
    r"(?:pastebin\.com|paste\.ee|hastebin\.com|rentry\.(?:co|org)|glot\.io|termbin\.com|dpaste\.\w{2,4}|transfer\.sh|file\.io|0x0\.st|gist\.githubusercontent\.com)/|"
    r"[\w-]\.(?:ngrok(?:-free)?\.(?:io|app|dev)|trycloudflare\.com|serveo\.net|localhost\.run|loca\.lt|workers\.dev)\b)"
)
_CATCHERS = (
    r"(?:webhook\.site|requestbin\.(?:com|net)|[\w-]\.(?:m\.)?pipedream\.net|beeceptor\.com|requestcatcher\.com|hookbin\.com|"
    r"interact\.sh|oast\.(?:pro|live|site|online|fun|me)|burpcollaborator\.net|canarytokens\.com|dnslog\.cn|ptsv\d?\.com|"
    r"discord(?:app)?\.com/api/webhooks/|api\.telegram\.org/bot|transfer\.sh|file\.io|0x0\.st|bashupload\.com|"
    r"[\w-]\.(?:ngrok(?:-free)?\.(?:io|app|dev)|trycloudflare\.com|serveo\.net|loca\.lt))"
)
_KEYS = (
    r"(?:\.ssh/(?:id_|config|\*|authorized|known_hosts)|\.ssh\b|\bid_(?:rsa|ed25519|ecdsa)\b|\.aws/(?:credentials|config)|\.aws\b|"
    r"\.config/gcloud|\.azure/|\.kube/config|\.docker/config\.json|\.netrc|\.git-credentials|\.npmrc|\.pypirc|\.gnupg|"
    r"/etc/shadow|\.vault-token|\.config/gh/hosts|\.password-store|\.config/op/|logins\.json|key4\.db|"
    r"login data|cookies\.sqlite|local state|\.clawdbot/\.env|\.openclaw/|\.claude\.json|\.codex/auth\.json|\.config/solana|wallet\.dat)"
)
_ENVIRONMENT = (
    r"(?:\$\((?:env|printenv|set)\b|\bprintenv\b|`(?:env|printenv)`|os\.environ(?!\.get|\[|\.setdefault|\.pop)|"
    r"process\.env(?![.\[])|get-childitem env:|\$env:\w{0,20}(?:key|token|secret))"
)
_SENDS = (
    r"(?:curl\b[^\n]{0,120}(?:\s-d\b|--data|\s-f\b|--form|\s-t\b|--upload-file|-x (?:post|put)|post)|requests\.(?:post|put)|httpx\.(?:post|put)|"
    r"urllib\.request\.(?:urlopen|request)|urlopen\(|fetch\([^\n]{0,120}post|axios\.(?:post|put)|invoke-(?:webrequest|restmethod)[^\n]{0,80}post|"
    r"\bnc (?:-\w{1,3} )?[\w.]{4,60} \d{2,5}|smtplib|sendmail|\.sendto\(|http\.client|wget[^\n]{0,80}--post|https?\.request\(|"
    r"\bscp\b|\brsync\b[^\n]{0,100}[\w.-]{2,60}:)"
)

SHELL_COMMANDS: tuple[Pattern, ...] = (
    # Downloads that are executed
    Pattern(
        "download-run",
        ("curl", "wget", "fetch "),
        rf"\b{_GETS}[^\n|]{{0,120}}{_UNVOUCHED}[^\n|]{{0,100}}\| ?(?:{_SHELLS})",
        quotable=True,
    ),
    Pattern("download-run", ("curl", "wget", "fetch "), rf"\b{_GETS}[^\n|]{{4,240}}\| ?(?:{_SHELLS})", _HIGH, quotable=True),
    Pattern(
        "download-run",
        ("$(curl", "$(wget", "<(curl", "<(wget", "`curl", "`wget"),
        rf"(?:(?:ba|z|da)?sh(?: -c)?|eval|source|\.) ?[\"']?(?:<|\$|`)\(?(?:curl|wget)\b[^\n]{{0,200}}{_UNVOUCHED}",
        quotable=True,
    ),
    Pattern(
        "download-run",
        ("$(curl", "$(wget", "<(curl", "<(wget", "`curl", "`wget"),
        r"(?:\b(?:ba|z|da)?sh(?: -c)?|\beval|\bsource|\s\.) ?[\"']?(?:<\(|\$\(|`)(?:curl|wget)\b",
        _HIGH,
        quotable=True,
    ),
    Pattern(
        "download-run",
        ("iex", "invoke-expression"),
        r"(?:\biex\b|\binvoke-expression\b)[^\n]{0,60}(?:\biwr\b|\birm\b|downloadstring|invoke-webrequest|invoke-restmethod|webclient)"
        r"|(?:\biwr\b|\birm\b|downloadstring|invoke-webrequest|invoke-restmethod)[^\n|]{0,160}\| ?(?:iex|invoke-expression)",
        _HIGH,
        quotable=True,
    ),
    Pattern(
        "download-run",
        ("hidden", "bypass"),
        r"powershell(?:\.exe)?[^\n]{0,60}(?:-w(?:indowstyle)? hidden)[^\n]{0,120}(?:iex|iwr|irm|downloadstring|http)",
        quotable=True,
    ),
    Pattern(
        "download-run",
        ("chmod",),
        r"(?:curl|wget)\b[^\n]{0,160}(?:-o|-o ?|>|-p) ?[\"']?(?:/tmp/|/var/tmp/|/dev/shm/|\.)[^\n]{0,120}chmod \+?[0-7ugoax+]{1,5}[^\n]{0,80}(?:&&|;) ?(?:nohup )?(?:/tmp|/var/tmp|/dev/shm|\./|sh )",
    ),
    Pattern(
        "download-run",
        ("curl", "wget"),
        rf"\b(?:curl|wget)\b(?=[^\n]{{0,200}}(?:{_UNVOUCHED}|(?:/tmp|/dev/shm)/\.)){_SAVED_AND_RUN}",
        quotable=True,
    ),
    Pattern("download-run", ("curl", "wget"), rf"\b(?:curl|wget)\b{_SAVED_AND_RUN}", _HIGH, quotable=True),
    Pattern(
        "download-run",
        ("exec(", "eval(", "(eval"),
        r"\b(?:exec|eval)\([^\n]{0,40}(?:urlopen|requests\.get|httpx\.get|await fetch)\(|\bfetch\([^\n]{0,200}\.then\(\(?(?:eval|new function)\b",
        quotable=True,
    ),
    Pattern(
        "download-run",
        ("mshta", "certutil", "bitsadmin", "regsvr32", "rundll32"),
        r"\bmshta(?:\.exe)? https?:|\bcertutil(?:\.exe)?[^\n]{0,30}-urlcache|\bbitsadmin[^\n]{0,40}/transfer|\bregsvr32[^\n]{0,40}https?:|\brundll32[^\n]{0,60}https?:",
        quotable=True,
    ),
    Pattern(
        "prerequisite",
        ("xattr", "spctl"),
        r"\bxattr -\w{0,3}[dc]\w{0,2} (?:com\.apple\.quarantine)?[^\n]{0,60}|\bspctl --master-disable",
        _HIGH,
        quotable=True,
    ),
    Pattern(
        "prerequisite",
        ("mppreference", "netsh advfirewall", "setenforce"),
        r"(?:set|add)-mppreference -(?:disable\w{2,30}|exclusion\w{2,12})|netsh advfirewall set allprofiles state off",
        quotable=True,
    ),
    # Credentials and what is sent
    Pattern(
        "credential-access",
        (".ssh", "id_rsa", "id_ed25519", ".aws", "gcloud", ".netrc", ".git-credentials", ".npmrc", ".kube", "shadow",
         ".gnupg", "login data", "key4.db", "logins.json", "wallet.dat", "solana", ".pypirc", "cookies.sqlite", ".claude.json"),
        rf"{_KEYS}",
        also=_SENDS,
        within=240,
        quotable=True,
    ),
    Pattern(
        "credential-access",
        (".ssh", "id_rsa", "id_ed25519", ".aws/cred", "gcloud", ".netrc", ".git-credentials", ".npmrc", ".kube", "shadow",
         "login data", "key4.db", "logins.json", ".pypirc", "cookies.sqlite"),
        r"\b(?:cat|tar|cp|zip|base64|scp|less|head|tail|grep|type|get-content|readfile\w{0,4}|read_text|open|read|include|print|upload|copy\w?|collect)\b[^\n]{0,60}"
        r"(?:\.ssh/(?:id_\w{2,8}|\*|config)|\bid_(?:rsa|ed25519|ecdsa)\b(?!\.pub)|\.aws/credentials|\.config/gcloud|\.netrc|\.git-credentials|/etc/shadow|login data|key4\.db|logins\.json|cookies\.sqlite)",
        _HIGH,
        quotable=True,
    ),
    Pattern(
        "credential-access",
        ("find-generic-password", "dump-keychain", "find-internet-password", "secret-tool", "cmdkey", "vaultcmd"),
        r"\bsecurity (?:find-(?:generic|internet)-password\b[^\n]{0,40}-\w{0,2}w|dump-keychain)|\bsecret-tool (?:lookup|search --all)|\bvaultcmd /listcreds",
        _HIGH,
        quotable=True,
    ),
    Pattern(
        "credential-access",
        ("env", "printenv"),
        r"\b(?:env|printenv|set) ?\| ?(?:grep|egrep|rg|awk)[^\n]{0,40}(?:key|token|secret|pass)",
        _HIGH,
        quotable=True,
    ),
    Pattern(
        "credential-access",
        ("169.254.169.254", "metadata.google.internal"),
        r"(?:169\.254\.169\.254|metadata\.google\.internal)[^\n]{0,60}(?:iam|security-credentials|token)",
        _HIGH,
        quotable=True,
    ),
    Pattern(
        "exfiltration",
        ("environ", "printenv", "process.env", "$(env", "env:"),
        _ENVIRONMENT,
        also=_SENDS,
        within=300,
        quotable=True,
    ),
    Pattern(
        "exfiltration",
        ("env |", "printenv", "export -p", "token", "secret", "find-generic-password", "op read", "pass show", "cat "),
        rf"(?:(?:^|[\s;&(`])(?:env|printenv|export -p)(?= ?\|)|\bgh auth token\b|\bkubectl get secrets?\b|\bsecurity find-\w{{7,8}}-password\b|\bop read\b|\bpass show\b|"
        rf"tojson\(secrets\)|\bcat (?:{_KEYS}|[^\n|]{{0,40}}(?:\.env\b|\.pem\b|/\.\w{{3,16}}rc\b)))[^\n]{{0,120}}\| ?(?:xargs )?[^\n|]{{0,40}}\b(?:curl|wget|nc|ncat|netcat)\b",
        quotable=True,
        unless=r"localhost|127\.0\.0\.1",
    ),
    Pattern("exfiltration", ("tojson(secrets)",), r"tojson\(secrets\)", _HIGH, quotable=True),
    Pattern(
        "exfiltration",
        ("tar ", "zip ", "git archive", "git bundle"),
        r"\b(?:tar|zip|git archive|git bundle) [^\n|]{0,100}\| ?(?:[^\n|]{0,60}\| ?)?(?:curl|nc|ncat|netcat)\b",
        _HIGH,
        quotable=True,
    ),
    Pattern(
        "exfiltration",
        ("push --mirror",),
        r"\bgit push --mirror\b",
        _HIGH,
        also=r"\b(?:quietly|silently|each|every)\b",
        within=160,
        quotable=True,
    ),
    Pattern(
        "exfiltration",
        ("webhook.site", "requestbin", "pipedream", "beeceptor", "requestcatcher", "hookbin", "interact.sh", "oast.",
         "burpcollaborator", "canarytokens", "dnslog", "ptsv", "transfer.sh", "file.io", "0x0.st", "bashupload",
         "ngrok", "trycloudflare", "serveo", "loca.lt", "api/webhooks", "api.telegram.org"),
        rf"{_CATCHERS}",
        also=r"(?:~/|\$home|\.env\b|\benviron\b|file contents?|process\.env|\bcat\b|<\s?~|@[\"']?[\w./~$]{2,40}|conversation|password|secret|credential|whole file)",
        within=160,
        quotable=True,
        unless=r"localhost:\d|webhook_url|your[_-]|\.org/bot(?:\$|\{|<|%|\[|token)",
    ),
    Pattern(
        "exfiltration",
        ("webhook.site", "requestbin", "pipedream.net", "requestcatcher", "hookbin", "interact.sh", "burpcollaborator", "dnslog"),
        rf"{_CATCHERS}",
        _MEDIUM,
        quotable=True,
    ),
    Pattern(
        "exfiltration",
        ("nslookup", "dig ", "host ", "getaddrinfo", "gethostbyname"),
        r"\b(?:nslookup|dig|host|ping -c \d{1,2}) [\"']?(?:\+short )?(?:\$\(|`|\$\{?\w{1,24}\}?\.)[^\n]{0,120}",
        also=r"base64|xxd|od -|hex|cat |whoami|~/|\$part|\$chunk|\$data",
        within=200,
        quotable=True,
    ),
    Pattern(
        "exfiltration",
        ("gethostbyname", "getaddrinfo", "resolve("),
        r"(?:gethostbyname|getaddrinfo|resolve)\([^\n]{0,40}(?:\+|f[\"']|format)[^\n]{0,60}",
        also=r"b64encode|hexlify|\.hex\(\)|b32encode",
        within=400,
    ),
    Pattern(
        "exfiltration",
        ("tar ", "zip "),
        r"\b(?:tar|zip) [^\n]{0,100}(?:~/|\$home|/home/|\.config|documents)[^\n]{0,120}",
        also=rf"{_SENDS}",
        within=240,
        quotable=True,
    ),
    # Encoded code
    Pattern(
        "encoded-run",
        ("base64", "b64decode", "xxd", "openssl enc", "atob"),
        r"\bbase64 (?:-{1,2}d\w{0,5}|-di?|-d)[^\n|]{0,120}\| ?(?:sudo )?(?:ba|z|da|k)?sh\b|\bbase64 (?:-{1,2}d\w{0,5})[^\n|]{0,120}\| ?(?:python3?|perl|node|ruby)\b"
        r"|\bxxd -r[^\n|]{0,80}\| ?(?:ba|z|da)?sh\b|(?:eval|(?:ba|z)?sh -c) [\"']?(?:\$\(|`)[^\n)]{0,300}base64 -{1,2}d",
        quotable=True,
    ),
    Pattern(
        "encoded-run",
        ("exec(", "eval(", "function(", "loads("),
        r"\b(?:exec|eval|new function|compile|marshal\.loads|pickle\.loads|os\.system|subprocess\.\w{3,12})\([^\n]{0,60}"
        r"(?:b64decode|b32decode|a85decode|bytes\.fromhex|unhexlify|zlib\.decompress|codecs\.decode|atob\(|fromcharcode|buffer\.from\([^\n]{0,200}base64|rot_?13|unescape\(|reversed\(|\[::-1\])",
        quotable=True,
    ),
    Pattern(
        "encoded-run",
        ("-enc", "frombase64string"),
        r"powershell(?:\.exe)?[^\n]{0,60} -e(?:nc|ncodedcommand|c)? [\"']?[a-z0-9+/=]{24}|frombase64string\([^\n]{0,200}(?:iex|invoke-expression)|(?:iex|invoke-expression)[^\n]{0,80}frombase64string",
        quotable=True,
    ),
    # Shells to elsewhere
    Pattern(
        "reverse-shell",
        ("/dev/tcp/", "/dev/udp/"),
        r"(?:>&|<>|<|>|exec \d{1,2}<>) ?/dev/(?:tcp|udp)/[\w.$\{\}-]{1,80}/[\d$\{\}\w]{1,12}[^\n]{0,40}",
        also=r"\bsh\b|bash|0>&1|exec",
        within=80,
        quotable=True,
    ),
    Pattern(
        "reverse-shell",
        ("nc ", "ncat", "netcat", "socat"),
        r"\b(?:nc|ncat|netcat)(?:\.exe|\.traditional)? (?:[^\n]{0,40} )?-\w{0,4}[ec] ?/?(?:bin/)?(?:ba|z)?(?:sh|cmd|powershell)|\bsocat [^\n]{0,100}exec:"
        r"|mkfifo [^\n]{0,120}\b(?:nc|ncat|telnet|openssl s_client)\b|\bsh -i [^\n]{0,40}\| ?(?:nc|ncat|netcat)\b",
        quotable=True,
    ),
    Pattern(
        "reverse-shell",
        ("dup2", "socket"),
        r"dup2\([^\n]{0,40}fileno\(\)[^\n]{0,200}|pty\.spawn\([\"']/bin/(?:ba)?sh",
        also=r"socket\.socket|\.connect\(",
        within=400,
        quotable=True,
    ),
    Pattern(
        "reverse-shell",
        ("tcpclient", "ssh -r", "fsockopen", "child_process"),
        r"new-object (?:system\.)?net\.sockets\.tcpclient|fsockopen\([^\n]{0,80}exec\(|net\.(?:connect|socket)\([^\n]{0,120}(?:/bin/sh|spawn\()",
        quotable=True,
    ),
    Pattern(
        "reverse-shell",
        ("ssh -", "autossh"),
        r"\b(?:auto)?ssh [^\n]{0,60}-\w{0,3}r ?\d{2,5}:(?:localhost|127\.0\.0\.1):22\b[^\n]{0,80}",
        _HIGH,
        quotable=True,
    ),
    # What stays
    Pattern(
        "persistence",
        ("crontab",),
        r"\| ?crontab -(?![lre])|crontab (?:/tmp|\./|<)|>> ?/etc/cron|/etc/cron\.(?:d|daily|hourly)/[^\n]{0,40}",
        quotable=True,
    ),
    Pattern(
        "persistence",
        (".bashrc", ".zshrc", ".profile", ".bash_profile", ".zprofile", "config.fish"),
        r">> ?[\"']?(?:~|\$home|\$\{home\}|/root|/home/\w{1,32})/\.(?:bashrc|zshrc|profile|bash_profile|zprofile|zshenv)",
        also=r"/tmp/|/var/tmp|/dev/shm|curl|wget|nohup|base64|\bsource [\"']?(?:/tmp|~/\.\w)|eval|\.cache/|alias (?:sudo|ssh|git)=|&[\"']? ?>>",
        within=160,
        quotable=True,
    ),
    Pattern(
        "persistence",
        (".bashrc", ".zshrc", ".profile", ".bash_profile", ".zprofile"),
        r">> ?[\"']?(?:~|\$home|\$\{home\})/\.(?:bashrc|zshrc|profile|bash_profile|zprofile|zshenv)",
        _MEDIUM,
        quotable=True,
    ),
    Pattern(
        "persistence",
        ("launchagents", "launchdaemons", "launchctl"),
        r"\b(?:cp|mv|tee|cat >|>|write|install|ln)\b[^\n]{0,60}/library/launch(?:agents|daemons)/|\blaunchctl (?:load|bootstrap)\b",
        quotable=True,
    ),
    Pattern(
        "persistence",
        ("systemctl", "systemd"),
        r"\bsystemctl (?:--user )?enable\b[^\n]{0,60}",
        also=r"\.config/systemd/user|/tmp/|nohup|hidden|\[service\]",
        within=200,
        quotable=True,
    ),
    Pattern(
        "persistence",
        ("authorized_keys",),
        r"(?:>>|tee -a|append|echo)[^\n]{0,200}authorized_keys",
        quotable=True,
    ),
    Pattern(
        "persistence",
        ("currentversion\\run", "schtasks", "startup"),
        r"currentversion\\run\b|\bschtasks(?:\.exe)? /create\b[^\n]{0,120}|start menu\\programs\\startup",
        quotable=True,
    ),
    Pattern(
        "persistence",
        (".git/hooks", "core.hookspath"),
        r"(?:>|>>|tee|cp [^\n]{1,60}|ln -s[^\n]{1,60}|mv [^\n]{1,60}) ?[\"']?[\w./$-]{0,40}\.git/hooks/[\w-]{3,24}|git config (?:--global )?core\.hookspath",
        also=r"curl|wget|http|/tmp/|base64|nc |--global|post-commit|post-checkout|post-merge",
        within=240,
        quotable=True,
    ),
    # The agent itself
    Pattern(
        "agent-tampering",
        ("dangerously-skip-permissions", "dangerously-bypass", "bypasspermissions", "--yolo", "skipdangerousmode"),
        r"--dangerously-(?:skip-permissions|bypass-approvals[\w-]{0,20})|bypasspermissions|--yolo\b",
        _MEDIUM,
        quotable=True,
    ),
    Pattern(
        "agent-tampering",
        ("dangerously-skip-permissions", "dangerously-bypass", "--yolo"),
        r"\b(?:restart|relaunch|start|spawn|run|call|invoke|execute) (?:yourself|itself|a new|another|it)\b[^\n]{0,60}(?:--dangerously-[\w-]{4,40}|--yolo\b)",
        quotable=True,
    ),
    Pattern(
        "agent-tampering",
        ("settings.json", "settings.local.json", "mcp.json", "claude.json", "config.toml", '.claude"'),
        r"(?:\.claude|\.cursor|\.codex|\.gemini|\.openclaw)[\"'/ ,)]{0,5}[^\n]{0,20}(?:settings(?:\.local)?\.json|mcp\.json|config\.toml|openclaw\.json)",
        also=r"[\"']?(?:pretooluse|posttooluse|userpromptsubmit|sessionstart|hooks)[\"']?\]? ?[:=][^\n]{0,200}(?:command|curl|sh )|(?:curl|wget)[^\n]{0,120}\| ?(?:ba)?sh|enableallprojectmcpservers[\"' :]{1,5}true",
        within=500,
        quotable=True,
    ),
    Pattern(
        "agent-tampering",
        ("claude.md", "soul.md", "memory.md", "agents.md", ".cursorrules", "gemini.md"),
        r"(?:>>|>|tee -a|cp [^\n]{1,60}) ?[\"']?(?:~|\$home|\$\{home\})/[\w./-]{0,40}(?:claude|soul|memory|agents|gemini)\.md",
        quotable=True,
    ),
    Pattern(
        "agent-tampering",
        ("settings.json", "settings.local.json"),
        r"settings(?:\.local)?\.json",
        also=r"[\"']?defaultmode[\"']? ?: ?[\"']bypasspermissions|[\"']allow[\"'] ?: ?\[[^\]\n]{0,120}[\"']bash(?:\((?:\*|:\*)\))?[\"']",
        within=200,
        quotable=True,
    ),
    Pattern(
        "agent-tampering",
        ("anthropic_base_url", "openai_base_url"),
        r"(?:anthropic|openai)_base_url[\"']? ?[:=] ?[\"']?https?://(?!localhost|127\.|\[::1|api\.(?:anthropic|openai)\.com)",
        also=r"settings(?:\.local)?\.json|>> ?[\"']?(?:~|\$home)/\.|\bsetx\b",
        within=160,
        quotable=True,
    ),
    # Protection that is turned off, destruction, packages
    Pattern(
        "safety-off",
        ("history",),
        r"\bhistory -c\b|\bunset histfile\b|\bhistfile=/dev/null|\b(?:rm|shred|truncate) [^\n]{0,30}\.(?:bash|zsh)_history\b",
        quotable=True,
    ),
    Pattern(
        "safety-off",
        ("nopasswd",),
        r"all ?= ?\(all(?::all)?\) ?nopasswd: ?all[^\n]{0,120}",
        quotable=True,
    ),
    Pattern(
        "safety-off",
        ("reject_unauthorized", "ssl_no_verify", "sslverify false", "stricthostkeychecking"),
        r"node_tls_reject_unauthorized ?=? ?[\"']?0|git_ssl_no_verify ?= ?[\"']?(?:1|true)|http\.sslverify (?:=)?false",
        _MEDIUM,
        quotable=True,
    ),
    Pattern(
        "safety-off",
        ("every security check", "all security checks"),
        r"(?:disable|skip|bypass|turn off) (?:every|all) security checks?",
        quotable=True,
    ),
    Pattern(
        "safety-off",
        ("chmod",),
        r"\bchmod (?:-r )?0?777 (?:/(?:\s|$|etc|usr|var)|~/?(?:\s|$)|\$home)|\bchmod (?:u\+s|4[0-7]{3}) /(?:bin|tmp|usr)",
        quotable=True,
    ),
    Pattern(
        "destructive",
        ("rm -", "rmtree", "remove-item", "rimraf"),
        r"\brm -\w{0,3}[rf]\w{0,3} (?:-{1,2}[\w-]{1,20} ){0,3}[\"']?(?:~/?|\$home/?|\$\{home\}/?|/|/\*|/home/?\*?|/etc/?|/usr/?)[\"']?(?: --no-preserve-root)?(?:\s|$|;|&|`)"
        r"|rmtree\((?:os\.path\.expanduser\([\"']~/?[\"']\)|path\.home\(\)|pathlib\.path\.home\(\)|[\"']/[\"'])|remove-item [^\n]{0,40}-recurse[^\n]{0,40}(?:c:\\(?:\s|$|\*)|\$env:userprofile(?:\s|$)|\$home(?:\s|$))",
        quotable=True,
    ),
    Pattern(
        "destructive",
        ("dd if", "mkfs", "/dev/sd", "diskpart", "shred", ":(){"),
        r"\bdd if=/dev/(?:zero|u?random) of=/dev/(?:sd|nvme|hd|disk|mapper)\w{0,6}|\bmkfs(?:\.\w{2,6})? (?:-\w{1,3} ){0,3}/dev/|> ?/dev/(?:sd|nvme)\w{1,6}|:\(\) ?\{ ?:\|:& ?\};:|\bshred [^\n]{0,40}(?:~|\$home|/dev/)",
        quotable=True,
    ),
    Pattern(
        "destructive",
        ("push --force", "push -f", "drop database", "drop all tables", "filter-branch"),
        r"git push (?:--force|-f)\b[^\n]{0,40}(?:--delete|--mirror|--all)\b|git push [^\n]{0,40}--delete (?:main|master)\b|\bdrop all (?:tables|databases)\b",
        quotable=True,
    ),
    Pattern(
        "supply-chain",
        ("index-url", "registry", "extra-index"),
        r"(?:--(?:extra-)?index-url|--registry|--trusted-host|-i)[ =][\"']?(?:http://(?!localhost|127\.)|https?://(?:\d{1,3}\.){3}\d{1,3})",
        quotable=True,
    ),
    Pattern(
        "supply-chain",
        ("registry=", "registry =", "set registry", "index-url ="),
        r"(?:^|[\s:])(?:registry|index-url|extra-index-url)(?: ?= ?| )[\"']?http://(?!localhost|127\.|0\.0\.0\.0|\[::1)",
        quotable=True,
    ),
    Pattern(
        "supply-chain",
        ("pip install", "npm install", "npm i ", "npx ", "uvx ", "uv pip", "bunx ", "pnpm ", "pipx"),
        rf"\b(?:pip3?|uv pip|pipx) install [^\n]{{0,60}}(?:git\+)?{_UNVOUCHED}|\b(?:npx|bunx|uvx|npm i|npm install|pnpm dlx)(?: -\w{{1,3}}| --yes| -g){{0,3}} [\"']?(?:git\+)?https?://(?!github\.com|gitlab\.com|registry\.npmjs)",
        quotable=True,
    ),
    Pattern(
        "supply-chain",
        ("pip install", "pip3 install", "pipx install"),
        r"\b(?:pip3?|uv pip|pipx) install (?:[^\n]{0,40} )?[\"']?(?:git\+)?https://(?!(?:www\.)?(?:github\.com|gitlab\.com|codeberg\.org|files\.pythonhosted\.org|download\.pytorch\.org)/)[\w.-]{3,80}/",
        quotable=True,
        unless=r"--(?:extra-)?index-url|--find-links",
    ),
    Pattern(
        "supply-chain",
        ("allow-unauthenticated", "--nogpgcheck", "apt-key add", "--allow-insecure", "--no-verify-ssl"),
        r"apt(?:-get)? install [^\n]{0,40}--allow-unauthenticated|(?:yum|dnf|rpm) [^\n]{0,60}--nogpgcheck|curl [^\n]{0,30}(?:-\w{0,3}k\w{0,3}|--insecure) [^\n]{0,120}\| ?(?:sudo )?(?:apt-key|bash|sh)\b",
        quotable=True,
    ),
    Pattern(
        "miner",
        ("xmrig", "stratum+", "minerd", "cpuminer", "nicehash", "coinhive", "cryptonight"),
        r"\bxmrig\b|stratum\+(?:tcp|ssl)://|\bminerd -|\bcpuminer\b|coinhive|cryptonight",
        quotable=True,
    ),
    Pattern(
        "wallet-access",
        ("exodus", "metamask", "electrum", "wallet.dat", "solana/id.json", "nkbihfbeogaeaoehlefnkodbefgpgknn", "keystore", "phantom"),
        r"\.config/solana/id\.json|\bwallet\.dat\b|\.electrum/wallets|nkbihfbeogaeaoehlefnkodbefgpgknn|(?:application support|appdata)[^\n]{0,30}/(?:exodus|electrum|atomic|ledger)|\.ethereum/keystore",
        quotable=True,
    ),
    # Text that looks like the host's
    Pattern(
        "override-role",
        ("system-reminder", "<|im_start|>", "<|system|>", "[inst]", "<<sys>>", "</skill", "<system>", "[system]", "</tool_result", "</function_result"),
        r"</?system-reminder>|<\|im_start\|> ?system|<\|system\|>|<<sys>>|</(?:skill-loaded|skill_loaded|skill|available_skills|tool_result|function_results)>|(?:^|\n)<system>|(?:^|\n)\[system\]:? ",
        quotable=True,
    ),
)  # fmt: skip

# Only where a file is code: in prose they are common and honest.
CODE_COMMANDS: tuple[Pattern, ...] = (
    Pattern(
        "credential-access",
        ("os.environ.items", "process.env)", "object.entries(process.env"),
        r"\bin os\.environ\.items\(\)|object\.entries\(process\.env\)|json\.stringify\(process\.env\)",
        also=r"\bprint\(|console\.log|\.write\(|logging\.",
        within=120,
        severity=_HIGH,
    ),
    Pattern(
        "download-run",
        ("exec(", "eval("),
        r"\b(?:exec|eval)\(\s{0,4}(?:compile\()?\s{0,4}(?:urllib\.request\.urlopen|urlopen|requests\.get|httpx\.get|await fetch)",
    ),
    Pattern(
        "download-run",
        ("eval(", "new function("),
        r"https?[\"')]{0,3}\)?\.get\([^\n]{0,300}\b(?:eval|new function)\(",
    ),
    Pattern(
        "download-run",
        ("os.system", "subprocess", "execsync", "exec(", "spawn"),
        r"(?:os\.system|os\.popen|subprocess\.\w{3,12}|execsync|exec|spawn)\([^\n]{0,40}(?:curl|wget)\b[^\n]{0,160}\| ?(?:ba)?sh",
    ),
    Pattern(
        "download-run",
        ("urlopen", "requests.get", "urlretrieve"),
        r"(?:urlretrieve|urlopen|requests\.get)\([^\n]{0,160}",
        also=r"\bexec\(|os\.startfile|os\.(?:spawn|exec)[lv]\w{0,2}\(|os\.system\([^\n]{0,60}(?:/tmp|path|file)|subprocess\.(?:popen|run|call)\(\[?(?:path|out|dest|target|file|tmp|[\"']/tmp)",
        within=600,
        severity=_HIGH,
    ),
    Pattern(
        "encoded-run",
        ("| $", "|$"),
        r"\| ?\$\{?\w{1,16}\}?\$\{?\w{1,16}\}?(?: |\n|$)",
        _HIGH,
    ),
)
