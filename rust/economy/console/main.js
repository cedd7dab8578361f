// The console: polls the server every two seconds while the page is visible, and shows the answers.
// A missing value shows as a dash. When a request fails, the last data stays on the screen.

import { makeActions } from './actions.js';
import { Failure, makeClient } from './client.js';
import { makeControl } from './control.js';
import { makeJobs } from './jobs.js';
import { makeNodes } from './nodes.js';
import {
  about, byId, credits, duration, element, ending, moment, number, percent, resources, say,
} from './page.js';
import { SERIES_MAX, makePlot } from './plot.js';
import { makeTable } from './tables.js';
import { makeUsage } from './usage.js';

const POLL_MS = 2_000;
/** The history shown, in ms, and the largest number of intervals kept. */
const SPAN_MS = 3_600_000;
const INTERVALS_MAX = 2_000;
/** More warnings would fill the screen; the log has all. */
const WARNINGS_SHOWN = 3;

const client = makeClient();
const actions = makeActions(client, () => poll(), () => seen.shares?.slots);
const control = makeControl(client, actions.signedIn, () => poll(),
  (problem) => showProblem(problem));
const jobs = makeJobs(client, () => poll(), (problem) => showProblem(problem));
const nodes = makeNodes(client);
const usage = makeUsage(client);
/** The last answers to the signed-in user. Other users must not see them. */
let seen = {};
let seenBy = null;
/** Ended intervals in order, each {at, price, rows: Map of queue to slots}. */
let intervals = [];
/** The web servers of all ResourceManagers, as the last answer about the health had them. */
let managers = [];
let timer = null;
let polling = false;
let again = false;
let lastMs = null;

const isAdmin = () => seen.queues?.admin === true;
const slots = (pools) => (pools ?? []).reduce((sum, each) => sum + each, 0);
const share = (row) => row.account?.share ?? 0;

const showAccounts = makeTable(byId('accounts'), 'Accounts of queues', [
  { title: 'Queue', head: true, text: (row) => row.queue },
  {
    title: 'Budget', numeric: true, text: (row) => about(row.account.budget),
    full: (row) => credits(row.account.budget),
  },
  { title: 'Bid', numeric: true, text: (row) => credits(row.account.rate) },
  { title: 'Share', numeric: true, bar: share, text: (row) => percent(share(row)) },
  { title: 'Slots paid for', numeric: true, text: (row) => number(slots(row.account.quota)) },
  { title: 'Slots used', numeric: true, text: (row) => number(row.account.used_slots) },
  { title: 'Slots pending', numeric: true, text: (row) => number(row.account.pending_slots) },
  {
    title: 'Last charge', numeric: true, text: (row) => about(row.account.last_debit),
    full: (row) => credits(row.account.last_debit),
  },
  { title: 'Income per hour', numeric: true, text: (row) => credits(row.account.income_per_hour) },
  { title: 'Budget ends in', text: (row) => ending(row.account.projection) },
  {
    title: 'Change',
    actions: (row) => [
      { label: 'Slots…', name: `What slots cost ${row.queue}`, run: actions.advise },
      { label: 'Bid…', name: `Bid of ${row.queue}`, run: actions.bid },
      {
        label: 'Add…', name: `Add to the budget of ${row.queue}`, run: actions.addBudget,
        when: isAdmin,
      },
      {
        label: 'Remove…', name: `Remove ${row.queue}`, run: actions.removeQueue, when: isAdmin,
      },
    ],
  },
], 'No queue has an account that you may see.');

const showPools = makeTable(byId('pools'), 'Pools with minimum, fair share and use', [
  { title: 'Pool', head: true, text: (row) => row.queue },
  { title: 'Weight', numeric: true, text: (row) => number(row.scheduling.weight, 2) },
  { title: 'Minimum', text: (row) => resources(row.scheduling.min_share) },
  { title: 'Fair share', text: (row) => resources(row.scheduling.fair_share) },
  { title: 'Used', text: (row) => resources(row.scheduling.used) },
  { title: 'Running', numeric: true, text: (row) => inSlots(row.scheduling, 'running') },
  { title: 'Pending', numeric: true, text: (row) => inSlots(row.scheduling, 'pending') },
  { title: 'Jobs', numeric: true, text: (row) => jobsOf(row.scheduling) },
], 'No pool that you may see.');

const drawPrice = makePlot(byId('price-plot'), 'Price per slot and interval',
  (value) => number(value, 6));
const drawShares = makePlot(byId('share-plot'), 'Shares: slots paid for', (value) => number(value));

/** Returns a queue's running or pending tasks, without ApplicationMasters. */
function inSlots(scheduling, what) {
  return number(scheduling[`${what}_containers`] - (scheduling[`${what}_masters`] ?? 0));
}

function jobsOf({ jobs, runnable_jobs: runnable, max_running_jobs: most }) {
  const may = runnable === jobs ? number(jobs) : `${number(runnable)} of ${number(jobs)} may run`;
  return most === null || most === undefined ? may : `${may}, at most ${number(most)}`;
}

// ---- Polling.

