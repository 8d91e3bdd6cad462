import { accessLogLine, type LogLine, type LogSink } from '../auth/access-log.js';
import type { HttpResponse } from '../response.js';
import type { ApiCall } from '../route.js';

interface LoggedBodyFields {
  readonly task_id?: unknown;
  readonly feature_id?: unknown;
  readonly edge?: unknown;
  readonly request_id?: unknown;
}

/** Measures a request from here on. The returned function writes its line, for a stream after the last event. */
export function startAccessLog(log: LogSink): (response: HttpResponse, call: ApiCall | null) => void {
  const [atMs, beganMs] = [Date.now(), performance.now()];
  return (response, call) => {
    if (call !== null && call.callingPrincipal !== null) return;
    const write = (): void => log(lineOf(response, call, atMs, performance.now() - beganMs));
    if (response.ended === undefined) write();
    else void response.ended.then(write);
  };
}

function lineOf(
  { status, code }: HttpResponse,
  call: ApiCall | null,
  atMs: number,
  durationMs: number,
): LogLine {
  const logged = call?.logged;
  const fields: LoggedBodyFields = typeof logged === 'object' && logged !== null ? logged : {};
  const { request_id } = fields;
  return accessLogLine({
    at_ms: atMs,
    principal: call?.authenticated ?? null,
    tenant_id: call?.tenantId ?? null,
    route: call?.route.id ?? null,
    subject: subjectOf(call?.params.subject, fields),
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
