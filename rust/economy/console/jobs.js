// The list of jobs: search, order and pages, which the server does, and why a job waits.

import { ask } from './dialog.js';
import { byId, clock, element, moment, number, percent, resources, say } from './page.js';
import { makeTable } from './tables.js';

const PAGE = 100;
/** A day is not shown beside times that are closer than this, in ms. */
const SOON_MS = 12 * 3_600_000;
/** A band that is wider than this, in ms, is shown without seconds. */
const WIDE_MS = 600_000;
/** Typing pauses for this long before the server is asked. */
const TYPED_MS = 300;

/** Returns a job's application id, or else the engine's number. */
export const called = (row) => row.application ?? `job#${row.job}`;
/** Returns the path of YARN's own page of a job. */
export const pageOf = ({ application }) => (/^application_\d+_\d+$/.test(application ?? '')
  ? `/cluster/app/${application}` : null);
/** Returns where a job is, and where it was before a restart that lost its queue. */
const queueOf = (row) => (row.lost_queue ? `${row.queue} (lost ${row.lost_queue})` : row.queue);
const sum = (list) => (list ?? []).reduce((all, each) => all + each, 0);

/** Formats a time; with its day if that is not clear. */
function when(ms) {
  if (ms === null || ms === undefined) return '–';
  return Math.abs(ms - Date.now()) < SOON_MS ? clock(ms) : moment(ms);
}

/** Adds up tasks of all kinds. */
function tasks(value) {
  return number(Array.isArray(value) ? sum(value) : value);
}

/** Returns a job's running tasks, without its ApplicationMaster, which takes no slot. */
function running(row) {
  if (!Array.isArray(row.running)) return tasks(row.running);
  return number(sum(row.running) - (row.masters ?? 0));
}

function progress({ progress_per_mille: reached }) {
  return reached === null || reached === undefined ? null : reached / 1000;
}

/** Returns how many jobs go first in the queue. */
function place({ ahead }) {
  if (!ahead) return '–';
  if (ahead.jobs === 0) return 'first';
  return `after ${number(ahead.jobs)}${ahead.more ? ' or more' : ''}`;
}

/**
 * Returns an expected time with its band; a promise without enough experience has a question mark.
 * It breaks between its times, which keeps the column narrow.
 */
function expected(band) {
  if (!band) return '–';
  const isWide = band.latest_ms - band.earliest_ms > WIDE_MS;
  const at = (ms) => (isWide ? when(ms).slice(0, -':00'.length) : when(ms));
  return `${at(band.expected_ms)}${band.calibrated ? '' : '?'} (${at(band.earliest_ms)}\u00a0– ${
    at(band.latest_ms)})`;
}

function between(band) {
  return band ? `${when(band.earliest_ms)} to ${when(band.latest_ms)}, in four of five cases` : '';
}

const started = (row) => row.prediction && !row.prediction.start;

/**
 * Makes the list. `changed` is called when another page is wanted, and `failed` with the problem if
 * a job cannot be explained.
 */
