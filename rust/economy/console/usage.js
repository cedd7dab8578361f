// Plots of the last hour: memory by queue with entitlements, jobs that wait, containers granted and
// taken back, and how near to their data they run.

import { byId, number, percent, resources } from './page.js';
import { SERIES_MAX, makePlot } from './plot.js';

const SPAN_MS = 3_600_000;
/** Plots are in GB, so that the axis has round steps. */
const MB = 1 / 1024;
const memory = (gb) => resources({ 'memory-mb': (gb ?? 0) / MB });
const sum = (list) => list.reduce((all, each) => all + each, 0);

/** Makes the plots. */
export function makeUsage(client) {
  let samples = [];
  let everyMs = 0;
  let askedMs = 0;

  const nothing = 'The first samples come within twenty seconds';
  const drawUse = makePlot(byId('use-plot'), 'Memory in use; dashed: what a queue may have', memory,
    { stacked: true, nothing });
  const drawWaits = makePlot(byId('waits-plot'), 'Time since submission of jobs without a task yet',
    (s) => `${number(s)}\u00a0s`, { nothing });
  const drawRates = makePlot(byId('rates-plot'), 'Containers a second',
    (value) => number(value, 1), { nothing });
  const drawLocality = makePlot(byId('locality-plot'),
    'Containers that name places: where they run', percent,
    { nothing: 'Too few containers have named places yet' });

  async function poll() {
    // Half of the time between samples, so that none comes late by more.
    if (Date.now() - askedMs < everyMs / 2) return;
    askedMs = Date.now();
    const from = samples.length ? samples[samples.length - 1].at_ms + 1 : 0;
    const fresh = await client.get(`usage?from_ms=${from}`);
    everyMs = fresh.every_ms;
    samples = samples.concat(fresh.samples).filter((each) => each.at_ms >= fresh.now_ms - SPAN_MS);
  }

  /** Returns the queues that used most, in order of name, so that each keeps its colour. */
  function chosen() {
    const totals = new Map();
    for (const { queues } of samples) {
      for (const row of queues) totals.set(row.queue, (totals.get(row.queue) ?? 0) + row.used_mb);
    }
    const most = [...totals].filter(([, used]) => used > 0).sort((a, b) => b[1] - a[1]);
    return most.slice(0, SERIES_MAX - 1).map(([queue]) => queue).sort();
  }

  function showUse() {
    const names = chosen();
    const series = names.map((name) => {
      const rows = samples.map(({ at_ms: at, queues }) => [at,
        queues.find((row) => row.queue === name)]);
      return {
        name,
        points: rows.map(([at, row]) => [at, MB * (row?.used_mb ?? 0)]),
        limits: rows.map(([at, row]) => [at,
          (row?.share_mb ?? null) === null ? null : MB * row.share_mb]),
      };
    });
    const rest = samples.map(({ at_ms: at, queues, others_mb: others }) => {
      const more = queues.filter((row) => !names.includes(row.queue)).map((row) => row.used_mb);
      return [at, MB * (others + sum(more))];
    });
    if (!series.length || rest.some(([, value]) => value > 0)) {
      series.push({ name: 'all others', points: rest });
    }
    const top = MB * Math.max(0, ...samples.map((each) => each.capacity_mb));
    drawUse(series, top);
  }

  function show() {
    showUse();
    const points = (value) => samples.map((each) => [each.at_ms, value(each)]);
    drawWaits([
      { name: 'longest', points: points((each) => each.waiting.longest_ms / 1000) },
      { name: 'mean', points: points((each) => each.waiting.mean_ms / 1000) },
    ]);
    const timed = samples.map((each, i) => [each, i ? each.at_ms - samples[i - 1].at_ms : 0])
      .filter(([, ms]) => ms > 0);
    const rate = (value) => timed.map(([each, ms]) => [each.at_ms, (1000 * value(each)) / ms]);
    drawRates([
      { name: 'granted', points: rate((each) => sum(Object.values(each.granted))) },
      { name: 'taken back', points: rate((each) => each.evicted) },
    ]);
    const named = samples.filter(({ granted }) => granted.host + granted.rack + granted.away > 0);
    const part = (place) => named.map(({ at_ms: at, granted }) => [at,
      granted[place] / (granted.host + granted.rack + granted.away)]);
    drawLocality([
      { name: 'on their host', points: part('host') },
      { name: 'on their rack', points: part('rack') },
      { name: 'elsewhere', points: part('away') },
    ]);
  }

  function clear() {
    [samples, everyMs, askedMs] = [[], 0, 0];
    show();
  }

  return { poll, show, clear };
}
