import { sha256Hex } from '../../coordinator/runtime/identity.js';
import { isAgentReported } from '../../core/events/catalogue.js';
import { isObject, type JsonObject } from '../../core/events/plain-data.js';
import { readStrictJson } from '../../core/strict-json.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import { type CommandKind, fieldFault } from './fields.js';
import { inboxSessionOf } from './names.js';

export const COMMAND_FILE_BYTES_MAX = 64 * 1024;

/** A command file of an agent, parsed. `name` is the file's name, `body` the request body for the coordinator. */
export interface InboxCommand {
  readonly agent_id: string;
  readonly name: string;
  readonly event_type: string;
  readonly kind: CommandKind;
  /** `feature#edge` if the command concerns an edge. */
  readonly subject: string | null;
  readonly request_id: string;
  readonly session_id: unknown;
  /** What is wrong with the fields; null if nothing is. */
  readonly fault: string | null;
  readonly body: JsonObject;
}

interface UnreadableCommand {
  readonly unreadable: string;
}

const KINDS: ReadonlyMap<string, CommandKind> = new Map([
  ['edge_claim', 'claim'],
  ['heartbeat', 'renew'],
  ['edge_released', 'release'],
  ['edge_converged', 'submit'],
]);

/** Fields that the serialiser assigns. Values from an agent's clock or counter are ignored. */
const ASSIGNED_FIELDS = new Set(['timestamp', 'event_id', 'project', 'instance_id', 'seq']);

export function parseInboxCommand(
  agent_id: string,
  name: string,
  bytes: Buffer,
): InboxCommand | UnreadableCommand {
  const parsed = readStrictJson(bytes.toString('utf8'));
  if ('fault' in parsed) return { unreadable: `It is not a single JSON object: ${parsed.fault}.` };
  if (!isObject(parsed.value)) return { unreadable: 'It is not a single JSON object.' };
  const { event_type, data, ...top } = parsed.value;
  if (typeof event_type !== 'string')
    return { unreadable: 'It has no event_type, or its event_type is not a string.' };
  const kind = KINDS.get(event_type) ?? (isAgentReported(event_type) ? 'append' : null);
  if (kind === null) {
    const commandTypes = [...KINDS.keys()].join(', ');
    const shown = JSON.stringify(event_type.slice(0, 100));
    return {
      unreadable: `${shown} is not a command: expected ${commandTypes}, or an event that agents report.`,
    };
  }
  // Some writers put every field into `data`. For `append`, `data` is the event's own content.
  const fields = withoutAssigned(kind === 'append' ? top : { ...objectOf(data), ...top });
  if (fields.agent_id !== undefined && fields.agent_id !== agent_id) {
    return {
      unreadable: 'Its agent_id names another agent than the agent of this inbox. Leave out agent_id.',
    };
  }
  const { agent_id: _, feature, feature_id = feature, edge, ...others } = fields;
  if (kind !== 'append' && (typeof feature_id !== 'string' || typeof edge !== 'string')) {
    return { unreadable: `${event_type} requires both feature and edge as strings.` };
  }
  const { session_id = inboxSessionOf(agent_id), ...otherFields } = others;
  const request_id = `inbox-${sha256Hex(`${agent_id}\n${name}\n${sha256Hex(bytes)}`).slice(0, 40)}`;
  const subject = edge === undefined ? null : `${feature_id}#${edge}`;
  const fault = fieldFault(kind, event_type, otherFields);
  const command = { agent_id, name, event_type, kind, subject, request_id, session_id, fault };
  return { ...command, body: BODY_BUILDERS[kind](command, otherFields, { feature_id, edge, data }) };
}

/** `otherFields` are copied into the request, whose schema refuses unknown fields by name; for `append` into its payload. */
type BodyBuilder = (
  command: Omit<InboxCommand, 'body'>,
  otherFields: JsonObject,
  edgeFields: { readonly feature_id: unknown; readonly edge: unknown; readonly data: unknown },
) => JsonObject;

const BODY_BUILDERS: Readonly<Record<CommandKind, BodyBuilder>> = {
  claim: ({ agent_id, session_id, request_id }, otherFields, { feature_id, edge }) => {
    // The reference agent claims its edge again when it has lost the outcome of its claim.
    return { ...otherFields, feature_id, edge, agent_id, session_id, request_id, resume: true };
  },
  renew: (command, { generation, agent_role: _, ...otherFields }) => ({
    ...otherFields,
    ...claimFields(command),
    expected_generation: generation,
  }),
  release: (command, { generation, agent_role: _, reason, ...otherFields }) => ({
    ...otherFields,
    ...claimFields(command),
    ...releaseFields(reason),
    expected_generation: generation,
  }),
  submit: (command, { agent_role: _, result, result_data = result, ...otherFields }) => ({
    ...otherFields,
    ...claimFields(command),
    ...withoutUndefined({ result_data }),
  }),
  append: ({ event_type, agent_id, session_id, request_id }, otherFields, { feature_id, edge, data }) => {
    const { agent_role, generation, claim_id, payload = data, ...content } = otherFields;
    const subjectFields = withoutUndefined({ feature_id, edge, agent_role, generation, claim_id });
    const senderFields = { event_type, agent_id, session_id, request_id };
    return { ...subjectFields, ...senderFields, payload: { ...objectOf(payload), ...content } };
  },
};

function claimFields({ subject: task_id, session_id, request_id }: Omit<InboxCommand, 'body'>) {
  return { task_id, session_id, request_id };
}

/** Agents that write command files give a sentence as the reason, where the API expects a code. */
function releaseFields(reason: unknown): JsonObject {
  if (reason === undefined || reason === 'VOLUNTARY' || reason === 'ERROR')
    return withoutUndefined({ reason });
  return { message: reason };
}

const withoutAssigned = (fields: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !ASSIGNED_FIELDS.has(name)));

const objectOf = (value: unknown): JsonObject => (isObject(value) ? value : {});
