"""Search: what a query returns to one caller. `engine` is the way in, `searcher` runs the stages of one search.

candidates        the rows that LanceDB found for a query, with what ranking needs of them
contributions     what each word of a query contributes to a score, and in which fields
engine            one search for one caller: view, policy, cache, tail, near misses where nothing fits
facets            counts by category, tag and source
hits              hits with their scores, whether the first fits, and which are shown
impacts           what an occurrence of a term is worth to a skill
likelihood        the probability that the first hit is right
near_copies       hits that say nearly the same, and which is shown
query             parsing a text into clauses of terms
rank_explanation  the rank of one skill in a search, and what the first hit has that it lacks
ranking           BM25F of every skill, and the nearness in meaning of the best
rerankers/        the best hits in the order of a model that reads them
searcher          the stages: parse, score, rank, rerank, likelihood
"""
