import type { Authenticator } from './authenticator.js';
import type { Principal } from './principal.js';

/** The authorization of one request, for as long as the request goes on: a slow body, a waiting call, an event stream. */
export class Authorization {
  private isRefused = false;
  private readonly endListeners = new Set<() => void>();

  constructor(
    private readonly authenticator: Pick<Authenticator, 'isValid' | 'watch'>,
    private readonly principal: Principal,
    /** Authenticates and authorizes from the headers, as when the request came. */
    private readonly reauthorize: () => Promise<boolean>,
  ) {}

  /** Whether the credential is valid now: neither revoked nor expired. Cheap enough to ask before every write. */
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
      this.endListeners.delete(endOnce);
    };
    this.endListeners.add(endOnce);
    return stop;
  }

  /**
   * Authorizes again from the headers, which costs more: it also notices that an issuer withdrew the key that signed a
   * token. What cannot be found out now is left to the next time.
   */
  async recheck(): Promise<void> {
    if (await this.reauthorize().catch(() => true)) return;
    this.isRefused = true;
    for (const end of [...this.endListeners]) end();
  }
}

/** For a stream that was not opened by a request. */
export const ALWAYS_AUTHORIZED: Pick<Authorization, 'isStillAuthorized' | 'onEnd' | 'recheck'> = {
  isStillAuthorized: () => true,
  onEnd: () => () => {},
  recheck: async () => {},
};
