// Sends requests to `/heddle/v1/`, signed after a user has signed in. Name and secret stay in a
// closure until the user signs out or leaves the page: in no storage, cookie or attribute. Shows
// nothing.

import { header, nonce, utf8 } from './sign.js';

const VALID_MS = 30_000;
const PATIENCE_MS = 10_000;
/**
 * The limit for plans and changes of the configuration. A plan runs a copy of the engine two
 * minutes ahead: an engine that keeps up with its cluster takes less time than that.
 */
export const LONG_PATIENCE_MS = 120_000;

/** An error answer with its JSON, or a missing answer (status 0). */
export class Failure extends Error {
  constructor(status, what, expected, answer = null) {
    super(what);
    this.status = status;
    this.expected = expected;
    this.answer = answer;
  }

  /** The error as a message for users. */
  get sentence() {
    return this.expected ? `${this.message}; expected: ${this.expected}` : this.message;
  }
}

/** Makes a client of the server that the page came from. */
export function makeClient() {
  const base = new URL('v1/', document.baseURI);
  let signer = null;
  // The server's clock minus ours: the server checks the times in a signature.
  let aheadMs = 0;

  /** Sends `body` as JSON, or `text` as it is. Gives up after `patienceMs`, or when `left` does. */
  async function send(method, target, {
    body, text: sent, signedBy = signer, patienceMs = PATIENCE_MS, left,
  } = {}) {
    const url = new URL(target, base);
    const text = sent ?? (body === undefined ? '' : JSON.stringify(body));
    const headers = { Accept: 'application/json' };
    if (signedBy) {
      const now = Date.now() + aheadMs;
      headers.Authorization = header(signedBy.secret, signedBy.user, {
        method, path: url.pathname, query: url.search.slice(1), body: text,
      }, { timestampMs: now, expiresMs: now + VALID_MS, nonce: nonce() });
    }
    if (text) headers['Content-Type'] = 'application/json';
    const ended = new AbortController();
    const timer = setTimeout(() => ended.abort(), patienceMs);
    left?.addEventListener('abort', () => ended.abort());
    try {
      const response = await fetch(url, {
        method, headers, body: text || undefined, cache: 'no-store',
        signal: ended.signal, redirect: 'error', referrerPolicy: 'no-referrer',
      });
      return await read(response);
    } catch (problem) {
      if (problem instanceof Failure) throw problem;
      const late = ended.signal.aborted;
      throw new Failure(0, late ? `no answer within ${patienceMs / 1000} s`
        : 'the server cannot be reached');
    } finally {
      clearTimeout(timer);
    }
  }

  async function read(response) {
    const text = await response.text();
    let value = null;
    try {
      value = text === '' ? null : JSON.parse(text);
    } catch {
      throw new Failure(response.status || 502,
        `status ${response.status}: the answer is not from the scheduler`);
    }
    if (!response.ok) {
      const error = value?.error ?? {};
      throw new Failure(response.status, error.what ?? `status ${response.status}`,
        error.expected, value);
    }
    return value;
  }

  async function setClock() {
    const before = Date.now();
    const { now_ms: nowMs } = await send('GET', 'time', { signedBy: null });
    aheadMs = Math.round(nowMs - (before + Date.now()) / 2);
  }

  return {
    send,
    get: (target) => send('GET', target),
    /** Gets a public path, unsigned even if a user is signed in. */
    open: (target) => send('GET', target, { signedBy: null }),
    /** Gets the health. With status 503 it has the reasons. */
    async health() {
      try {
        return await send('GET', 'health', { signedBy: null });
      } catch (problem) {
        if (problem.answer?.status) return problem.answer;
        throw problem;
      }
    },
    /**
     * Returns `here` if the server answers, whatever it says, and `elsewhere` if it leads there, as
     * a standby ResourceManager leads to the active one. A page cannot read where to: the browser
     * can go there. Else `gone`.
     */
    async place() {
      try {
        const answer = await fetch(document.baseURI, {
          redirect: 'manual', cache: 'no-store', signal: AbortSignal.timeout(PATIENCE_MS),
        });
        return answer.type === 'opaqueredirect' ? 'elsewhere' : 'here';
      } catch {
        return 'gone';
      }
    },
    /** Returns the first of other servers that answers; the page may not read what. */
    async another(addresses) {
      for (const address of addresses) {
        if (new URL(address).origin === location.origin) continue;
        try {
          await fetch(new URL('heddle/v1/health', address), {
            mode: 'no-cors', credentials: 'omit', cache: 'no-store',
            signal: AbortSignal.timeout(PATIENCE_MS),
          });
          return address;
        } catch {
          // It is gone, too, or leads to one that is.
        }
      }
      return null;
    },
    /** Checks name and secret with a request, and keeps them if the server accepts them. */
    async signIn(user, secret) {
      await setClock();
      const tried = { user, secret: utf8(secret) };
      await send('GET', 'jobs?max=1', { signedBy: tried });
      signer = tried;
    },
    signOut() {
      signer?.secret.fill(0);
      signer = null;
    },
    user: () => signer?.user ?? null,
    serverNow: () => Date.now() + aheadMs,
  };
}
