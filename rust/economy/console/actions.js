// Changes by users and administrators: each is entered in one dialog, confirmed in a second, and
// then sent. The server checks permissions; nothing here does.

import { ask, field } from './dialog.js';
import { credits, duration, element, ending, number } from './page.js';
import { quoted } from './sign.js';

/** Largest number of slots to ask about: 2³² - 1. */
const SLOTS_MAX = 4_294_967_295;
/** An amount that the interface accepts: no sign, no exponent, at most six decimals. */
const AMOUNT = /^\d{1,10}(\.\d{1,6})?$/;

const paragraph = (...texts) => element('p', {}, ...texts);
const strong = (text) => element('strong', {}, text);

function amount(form, name) {
  const text = form.elements[name].value.trim();
  if (!AMOUNT.test(text)) throw new Error('Expected a number such as 2 or 0.5, not below zero');
  return text;
}

function count(form, name, least, most) {
  const text = form.elements[name].value.trim();
  const value = Number(text);
  if (!/^\d{1,10}$/.test(text) || value < least || value > most) {
    throw new Error(`Expected a whole number from ${least} to ${number(most)}`);
  }
  return value;
}

const ends = (projection) => (projection.ends_in_ms === null ? 'does not end'
  : `ends in ${ending(projection)}`);

/** Returns the paragraphs that show an answer to "What must I bid?". */
function advised(advice) {
  const { now, then, bid } = advice;
  const stands = paragraph(strong(advice.queue), ` bids ${credits(advice.rate)}, has `
    + `${number(advice.quota)} of ${number(advice.cluster_slots)} slots and spends `
    + `${credits(now.spends_per_hour)} credits an hour. Its budget: ${credits(advice.budget)}, `
    + `which ${ends(now)}.`);
  if (bid === null) return [stands, paragraph(strong('No bid buys them: '), `${advice.why}.`)];
  const parts = [stands, paragraph('It must bid ', strong(credits(bid)), ' per slot and interval, '
    + `which buys ${number(advice.slots_given)}. The price is then `
    + `${credits(advice.price_then)}. That costs ${credits(then.spends_per_hour)} credits an `
    + `hour, and the budget ${ends(then)}, as long as the others bid as they do.`)];
  if (advice.affordable === false) {
    parts.push(paragraph('The budget does not cover the bid, so it would not count.'));
  }
  if (advice.counts_in_ms !== null) {
    parts.push(paragraph(`A bid counts from the next interval on, in ${
      duration(advice.counts_in_ms)}.`));
  }
  return parts;
}

/**
 * Makes the actions of a client. Calls `changed` after each one that succeeded; `slots` returns the
 * number of slots by pool.
 */