/**
 * Drops answers for another user. Late ones are never shown, because they fill an old `seen`.
 * Signing out clears the screen. Signing in replaces rows in place, so that the focus stays.
 */
function forgetOthers() {
  if (client.user() === seenBy) return;
  seenBy = client.user();
  seen = seenBy ? { ...seen } : {};
  intervals = [];
  jobs.restart();
  usage.clear();
}

async function round(mine) {
  mine.health = await client.health();
  managers = mine.health.managers ?? [];
  mine.queues = await client.get('queues');
  await jobs.poll(mine);
  await usage.poll();
  await nodes.poll(mine);
  mine.shares = await client.get('shares');
  if (mine.queues.admin === true) await control.poll(mine);
  else [mine.shadow, mine.file, mine.warnings] = [null, null, null];
  // Only a policy with accounts has a price.
  if (!hasAccounts(mine)) {
    mine.price = null;
    return;
  }
  mine.price = await client.open('price');
  const fresh = await history(mine);
  if (mine === seen) intervals = fresh;
}

const hasAccounts = ({ queues }) => (queues?.allocation_interval_ms ?? null) !== null;

/** Adds the intervals that ended since: public prices, and the user's rows of the ledger. */
async function history(mine) {
  const nowMs = mine.queues.now_ms ?? client.serverNow();
  const from = intervals.length ? intervals[intervals.length - 1].at + 1 : nowMs - SPAN_MS;
  const prices = await client.get(`price/history?from_ms=${Math.max(0, from)}`);
  if (!prices.intervals.length) return intervals;
  // Starts at the first price: older rows would come from the store and have no price here.
  const ledger = await client.get(`ledger?max=10000&from_ms=${prices.intervals[0].at_ms}`);
  const fresh = new Map(prices.intervals.map((each) => [each.at_ms, {
    at: each.at_ms, price: Number(each.price), rows: new Map(),
  }]));
  for (const row of ledger.rows) fresh.get(row.at_ms)?.rows.set(row.queue, slots(row.quota));
  const complete = [...fresh.values()]
    .filter((each) => ledger.next_from_ms === null || each.at < ledger.next_from_ms);
  return intervals.concat(complete)
    .filter((each) => each.at >= nowMs - SPAN_MS).slice(-INTERVALS_MAX);
}

/** Goes to the active ResourceManager when the page's own is a standby by now, or gone. */
async function follow() {
  const place = await client.place();
  // A redirected request fails: the page itself follows the redirect.
  if (place === 'elsewhere') location.reload();
  if (place !== 'gone') return;
  const other = await client.another(managers);
  if (other) location.replace(new URL('heddle/', other));
}

async function poll() {
  clearTimeout(timer);
  if (polling) {
    again = true;
    return;
  }
  polling = true;
  forgetOthers();
  const mine = seen;
  try {
    await round(mine);
    if (mine === seen) {
      lastMs = Date.now();
      hideProblem();
    }
  } catch (problem) {
    if (mine === seen) {
      // The user is unknown now, for example because the web server's login expired.
      if (problem.status === 401 && !client.user()) seen = {};
      showProblem(problem);
      if (problem.status === 0) await follow();
    }
  }
  polling = false;
  forgetOthers();
  show();
  if (document.hidden) return;
  timer = setTimeout(poll, again ? 0 : POLL_MS);
  again = false;
}

document.addEventListener('visibilitychange', () => {
  if (document.hidden) clearTimeout(timer);
  else poll();
});

// ---- Showing.

function hideProblem() {
  byId('problem').hidden = true;
  document.body.classList.remove('old');
}

function showProblem(problem) {
  const why = problem instanceof Failure ? problem.sentence : `${problem}`;
  const unknown = problem.status === 401 && !client.user();
  const did = problem.status ? 'answered with an error' : 'did not answer';
  const since = lastMs === null ? '' : ` The data shown is from ${moment(lastMs)}.`;
  say(byId('problem'), unknown
    ? 'You are not signed in: sign in to see queues and jobs.'
    : `The scheduler ${did}: ${why}.${since}`);
  byId('problem').hidden = false;
  document.body.classList.toggle('old', !unknown);
  say(byId('state'), unknown ? 'Signature needed' : 'Not up to date');
}

function show() {
  const user = client.user();
  say(byId('user'), user ?? 'Not signed in');
  say(byId('sign'), user ? 'Sign out' : 'Sign in…');
  const { queues, price, shares } = seen;
  if (byId('problem').hidden && queues) say(byId('state'), `Up to date, ${moment(lastMs)}`);
  byId('market').hidden = byId('plots').hidden = !price;
  for (const part of ['use', 'jobs', 'pools']) byId(`${part}-part`).hidden = !queues;
  byId('add-queue').hidden = !isAdmin();
  if (!queues) {
    clear();
    showFacts(healthFacts());
    return;
  }
  const accounts = queues.queues.filter((row) => row.account);
  showAccounts(accounts, (row) => row.queue);
  showPools(queues.queues.filter((row) => row.scheduling), (row) => row.queue);
  showSummary(queues, price, shares, seen.jobs);
  control.show(seen);
  jobs.show(seen.jobs);
  nodes.show(seen.nodes);
  usage.show();
  if (price) showPlots(accounts, price);
  const { policy } = queues;
  say(byId('policy'), typeof policy === 'string' ? policy
    : `Policy: share ${policy.share}, order ${policy.order}, place ${policy.place}. `
      + `Heddle ${seen.health?.version ?? ''}`);
}

