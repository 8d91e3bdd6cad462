import { DIGEST_LENGTH, type LogFields, PAYLOAD_MARK } from './line.js';
import { V1_HASHED_FROM, V1_PREFIX } from './line-v1.js';
import { decodeLine } from './log-line.js';
import { SEAL_PREFIX, type Seal } from './seal.js';

/**
 * A line, parsed only as far as its order in the log requires. `event_json` is the text of its event without the field `log`,
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
  const logIndex = line.indexOf(LOG);
  if (logIndex < 0) return skimOther(line);
  const payloadIndex = line.indexOf(PAYLOAD_MARK, logIndex);
  const unitIndex = logIndex + LOG.length + DIGEST_LENGTH;
  const hasUnit = line.startsWith(UNIT, unitIndex);
  const from = unitIndex + UNIT.length;
  return {
    kind: 'transaction',
    event_json: `${line.slice(0, logIndex)}${line.slice(payloadIndex)}`,
    log: hasUnit ? { unit: line.slice(from, line.indexOf('"', from)) } : NO_LOG,
  };
}

const NO_LOG: LogFields = {};

function skimV1(line: string): SkimmedLine | null {
  const logIndex = line.indexOf(V1_LOG);
  const payloadIndex = line.indexOf(PAYLOAD_MARK, logIndex);
  const prevIndex = logIndex + V1_LOG.length;
  const unitIndex = prevIndex + DIGEST_LENGTH;
  if (logIndex < V1_HASHED_FROM || payloadIndex < 0 || !line.startsWith(V1_UNIT, unitIndex)) return null;
  const from = unitIndex + V1_UNIT.length;
  return {
    kind: 'v1',
    event_json: `{${line.slice(V1_HASHED_FROM, logIndex)}${line.slice(payloadIndex + 1)}`,
    log: { unit: line.slice(from, line.indexOf('"', from)) },
    links: {
      hash: line.slice(V1_START.length, V1_START.length + DIGEST_LENGTH),
      prev: line.slice(prevIndex, unitIndex),
    },
  };
}

/** Decodes the line as a whole: few lines are neither events nor in format 1. */
function skimOther(line: string): SkimmedLine | null {
  const decoded = decodeLine(Buffer.from(line));
  if (typeof decoded === 'string' || decoded.kind === 'v1') return null;
  if (decoded.kind === 'seal') return { kind: 'seal', event_json: null, seal: decoded.seal };
  if (decoded.kind === 'foreign') return { kind: 'foreign', event_json: null };
  return decoded.line.event === null
    ? { kind: 'transaction', event_json: null, log: decoded.line.log }
    : null;
}
