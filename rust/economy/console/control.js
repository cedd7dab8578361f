// The configuration in force and the shadow, for administrators: plan, apply, roll back, and what
// the candidate of `heddle.shadow` would do. The server checks permissions; nothing here does.

import { LONG_PATIENCE_MS } from './client.js';
import { area, ask } from './dialog.js';
import { called, pageOf } from './jobs.js';
import { byId, duration, element, moment, number, resources, say } from './page.js';
import { makeTable } from './tables.js';

/** The file is read again after this time: it changes seldom, and may be long. */
const FILE_MS = 10_000;
/** Jobs shown of each list of the shadow, as its headings say; GET shadow has up to 200. */
const JOBS_SHOWN = 20;
/** Statuses of an absent part: not signed in, not allowed, not there, or no file of its own. */
const ABSENT = [401, 403, 404, 409];

const paragraph = (...texts) => element('p', {}, ...texts);
const memory = (mb) => resources({ 'memory-mb': mb });
const time = (ms) => (ms === null || ms === undefined ? '–' : duration(ms));
const stages = (names) => (names ?? []).join('/');
const both = ([live, shadow], show) => `${show(live)} → ${show(shadow)}`;

const showQueues = makeTable(byId('shadow-queues'), 'Queues, live and in the shadow', [
  { title: 'Queue', head: true, text: (row) => row.path },
  { title: 'Used live', numeric: true, text: (row) => memory(row.used_mb[0]) },
  { title: 'In the shadow', numeric: true, text: (row) => memory(row.used_mb[1]) },
  { title: 'Mean live', numeric: true, text: (row) => memory(row.mean_mb[0]) },
  { title: 'Mean in the shadow', numeric: true, text: (row) => memory(row.mean_mb[1]) },
], 'No queue has used anything since the shadow began.');

const OF_JOBS = [
  { title: 'Job', head: true, text: called, link: pageOf },
  { title: 'Submitted', text: (row) => moment(row.submitted_ms) },
  { title: 'Queue', text: (row) => row.queue },
  { title: 'Started after', numeric: true, text: (row) => both(row.start_ms, time) },
];
const showRunning = makeTable(byId('shadow-running'), 'Jobs started live or in the shadow only',
  OF_JOBS, 'No job has started in only one of the two.');
const showJobs = makeTable(byId('shadow-jobs'), 'Ended jobs with the largest differences', [
  ...OF_JOBS,
  { title: 'Ended after', numeric: true, text: (row) => both(row.end_ms, time) },
], 'No job has ended in both since the shadow began.');
/** The engine may have given an ended job's number to another one. */
const keyOf = (row) => `${row.submitted_ms} ${row.job}`;

/** Returns what a plan says, for a dialog. */
function planned(plan) {
  const [before, after] = [stages(plan.before), stages(plan.after)];
  const policy = before === after ? `The policy stays ${after}.`
    : `The policy changes from ${before} to ${after}.`;
  const back = `${number(plan.taken_back)} containers would be taken back within `
    + `${duration(plan.ahead_ms)} if nothing ended.`;
  const share = (pair) => `${resources(pair[0])} → ${resources(pair[1])}`;
  const lines = plan.queues.map((queue) => element('li', {},
    `${queue.path}: ${queue.change}, ${number(queue.jobs)} jobs, share `
    + `${share(queue.fair_share)}`));
  return [paragraph(policy), paragraph(back), lines.length
    ? element('ul', { class: 'trace', tabindex: 0 }, ...lines) : paragraph('No queue changes.')];
}

/**
 * Makes the part of the page. `signedIn` asks for a signature if there is none; `changed` is called
 * after a change, `failed` with an error that no dialog shows.
 */