/** Removes everything that the last user saw, in hidden parts too, except the facts at the top. */
function clear() {
  for (const shown of [showAccounts, showPools]) shown([], String);
  for (const part of [control, jobs, nodes, usage]) part.clear();
  drawPrice([]);
  drawShares([]);
  say(byId('policy'), '');
}

function showSummary(queues, price, shares, list) {
  const root = queues.queues.find((row) => row.queue === 'root')?.scheduling;
  const facts = [];
  if (price) facts.push(['Price', credits(price.price)]);
  if (shares?.slots) facts.push(['Slots', number(slots([shares.slots].flat()))]);
  if (root) facts.push(['Used', resources(root.used)]);
  if (shares?.capacity) facts.push(['Capacity', resources(shares.capacity)]);
  if (list) facts.push(['Jobs', number(root?.jobs ?? list.jobs.length)]);
  if (queues.allocation_interval_ms) {
    facts.push(['Interval', duration(queues.allocation_interval_ms)]);
  }
  if (shares?.in_order_of_arrival) facts.push(['Shares', 'none: in order of arrival']);
  const masters = root?.running_masters;
  if (masters) facts.push(['ApplicationMasters', number(masters)]);
  facts.push(...healthFacts(price));
  showFacts(facts);
}

function showFacts(facts) {
  const made = facts.map(([name, value, isBad]) => element('div', isBad ? { class: 'bad' } : {},
    element('dt', {}, name), element('dd', {}, value)));
  byId('summary').replaceChildren(...made);
}

/** Returns how engine, journal, shadow and, with accounts, the store are. */
function healthFacts(price) {
  const { health } = seen;
  if (!health) return [];
  const facts = [['Engine', health.engine ? 'runs' : 'does not answer', !health.engine]];
  const faults = clusterFaults(seen);
  if (faults.length) facts.push(['Needs attention', faults.join('; '), true]);
  if (health.warnings) facts.push(['Configuration', warned(health.warnings, seen), true]);
  facts.push(['Journal', health.journal, health.journal === 'stopped']);
  if (health.shadow !== 'off') facts.push(['Shadow', health.shadow]);
  // Without accounts, the store keeps what policies have learnt; then only its loss matters.
  if (price || health.status !== 'ok') {
    facts.push(['Accounts kept', health.books, health.status === 'degraded' && health.users]);
  }
  if (!health.users) facts.push(['Users', 'the ACL file cannot be used', true]);
  return facts;
}

/** Returns what is not as the files of the configuration say; administrators see what it is. */
function warned(count, { warnings }) {
  const shown = (warnings ?? []).slice(0, WARNINGS_SHOWN);
  const more = count - shown.length;
  if (more > 0) {
    shown.push(`${number(more)} ${shown.length ? 'more ' : ''}warning${more === 1 ? '' : 's'}`);
  }
  return shown.join('; ');
}

/** Returns what keeps jobs from running though the engine runs. */
function clusterFaults({ jobs: list, nodes: all }) {
  const faults = [];
  const count = (what, many) => `${number(many)} ${what}${many === 1 ? '' : 's'} put aside`;
  const aside = list?.aside?.length ?? 0;
  if (aside) faults.push(count('job', aside));
  if (!all) return faults;
  const nodesAside = all.filter((node) => node.aside).length;
  if (nodesAside) faults.push(count('node', nodesAside));
  if (!all.some((node) => node.schedulable)) faults.push('no node is up, so nothing can start');
  return faults;
}

/** Draws the ended intervals, and the current one as the last point. */
function showPlots(accounts, price) {
  const now = { at: price.now_ms, price: Number(price.price), rows: new Map() };
  for (const row of accounts) now.rows.set(row.queue, slots(row.account.quota));
  const all = intervals.filter((each) => each.at < now.at).concat([now]);
  drawPrice([{ name: 'price', points: all.map((each) => [each.at, each.price]) }]);
  const total = (queue) => all.reduce((sum, each) => sum + (each.rows.get(queue) ?? 0), 0);
  const most = accounts.map((row) => row.queue).map((queue) => [queue, total(queue)])
    .filter(([, sum]) => sum > 0).sort((a, b) => b[1] - a[1]);
  // Chooses the queues with the most slots, then sorts them by name so that a line keeps its
  // colour.
  const chosen = most.slice(0, SERIES_MAX).map(([queue]) => queue).sort();
  const rest = most.slice(SERIES_MAX).map(([queue]) => queue);
  drawShares(chosen.concat(rest).map((queue) => ({
    name: queue, points: all.map((each) => [each.at, each.rows.get(queue) ?? 0]),
  })));
}

byId('sign').addEventListener('click', () => {
  if (!client.user()) {
    actions.signIn();
    return;
  }
  client.signOut();
  forgetOthers();
  show();
  poll();
});
byId('add-queue').addEventListener('click', () => actions.addQueue());

poll();
