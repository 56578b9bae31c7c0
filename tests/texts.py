"""Sentences of skills in many languages, to be written in the encodings that their writers use."""

from __future__ import annotations

TEXTS: dict[str, tuple[str, ...]] = {
    "ja": (
        (
            "会議の議事録を作成し、決定事項と担当者を一覧にまとめる。録音や手書きのメモから要点を抜き出すときに使う。"
            "まず参加者の名前を確認し、次に議題ごとに発言を整理する。期限が決まっている作業には必ず日付を付けること。"
        ),
        (
            "請求書のPDFを読み込み、取引先・金額・支払期日を表に書き出す。経理の締め処理や監査の準備で使う。"
            "読み取れない箇所があれば推測せず、利用者に質問する。"
        ),
        "テストを書くためのスキル。失敗する例を先に書き、それから直す。",
    ),
    "zh-Hans": (
        (
            "根据会议录音或笔记整理会议纪要，列出决定事项和负责人。需要总结讨论内容时使用。"
            "首先确认与会者的姓名，然后按议题整理发言。没有结论的事项标记为“待定”。有期限的任务必须写明日期。"
        ),
        (
            "读取发票的PDF文件，把客户、金额和付款日期写入表格。用于财务结账和审计准备。"
            "如果有看不清的地方，不要猜测，请向用户提问。"
        ),
        "编写测试的技能：先写会失败的例子，然后修复代码。",
    ),
    "zh-Hant": (
        (
            "根據會議錄音或筆記整理會議記錄，列出決定事項和負責人。需要總結討論內容時使用。"
            "首先確認與會者的姓名，然後按議題整理發言。沒有結論的事項標記為「待定」。有期限的工作必須寫明日期。"
        ),
        "讀取發票的PDF檔案，把客戶、金額和付款日期寫入表格。用於財務結帳和稽核準備。",
        "撰寫測試的技能：先寫會失敗的例子，然後修正程式碼。",
    ),
    "ko": (
        (
            "회의 녹음이나 메모를 바탕으로 회의록을 작성하고 결정 사항과 담당자를 정리합니다. "
            "먼저 참석자의 이름을 확인하고, 안건별로 발언을 정리합니다. 결론이 나지 않은 항목은 보류로 남깁니다."
        ),
        "청구서 PDF를 읽어 거래처, 금액, 지급 기한을 표로 작성합니다. 결산이나 감사 준비에 사용합니다.",
        "테스트를 작성하는 스킬. 먼저 실패하는 예를 쓰고 나서 고칩니다.",
    ),
    "ru": (
        (
            "Составляет протокол совещания по записи или заметкам, перечисляет решения и ответственных. "
            "Сначала проверьте имена участников, затем распределите высказывания по вопросам повестки."
        ),
        (
            "Читает счета в формате PDF и записывает контрагента, сумму и срок оплаты в таблицу. "
            "Если что-то не читается, не угадывайте, а спросите пользователя."
        ),
        "Помогает писать тесты: сначала пример, который не проходит, потом исправление.",
    ),
    "uk": (
        "Складає протокол наради за записом або нотатками, перелічує рішення та відповідальних.",
        "Читає рахунки у форматі PDF і записує контрагента, суму та термін оплати в таблицю.",
    ),
    "de": (
        (
            "Schreibt das Protokoll einer Besprechung und führt Beschlüsse und Zuständige auf. "
            "Was offen blieb, heißt „vertagt“. Größere Beträge über 1.000 € gehören in eine Tabelle."
        ),
        "Hilft beim Schreiben von Tests: zuerst ein Beispiel, das fehlschlägt, dann die Änderung.",
    ),
    "fr": (
        (
            "Rédige le compte rendu d’une réunion et énumère les décisions et les responsables. "
            "Ce qui n’est pas tranché reste « en attente »."
        ),
        "Traduit des articles en français et dresse un glossaire. Œuvre, cœur, où, août, Noël.",
    ),
    "el": ("Συντάσσει τα πρακτικά μιας συνάντησης και καταγράφει τις αποφάσεις και τους υπευθύνους.",),
}

ENCODINGS: tuple[tuple[str, str, str], ...] = (
    ("ja", "cp932", "Shift_JIS"),
    ("ja", "euc_jp", "EUC-JP"),
    ("zh-Hans", "gbk", "GB18030"),
    ("zh-Hans", "gb18030", "GB18030"),
    ("zh-Hant", "big5", "Big5"),
    ("ko", "euc_kr", "EUC-KR"),
    ("ru", "cp1251", "Windows-1251"),
    ("ru", "koi8_r", "KOI8-R"),
    ("ru", "cp866", "IBM866"),
    ("uk", "cp1251", "Windows-1251"),
    ("de", "cp1252", "Windows-1252"),
    ("fr", "cp1252", "Windows-1252"),
    ("el", "cp1253", "Windows-1253"),
)
"""A language of `TEXTS`, the codec of Python that writes it, and the name that people know the encoding by."""
