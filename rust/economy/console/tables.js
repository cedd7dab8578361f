// Tables that are updated in place: a row stays the same element while its key exists, so that
// focus, selection and a screen reader's place survive. Sends no requests.

import { element, say } from './page.js';

/** Longer words may break, so that columns stay narrow; an application's id has 31 characters. */
const WORD_MAX = 40;

/**
 * Makes a table below `where` and returns a function that shows rows. Columns are {title,
 * text(row), full(row), link(row), numeric, head, long, bar(row), sort, actions(row)}. `text` is
 * the content, `full` its tooltip, `link` its target, and `bar` a fraction drawn behind it.
 * `actions` are buttons, each {label, name, run, when}, visible while `when` returns true. `head`
 * marks the column that names the row. A column with `sort` has a button that calls
 * `onSort(sort)`; `sorted()` is the order now, with `-` before it if it is reversed. Roles are
 * explicit because a narrow window shows rows as cards: in some browsers that CSS removes the roles
 * of tables.
 */
export function makeTable(where, caption, columns, nothing, { onSort, sorted } = {}) {
  const body = element('tbody', { role: 'rowgroup' });
  const heads = columns.map((column) => element('th', {
    scope: 'col', role: 'columnheader', class: column.numeric ? 'number' : null,
  }, column.sort ? sortButton(column) : column.title));
  const table = element('table', { role: 'table' },
    element('caption', { class: 'unseen' }, caption),
    element('thead', { role: 'rowgroup' }, element('tr', { role: 'row' }, ...heads)), body);
  const empty = element('p', { class: 'note' }, nothing);
  where.replaceChildren(table, empty);
  table.hidden = true;
  const rows = new Map();

  function sortButton({ title, sort }) {
    const button = element('button', { type: 'button', class: 'sort' }, title);
    button.addEventListener('click', () => onSort(sort));
    return button;
  }

  function markSorted() {
    const now = sorted?.() ?? '';
    columns.forEach((column, i) => {
      if (!column.sort) return;
      const order = { [column.sort]: 'ascending', [`-${column.sort}`]: 'descending' }[now];
      heads[i].setAttribute('aria-sort', order ?? 'none');
    });
  }

  function makeRow(key, row) {
    const made = { row, buttons: [] };
    made.cells = columns.map((column) => {
      const link = column.link?.(row);
      const inside = element(link ? 'a' : 'span', {
        class: column.actions ? 'buttons' : 'value', href: link,
      });
      for (const action of column.actions?.(row) ?? []) {
        const button = element('button', { type: 'button', 'aria-label': action.name },
          action.label);
        button.addEventListener('click', () => action.run(made.row));
        made.buttons.push([button, action.when]);
        inside.append(button);
      }
      const kind = [column.numeric && 'number', column.long && 'long', column.bar && 'bar'];
      return element(column.head ? 'th' : 'td', {
        scope: column.head ? 'row' : null, role: column.head ? 'rowheader' : 'cell',
        class: kind.filter(Boolean).join(' ') || null, 'data-title': column.title,
      }, inside);
    });
    made.line = element('tr', { role: 'row', 'data-key': key }, ...made.cells);
    return made;
  }

  function fill(made, row) {
    made.row = row;
    columns.forEach((column, i) => {
      const cell = made.cells[i];
      if (column.text) {
        const text = column.text(row);
        say(cell.firstChild, text);
        // A single word does not break, unless it is longer than WORD_MAX.
        cell.classList.toggle('word', text.length <= WORD_MAX && !/\s/.test(text));
      }
      if (column.full) cell.firstChild.title = column.full(row);
      if (column.bar) {
        const part = Math.max(0, Math.min(1, column.bar(row) ?? 0));
        cell.style.setProperty('--part', `${100 * part}%`);
      }
    });
    for (const [button, when] of made.buttons) button.hidden = when ? !when() : false;
  }

  return function show(list, keyOf) {
    const gone = new Set(rows.keys());
    let before = null;
    for (const row of list) {
      const key = String(keyOf(row));
      gone.delete(key);
      if (!rows.has(key)) rows.set(key, makeRow(key, row));
      const made = rows.get(key);
      fill(made, row);
      const next = before ? before.nextSibling : body.firstChild;
      if (next !== made.line) body.insertBefore(made.line, next);
      before = made.line;
    }
    for (const key of gone) {
      rows.get(key).line.remove();
      rows.delete(key);
    }
    markSorted();
    table.hidden = list.length === 0;
    empty.hidden = list.length > 0;
  };
}
