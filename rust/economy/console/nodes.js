// The nodes as a map: a square each, by rack, the darker the more of its memory is in use. The
// details of one are shown for a pointer and for arrow keys.

import { byId, element, number, resources, say, shape } from './page.js';

/** Nodes are read again after this time: there may be thousands. */
const READ_MS = 10_000;
const PAGE = 2_000;
/** Squares' sizes in pixels, the smaller the more nodes there are. */
const SIZES = [[200, 18], [2_000, 12], [Infinity, 8]];
const LABEL = 150;
const LINE = 16;
/** Levels of use; one class of colour each. */
const LEVELS = 10;

/** Returns the class of a node's square. */
function levelOf(node) {
  if (node.aside || !node.schedulable) return 'off';
  if (!node.memory_mb) return 'u0';
  const used = 1 - node.free_mb / node.memory_mb;
  return `u${Math.max(0, Math.min(LEVELS, Math.round(LEVELS * used)))}`;
}

function described(node) {
  const used = resources({ 'memory-mb': node.memory_mb - node.free_mb });
  const label = node.label ? ` with the label ${node.label}` : '';
  const parts = [`${node.name ?? `node#${node.node}`} in ${node.rack ?? 'an unknown rack'}${label}`,
    `${used} of ${resources({ 'memory-mb': node.memory_mb })} in use`,
    `${number(node.vcores - node.free_vcores)} of ${number(node.vcores)} vcores`,
    `${number(node.containers)} containers`];
  if (node.held) parts.push('held for a large container');
  if (!node.schedulable) parts.push('gets no containers now');
  if (node.aside) parts.push(`put aside: ${node.aside}`);
  if (node.foreign_per_mille) {
    parts.push(`others use ${number(node.foreign_per_mille / 10)}\u00a0%`);
  }
  return parts.join(', ');
}

/** Makes the map. */
export function makeNodes(client) {
  const where = byId('nodes');
  const picture = shape('svg', { role: 'img', tabindex: 0, focusable: 'true', class: 'map' });
  const status = element('p', { class: 'cursor', role: 'status' });
  where.replaceChildren(picture, status);
  let nodes = [];
  let squares = [];
  let readMs = 0;
  let at = -1;
  let mark = null;

  async function poll(mine) {
    if (mine.nodes && Date.now() - readMs < READ_MS) return;
    readMs = Date.now();
    let all = [];
    let from = 0;
    do {
      const page = await client.get(`nodes?from=${from}&max=${PAGE}`);
      all = all.concat(page.nodes);
      from = page.next;
    } while (from);
    mine.nodes = all;
  }

  /** Returns the nodes by rack, both in order of name. */
  function racks() {
    const byRack = new Map();
    for (const node of nodes) {
      const rack = node.rack ?? '';
      if (!byRack.has(rack)) byRack.set(rack, []);
      byRack.get(rack).push(node);
    }
    const order = (a, b) => String(a.name).localeCompare(String(b.name), 'en', { numeric: true });
    return [...byRack].sort(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }))
      .map(([rack, list]) => [rack, list.sort(order)]);
  }

  function draw() {
    const width = Math.max(240, Math.floor(where.clientWidth) - 10);
    const [, size] = SIZES.find(([most]) => nodes.length <= most);
    const label = width < 600 ? 0 : LABEL;
    const columns = Math.max(1, Math.floor((width - label) / size));
    const paths = new Map();
    const labels = [];
    squares = [];
    let y = 0;
    for (const [rack, list] of racks()) {
      labels.push(shape('text', { class: 'rack', x: 0, y: y + 11 }, rack || 'unknown'));
      if (!label) y += LINE;
      list.forEach((node, i) => {
        const x = label + (i % columns) * size;
        const top = y + Math.floor(i / columns) * size;
        squares.push({ node, x, y: top, size });
        const level = levelOf(node);
        const drawn = `M${x} ${top}h${size - 2}v${size - 2}h${2 - size}z`;
        paths.set(level, (paths.get(level) ?? '') + drawn);
      });
      y += Math.max(LINE, Math.ceil(list.length / columns) * size) + 4;
    }
    picture.setAttribute('viewBox', `0 0 ${width} ${Math.max(1, y)}`);
    picture.setAttribute('width', width);
    picture.setAttribute('height', Math.max(1, y));
    mark = shape('path', { class: 'chosen', d: '' });
    const drawn = [...paths].map(([level, d]) => shape('path', { class: level, d }));
    picture.replaceChildren(...labels, ...drawn, mark);
    const off = nodes.filter((node) => levelOf(node) === 'off').length;
    const free = nodes.reduce((all, node) => all + Math.max(0, node.free_mb), 0);
    picture.setAttribute('aria-label', `${number(nodes.length)} nodes, `
      + `${resources({ 'memory-mb': free })} free, ${number(off)} without new containers. `
      + 'Arrow keys go through them.');
    moveTo(at);
  }

  function moveTo(index) {
    at = Math.min(squares.length - 1, index);
    const square = squares[at];
    if (!square) {
      mark?.setAttribute('d', '');
      say(status, '');
      return;
    }
    const { x, y, size } = square;
    mark.setAttribute('d', `M${x - 1} ${y - 1}h${size}v${size}h${-size}z`);
    say(status, described(square.node));
  }

  picture.addEventListener('keydown', (event) => {
    const steps = {
      ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1, Home: -Infinity, End: Infinity,
    };
    if (!(event.key in steps)) return;
    event.preventDefault();
    moveTo(Math.max(0, Math.min(squares.length - 1, at + steps[event.key])));
  });
  picture.addEventListener('pointermove', (event) => {
    const { left, top } = picture.getBoundingClientRect();
    const [x, y] = [event.clientX - left, event.clientY - top];
    moveTo(squares.findIndex((square) => x >= square.x && x < square.x + square.size
      && y >= square.y && y < square.y + square.size));
  });
  picture.addEventListener('pointerleave', () => moveTo(-1));

  let wide = 0;
  new ResizeObserver(([{ contentRect }]) => {
    if (contentRect.width === wide) return;
    wide = contentRect.width;
    requestAnimationFrame(draw);
  }).observe(where);

  function show(list) {
    byId('nodes-part').hidden = !list;
    if (!list || list === nodes) return;
    nodes = list;
    draw();
  }

  function clear() {
    nodes = [];
    readMs = 0;
    at = -1;
    draw();
    byId('nodes-part').hidden = true;
  }

  return { poll, show, clear };
}
