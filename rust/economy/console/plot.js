// Plots over time as SVG: axes, a legend with the last values, and a cursor for pointer and arrow
// keys. Each series is a stepped line, or an area upon the ones before, because a value holds for a
// whole interval. Sends no requests.

import { clock, element, say, shape } from './page.js';

const HEIGHT = 190;
const LEFT = 52;
const RIGHT = 10;
const TOP = 10;
const BOTTOM = 24;
/** Largest number of lines: more could not be distinguished. */
export const SERIES_MAX = 8;

/** Returns a round step of which about `count` make `range`. */
export function roundStep(range, count) {
  const rough = range / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((n) => n * power).find((step) => step >= rough * 0.999);
}

/** Round steps of time, in ms. */
const TIMES = [5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400]
  .map((s) => s * 1000);

/**
 * Makes a plot below `where` and returns a function that draws series {name, points: [[ms,
 * value]], limits}. Points are in order of time; a value is that of the interval that ended then.
 * `stacked` series have the same times; `limits` is what each may reach, drawn as a dashed line
 * from where its area begins. The second argument of the function is the top that the axis has at
 * least.
 */
export function makePlot(where, title, format,
  { stacked = false, nothing = 'The first allocation intervals have not ended yet' } = {}) {
  const figure = element('figure');
  const picture = shape('svg', { role: 'img', tabindex: 0, focusable: 'true' });
  const cursor = element('p', { class: 'cursor', role: 'status' });
  const legend = element('ul', { class: 'legend' });
  figure.append(element('figcaption', {}, title), picture, legend, cursor);
  where.replaceChildren(figure);
  let shown = [];
  let times = [];
  let at = -1;
  let mark = null;
  let scale = null;

  function moveTo(index) {
    at = Math.max(0, Math.min(times.length - 1, index));
    if (!scale || !times.length) return;
    const x = scale.x(times[at]);
    mark.setAttribute('d', `M${x} ${TOP}V${HEIGHT - BOTTOM}`);
    const values = shown.map((one) => {
      const limit = valueAt({ points: one.limits ?? [] }, times[at]) ?? null;
      const of = limit === null ? '' : ` of ${format(limit)}`;
      return `${one.name} ${format(valueAt(one, times[at]))}${of}`;
    });
    say(cursor, `${clock(times[at])}: ${values.join(', ')}`);
  }

  picture.addEventListener('keydown', (event) => {
    const steps = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };
    if (!(event.key in steps)) return;
    event.preventDefault();
    moveTo((at < 0 ? times.length : at) + steps[event.key]);
  });
  picture.addEventListener('pointermove', (event) => {
    if (!scale) return;
    const ms = scale.ms(event.clientX - picture.getBoundingClientRect().left);
    const later = times.findIndex((time) => time >= ms);
    moveTo(later < 0 ? times.length - 1 : later);
  });
  picture.addEventListener('pointerleave', () => {
    at = -1;
    mark?.setAttribute('d', '');
    say(cursor, '');
  });

  function draw(series, least = 0) {
    shown = series.slice(0, SERIES_MAX);
    times = [...new Set(shown.flatMap((one) => one.points.map(([ms]) => ms)))];
    times.sort((a, b) => a - b);
    const width = Math.max(240, Math.floor(figure.clientWidth));
    picture.setAttribute('viewBox', `0 0 ${width} ${HEIGHT}`);
    picture.setAttribute('width', width);
    picture.setAttribute('height', HEIGHT);
    const last = shown.map((one) => `${one.name} ${format(one.points.at(-1)?.[1])}`);
    picture.setAttribute('aria-label', `${title}. Last: ${last.join(', ') || 'nothing yet'}`);
    showLegend(series);
    if (times.length < 2) {
      scale = null;
      say(cursor, '');
      picture.replaceChildren(shape('text', { x: width / 2, y: HEIGHT / 2, class: 'empty' },
        nothing));
      return;
    }
    const layers = stacked ? stack(shown) : [];
    scale = scaleOf(width, times, stacked ? layers : shown, least);
    mark = shape('path', { class: 'mark', d: '' });
    const lines = stacked ? layers.flatMap((layer, i) => areaOf(layer, i, scale))
      : shown.map((one, i) => shape('path', {
        class: `line s${i}`, d: steps(one.points, scale),
      }));
    picture.replaceChildren(...grid(width, scale, format), ...lines, mark);
    if (at >= 0) moveTo(at);
  }

  function showLegend(series) {
    const keys = shown.map((one, i) => element('li', {},
      shape('svg', { class: 'key', width: 22, height: 10, 'aria-hidden': 'true' },
        shape('path', stacked ? { class: `area f${i}`, d: 'M1 0H21V10H1z' }
          : { class: `line s${i}`, d: 'M1 5H21' })),
      element('span', {}, `${one.name} `),
      element('b', {}, format(one.points.at(-1)?.[1]))));
    const more = series.length - shown.length;
    if (more > 0) keys.push(element('li', {}, `and ${more} more`));
    legend.replaceChildren(...keys);
  }

  let drawn = [[]];
  const redraw = (...series) => { drawn = series; draw(...series); };
  // Drawing changes the height, so only a new width draws again.
  let wide = 0;
  new ResizeObserver(([{ contentRect }]) => {
    if (contentRect.width === wide) return;
    wide = contentRect.width;
    requestAnimationFrame(() => draw(...drawn));
  }).observe(where);
  return redraw;
}

