"""Evaluation of search quality.

baselines  words alone, LanceDB alone, and the hub's own search without one part
evaluator  runs and times the queries
measures   ranked retrieval with confidence intervals, and calibration
overlaps   skills that compete for the same queries
queries    files of queries with their relevant skills
report     the report of each engine
"""
