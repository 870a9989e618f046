"""The paper's experiments as data, kept results, and figures.

Roy Chaudhuri and Kalyanakrishnan, "Regret minimisation in multi-armed bandits using bounded arm
memory", AAAI 2020. So far its finite-armed part: what the figures of section 3.2 and of the
appendix on finite instances show.
"""
