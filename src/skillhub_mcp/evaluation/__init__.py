"""Evaluation of search quality: queries with their relevant skills, engines to compare, and reports."""
