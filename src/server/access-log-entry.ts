import { accessLogLine, type LogSink } from './auth/access-log.js';
import type { Principal } from './auth/principal.js';

interface LoggedBodyFields {
  readonly task_id?: unknown;
  readonly feature_id?: unknown;
  readonly edge?: unknown;
  readonly request_id?: unknown;
}

/** Collects the access log fields of one request. */
export class AccessLogEntry {
  principal: Principal | null = null;
  body: unknown;
  /** The tenant the request is about; null for the platform. */
  tenant_id: string | null;
  private readonly atMs = Date.now();
  private readonly beganMs = performance.now();

  constructor(
    private readonly route: string | null,
    readonly params: Readonly<Record<string, string>>,
  ) {
    this.tenant_id = params.tenant_id ?? null;
  }

  /** Writes the log line when the request is done, if there is a log. */
  write<Said extends { readonly status: number; readonly code?: string }>(
    response: Said,
    { log }: { log: LogSink | null },
  ): Said {
    if (log === null) return response;
    const { request_id } = this.bodyFields;
    log(
      accessLogLine({
        at_ms: this.atMs,
        principal: this.principal,
        tenant_id: this.tenant_id,
        route: this.route,
        subject: this.subject,
        status: response.status,
        code: response.code ?? null,
        request_id: typeof request_id === 'string' ? request_id : null,
        duration_ms: performance.now() - this.beganMs,
      }),
    );
    return response;
  }

  private get bodyFields(): LoggedBodyFields {
    return typeof this.body === 'object' && this.body !== null ? this.body : {};
  }

  private get subject(): string | null {
    const { task_id, feature_id, edge } = this.bodyFields;
    const named = this.params.subject ?? task_id;
    if (typeof named === 'string') return named;
    return typeof feature_id === 'string' ? `${feature_id}#${edge}` : null;
  }
}
