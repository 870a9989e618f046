"""Studies made with the simulator: the paper reproduced, the leaderboard, advice on a policy."""
