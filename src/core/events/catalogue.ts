import { z } from 'zod';
import { claimEventKindOf, isLooseEvent } from '../claims/claim-event-kinds.js';
import { agentIdSchema, projectIdSchema, requestIdSchema, sessionIdSchema, tenantIdSchema } from '../ids.js';
import { PLATFORM_TENANT, type SubjectKind, subjectKeys, subjectKindOf, TENANT_PROJECT } from '../subject.js';
import { edgeEventSchemas, taskEventSchemas } from './claim-events.js';
import type { NewEvent } from './envelope.js';
import { isoTimestamp, nameSchema, nonNegativeInteger, openObject } from './fields.js';
import { methodologyEventSchemas } from './methodology-events.js';
import { recordEventSchemas } from './record-events.js';
import { reviewEventSchemas } from './review-events.js';

const payloadSchemas = {
  ...taskEventSchemas,
  ...edgeEventSchemas,
  ...methodologyEventSchemas,
  ...recordEventSchemas,
  ...reviewEventSchemas,
};
export type EventType = keyof typeof payloadSchemas;
export type EventPayloads = { [Type in EventType]: z.infer<(typeof payloadSchemas)[Type]> };

/** Payload schema per event type. An event of a type that is not listed can only be imported. */
export const CATALOGUE: ReadonlyMap<string, z.ZodType> = new Map(Object.entries(payloadSchemas));

/** Whether callers may append events of this type. Those of all other types are written by the coordinator only. */
export const isAgentReported = (eventType: string): boolean =>
  Object.hasOwn(methodologyEventSchemas, eventType) && eventType !== 'run_requested';

/**
 * Types whose events a command writes after its own checks, such as whether a child is done or the project may be released.
 * Agents must use that command; callers with the permission to review may append these events directly.
 */
const COMMAND_DECIDED_TYPES = new Set<string>(['spawn_created', 'spawn_folded_back', 'release_created']);
/** Decisions of a person: only callers that may act as one can report them. */
const HUMAN_ONLY_TYPES = new Set<string>(['spec_modified', 'escalation_resolved']);
export const isHumanOnly = (eventType: string): boolean => HUMAN_ONLY_TYPES.has(eventType);

export const isCommandDecided = (eventType: string): boolean => COMMAND_DECIDED_TYPES.has(eventType);

const printableName = nameSchema.regex(/^[\x21-\x7e]+$/, {
  error: 'expected visible ASCII characters and no space',
});

/** Envelope of an event before the commit, which adds the position. */
export const envelopeSchema = z.strictObject({
  event_id: z.uuid(),
  event_type: nameSchema,
  timestamp: isoTimestamp,
  tenant_id: tenantIdSchema.or(z.literal(PLATFORM_TENANT)),
  project_id: projectIdSchema.or(z.literal(TENANT_PROJECT)),
  subject: printableName.exactOptional(),
  seq: nonNegativeInteger.min(1).exactOptional(),
  task_id: printableName.exactOptional(),
  feature_id: printableName.exactOptional(),
  edge: printableName.exactOptional(),
  agent_id: agentIdSchema,
  agent_role: nameSchema.exactOptional(),
  // May be empty, with the same meaning as a missing id: no session acted.
  session_id: sessionIdSchema.or(z.literal('')).exactOptional(),
  generation: nonNegativeInteger.exactOptional(),
  request_id: requestIdSchema.exactOptional(),
  payload: openObject,
}) satisfies z.ZodType<NewEvent>;

export interface EventFault {
  /** Location, as `payload.expires_at`; empty for the event as a whole. */
  readonly path: string;
  readonly message: string;
}
export type EventCheck =
  | { readonly ok: true }
  | { readonly ok: false; readonly faults: readonly EventFault[] };

/** Checks an event before it is written. Strict: refuses unknown types, unknown fields and the wrong kind of subject. */
export function checkNewEvent(event: unknown): EventCheck {
  const envelope = envelopeSchema.safeParse(event);
  if (!envelope.success) return { ok: false, faults: faultsOf(envelope.error) };
  const { event_type, payload } = envelope.data;
  const schema = CATALOGUE.get(event_type);
  if (schema === undefined) return { ok: false, faults: [unknownTypeFault(event_type)] };
  const checked = schema.safeParse(payload);
  const faults = checked.success ? [] : faultsOf(checked.error, ['payload']);
  faults.push(...subjectFaults(envelope.data));
  return faults.length === 0 ? { ok: true } : { ok: false, faults };
}

export function faultsOf(error: z.ZodError, at: readonly string[] = []): EventFault[] {
  return error.issues.map(({ path, message }) => ({ path: [...at, ...path].join('.'), message }));
}

function unknownTypeFault(eventType: string): EventFault {
  const message =
    eventType === 'edge_claim'
      ? 'edge_claim is a command, not an event: send a claim request instead'
      : `unknown event_type ${eventType}; check its spelling`;
  return { path: 'event_type', message };
}

function subjectFaults(event: NewEvent): EventFault[] {
  const faults: EventFault[] = [];
  const { event_type, subject } = event;
  const expectedKind = expectedSubjectKind(event_type);
  if (expectedKind !== null && (subject === undefined || subjectKindOf(subject) !== expectedKind)) {
    faults.push({ path: 'subject', message: `${event_type} requires a subject of kind ${expectedKind}` });
  }
  const claimEventKind = claimEventKindOf(event_type);
  const isHeadEvent = expectedKind !== null && !isLooseEvent(event);
  if (isHeadEvent && event.seq === undefined) {
    faults.push({ path: 'seq', message: `${event_type} changes the head of its subject and requires a seq` });
  }
  if (claimEventKind !== undefined && !isHeadEvent && event.seq !== undefined) {
    faults.push({ path: 'seq', message: `${event_type} changes no head and must not have a seq` });
  }
  if (subject !== undefined) faults.push(...keyFaults(event, subject));
  return faults;
}

/**
 * The kind of subject that an event type requires. Null for events of the methodology and of reviews, which may have any
 * subject or none.
 */
function expectedSubjectKind(eventType: string): SubjectKind | null {
  if (eventType in taskEventSchemas) return 'task';
  if (eventType in edgeEventSchemas) return 'edge';
  return eventType in recordEventSchemas ? 'record' : null;
}

function keyFaults(event: NewEvent, subject: string): EventFault[] {
  const expectedKeys = subjectKeys(subject);
  return (['task_id', 'feature_id', 'edge'] as const)
    .filter((key) => event[key] !== expectedKeys[key])
    .map((key) => ({ path: key, message: `expected ${expectedKeys[key] ?? 'none'}, to match the subject` }));
}
