import { DIGEST_LENGTH, type LogFields, PAYLOAD } from './line.js';
import { V1_HASHED_FROM, V1_PREFIX } from './line-v1.js';
import { decodeLine } from './log-line.js';
import { SEAL_PREFIX, type Seal } from './seal.js';

/**
 * A line of which only its place in the log is parsed. `event_json` is the text of its event without the field `log`,
 * which is a large part of the text and of the time to parse it.
 */
export type SkimmedLine =
  | { readonly kind: 'transaction'; readonly event_json: string | null; readonly log: LogFields }
  | { readonly kind: 'v1'; readonly event_json: string; readonly log: LogFields; readonly links: V1Links }
  | { readonly kind: 'seal'; readonly event_json: null; readonly seal: Seal }
  | { readonly kind: 'foreign'; readonly event_json: null };

interface V1Links {
  readonly hash: string;
  readonly prev: string;
}

const V1_START = V1_PREFIX.toString();
const V1_LOG = '"log":{"prev":"';
const V1_UNIT = '","unit":"';
const SEAL_START = SEAL_PREFIX.toString();
const EVENT_START = '{"event_id":"';
const LOG = ',"log":{"payload_sha256":"';
const UNIT = '","unit":"';

/** Null: not a line of a log. */
export function skimLine(line: string): SkimmedLine | null {
  if (line.startsWith(EVENT_START)) return skimEvent(line);
  if (line.startsWith(SEAL_START)) return skimOther(line);
  return line.startsWith(V1_START) ? skimV1(line) : skimOther(line);
}

function skimEvent(line: string): SkimmedLine | null {
  const log = line.indexOf(LOG);
  if (log < 0) return skimOther(line);
  const payload = line.indexOf(PAYLOAD, log);
  const unit = log + LOG.length + DIGEST_LENGTH;
  const hasUnit = line.startsWith(UNIT, unit);
  const from = unit + UNIT.length;
  return {
    kind: 'transaction',
    event_json: `${line.slice(0, log)}${line.slice(payload)}`,
    log: hasUnit ? { unit: line.slice(from, line.indexOf('"', from)) } : NO_LOG,
  };
}

const NO_LOG: LogFields = {};

function skimV1(line: string): SkimmedLine | null {
  const log = line.indexOf(V1_LOG);
  const payload = line.indexOf(PAYLOAD, log);
  const prev = log + V1_LOG.length;
  const unit = prev + DIGEST_LENGTH;
  if (log < V1_HASHED_FROM || payload < 0 || !line.startsWith(V1_UNIT, unit)) return null;
  const from = unit + V1_UNIT.length;
  return {
    kind: 'v1',
    event_json: `{${line.slice(V1_HASHED_FROM, log)}${line.slice(payload + 1)}`,
    log: { unit: line.slice(from, line.indexOf('"', from)) },
    links: {
      hash: line.slice(V1_START.length, V1_START.length + DIGEST_LENGTH),
      prev: line.slice(prev, unit),
    },
  };
}

/** Few lines are neither events nor in format 1. */
function skimOther(line: string): SkimmedLine | null {
  const decoded = decodeLine(Buffer.from(line));
  if (typeof decoded === 'string' || decoded.kind === 'v1') return null;
  if (decoded.kind === 'seal') return { kind: 'seal', event_json: null, seal: decoded.seal };
  if (decoded.kind === 'foreign') return { kind: 'foreign', event_json: null };
  return decoded.line.event === null
    ? { kind: 'transaction', event_json: null, log: decoded.line.log }
    : null;
}
