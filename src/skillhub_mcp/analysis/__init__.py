"""Text analysis: terms for queries and documents, in every script. Pure, except for reading the word lists.

analyzer  text to terms: tokens, stems, runs of characters in unspaced scripts
lexicon   the word lists in `words/`: stop words, translations
scripts   scripts without spaces, and folding of accents and case
spelling  corrections for words of a query that no skill has
"""
