// The events of a version, ready to be drawn and hit: for each lane and depth typed arrays sorted by start.

const MOST_DEPTH = 40;

// How deep each lane is in any version, so that lanes stay where they are when the version changes.
function depthsOf(picture) {
  const depths = new Array(picture.lanes.length).fill(1);
  for (const { events } of picture.versions)
    for (let index = 0; index < events.lane.length; index++) {
      const lane = events.lane[index];
      if (depths[lane] <= events.depth[index]) depths[lane] = Math.min(MOST_DEPTH, events.depth[index] + 1);
    }
  return depths;
}

// rows[lane][depth] of a version.
function rowsOf(events, depths) {
  const members = depths.map((depth) => Array.from({ length: depth }, () => []));
  for (let index = 0; index < events.lane.length; index++) members[events.lane[index]]?.[events.depth[index]]?.push(index);
  return members.map((lane) => lane.map((row) => sorted(row, events.start, events.dur)));
}

// `reach[i]` is the furthest end up to i: it grows, so the first visible one can be looked up even where events overlap.
function sorted(members, start, dur) {
  members.sort((one, other) => start[one] - start[other] || dur[other] - dur[one]);
  const [from, to, furthest] = [0, 0, 0].map(() => new Float64Array(members.length));
  const row = { index: Int32Array.from(members), start: from, end: to, reach: furthest };
  let reach = -Infinity;
  members.forEach((member, at) => {
    row.start[at] = start[member];
    row.end[at] = start[member] + dur[member];
    row.reach[at] = reach = Math.max(reach, row.end[at]);
  });
  return row;
}

// The first of the row that ends after a time.
function firstAfter(row, time) {
  let low = 0, high = row.reach.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (row.reach[middle] > time) high = middle; else low = middle + 1;
  }
  return low;
}

// The event at a time, or the nearest within `slack`; -1 if there is none. The later one of two that overlap: it lies on top.
function eventAt(row, time, slack) {
  let best = -1, nearest = slack;
  for (let at = firstAfter(row, time - slack); at < row.start.length && row.start[at] <= time + slack; at++) {
    const away = Math.max(row.start[at] - time, time - row.end[at], 0);
    if (away <= nearest) { nearest = away; best = at; }
  }
  return best;
}
