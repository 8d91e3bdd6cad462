import type { KeyRing } from '../../coordinator/index.js';
import { findKey, isKeyToken } from './api-keys.js';
import { openTokenReader, type TokenReader } from './jwt.js';
import { isLoopback, reachesLoopback } from './loopback.js';
import type { JwtOptions } from './options.js';
import { OPEN_PRINCIPAL, type Principal } from './principal.js';
import { type AuthRefusal, unauthenticated } from './refusal.js';

export { callerOf } from './principal.js';
export { type AuthRefusal, isRefusal } from './refusal.js';

/** What a request says of who sends it: its headers, by their names. */
export interface Credentials {
  readonly authorization: string | undefined;
  readonly host?: string | undefined;
  readonly origin?: string | undefined;
}

/** Finds out who asks. What they may do is not its business: authorize.ts decides that. */
export interface Gatekeeper {
  /** Nobody has to say who they are: loopback, no key made, no tokens configured. It ends with the first key. */
  readonly open: boolean;
  authenticate(request: Credentials): Promise<Principal | AuthRefusal>;
}

const NO_CREDENTIAL = 'Send a key or a token, as: Authorization: Bearer <token>.';
const FOREIGN_PAGE =
  'This server is open to this machine alone, and the request names another host. Make a key, or ask by 127.0.0.1.';
const NOT_WITHOUT_KEYS =
  'Listening beyond this machine needs authentication: make a key first (on 127.0.0.1), or configure JWT.';

/** Throws where the server would listen beyond this machine and could know nobody. */
export async function openGatekeeper(options: {
  readonly keys: KeyRing;
  readonly host: string;
  readonly jwt?: JwtOptions | undefined;
}): Promise<Gatekeeper> {
  const { keys, host, jwt } = options;
  const tokens = jwt === undefined ? null : await openTokenReader(jwt);
  const mayBeOpen = tokens === null && isLoopback(host);
  if (tokens === null && !mayBeOpen && !keys.any) throw new Error(NOT_WITHOUT_KEYS);
  return new Door(keys, tokens, mayBeOpen);
}

class Door implements Gatekeeper {
  private closed = false;

  constructor(
    private readonly keys: KeyRing,
    private readonly tokens: TokenReader | null,
    private readonly mayBeOpen: boolean,
  ) {}

  get open(): boolean {
    if (this.closed) return false;
    this.closed = !this.mayBeOpen || this.keys.any;
    return !this.closed;
  }

  async authenticate(request: Credentials): Promise<Principal | AuthRefusal> {
    if (this.open) {
      // A page of another site that a browser on this machine shows can reach us, but not name us.
      return reachesLoopback(request)
        ? OPEN_PRINCIPAL
        : { status: 403, code: 'FORBIDDEN', detail: FOREIGN_PAGE };
    }
    const token = /^Bearer +([\x21-\x7e]+)$/i.exec(request.authorization ?? '')?.[1];
    if (token === undefined) return unauthenticated(NO_CREDENTIAL);
    if (isKeyToken(token)) return findKey(this.keys, token);
    return this.tokens === null ? unauthenticated(NO_CREDENTIAL) : this.tokens.read(token);
  }
}