export function makeJobs(client, changed, failed) {
  let skip = 0;
  let sort = '-submitted';
  let search = '';
  let total = 0;
  let typed = null;

  const show = makeTable(byId('jobs'), 'Jobs', [
    { title: 'Job', head: true, sort: 'application', text: (row) => called(row), link: pageOf },
    { title: 'Name', sort: 'name', text: (row) => row.name ?? '–' },
    { title: 'User', sort: 'user', text: (row) => row.user ?? '–' },
    { title: 'Queue', sort: 'queue', text: (row) => queueOf(row) },
    { title: 'Submitted', sort: 'submitted', text: (row) => when(row.submitted_ms) },
    { title: 'Priority', numeric: true, sort: 'priority', text: (row) => number(row.priority) },
    { title: 'Running', numeric: true, sort: 'running', text: (row) => running(row) },
    { title: 'Pending', numeric: true, sort: 'pending', text: (row) => number(row.pending) },
    {
      title: 'Done', numeric: true, bar: progress, text: (row) => tasks(row.done),
      full: (row) => (progress(row) === null ? '' : percent(progress(row))),
    },
    { title: 'Uses', sort: 'memory', text: (row) => resources(row.used) },
    { title: 'In line', text: (row) => place(row) },
    {
      title: 'Start', sort: 'start',
      text: (row) => (started(row) ? 'has' : expected(row.prediction?.start)),
      full: (row) => between(row.prediction?.start),
    },
    {
      title: 'End', sort: 'end', text: (row) => expected(row.prediction?.end),
      full: (row) => between(row.prediction?.end),
    },
    { title: 'Why it waits', long: true, text: (row) => row.waits_for ?? 'waits for nothing' },
    {
      title: 'More',
      actions: (row) => [{ label: 'Explain', name: `Explain ${called(row)}`, run: explain }],
    },
  ], 'No job that you may see.', { onSort, sorted: () => sort });

  const showAside = makeTable(byId('jobs-aside'), 'Jobs put aside', [
    { title: 'Job', head: true, text: (row) => called(row), link: pageOf },
    { title: 'Name', text: (row) => row.name },
    { title: 'User', text: (row) => row.user },
    { title: 'Queue', text: (row) => row.queue },
    { title: 'Why it is put aside', long: true, text: (row) => row.reason },
  ], '');

  /** Sorts by a column; a second time the other way round. */
  function onSort(name) {
    sort = sort === name ? `-${name}` : name;
    skip = 0;
    byId('jobs-sort').value = sort;
    changed();
  }

  async function poll(mine) {
    // The answer is about these values; both may change before it is shown.
    const asked = { skip, search };
    const query = new URLSearchParams({ max: PAGE, sort, skip });
    if (search) query.set('search', search);
    mine.jobs = { ...await client.get(`jobs?${query}`), asked };
    // Jobs have ended, so this page no longer exists.
    if (mine.jobs.jobs.length === 0 && skip > 0) {
      skip = 0;
      changed();
    }
  }

  function shown(jobs) {
    if (!jobs) return;
    const { asked } = jobs;
    total = jobs.total ?? jobs.jobs.length;
    const aside = jobs.aside ?? [];
    byId('jobs-aside').hidden = aside.length === 0;
    showAside(aside, (row) => row.application);
    // The engine may reuse a number for another application.
    show(jobs.jobs, (row) => `${row.job} ${row.application}`);
    byId('jobs-first').hidden = byId('jobs-before').hidden = asked.skip === 0;
    byId('jobs-next').hidden = !jobs.next;
    const last = asked.skip + jobs.jobs.length;
    const found = asked.search ? ' found' : '';
    say(byId('jobs-total'), total === 0 ? `No job${found}`
      : `${number(Math.min(asked.skip + 1, last))} to ${number(last)} of ${number(total)}${found}`);
  }

  /** Begins with the first page: another user is shown. */
  function restart() {
    skip = 0;
  }

  function clear() {
    restart();
    byId('jobs-aside').hidden = true;
    show([], String);
    say(byId('jobs-total'), '');
  }

  /** Shows why a job waits, what would change that, and recent decisions about it. */
  async function explain(row) {
    let explained;
    try {
      explained = await client.get(`explain/${row.job}`);
    } catch (problem) {
      failed(problem);
      return;
    }
    const item = (entry, at) => element('li', {},
      element('time', {}, at ? `${moment(at)} ` : ''), entry.sentence ?? entry.what ?? '');
    const waits = explained.waits.map((wait) => item(wait, wait.since_ms));
    const trace = explained.trace.filter((entry) => entry.sentence).reverse()
      .map((entry) => item(entry, entry.at_ms));
    await ask({
      title: `${called(row)} in ${queueOf(row)}`,
      parts: [
        element('h3', {}, 'Why it waits'),
        waits.length ? element('ul', {}, ...waits) : element('p', {}, 'It waits for nothing.'),
        element('h3', {}, 'Recent decisions'),
        trace.length ? element('ul', { class: 'trace', tabindex: 0 }, ...trace)
          : element('p', {}, 'Nothing yet.'),
      ],
      leave: 'Close',
    });
  }

  function go(to) {
    skip = Math.max(0, to);
    changed();
  }
  byId('jobs-first').addEventListener('click', () => go(0));
  byId('jobs-before').addEventListener('click', () => go(skip - PAGE));
  byId('jobs-next').addEventListener('click', () => go(skip + PAGE));
  byId('jobs-sort').value = sort;
  byId('jobs-sort').addEventListener('change', (event) => {
    sort = event.target.value;
    go(0);
  });
  byId('jobs-search').addEventListener('input', (event) => {
    clearTimeout(typed);
    typed = setTimeout(() => {
      search = event.target.value.trim();
      go(0);
    }, TYPED_MS);
  });

  return { poll, show: shown, restart, clear };
}
