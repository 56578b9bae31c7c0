"""Evaluation of search quality: judged queries, engines to compare, metrics and reports.

baselines  words alone, LanceDB alone, and the hub's own search without one part
evaluator  runs and times the queries
measures   measures of ranked retrieval with confidence intervals, and whether scores are probabilities
overlaps   skills that compete for the same queries
queries    files of queries with their relevant skills
report     the report of each engine
"""