/** Returns the value of the interval that ended then, or of the first that ended later. */
function valueAt(series, ms) {
  return series.points.find(([end]) => end >= ms)?.[1];
}

/** Puts each series upon the ones before: its points are the upper edge, `base` is the lower. */
function stack(series) {
  let base = series[0]?.points.map(([ms]) => [ms, 0]);
  return series.map((one) => {
    const layer = {
      base,
      points: one.points.map(([ms, value], i) => [ms, value + base[i][1]]),
      limits: one.limits?.map(([ms, limit], i) => [ms, limit === null ? null : limit + base[i][1]]),
    };
    base = layer.points;
    return layer;
  });
}

/** Returns the area of a layer, and the line of what it may reach. */
function areaOf({ base, points, limits }, i, scale) {
  const { x, y } = scale;
  const back = base.map(([, value], at) => (at === 0 ? ''
    : `V${y(value)}H${x(base[at - 1][0])}`));
  const [endMs] = base[base.length - 1];
  const area = `${steps(points, scale)}H${x(endMs)}${back.reverse().join('')}z`;
  const known = limits?.filter(([, limit]) => limit !== null) ?? [];
  const within = known.map(([ms, limit]) => [ms, Math.min(limit, scale.top)]);
  const line = shape('path', { class: `line limit s${i}`, d: steps(within, scale) });
  return [shape('path', { class: `area f${i}`, d: area }), ...(known.length > 1 ? [line] : [])];
}

function scaleOf(width, times, series, least) {
  const [first, last] = [times[0], times[times.length - 1]];
  const most = Math.max(least, ...series.flatMap((one) => one.points.map(([, value]) => value)));
  const step = roundStep(most > 0 ? most * 1.05 : 1, 4);
  const top = step * Math.ceil((most > 0 ? most * 1.02 : 1) / step);
  const [inner, high] = [width - LEFT - RIGHT, HEIGHT - TOP - BOTTOM];
  return {
    first, last, step, top, inner,
    x: (ms) => Math.round(10 * (LEFT + (inner * (ms - first)) / (last - first))) / 10,
    y: (value) => Math.round(10 * (TOP + high * (1 - value / top))) / 10,
    ms: (x) => first + ((x - LEFT) / inner) * (last - first),
  };
}

function steps(points, { x, y }) {
  return points.map(([ms, value], i) => (i === 0 ? `M${x(ms)} ${y(value)}`
    : `V${y(value)}H${x(ms)}`)).join('');
}

function grid(width, scale, format) {
  const parts = [];
  for (let n = 0; n * scale.step <= scale.top * 1.001; n++) {
    const y = scale.y(n * scale.step);
    parts.push(shape('path', { class: 'grid', d: `M${LEFT} ${y}H${width - RIGHT}` }));
    parts.push(shape('text', { class: 'tick end', x: LEFT - 6, y: y + 4 },
      format(n * scale.step)));
  }
  const wanted = (scale.last - scale.first) / Math.max(2, Math.floor(scale.inner / 110));
  const every = TIMES.find((time) => time >= wanted) ?? TIMES[TIMES.length - 1];
  for (let ms = Math.ceil(scale.first / every) * every; ms <= scale.last; ms += every) {
    const x = scale.x(ms);
    parts.push(shape('path', { class: 'grid', d: `M${x} ${HEIGHT - BOTTOM}v4` }));
    if (x > LEFT + 20 && x < width - 30) {
      parts.push(shape('text', { class: 'tick', x, y: HEIGHT - 6 }, clock(ms)));
    }
  }
  return parts;
}
