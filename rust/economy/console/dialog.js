// Modal dialogs: Escape closes them, Tab stays inside, and closing restores the focus. Callers
// supply the content.

import { element, say } from './page.js';

/** Delay before the waiting note, in ms. */
const QUICK_MS = 1_000;

let count = 0;

/**
 * Opens a dialog with `parts` in a form and two buttons. Calls `submit` with the form, and with a
 * signal that aborts when the dialog is closed. Until its promise settles the accepting button is
 * off, and the dialog says that it waits. On an error the dialog shows it and stays open. Resolves
 * to the result of `submit`, or to undefined when the dialog was cancelled. A `final` submit cannot
 * be aborted: the dialog stays until its outcome is known.
 */
export function ask({
  title, parts = [], accept = null, leave = 'Cancel', submit, danger, final = false,
}) {
  const id = `dialog-${++count}`;
  const error = element('p', { class: 'problem', role: 'alert', hidden: true });
  const waiting = element('p', { class: 'note', role: 'status' });
  const leaving = element('button', { type: 'button' }, leave);
  const kind = danger ? 'danger' : 'primary';
  const accepting = accept && element('button', { type: 'submit', class: kind }, accept);
  const form = element('form', { novalidate: true, autocomplete: 'off' },
    element('h2', { id }, title), ...parts, error, waiting,
    element('div', { class: 'buttons' }, leaving, ...(accepting ? [accepting] : [])));
  const dialog = element('dialog', { 'aria-labelledby': id }, form);
  const before = document.activeElement;
  const left = new AbortController();
  document.body.append(dialog);
  return new Promise((resolve) => {
    let result;
    leaving.addEventListener('click', () => dialog.close());
    dialog.addEventListener('keydown', keepInside);
    dialog.addEventListener('cancel', (event) => {
      if (leaving.disabled) event.preventDefault();
    });
    dialog.addEventListener('close', () => {
      // A second Escape closes a dialog in Chromium even if its `cancel` is prevented.
      if (leaving.disabled) {
        dialog.showModal();
        return;
      }
      dialog.remove();
      left.abort();
      if (before?.isConnected) before.focus();
      resolve(result);
    });
    form.addEventListener('submit', async (event) => {
      event.preventDefault();
      if (!accepting || accepting.disabled) return;
      accepting.disabled = true;
      leaving.disabled = final;
      error.hidden = true;
      const timer = setTimeout(() => say(waiting, 'Waiting for the answer…'), QUICK_MS);
      try {
        result = (await submit(form, left.signal)) ?? true;
        leaving.disabled = false;
        dialog.close();
      } catch (problem) {
        leaving.disabled = false;
        say(error, problem.sentence ?? problem.message);
        error.hidden = false;
        accepting.disabled = false;
        (form.querySelector('input, textarea') ?? accepting).focus();
      } finally {
        clearTimeout(timer);
        say(waiting, '');
      }
    });
    dialog.showModal();
    // The focus is never on a change that cannot be undone.
    (form.querySelector('input, textarea') ?? (danger ? leaving : accepting ?? leaving)).focus();
  });
}

/** Keeps Tab inside, because a modal dialog lets it leave for the browser's own buttons. */
function keepInside(event) {
  if (event.key !== 'Tab') return;
  const reached = [...event.currentTarget.querySelectorAll(
    'input, textarea, button, [tabindex]')]
    .filter((each) => !each.disabled);
  const [first, last] = [reached[0], reached[reached.length - 1]];
  const active = document.activeElement;
  if (event.shiftKey ? active === first : active === last) {
    event.preventDefault();
    (event.shiftKey ? last : first).focus();
  }
}

/** Makes a labelled field for a dialog. */
export function field(name, label, attributes = {}, hint = null) {
  const id = `${name}-${count + 1}`;
  const input = element('input', {
    id, name, type: 'text', autocomplete: 'off', autocapitalize: 'none', spellcheck: 'false',
    'aria-describedby': hint ? `${id}-hint` : null, ...attributes,
  });
  return element('div', { class: 'field' }, element('label', { for: id }, label), input,
    ...(hint ? [element('small', { id: `${id}-hint` }, hint)] : []));
}

/** Makes a labelled field of several lines for a dialog. */
export function area(name, label, text) {
  const id = `${name}-${count + 1}`;
  const input = element('textarea', {
    id, name, rows: 14, autocomplete: 'off', autocapitalize: 'none', spellcheck: 'false',
  });
  input.value = text;
  return element('div', { class: 'field' }, element('label', { for: id }, label), input);
}
