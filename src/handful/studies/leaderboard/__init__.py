"""The leaderboard: every policy on the paper's instances, harder ones and held-out ones.

arenas.py      the instances, and which policies take part with how much memory
scores.py      a score for each entry on each instance, and comparisons of scores
conditions.py  late and lost rewards, means that change
page.py        the pages
"""
