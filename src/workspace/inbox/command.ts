import { sha256Hex } from '../../coordinator/runtime/identity.js';
import { isAgentReported } from '../../core/events/catalogue.js';
import { readStrictJson } from '../../core/strict-json.js';
import { inboxSessionOf } from './names.js';

export const COMMAND_BYTES_MAX = 64 * 1024;

type CommandFields = Record<string, unknown>;

/** An agent's command, with the fields of the coordinator's request body. */
export interface InboxCommand {
  readonly agent_id: string;
  /** Its file name. */
  readonly name: string;
  readonly event_type: string;
  readonly kind: 'claim' | 'renew' | 'release' | 'submit' | 'append';
  /** `feature#edge` if the command concerns an edge. */
  readonly subject: string | null;
  readonly request_id: string;
  readonly session_id: unknown;
  readonly body: CommandFields;
}

/** Why a file is not a valid command. */
export interface UnreadableCommand {
  readonly unreadable: string;
}

const KINDS: ReadonlyMap<string, InboxCommand['kind']> = new Map([
  ['edge_claim', 'claim'],
  ['heartbeat', 'renew'],
  ['edge_released', 'release'],
  ['edge_converged', 'submit'],
]);

/** Fields that the serialiser assigns. Values from an agent's clock or counter are ignored. */
const ASSIGNED_FIELDS: ReadonlySet<string> = new Set([
  'timestamp',
  'event_id',
  'project',
  'instance_id',
  'seq',
]);

export function parseCommand(
  agent_id: string,
  name: string,
  bytes: Buffer,
): InboxCommand | UnreadableCommand {
  const read = parseJsonObject(bytes);
  if ('unreadable' in read) return read;
  const { event_type, data, ...top } = read.line;
  if (typeof event_type !== 'string') return { unreadable: 'It has no event_type.' };
  const kind = KINDS.get(event_type) ?? (isAgentReported(event_type) ? 'append' : null);
  if (kind === null) {
    const known = [...KINDS.keys()].join(', ');
    const shown = JSON.stringify(event_type.slice(0, 100));
    return { unreadable: `${shown} is no command: expected ${known}, or a step that agents tell of.` };
  }
  // Some writers put every field into `data`. For `append`, `data` is the event's own content.
  const fields = withoutAssigned(kind === 'append' ? top : { ...objectOf(data), ...top });
  if (fields.agent_id !== undefined && fields.agent_id !== agent_id) {
    return { unreadable: 'It names another agent than the folder it lies in.' };
  }
  const {
    agent_id: _,
    feature,
    feature_id = feature,
    edge,
    session_id = inboxSessionOf(agent_id),
    ...rest
  } = fields;
  if (kind !== 'append' && (typeof feature_id !== 'string' || typeof edge !== 'string')) {
    return {
      unreadable: `${event_type} is about an edge of a feature: it has both, feature and edge, as text.`,
    };
  }
  const request_id = `inbox-${sha256Hex(`${agent_id}\n${name}\n${sha256Hex(bytes)}`).slice(0, 40)}`;
  const parsedCommand: ParsedCommand = {
    event_type,
    agent_id,
    request_id,
    feature_id,
    edge,
    session_id,
    rest,
    data,
  };
  const subject = edge === undefined ? null : `${feature_id}#${edge}`;
  return {
    agent_id,
    name,
    event_type,
    kind,
    subject,
    request_id,
    session_id,
    body: BODY_BUILDERS[kind](parsedCommand),
  };
}

interface ParsedCommand {
  readonly event_type: string;
  readonly agent_id: string;
  readonly request_id: string;
  readonly feature_id: unknown;
  readonly edge: unknown;
  readonly session_id: unknown;
  /** All other fields. The request schema refuses unknown ones by name. */
  readonly rest: CommandFields;
  readonly data: unknown;
}

const BODY_BUILDERS: Readonly<Record<InboxCommand['kind'], (parsed: ParsedCommand) => CommandFields>> = {
  claim: ({ agent_id, request_id, feature_id, edge, session_id, rest }) => ({
    ...rest,
    feature_id,
    edge,
    agent_id,
    session_id,
    request_id,
  }),
  renew: (parsed) => {
    const { generation, agent_role: _, ...rest } = parsed.rest;
    return { ...rest, ...claimFields(parsed), expected_generation: generation };
  },
  release: (parsed) => {
    const { generation, agent_role: _, reason, ...rest } = parsed.rest;
    return { ...rest, ...claimFields(parsed), ...releaseReason(reason), expected_generation: generation };
  },
  submit: (parsed) => {
    const { agent_role: _, result, result_data = result, ...rest } = parsed.rest;
    return { ...rest, ...claimFields(parsed), ...(result_data === undefined ? {} : { result_data }) };
  },
  append: ({ event_type, agent_id, request_id, feature_id, edge, session_id, rest, data }) => {
    const { agent_role, generation, claim_id, payload = data, ...told } = rest;
    const about = withoutUndefined({ feature_id, edge, agent_role, generation, claim_id });
    return {
      ...about,
      event_type,
      agent_id,
      session_id,
      request_id,
      payload: { ...objectOf(payload), ...told },
    };
  },
};

const claimFields = ({ feature_id, edge, session_id, request_id }: ParsedCommand): CommandFields => ({
  task_id: `${feature_id}#${edge}`,
  session_id,
  request_id,
});

/** These agents write a sentence where the API has a code. */
function releaseReason(reason: unknown): CommandFields {
  if (reason === undefined || reason === 'VOLUNTARY' || reason === 'ERROR')
    return withoutUndefined({ reason });
  return { message: reason };
}

function parseJsonObject(bytes: Buffer): { readonly line: CommandFields } | UnreadableCommand {
  const read = readStrictJson(bytes.toString('utf8'));
  if ('fault' in read) return { unreadable: `It is not one JSON object: ${read.fault}.` };
  return isObject(read.value) ? { line: read.value } : { unreadable: 'It is not one JSON object.' };
}

const withoutAssigned = (fields: CommandFields): CommandFields =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !ASSIGNED_FIELDS.has(name)));

const withoutUndefined = (fields: CommandFields): CommandFields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

const objectOf = (value: unknown): CommandFields => (isObject(value) ? value : {});

const isObject = (value: unknown): value is CommandFields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
