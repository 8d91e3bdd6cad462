import { didYouMean } from '../../core/closest-names.js';
import { claimBody, releaseBody, renewBody, submitBody } from '../../core/contract/claim-bodies.js';
import type { JsonObject } from '../../core/events/plain-data.js';

/** The kind of operation that a command file requests. */
export type CommandKind = 'claim' | 'renew' | 'release' | 'submit' | 'append';

const REQUEST_SCHEMAS = { claim: claimBody, renew: renewBody, release: releaseBody, submit: submitBody };

/**
 * In a command file, a field has the same name as in the request. These are the exceptions: the names that such a field may
 * have; none if an agent cannot set the field.
 */
const INBOX_NAMES: Readonly<Record<string, readonly string[]>> = {
  task_id: [],
  feature_id: [],
  edge: [],
  agent_id: [],
  request_id: [],
  signature: [],
  offline: [],
  with_briefing: [],
  resume: [],
  expected_generation: ['generation'],
  result_data: ['result', 'result_data'],
};

/** Wrong names of fields, as other tools of the family write them, and the right names. */
const MISNOMERS: Readonly<Record<string, string>> = {
  role: 'agent_role',
  gen: 'generation',
  expected_generation: 'generation',
  ttl: 'lease_duration_seconds',
  lease_seconds: 'lease_duration_seconds',
};

/** The fields of a command besides `feature` and `edge`, derived from the request that it becomes. */
function fieldsOf(kind: Exclude<CommandKind, 'append'>): readonly string[] {
  const names = Object.keys(REQUEST_SCHEMAS[kind].shape).flatMap((name) => INBOX_NAMES[name] ?? [name]);
  return [...new Set([...names, 'agent_role', 'claim_id'])];
}

/** A sentence about the first unknown field, with the name that was probably meant; null if all fields are known. */
export function fieldFault(kind: CommandKind, eventType: string, fields: JsonObject): string | null {
  if (kind === 'append') return null;
  const allowed = fieldsOf(kind);
  const unknown = Object.keys(fields).find((name) => !allowed.includes(name));
  if (unknown === undefined) return null;
  const correctName = MISNOMERS[unknown];
  const hint =
    correctName !== undefined && allowed.includes(correctName)
      ? ` Write ${correctName}.`
      : didYouMean(unknown, allowed);
  return `${unknown.slice(0, 100)}: not a field of ${eventType}.${hint} Its fields are feature, edge, ${allowed.join(', ')}.`;
}
