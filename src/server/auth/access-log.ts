import { type DestinationStream, pino } from 'pino';
import type { Principal } from './principal.js';

export interface LogLine {
  readonly level: 'info' | 'error';
  readonly [field: string]: unknown;
}
/** Writes an object as one line of JSON. */
export type LogSink = (line: LogLine) => void;

/** One request and its outcome. */
export interface AccessRecord {
  readonly at_ms: number;
  /** Null if not authenticated. */
  readonly principal: Principal | null;
  readonly tenant_id: string | null;
  /** The route's id; null if no route matches the path. */
  readonly route: string | null;
  readonly subject: string | null;
  readonly status: number;
  readonly code: string | null;
  readonly request_id: string | null;
  readonly duration_ms: number;
}

const TEXT_MAX = 200;
/** Matches keys, claim ids and tokens, in whatever field they appear. */
const SECRET_PATTERN = /gc[kw]_\w|clm_[\w-]{22}|eyJ[\w-]+\.|^v1;/;

/** Builds a request's log line from these fields only, so that headers and bodies never reach the log. */
export function accessLogLine(access: AccessRecord): LogLine {
  return {
    level: 'info',
    time: new Date(access.at_ms).toISOString(),
    key: access.principal?.id ?? null,
    user: access.principal?.user_id ?? null,
    tenant: maskSecrets(access.tenant_id),
    route: access.route,
    subject: maskSecrets(access.subject),
    status: access.status,
    code: access.code,
    request_id: maskSecrets(access.request_id),
    duration_ms: Math.round(access.duration_ms * 1000) / 1000,
  };
}

function maskSecrets(text: string | null): string | null {
  if (text === null) return null;
  return SECRET_PATTERN.test(text) ? '[secret]' : text.slice(0, TEXT_MAX);
}

/** Writes JSON lines to a stream, by default to standard output. */
export function jsonLineSink(destination?: DestinationStream): LogSink {
  const settings = {
    base: null,
    timestamp: false,
    formatters: { level: (level: string) => ({ level }) },
  } as const;
  const logger = destination === undefined ? pino(settings) : pino(settings, destination);
  // pino writes the level itself; passing it on would duplicate the key.
  return ({ level, ...line }) => logger[level](line);
}
