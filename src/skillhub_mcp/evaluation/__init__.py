"""Evaluation of search quality: judged queries, engines to compare, metrics and reports.

baselines          two simple engines, and the hub's own search without one part
calibration        whether scores are probabilities
evaluator          runs and times the queries
retrieval_metrics  measures of ranked retrieval with confidence intervals
overlaps           skills that compete for the same queries
queries            files of queries with their relevant skills
report             the report of each engine
"""
