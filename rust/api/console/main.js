// The console: asks the server every two seconds while somebody looks, and shows what it answers.
// What an answer lacks keeps its place on the screen; a server that fails takes nothing away.

import { makeActions } from './actions.js';
import { Failure, makeClient } from './client.js';
import { ask } from './dialog.js';
import {
  about, byId, credits, duration, element, ending, moment, number, percent, resources, say,
} from './page.js';
import { SERIES_MAX, makePlot } from './plot.js';
import { makeTable } from './tables.js';

const POLL_MS = 2_000;
/** Of the history so much is shown, ms, and so many intervals kept. */
const SPAN_MS = 3_600_000;
const INTERVALS_MAX = 2_000;

const client = makeClient();
const actions = makeActions(client, () => poll(), () => seen.shares?.slots);
/** What the server answered last to whoever is signed in; nothing of it is for anybody else. */
let seen = {};
let seenBy = null;
/** Ends of intervals, each {at, price, rows: Map of queue to slots}, in order. */
let intervals = [];
let jobsFrom = 0;
let timer = null;
let polling = false;
let again = false;
let lastMs = null;

/** A job as people know it, or by the engine's number. */
const called = (row) => row.application ?? `job#${row.job}`;
/** YARN's own page of it. */
const pageOf = ({ application }) => (/^application_\d+_\d+$/.test(application ?? '')
  ? `/cluster/app/${application}` : null);
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

const showJobs = makeTable(byId('jobs'), 'Jobs in order of arrival', [
  { title: 'Job', head: true, text: (row) => called(row), link: pageOf },
  { title: 'Name', text: (row) => row.name ?? '–' },
  { title: 'User', text: (row) => row.user ?? '–' },
  { title: 'Queue', text: (row) => row.queue },
  { title: 'Priority', numeric: true, text: (row) => number(row.priority) },
  { title: 'Running', numeric: true, text: (row) => running(row) },
  { title: 'Done', numeric: true, text: (row) => tasks(row.done) },
  { title: 'Uses', text: (row) => resources(row.used) },
  { title: 'Why it waits', long: true, text: (row) => row.waits_for ?? 'waits for nothing' },
  {
    title: 'More',
    actions: (row) => [{ label: 'Explain', name: `Explain ${called(row)}`, run: explain }],
  },
], 'No job that you may see.');

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

/** Tasks by kind, together. */
function tasks(value) {
  return number(Array.isArray(value) ? slots(value) : value);
}

/** Tasks of a job that run; its ApplicationMaster takes no slot. */
function running(row) {
  if (!Array.isArray(row.running)) return tasks(row.running);
  return number(slots(row.running) - (row.masters ?? 0));
}

/** The same of a queue; also what is pending. */
function inSlots(scheduling, what) {
  return number(scheduling[`${what}_containers`] - (scheduling[`${what}_masters`] ?? 0));
}

function jobsOf({ jobs, runnable_jobs: runnable, max_running_jobs: most }) {
  const may = runnable === jobs ? number(jobs) : `${number(runnable)} of ${number(jobs)} may run`;
  return most === null || most === undefined ? may : `${may}, at most ${number(most)}`;
}

// ---- Asking.

/**
 * What still comes for whoever was signed in before is shown no more. What they saw goes when they
 * sign out; whoever signs in then sees it replaced, with the focus where it was.
 */
function forgetOthers() {
  if (client.user() === seenBy) return;
  seenBy = client.user();
  seen = seenBy ? { ...seen } : {};
  intervals = [];
  jobsFrom = 0;
}

async function round(mine) {
  mine.health = await client.open('health');
  mine.queues = await client.get('queues');
  mine.jobs = await client.get(`jobs?max=100&from=${jobsFrom}`);
  mine.shares = await client.get('shares');
  // What only a policy with accounts has.
  if (!hasAccounts(mine)) {
    mine.price = null;
    return;
  }
  mine.price = await client.open('price');
  const fresh = await history(mine);
  if (mine === seen) intervals = fresh;
}

const hasAccounts = ({ queues }) => (queues?.allocation_interval_ms ?? null) !== null;

/** What ended since the last time: prices for everybody, rows of the queues that may be seen. */
async function history(mine) {
  const nowMs = mine.queues.now_ms ?? client.serverNow();
  const from = intervals.length ? intervals[intervals.length - 1].at + 1 : nowMs - SPAN_MS;
  const prices = await client.get(`price/history?from_ms=${Math.max(0, from)}`);
  if (!prices.intervals.length) return intervals;
  // Not of before: that would be asked of the store, and has no prices here.
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
      // Nobody is known any more, such as when a login of the web server has ended.
      if (problem.status === 401 && !client.user()) seen = {};
      showProblem(problem);
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
  const since = lastMs === null ? '' : ` What is shown is of ${moment(lastMs)}.`;
  say(byId('problem'), unknown
    ? 'The server does not know who is asking: sign in to see queues and jobs.'
    : `The scheduler did not answer: ${why}.${since}`);
  byId('problem').hidden = false;
  document.body.classList.toggle('old', !unknown);
  say(byId('state'), unknown ? 'Signature needed' : 'Not up to date');
}