export function makeActions(client, changed, slots) {
  async function signIn(why) {
    const done = await ask({
      title: 'Sign in',
      parts: [
        ...(why ? [paragraph(why)] : []),
        field('user', 'User', { required: true }),
        field('secret', 'Secret', { type: 'password' },
          'From the ACL file. This page signs requests with it, never sends it, and forgets it '
          + 'when you leave.'),
      ],
      accept: 'Sign in',
      submit: async (form) => {
        const user = form.elements.user.value.trim();
        const secret = form.elements.secret.value;
        if (!user || !secret) throw new Error('Expected a user and a secret');
        await client.signIn(user, secret);
      },
    });
    if (done) changed();
    return Boolean(done);
  }

  const signedIn = () => client.user() || signIn('Changes must be signed.');

  /** Asks for confirmation of a change that `says` describes, then makes it. */
  async function confirm({ title, says, accept, danger, send }) {
    const done = await ask({
      title, parts: [paragraph(...says)], accept, danger, final: true, submit: send,
    });
    if (done) changed();
  }

  /** Shows the bid that buys a number of slots, and offers to make it. */
  async function advise(queue) {
    let advice;
    const asked = await ask({
      title: 'What must I bid?',
      parts: [
        paragraph('Shows the bid that gets ', strong(queue.queue),
          ' this number of slots. Changes nothing.'),
        field('slots', 'Slots', { inputmode: 'numeric' }),
        ...(slots()?.[1] > 0 ? [field('pool', 'Pool', { inputmode: 'numeric', value: '0' },
          '0 for map slots, 1 for reduce slots.')] : []),
      ],
      accept: 'Ask',
      submit: async (form) => {
        const wanted = count(form, 'slots', 1, SLOTS_MAX);
        const pool = form.elements.pool ? count(form, 'pool', 0, 1) : 0;
        advice = await client.get(
          `queues/${quoted(queue.queue)}/advice?slots=${wanted}&pool=${pool}`);
      },
    });
    if (!asked) return;
    const wanted = `${number(advice.slots)} ${advice.slots === 1 ? 'slot' : 'slots'}`;
    const goOn = await ask({
      title: `${wanted} for ${queue.queue}`,
      parts: advised(advice),
      accept: advice.bid === null ? null : 'Bid that…',
      leave: 'Close',
      submit: async () => true,
    });
    if (goOn) await bid(queue, advice.bid);
  }

  async function bid(queue, proposed) {
    if (!await signedIn()) return;
    let rate;
    const old = queue.account.rate;
    const entered = await ask({
      title: 'Bid',
      parts: [
        paragraph('Credits that ', strong(queue.queue),
          ` pays per slot and allocation interval. Now: ${credits(old)}.`),
        field('rate', 'New rate', { inputmode: 'decimal', value: proposed ?? old }),
      ],
      accept: 'Continue…',
      submit: async (form) => { rate = amount(form, 'rate'); },
    });
    if (!entered) return;
    await confirm({
      title: 'Change the bid?',
      says: [strong(queue.queue), ` bids ${credits(rate)} instead of ${credits(old)} per slot and `
        + 'interval, from the next interval on.'],
      accept: 'Change the bid',
      send: () => client.send('PUT', `queues/${quoted(queue.queue)}/bid`, { body: { rate } }),
    });
  }

  async function addBudget(queue) {
    if (!await signedIn()) return;
    let more;
    const entered = await ask({
      title: 'Add to the budget',
      parts: [
        paragraph(strong(queue.queue), ` has ${credits(queue.account.budget)} credits.`),
        field('add', 'Credits to add', { inputmode: 'decimal' }),
      ],
      accept: 'Continue…',
      submit: async (form) => { more = amount(form, 'add'); },
    });
    if (!entered) return;
    await confirm({
      title: 'Add to the budget?',
      says: [strong(queue.queue), ` gets ${credits(more)} credits.`],
      accept: 'Add credits',
      send: () => client.send('POST', `queues/${quoted(queue.queue)}/budget`,
        { body: { add: more } }),
    });
  }

  async function addQueue() {
    if (!await signedIn()) return;
    let name;
    const entered = await ask({
      title: 'Add a queue',
      parts: [field('queue', 'Name or path', { placeholder: 'alice' },
        'Its account starts empty.')],
      accept: 'Continue…',
      submit: async (form) => {
        name = form.elements.queue.value.trim();
        if (!name) throw new Error('Expected a name');
      },
    });
    if (!entered) return;
    await confirm({
      title: 'Add a queue?',
      says: ['An account for ', strong(name), ', with no credits and no bid.'],
      accept: 'Add the queue',
      send: () => client.send('POST', 'queues', { body: { queue: name } }),
    });
  }

  async function removeQueue(queue) {
    if (!await signedIn()) return;
    await confirm({
      title: 'Remove the queue?',
      says: ['The account of ', strong(queue.queue), ' is closed. Its ',
        strong(`${credits(queue.account.budget)} credits`), ' are lost.'],
      accept: 'Remove the queue',
      danger: true,
      send: () => client.send('DELETE', `queues/${quoted(queue.queue)}`),
    });
  }

  return { signIn, signedIn, advise, bid, addBudget, addQueue, removeQueue };
}
