// What happened so far: the points of /history and one for every live event, and what the charts
// read off them.

const MOST = 700;

/** The points of one bandit over time. */
export class History {
  constructor() {
    this.points = [];
    /** What the charts have as their horizontal axis: decisions or time. */
    this.across = "decisions";
  }

  /** Take the server's points, and keep the live ones that are newer than these. */
  load(answer) {
    const loaded = answer.points.map((point) => ({ ...point, at: Date.parse(point.at) }));
    const end = loaded.length ? loaded[loaded.length - 1] : null;
    const newer = end ? this.points.filter((p) => p.live && p.at > end.at && p.decisions >= end.decisions) : [];
    this.points = [...loaded, ...newer];
  }

  /** Add the bandit as it is now. */
  add(bandit, at) {
    const last = this.points[this.points.length - 1];
    if (last && at <= last.at) at = last.at + 1;
    this.points.push({
      live: true,
      at,
      decisions: bandit.decisions,
      rewards: bandit.rewards,
      reward_sum: bandit.reward_rate == null ? 0 : bandit.reward_rate * bandit.rewards,
      recommended: bandit.recommended,
      memory: bandit.arms_in_memory.map((arm) => arm.arm),
      waiting: bandit.waiting,
      best_guess: bandit.best_guess,
    });
  }

  /** True where so many live points came that the server's thinned ones should replace them. */
  get full() {
    return this.points.length > MOST;
  }
}

/**
 * The reward rate at each point: of the rewards since an earlier point, so many that the line is
 * steady, an eighth of all but at least 50. Points with fewer rewards before them have none.
 */
export function rates(points) {
  const total = points.length ? points[points.length - 1].rewards : 0;
  const enough = Math.max(50, total / 8);
  const found = [];
  let from = -1; // before the first point: nothing
  const before = (index) => (index < 0 ? { rewards: 0, reward_sum: 0 } : points[index]);
  for (let index = 0; index < points.length; index += 1) {
    const here = points[index];
    while (from + 1 < index && here.rewards - before(from + 1).rewards >= enough) from += 1;
    const since = before(from);
    const n = here.rewards - since.rewards;
    if (n >= Math.min(50, total)) {
      if (n > 0) found.push({ at: here.at, rate: (here.reward_sum - since.reward_sum) / n, point: here });
    }
  }
  return found;
}

/**
 * The stays of arms in memory: arm, from, to (null while it is there), lane.
 * An arm keeps its lane for a stay, and the lowest free lane is given to the next one, so there are
 * as many lanes as arms were in memory at once.
 */
export function stays(points) {
  const found = [];
  const open = new Map();
  const lanes = [];
  for (const { at, memory } of points) {
    const present = new Set(memory);
    for (const [arm, stay] of open) {
      if (present.has(arm)) continue;
      stay.to = at;
      lanes[stay.lane] = false;
      open.delete(arm);
    }
    for (const arm of present) {
      if (open.has(arm)) continue;
      let lane = lanes.indexOf(false);
      if (lane < 0) lane = lanes.length;
      lanes[lane] = true;
      const stay = { arm, from: at, to: null, lane };
      open.set(arm, stay);
      found.push(stay);
    }
  }
  return { stays: found, lanes: lanes.length };
}

/** The times in which one arm was recommended: arm, from, to. */
export function reigns(points) {
  const found = [];
  for (const { at, recommended } of points) {
    const last = found[found.length - 1];
    if (last && last.arm === recommended) continue;
    if (last) last.to = at;
    found.push({ arm: recommended, from: at, to: null });
  }
  return found.filter((reign) => reign.arm != null);
}
