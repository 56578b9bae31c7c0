"""The index over the skills: the LanceDB table and its state, kept in sync with the files.

features       the terms and lengths of a skill, as stored in its row
filter         narrowing a search by category and tags
indexed_roots  the roots that an index has rows of, and which of them may be forgotten
lance          LanceDB's asynchronous API on an event loop of our own, and its failures
live           the skills below some roots and their index, kept in sync by a thread
progress       the progress of indexing, for callers that wait
rows           rows as they are written: skills read, analysed and embedded in pieces
schema         the table's columns, its indexes and its rows
search_index   the index of one view, as a search reads it
state_file     `index_state.json`: the commit, the keys of rows, and which files belong to a database
statistics     how many skills have a term, for BM25F
store          LanceDB, writing: new versions, merging, and removing old ones
table          LanceDB, reading: candidates and rows of one version
views          the interface of a provider of skills and their index
watcher        calling back when something below a root changed
writer         the one writer and its lock: changed rows, vectors, commit
"""
