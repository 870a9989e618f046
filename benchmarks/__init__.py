"""How fast is the simulator? Measured beside others on the same jobs in one run, told as ratios.

contest.py   contestants that do a job in turn, the best time of each
loops.py     the textbook loops, in C (`textbook.c`) and in Numba
suites.py    which jobs: beside the loops, and growing with T, M and K
peers.py     other packages, each in an environment of its own
goals.py     ratios that we want to keep
figure.py    all of it drawn
report.py    all of it as data, and where it was measured
"""
