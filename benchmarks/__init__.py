"""How fast the simulator is: measured with others on the same jobs in one run, as ratios.

contest.py   contestants that do a job in turn, and the best time of each
loops.py     the textbook loops, in C (`textbook.c`) and in Numba
suites.py    the jobs: those of the loops, and growth with T, M and K
peers.py     other packages, each in an environment of its own
drivers/     the scripts that run those packages
goals.py     the ratios that releases must reach
figure.py    the figure
report.py    the results as data, and the machine that they were measured on
"""
