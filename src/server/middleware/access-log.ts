import type { LogLine, LogSink } from '../log/logs.js';
import type { HttpResponse } from '../response.js';
import type { ApiCall } from '../route.js';

type LoggedCall = Pick<
  ApiCall,
  'authenticatedPrincipal' | 'tenantId' | 'params' | 'body' | 'loggedFields'
> & {
  readonly route: { readonly id: string };
};

type BodyFields = Readonly<Record<string, unknown>>;

const TEXT_CHARS_MAX = 200;
/** Matches keys, review links, claim ids, tokens and signatures, in whatever field they appear. */
const SECRET_PATTERN = /gc[kw]_\w|rvl_|clm_[\w-]{22}|eyJ[\w-]+\.|^v1;/;

export type WriteLogLine = (response: HttpResponse, call: ApiCall | null) => void;

/** Starts to measure a request. The returned function writes its log line, for a stream only after its last event. */
export function beginLogLine(log: LogSink, isLogged: () => boolean = () => true): WriteLogLine {
  const [atMs, startMs] = [Date.now(), performance.now()];
  return (response, call) => {
    // A call that a route of this server made itself is part of the outer call, which is logged.
    if (call !== null && call.outerPrincipal !== null) return;
    const write = (): void => {
      if (isLogged()) log(accessLogLine(response, call, atMs, performance.now() - startMs));
    };
    if (response.ended === undefined) write();
    else void response.ended.then(write);
  };
}

/**
 * Builds a request's log line from a few fields, so that headers and bodies never reach the log. The call is null if no
 * route matches the path.
 */
export function accessLogLine(
  { status, code }: Pick<HttpResponse, 'status' | 'code'>,
  call: LoggedCall | null,
  atMs: number,
  durationMs: number,
): LogLine {
  const source = call?.loggedFields ?? call?.body;
  const fields = (typeof source === 'object' && source !== null ? source : {}) as BodyFields;
  return {
    level: 'info',
    time: new Date(atMs).toISOString(),
    key: call?.authenticatedPrincipal?.id ?? null,
    user: call?.authenticatedPrincipal?.user_id ?? null,
    tenant: maskSecrets(call?.tenantId),
    route: call?.route.id ?? null,
    subject: maskSecrets(subjectOf(call?.params.subject, fields)),
    status,
    code: code ?? null,
    request_id: maskSecrets(fields.request_id),
    duration_ms: Math.round(durationMs * 1000) / 1000,
  };
}

function subjectOf(param: string | undefined, { task_id, feature_id, edge }: BodyFields): unknown {
  const subject = param ?? task_id;
  if (typeof subject === 'string') return subject;
  // Requests with invalid bodies are logged too. Their fields may be objects, whose conversion to text can throw.
  const hasNames = typeof feature_id === 'string' && typeof edge === 'string';
  return hasNames ? `${feature_id}#${edge}` : null;
}

/** Null if there is no text. */
function maskSecrets(text: unknown): string | null {
  if (typeof text !== 'string') return null;
  return SECRET_PATTERN.test(text) ? '[secret]' : text.slice(0, TEXT_CHARS_MAX);
}
