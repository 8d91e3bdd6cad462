import { z } from 'zod';
import { factOf, isNote } from '../claims/facts.js';
import { agentIdSchema, projectIdSchema, requestIdSchema, sessionIdSchema, tenantIdSchema } from '../ids.js';
import { kindOf, PLATFORM_TENANT, type SubjectKind, subjectKeys, TENANT_PROJECT } from '../subject.js';
import { edgeEvents } from './edge-events.js';
import type { NewEvent } from './envelope.js';
import { count, isoTimestamp, name, openObject } from './fields.js';
import { methodologyEvents } from './methodology-events.js';
import { recordEvents } from './record-events.js';
import { taskEvents } from './task-events.js';

/** One schema per event type, for its payload. What is not here is not written. */
export const CATALOGUE: ReadonlyMap<string, z.ZodType> = new Map<string, z.ZodType>(
  Object.entries({ ...taskEvents, ...edgeEvents, ...methodologyEvents, ...recordEvents }),
);

/** What agents and tools tell of themselves. Everything else is written by the commands that make it happen. */
export const isTold = (event_type: string): boolean => Object.hasOwn(methodologyEvents, event_type);

/**
 * Steps on which a command of its own decides: whether the child has done its work, whether the project may be released.
 * Agents ask for them by that command. Who speaks for the project may tell them, as a sync does.
 */
const DECIDED: ReadonlySet<string> = new Set(['spawn_created', 'spawn_folded_back', 'release_created']);
/** What a human has decided: nobody tells it who may not speak as one. */
const OF_HUMANS: ReadonlySet<string> = new Set(['spec_modified', 'escalation_resolved']);
export const isOfHumans = (event_type: string): boolean => OF_HUMANS.has(event_type);

export const isDecided = (event_type: string): boolean => DECIDED.has(event_type);

const printable = name.regex(/^[\x21-\x7e]+$/, { error: 'expected visible ASCII characters and no space' });

/** The envelope of an event about to be written; the commit adds its position. */
export const envelopeSchema = z.strictObject({
  event_id: z.uuid(),
  event_type: name,
  timestamp: isoTimestamp,
  tenant_id: tenantIdSchema.or(z.literal(PLATFORM_TENANT)),
  project_id: projectIdSchema.or(z.literal(TENANT_PROJECT)),
  subject: printable.exactOptional(),
  seq: count.min(1).exactOptional(),
  task_id: printable.exactOptional(),
  feature_id: printable.exactOptional(),
  edge: printable.exactOptional(),
  agent_id: agentIdSchema,
  agent_role: name.exactOptional(),
  // Empty where a human speaks of a subject that nobody has claimed yet.
  session_id: sessionIdSchema.or(z.literal('')).exactOptional(),
  generation: count.exactOptional(),
  request_id: requestIdSchema.exactOptional(),
  payload: openObject,
}) satisfies z.ZodType<NewEvent>;

export interface EventFault {
  /** Where, as `payload.expires_at`; empty for the event as a whole. */
  readonly path: string;
  readonly message: string;
}
export type EventCheck =
  | { readonly ok: true }
  | { readonly ok: false; readonly faults: readonly EventFault[] };

/** Strict on write: an unknown type, an unknown field or a fact told of the wrong kind of subject is refused. */
export function checkNewEvent(event: unknown): EventCheck {
  const envelope = envelopeSchema.safeParse(event);
  if (!envelope.success) return { ok: false, faults: faultsOf(envelope.error) };
  const { event_type, payload } = envelope.data;
  const schema = CATALOGUE.get(event_type);
  if (schema === undefined) return { ok: false, faults: [unknownType(event_type)] };
  const checked = schema.safeParse(payload);
  const faults = checked.success ? [] : faultsOf(checked.error, ['payload']);
  faults.push(...subjectFaults(envelope.data));
  return faults.length === 0 ? { ok: true } : { ok: false, faults };
}

export function faultsOf(error: z.ZodError, at: readonly string[] = []): EventFault[] {
  return error.issues.map(({ path, message }) => ({ path: [...at, ...path].join('.'), message }));
}

function unknownType(event_type: string): EventFault {
  const message =
    event_type === 'edge_claim'
      ? 'edge_claim is a command, not something that happened: send it as a claim'
      : `${event_type} is no event type of the catalogue`;
  return { path: 'event_type', message };
}

function subjectFaults(event: NewEvent): EventFault[] {
  const faults: EventFault[] = [];
  const { event_type, subject } = event;
  const expected = kindToldOf(event_type);
  if (expected !== null && (subject === undefined || kindOf(subject) !== expected)) {
    faults.push({ path: 'subject', message: `${event_type} is told of a subject of kind ${expected}` });
  }
  const fact = factOf(event_type);
  const movesHead = expected !== null && !isNote(event);
  if (movesHead && event.seq === undefined) {
    faults.push({ path: 'seq', message: `${event_type} moves the head of its subject, so it carries a seq` });
  }
  if (fact !== undefined && !movesHead && event.seq !== undefined) {
    faults.push({ path: 'seq', message: `${event_type} moves no head, so it carries no seq` });
  }
  if (subject !== undefined) faults.push(...keyFaults(event, subject));
  return faults;
}

/** Null: the methodology's steps, which may concern a subject or none. */
function kindToldOf(event_type: string): SubjectKind | null {
  if (event_type in taskEvents) return 'task';
  if (event_type in edgeEvents) return 'edge';
  return event_type in recordEvents ? 'record' : null;
}

function keyFaults(event: NewEvent, subject: string): EventFault[] {
  const keys = subjectKeys(subject);
  return (['task_id', 'feature_id', 'edge'] as const)
    .filter((key) => event[key] !== keys[key])
    .map((key) => ({ path: key, message: `expected ${keys[key] ?? 'none'}, as the subject says` }));
}
