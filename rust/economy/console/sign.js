// SHA-256 (FIPS 180-4), HMAC (RFC 2104) and signatures of version 2;
// rust/economy/src/auth/canonical.rs specifies the signed text. Implemented here because
// `crypto.subtle` exists in secure contexts only, and most ResourceManagers use plain http. Keeps
// no secret and sends nothing.

const K = [];
const START = [];
// The first 32 bits of the fractions of square and cube roots of the first primes (FIPS 180-4,
// 4.2.2 and 5.3.3). The 53 bits of a double also hold the small whole part.
for (let n = 2; K.length < 64; n++) {
  let prime = true;
  for (let d = 2; d * d <= n; d++) {
    if (n % d === 0) { prime = false; break; }
  }
  if (prime) {
    if (START.length < 8) START.push(bits(Math.sqrt(n)));
    K.push(bits(Math.cbrt(n)));
  }
}

function bits(root) {
  return Math.floor((root - Math.floor(root)) * 0x100000000) >>> 0;
}

const BLOCK = 64;
const rotated = (x, n) => (x >>> n) | (x << (32 - n));

/** Returns the SHA-256 of bytes, as bytes. */
export function sha256(bytes) {
  const length = bytes.length;
  const padded = new Uint8Array(Math.ceil((length + 9) / BLOCK) * BLOCK);
  padded.set(bytes);
  padded[length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(length / 0x20000000));
  view.setUint32(padded.length - 4, (length << 3) >>> 0);
  const state = Uint32Array.from(START);
  const w = new Uint32Array(64);
  for (let at = 0; at < padded.length; at += BLOCK) {
    for (let i = 0; i < 16; i++) w[i] = view.getUint32(at + 4 * i);
    for (let i = 16; i < 64; i++) {
      const x = w[i - 15];
      const y = w[i - 2];
      const s0 = rotated(x, 7) ^ rotated(x, 18) ^ (x >>> 3);
      const s1 = rotated(y, 17) ^ rotated(y, 19) ^ (y >>> 10);
      w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    compress(state, w);
  }
  const out = new Uint8Array(32);
  const result = new DataView(out.buffer);
  state.forEach((word, i) => result.setUint32(4 * i, word));
  return out;
}

function compress(state, w) {
  let [a, b, c, d, e, f, g, h] = state;
  for (let i = 0; i < 64; i++) {
    const s1 = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25);
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + K[i] + w[i]) | 0;
    const s0 = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22);
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g; g = f; f = e; e = (d + t1) | 0;
    d = c; c = b; b = a; a = (t1 + t2) | 0;
  }
  [a, b, c, d, e, f, g, h].forEach((word, i) => { state[i] += word; });
}

/** Returns the HMAC-SHA256 of bytes under a key, as bytes. */
export function hmac(key, bytes) {
  const block = new Uint8Array(BLOCK);
  block.set(key.length > BLOCK ? sha256(key) : key);
  const padded = (pad, rest) => {
    const all = new Uint8Array(BLOCK + rest.length);
    block.forEach((byte, i) => { all[i] = byte ^ pad; });
    all.set(rest, BLOCK);
    return sha256(all);
  };
  return padded(0x5c, padded(0x36, bytes));
}

/** Formats bytes in lower-case hexadecimal digits. */
export function hex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Returns the UTF-8 of a text. */
export function utf8(text) {
  return new TextEncoder().encode(text);
}

/** Escapes all characters except letters, digits, `-`, `.`, `_` and `~` (RFC 3986). */
export function quoted(name) {
  const escape = (char) => '%' + char.charCodeAt(0).toString(16).toUpperCase();
  return encodeURIComponent(name).replace(/[!'()*]/g, escape);
}

/** Makes a nonce of 144 random bits, which is unique in practice. */
export function nonce() {
  const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const random = crypto.getRandomValues(new Uint8Array(24));
  return Array.from(random, (byte) => digits[byte & 63]).join('');
}

/**
 * Returns the header `Authorization` of a request {method, path, query, body}, with path and query
 * as they are sent; `validity` is {timestampMs, expiresMs, nonce}, `secret` is bytes.
 */
export function header(secret, user, request, validity) {
  const lines = [
    'HEDDLE-REQUEST-V2', request.method, request.path, request.query,
    hex(sha256(utf8(request.body))), quoted(user),
    validity.timestampMs, validity.expiresMs, validity.nonce,
  ];
  const text = lines.map((line) => line + '\n').join('');
  const signature = hex(hmac(secret, utf8(text)));
  return `Heddle-HMAC-SHA256 user=${quoted(user)},timestamp=${validity.timestampMs},`
    + `expires=${validity.expiresMs},nonce=${validity.nonce},signature=${signature}`;
}
