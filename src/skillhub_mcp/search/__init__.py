"""Search: what a query returns to one caller. `engine` is the way in, `searcher` runs the stages of one search.

answer_cache    the answers of the last searches
engine          one search for one caller: view, policy, cache, tail, near misses where nothing fits
facets          counts by category, tag and source
near_copies     hits that say nearly the same, and which is shown
query           parsing a text into clauses of terms
ranking         the final scores from 0 to 1, order and cutting the tail
rerankers/      the order of the best candidates: fixed weights, or a model
scoring         BM25F and the other components of a score
searcher        the stages: parse, collect candidates, score, rerank, rank
standing        where one skill stands in a search, and what the first has that it has not
visible_skills  the skills that a caller may find
"""
