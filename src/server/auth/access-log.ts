import { type DestinationStream, pino } from 'pino';
import type { Principal } from './principal.js';

export interface LogLine {
  readonly level: 'info' | 'error';
  readonly [field: string]: unknown;
}
/** Takes a line: an object that becomes one line of JSON. */
export type LogSink = (line: LogLine) => void;

/** One request and what became of it. */
export interface AccessRecord {
  readonly at_ms: number;
  /** Null: nobody that we know. */
  readonly principal: Principal | null;
  readonly tenant_id: string | null;
  /** The id of the route; null: none has that path. */
  readonly route: string | null;
  readonly subject: string | null;
  readonly status: number;
  readonly code: string | null;
  readonly request_id: string | null;
  readonly duration_ms: number;
}

const TEXT_MAX = 200;
/** Whatever looks like a key, a claim id or a token, wherever somebody put it. */
const SECRET_PATTERN = /gc[kw]_\w|clm_[\w-]{22}|eyJ[\w-]+\.|^v1;/;

/** The line of a request: these fields and no other, so that no header and no body ever gets into it. */
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

/** Lines to a stream or, with none, to standard output. */
export function jsonLineSink(destination?: DestinationStream): LogSink {
  const settings = {
    base: null,
    timestamp: false,
    formatters: { level: (level: string) => ({ level }) },
  } as const;
  const logger = destination === undefined ? pino(settings) : pino(settings, destination);
  // The level is pino's to write: a second one in the line would be a duplicate key.
  return ({ level, ...line }) => logger[level](line);
}
