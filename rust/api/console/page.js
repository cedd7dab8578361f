// Elements and how numbers are written. Everything that comes from a server goes into the page as
// text (`textContent`), never as markup. Asks for nothing.

const SVG = 'http://www.w3.org/2000/svg';

/** The element with this id. */
export const byId = (id) => document.getElementById(id);

/** An element with attributes and children; texts become text nodes. */
export function element(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

/** The same of SVG. */
export function shape(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    made.setAttribute(name, value === true ? '' : value);
  }
  made.append(...children);
  return made;
}

/** Sets a text unless it is there already: what is selected or read aloud stays. */
export function say(where, text) {
  if (where.textContent !== text) where.textContent = text;
}

/** A number with the separators of the reader's language. */
export function number(value, digits = 0) {
  if (value === null || value === undefined || Number.isNaN(Number(value))) return '–';
  return Number(value).toLocaleString(undefined, { maximumFractionDigits: digits });
}

/** Credits: the exact decimal text of the interface, grouped in front of the point. */
export function credits(text) {
  if (text === null || text === undefined) return '–';
  const [whole, rest] = String(text).split('.');
  const grouped = whole.replace(/\B(?=(\d{3})+(?!\d))/g, '\u202f');
  return rest ? `${grouped}.${rest}` : grouped;
}

/**
 * Credits where six decimals are more than anybody reads: of an amount of one or more, two. What is
 * left out is left out, so that nobody has less than is shown.
 */
export function about(text) {
  const [whole, rest] = String(text ?? '').split('.');
  if (!rest || /^-?0$/.test(whole)) return credits(text);
  const kept = rest.slice(0, 2).replace(/0+$/, '');
  return credits(kept ? `${whole}.${kept}` : whole);
}

/** A part of one, in percent. */
export function percent(part) {
  return part === null || part === undefined ? '–' : `${number(100 * part, 1)}\u00a0%`;
}

/** An amount of resources: memory, vcores, and what else a queue has of them. */
export function resources(amounts) {
  if (!amounts) return '–';
  const parts = Object.entries(amounts).map(([name, value]) => {
    if (name === 'memory-mb') return memory(value);
    return name === 'vcores' ? `${number(value)}\u00a0vc` : `${number(value)}\u00a0${name}`;
  });
  return parts.join(', ');
}

function memory(mb) {
  for (const [unit, size] of [['TB', 1024 * 1024], ['GB', 1024]]) {
    if (mb >= size) return `${number(mb / size, 1)}\u00a0${unit}`;
  }
  return `${number(mb)}\u00a0MB`;
}

const digits = (value, count = 2) => String(value).padStart(count, '0');

/** A time of day of the reader's, 24 hours. */
export function clock(ms) {
  const at = new Date(ms);
  return [at.getHours(), at.getMinutes(), at.getSeconds()].map((part) => digits(part)).join(':');
}

/** A moment: day and time of the reader's. */
export function moment(ms) {
  const at = new Date(ms);
  const day = [digits(at.getFullYear(), 4), digits(at.getMonth() + 1), digits(at.getDate())];
  return `${day.join('-')} ${clock(ms)}`;
}

/** How long something is, in one unit or two. */
export function duration(ms) {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 60) return `${s}\u00a0s`;
  if (s < 3600) return `${Math.floor(s / 60)}\u00a0min ${s % 60}\u00a0s`;
  if (s < 172800) {
    return `${Math.floor(s / 3600)}\u00a0h ${Math.floor((s % 3600) / 60)}\u00a0min`;
  }
  return `${number(Math.floor(s / 86400))}\u00a0d ${Math.floor((s % 86400) / 3600)}\u00a0h`;
}

/** When a budget ends, by a projection of the server's. */
export function ending(projection) {
  const ms = projection?.ends_in_ms;
  return ms === null || ms === undefined ? 'does not end' : duration(ms);
}
