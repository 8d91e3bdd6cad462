import { canonicalEdge } from '../graph/edge-name.js';
import { envelopeSchema } from './catalogue.js';
import { isoTime, msOf, type NewEvent } from './envelope.js';
import { type Fields, isObject } from './plain.js';
import { utc } from './time.js';

/** What a line of a foreign log does not say for itself. */
export interface ForeignLog {
  readonly tenant_id: string;
  /** Every line is taken into this project, whatever it calls its own. */
  readonly project_id: string;
  /** What people call the log. */
  readonly source: string;
  /** Nothing happened later than this: a time beyond it is written as this one. */
  readonly now_ms: number;
}

export type ForeignReading =
  | { readonly ok: true; readonly event: Omit<NewEvent, 'event_id'> }
  | { readonly ok: false; readonly path: string; readonly message: string };

/** Asked for, never happened: no log of ours has it as an event. */
const COMMANDS: ReadonlySet<string> = new Set(['edge_claim', 'edge_claimed']);
export const isCommand = (event_type: string): boolean => COMMANDS.has(event_type);
const AGENT_OF_OLD = 'primary';

const { event_type: type, agent_id, agent_role, session_id, generation, request_id } = envelopeSchema.shape;
const key = envelopeSchema.shape.feature_id.refine((id) => id !== undefined && !/^~|#/.test(id));
const text = {
  safeParse: (value: unknown) => ({ success: typeof value === 'string' && value.length <= 1024 }),
};

/** The envelope's fields by the names the flat dialect has for them, and what they must be to be taken for one. */
const LIFTED = [
  ['task_id', ['task_id'], key],
  ['feature_id', ['feature_id', 'feature'], key],
  ['agent_id', ['agent_id'], agent_id],
  ['agent_role', ['agent_role'], agent_role],
  ['session_id', ['session_id'], session_id],
  ['generation', ['generation'], generation],
  ['request_id', ['request_id'], request_id],
] as const;
/** Names of another's that mean nothing here; kept as what they were called. */
const KEPT_APART = [
  ['event_id', ['event_id']],
  ['tenant_id', ['tenant_id']],
  ['project', ['project', 'project_id']],
] as const;

/**
 * The flat dialect keeps everything at the top of the line or inside `data`, as each writer pleased.
 * A line read this way has neither subject nor seq: what others say was claimed moves no head of ours. What a name or
 * a time was before it was brought into one form is in `payload.imported`.
 */
export function readFlat(line: Readonly<Fields>, log: ForeignLog, number: number): ForeignReading {
  const { event_type, timestamp, ...rest } = line;
  if (!type.safeParse(event_type).success) return fault('event_type', 'it has no type');
  if (isCommand(event_type as string)) {
    return fault('event_type', `${event_type} is a command, not something that happened`);
  }
  const at = utc(timestamp);
  if (at === null) return fault('timestamp', 'it has no time that can be read');
  const places = placesOf(rest);
  const imported: Fields = { source: log.source, line: number, original_timestamp: timestamp };
  for (const [field, spellings] of KEPT_APART) {
    const value = take(places, spellings, text);
    if (value !== undefined) imported[field] = value;
  }
  const envelope = { ...lift(places), ...liftEdge(places, imported) };
  return {
    ok: true,
    event: {
      event_type: event_type as string,
      timestamp: isoTime(Math.min(msOf(at), log.now_ms)),
      tenant_id: log.tenant_id,
      project_id: log.project_id,
      agent_id: AGENT_OF_OLD,
      ...envelope,
      payload: payloadOf(places, imported),
    },
  };
}

const fault = (path: string, message: string): ForeignReading => ({ ok: false, path, message });

interface Places {
  readonly top: Fields;
  readonly inner: Fields;
}

/** Seed 001 calls `payload` what the others call `data`. */
function placesOf(rest: Fields): Places {
  const name = 'data' in rest || !isObject(rest.payload) ? 'data' : 'payload';
  const { [name]: data, ...top } = rest;
  return { top, inner: isObject(data) ? { ...data } : data === undefined ? {} : { data } };
}

interface Fits {
  safeParse(value: unknown): { readonly success: boolean };
}

/** Removes and returns the first of these fields that says something that fits; what does not fit stays. */
function take({ top, inner }: Places, spellings: readonly string[], fits: Fits): unknown {
  for (const from of [top, inner]) {
    const spelling = spellings.find((name) => says(from[name]) && fits.safeParse(from[name]).success);
    if (spelling === undefined) continue;
    const value = from[spelling];
    delete from[spelling];
    return value;
  }
  return undefined;
}

const says = (value: unknown): boolean => value !== undefined && value !== null && value !== '';

function lift(places: Places): Partial<NewEvent> {
  const envelope: Fields = {};
  for (const [field, spellings, fits] of LIFTED) {
    const value = take(places, spellings, fits);
    if (value !== undefined) envelope[field] = value;
  }
  return envelope;
}

const edgeText: Fits = {
  safeParse: (value) => ({
    success: typeof value === 'string' && key.safeParse(canonicalEdge(value)).success,
  }),
};

function liftEdge(places: Places, imported: Fields): Partial<NewEvent> {
  const written = take(places, ['edge'], edgeText) as string | undefined;
  if (written === undefined) return {};
  const edge = canonicalEdge(written);
  if (edge !== written) imported.original_edge = written;
  return { edge };
}

function payloadOf({ top, inner }: Places, imported: Fields): Fields {
  const { imported: before, ...payload } = renamed(merged(top, inner));
  if (before !== undefined) imported.imported = before;
  // How far an edge is from done is a count; the one below nought says that nobody knows.
  if (payload.delta === -1) {
    imported.delta = -1;
    delete payload.delta;
  }
  return { ...payload, imported };
}

/** One payload of both places; where both use a name, `data` stays whole so that nothing is lost. */
function merged(top: Fields, inner: Fields): Fields {
  const clash = Object.keys(inner).some((field) => Object.hasOwn(top, field));
  return clash ? { ...top, data: inner } : { ...top, ...inner };
}

function renamed(payload: Fields): Fields {
  const { held_by, ...rest } = payload;
  return held_by === undefined || Object.hasOwn(rest, 'holding_agent')
    ? payload
    : { ...rest, holding_agent: held_by };
}
