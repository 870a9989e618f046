"""The paper: its experiments as data, its printed numbers, its claims, and our report.

Roy Chaudhuri and Kalyanakrishnan, "Regret minimisation in multi-armed bandits using bounded arm
memory", AAAI 2020 (arXiv 1901.08387).

    published.py    the numbers that the paper prints
    experiments.py  which cells its tables and figures are made of
    tables.py       as published and as measured
    claims.py       the paper's claims, as comparisons
    verdict.py      verdicts on claims from comparisons
    figures.py      the paper's figures, and the same as curves over time
    beyond.py       Race beside the best of the paper's policies, with the same memory
    report.py       all of it on one page
"""