export function makeControl(client, signedIn, changed, failed) {
  let file = null;
  let readMs = 0;
  let planning = false;
  let applying = false;

  /** Returns an answer, or null if this user or this server has none. */
  async function perhaps(target) {
    try {
      return await client.get(target);
    } catch (problem) {
      if (ABSENT.includes(problem.status)) return null;
      throw problem;
    }
  }

  async function poll(mine) {
    mine.shadow = await perhaps('shadow');
    // During a change the server keeps questions about the file waiting, and the page with them.
    if (!applying && (!mine.file || Date.now() - readMs > FILE_MS)) {
      mine.file = await perhaps('configuration/file');
      mine.warnings = mine.health.warnings ? (await perhaps('configuration'))?.warnings : null;
      readMs = Date.now();
    }
  }

  /** Asks what a configuration would change; gives up when the signal `left` does. */
  function planOf(text, left) {
    return client.send('POST', 'plan', { text, left, patienceMs: LONG_PATIENCE_MS });
  }

  /** Plans a configuration, and applies it if that is wanted. `text` is what to begin with. */
  async function plan(text) {
    let plan_;
    let wanted;
    const asked = await ask({
      title: 'Plan a configuration',
      parts: [
        paragraph('Says what this heddle.json would change. Changes nothing.'),
        area('text', 'heddle.json', text),
      ],
      accept: 'Plan',
      submit: async (form, left) => {
        wanted = form.elements.text.value;
        plan_ = await planOf(wanted, left);
      },
    });
    if (!asked) return;
    const goOn = await ask({
      title: 'What it would change', parts: planned(plan_), accept: 'Apply…', leave: 'Close',
      submit: async () => true,
    });
    if (goOn) await apply('PUT', 'configuration/file', wanted, 'Apply the configuration?',
      'comes into force, and is kept as the file. The one before can be rolled back to.');
  }

  async function rollBack() {
    if (planning || !await signedIn() || !file?.previous) return;
    const [user, text] = [client.user(), file.previous];
    const stays = () => client.user() === user && file?.previous === text;
    let previous;
    planning = true;
    say(byId('rollback'), 'Planning…');
    try {
      previous = await planOf(text);
    } catch (problem) {
      if (stays()) failed(problem);
      return;
    } finally {
      planning = false;
      say(byId('rollback'), 'Roll back…');
    }
    // Nothing blocks the page while it plans: the plan may be another user's, or of an older file.
    if (!stays()) return;
    const goOn = await ask({
      title: 'What a roll back would change', parts: planned(previous), accept: 'Roll back…',
      leave: 'Close', submit: async () => true,
    });
    if (goOn) await apply('POST', 'configuration/rollback', '{}', 'Roll back?',
      'gets the text from before the last change, and comes into force.');
  }

  async function apply(method, target, text, title, says) {
    // The user may have signed out while a plan was worked out.
    if (!file || !await signedIn()) return;
    const done = await ask({
      title,
      parts: [paragraph(element('strong', {}, file.file), ` ${says}`), paragraph(
        'Copy it to the other ResourceManagers: the one that becomes active reads its own.')],
      accept: title.replace('?', ''),
      final: true,
      submit: async () => {
        applying = true;
        try {
          return await client.send(method, target, { text, patienceMs: LONG_PATIENCE_MS });
        } finally {
          [applying, readMs] = [false, 0];
        }
      },
    });
    if (done) changed();
  }

  byId('plan').addEventListener('click', async () => {
    if (await signedIn()) plan(file.text);
  });
  byId('rollback').addEventListener('click', rollBack);

  function showShadow(shadow) {
    byId('shadow-part').hidden = !shadow || shadow.state === 'off';
    const report = shadow?.report;
    if (shadow?.state === 'dropped') {
      say(byId('shadow-note'), `${shadow.name} was dropped: ${shadow.why}.`);
    } else if (report) {
      const { end } = report.ended;
      const jobs = end.earlier + end.later + end.equal;
      const means = both([end.live_mean_ms, end.shadow_mean_ms], time);
      say(byId('shadow-note'), `${shadow.name}, ${stages(report.policy)}, since `
        + `${moment(report.since_ms)}. Of ${number(jobs)} jobs that ended in both, `
        + `${number(end.earlier)} would have ended earlier and ${number(end.later)} later. `
        + `Mean time ${means}; preemptions ${both(report.preemptions, (count) => number(count))}.`);
    } else {
      say(byId('shadow-note'), shadow?.name ?? '');
    }
    showQueues(report?.queues ?? [], (row) => row.path);
    showRunning(report?.running.slice(0, JOBS_SHOWN) ?? [], keyOf);
    showJobs(report?.jobs.slice(0, JOBS_SHOWN) ?? [], keyOf);
  }

  function show(seen) {
    file = seen.file ?? null;
    byId('configuration-part').hidden = !file;
    byId('rollback').hidden = !file?.previous;
    say(byId('configuration-file'), file?.file ?? '');
    say(byId('configuration-text'), file?.text ?? '');
    showShadow(seen.shadow);
  }

  return { poll, show, clear: () => show({}) };
}
