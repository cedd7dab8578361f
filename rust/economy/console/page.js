// Makes elements and formats numbers. Everything from a server enters the page as text
// (`textContent`), never as markup. Sends no requests.

const SVG = 'http://www.w3.org/2000/svg';

/** Returns the element with this id. */
export const byId = (id) => document.getElementById(id);

/** Makes an element with attributes and children; strings become text nodes. */
export function element(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

/** Makes an SVG element in the same way. */
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

/** Sets a text if it differs, so that a selection or a screen reader's place stays. */
export function say(where, text) {
  if (where.textContent !== text) where.textContent = text;
}

/** Formats a number with the separators of the reader's language. */
export function number(value, digits = 0) {
  if (value === null || value === undefined || Number.isNaN(Number(value))) return '–';
  return Number(value).toLocaleString(undefined, { maximumFractionDigits: digits });
}

/** Formats credits: the interface's exact decimal text, with groups before the point. */
export function credits(text) {
  if (text === null || text === undefined) return '–';
  const [whole, rest] = String(text).split('.');
  const grouped = whole.replace(/\B(?=(\d{3})+(?!\d))/g, '\u202f');
  return rest ? `${grouped}.${rest}` : grouped;
}

/**
 * Formats credits with two decimals if they are one or more, else exactly. Cuts off the other
 * decimals instead of rounding, so that a positive amount is never shown too high.
 */
export function about(text) {
  const [whole, rest] = String(text ?? '').split('.');
  if (!rest || /^-?0$/.test(whole)) return credits(text);
  const kept = rest.slice(0, 2).replace(/0+$/, '');
  return credits(kept ? `${whole}.${kept}` : whole);
}

/** Formats a fraction of one in percent. */
export function percent(part) {
  return part === null || part === undefined ? '–' : `${number(100 * part, 1)}\u00a0%`;
}

/** Formats an amount of resources: memory, vcores and all other types. */
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

/** Formats a time of day in the reader's time zone, 24 hours. */
export function clock(ms) {
  const at = new Date(ms);
  return [at.getHours(), at.getMinutes(), at.getSeconds()].map((part) => digits(part)).join(':');
}

/** Formats day and time in the reader's time zone. */
export function moment(ms) {
  const at = new Date(ms);
  const day = [digits(at.getFullYear(), 4), digits(at.getMonth() + 1), digits(at.getDate())];
  return `${day.join('-')} ${clock(ms)}`;
}

/** Formats a duration in one or two units. */
export function duration(ms) {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 60) return `${s}\u00a0s`;
  if (s < 3600) return `${Math.floor(s / 60)}\u00a0min ${s % 60}\u00a0s`;
  if (s < 172800) {
    return `${Math.floor(s / 3600)}\u00a0h ${Math.floor((s % 3600) / 60)}\u00a0min`;
  }
  return `${number(Math.floor(s / 86400))}\u00a0d ${Math.floor((s % 86400) / 3600)}\u00a0h`;
}

/** Formats the time until a budget ends, from the server's projection. */
export function ending(projection) {
  const ms = projection?.ends_in_ms;
  return ms === null || ms === undefined ? 'does not end' : duration(ms);
}
