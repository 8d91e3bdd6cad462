import { accessLine, type LogSink } from './auth/access-log.js';
import type { Principal } from './auth/principal.js';

interface About {
  readonly task_id?: unknown;
  readonly feature_id?: unknown;
  readonly edge?: unknown;
  readonly request_id?: unknown;
}

/** One request on its way, as far as the log of accesses wants to know. */
export class Visit {
  principal: Principal | null = null;
  body: unknown;
  /** The tenant it is about; null where it is about the platform. */
  tenant_id: string | null;
  private readonly at_ms = Date.now();
  private readonly began_ms = performance.now();

  constructor(
    private readonly route: string | null,
    readonly params: Readonly<Record<string, string>>,
  ) {
    this.tenant_id = params.tenant_id ?? null;
  }

  /** It has come to its end: so the log is told, where there is one. */
  told<Said extends { readonly status: number; readonly code?: string }>(
    said: Said,
    { log }: { log: LogSink | null },
  ): Said {
    if (log === null) return said;
    const { request_id } = this.about;
    log(
      accessLine({
        at_ms: this.at_ms,
        principal: this.principal,
        tenant_id: this.tenant_id,
        route: this.route,
        subject: this.subject,
        status: said.status,
        code: said.code ?? null,
        request_id: typeof request_id === 'string' ? request_id : null,
        duration_ms: performance.now() - this.began_ms,
      }),
    );
    return said;
  }

  private get about(): About {
    return typeof this.body === 'object' && this.body !== null ? this.body : {};
  }

  private get subject(): string | null {
    const { task_id, feature_id, edge } = this.about;
    const named = this.params.subject ?? task_id;
    if (typeof named === 'string') return named;
    return typeof feature_id === 'string' ? `${feature_id}#${edge}` : null;
  }
}
