import type { Authenticator } from './authenticator.js';
import type { Principal } from './principal.js';

/** The authorization of one request over its lifetime, which a slow body, a waiting call or an event stream can extend. */
export class Authorization {
  private isRefused = false;
  /** Null until the first listener is added: most requests end without one. */
  private endListeners: Set<() => void> | null = null;

  constructor(
    private readonly authenticator: Pick<Authenticator, 'isValid' | 'watch'>,
    private readonly principal: Principal,
    /** Repeats authentication and authorization from the request's headers. */
    private readonly reauthorize: () => Promise<boolean>,
  ) {}

  /** Whether the credential is neither revoked nor expired. Cheap enough to call before every write. */
  readonly isStillAuthorized = (): boolean => !this.isRefused && this.authenticator.isValid(this.principal);

  /** Calls `end` once, when the request is no longer authorized. Returns a function that stops watching. */
  onEnd(end: () => void): () => void {
    const endOnce = (): void => {
      stop();
      end();
    };
    const stopWatching = this.authenticator.watch(this.principal, endOnce);
    const stop = (): void => {
      stopWatching();
      this.endListeners?.delete(endOnce);
    };
    this.endListeners ??= new Set();
    this.endListeners.add(endOnce);
    return stop;
  }

  /**
   * Authorizes again from the headers. Costs more, but also notices that an issuer withdrew the key that signed a
   * token. If the check cannot be made, the request stays authorized until the next one.
   */
  async recheck(): Promise<void> {
    if (await this.reauthorize().catch(() => true)) return;
    this.isRefused = true;
    for (const end of [...(this.endListeners ?? [])]) end();
  }
}

/** The authorization of a stream that this process opens itself, without a request. */
export const ALWAYS_AUTHORIZED: Pick<Authorization, 'isStillAuthorized' | 'onEnd' | 'recheck'> = {
  isStillAuthorized: () => true,
  onEnd: () => () => {},
  recheck: async () => {},
};
