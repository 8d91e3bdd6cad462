import { accessLogLine, type LogLine, type LogSink } from '../auth/access-log.js';
import type { RequestScope } from '../request-scope.js';
import type { HttpResponse } from '../response.js';

interface LoggedBodyFields {
  readonly task_id?: unknown;
  readonly feature_id?: unknown;
  readonly edge?: unknown;
  readonly request_id?: unknown;
}

/** Measures a request from here on. The returned function writes its line, for a stream after the last event. */
export function startAccessLog(log: LogSink): (response: HttpResponse, scope: RequestScope | null) => void {
  const [atMs, beganMs] = [Date.now(), performance.now()];
  return (response, scope) => {
    if (scope !== null && scope.callingPrincipal !== null) return;
    const write = (): void => log(lineOf(response, scope, atMs, performance.now() - beganMs));
    if (response.ended === undefined) write();
    else void response.ended.then(write);
  };
}

function lineOf(
  { status, code }: HttpResponse,
  scope: RequestScope | null,
  atMs: number,
  durationMs: number,
): LogLine {
  const logged = scope?.logged;
  const fields: LoggedBodyFields = typeof logged === 'object' && logged !== null ? logged : {};
  const { request_id } = fields;
  return accessLogLine({
    at_ms: atMs,
    principal: scope?.principal ?? null,
    tenant_id: scope?.tenantId ?? null,
    route: scope?.route.id ?? null,
    subject: subjectOf(scope?.params.subject, fields),
    status,
    code: code ?? null,
    request_id: typeof request_id === 'string' ? request_id : null,
    duration_ms: durationMs,
  });
}

function subjectOf(param: string | undefined, { task_id, feature_id, edge }: LoggedBodyFields) {
  const named = param ?? task_id;
  if (typeof named === 'string') return named;
  return typeof feature_id === 'string' ? `${feature_id}#${edge}` : null;
}
