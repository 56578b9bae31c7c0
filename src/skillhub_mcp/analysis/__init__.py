"""How text becomes terms: tokens, stems, scripts, word lists and spelling. Pure, but for reading the lists."""
