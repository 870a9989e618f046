"""A leaderboard on data that nobody here made: `make real`.

- `sources.py`: packages on PyPI that carry data, and how their files become arms and rewards
- `contestants.py`: who takes part, handful's policies and those of other packages
- `cells.py`: what is run, how often, and the cache of what has been run
- `results.py`: means and intervals, docs/real.json
- `page.py`: the tables of docs/real.md and README.md
- `figure.py`: docs/images/real.png
"""