function show() {
  const user = client.user();
  say(byId('user'), user ?? 'Not signed in');
  say(byId('sign'), user ? 'Sign out' : 'Sign in…');
  const { queues, jobs, price, shares } = seen;
  if (byId('problem').hidden && queues) say(byId('state'), `Up to date, ${moment(lastMs)}`);
  byId('market').hidden = byId('plots').hidden = !price;
  byId('jobs-part').hidden = byId('pools-part').hidden = !queues;
  byId('add-queue').hidden = !isAdmin();
  if (!queues) {
    clear();
    return;
  }
  const accounts = queues.queues.filter((row) => row.account);
  showAccounts(accounts, (row) => row.queue);
  showPools(queues.queues.filter((row) => row.scheduling), (row) => row.queue);
  showSummary(queues, price, shares, jobs);
  // A number may be given again, to another application.
  if (jobs) showJobs(jobs.jobs, (row) => `${row.job} ${row.application}`);
  byId('jobs-first').hidden = jobsFrom === 0;
  byId('jobs-next').hidden = !jobs?.next;
  if (price) showPlots(accounts, price);
  const { policy } = queues;
  say(byId('policy'), typeof policy === 'string' ? policy
    : `Policy: share ${policy.share}, order ${policy.order}, place ${policy.place}. `
      + `Heddle ${seen.health?.version ?? ''}`);
}

/** Nothing is left of what somebody saw, not in what is hidden either. */
function clear() {
  for (const shown of [showAccounts, showJobs, showPools]) shown([], String);
  byId('summary').replaceChildren();
  drawPrice([]);
  drawShares([]);
  say(byId('policy'), '');
}

function showSummary(queues, price, shares, jobs) {
  const root = queues.queues.find((row) => row.queue === 'root')?.scheduling;
  const facts = [];
  if (price) facts.push(['Price', credits(price.price)]);
  if (shares?.slots) facts.push(['Slots', number(slots([shares.slots].flat()))]);
  if (root) facts.push(['Used', resources(root.used)]);
  if (shares?.capacity) facts.push(['Capacity', resources(shares.capacity)]);
  if (jobs) facts.push(['Jobs', number(root?.jobs ?? jobs.jobs.length)]);
  if (queues.allocation_interval_ms) {
    facts.push(['Interval', duration(queues.allocation_interval_ms)]);
  }
  if (shares?.in_order_of_arrival) facts.push(['Shares', 'none: in order of arrival']);
  const masters = root?.running_masters;
  if (masters) facts.push(['ApplicationMasters', number(masters)]);
  if (price && seen.health) facts.push(['Accounts kept', seen.health.books]);
  const made = facts.map(([name, value]) => element('div', {},
    element('dt', {}, name), element('dd', {}, value)));
  byId('summary').replaceChildren(...made);
}

/** What ended, and as a last point what holds in the interval that runs. */
function showPlots(accounts, price) {
  const now = { at: price.now_ms, price: Number(price.price), rows: new Map() };
  for (const row of accounts) now.rows.set(row.queue, slots(row.account.quota));
  const all = intervals.filter((each) => each.at < now.at).concat([now]);
  drawPrice([{ name: 'price', points: all.map((each) => [each.at, each.price]) }]);
  const total = (queue) => all.reduce((sum, each) => sum + (each.rows.get(queue) ?? 0), 0);
  const most = accounts.map((row) => row.queue).map((queue) => [queue, total(queue)])
    .filter(([, sum]) => sum > 0).sort((a, b) => b[1] - a[1]);
  // Those with most come first to be chosen, and stay in the order of their names, so that
  // a line keeps its colour.
  const chosen = most.slice(0, SERIES_MAX).map(([queue]) => queue).sort();
  const rest = most.slice(SERIES_MAX).map(([queue]) => queue);
  drawShares(chosen.concat(rest).map((queue) => ({
    name: queue, points: all.map((each) => [each.at, each.rows.get(queue) ?? 0]),
  })));
}

/** Why a job waits, what would change it, and what was decided of it lately. */
async function explain(row) {
  let explained;
  try {
    explained = await client.get(`explain/${row.job}`);
  } catch (problem) {
    showProblem(problem);
    return;
  }
  const item = (entry, at) => element('li', {},
    element('time', {}, at ? `${moment(at)} ` : ''), entry.sentence ?? entry.what ?? '');
  const waits = explained.waits.map((wait) => item(wait, wait.since_ms));
  const trace = explained.trace.filter((entry) => entry.sentence).reverse()
    .map((entry) => item(entry, entry.at_ms));
  await ask({
    title: `${called(row)} in ${row.queue}`,
    parts: [
      element('h3', {}, 'Why it waits'),
      waits.length ? element('ul', {}, ...waits) : element('p', {}, 'It waits for nothing.'),
      element('h3', {}, 'Decided lately'),
      trace.length ? element('ul', { class: 'trace', tabindex: 0 }, ...trace)
        : element('p', {}, 'Nothing yet.'),
    ],
    leave: 'Close',
  });
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
byId('jobs-first').addEventListener('click', () => { jobsFrom = 0; poll(); });
byId('jobs-next').addEventListener('click', () => { jobsFrom = seen.jobs?.next ?? 0; poll(); });

poll();
