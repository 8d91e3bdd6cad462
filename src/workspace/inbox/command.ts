import { sha256Hex } from '../../coordinator/identity.js';
import { isTold } from '../../core/events/catalogue.js';
import { readStrictJson } from '../../core/strict-json.js';
import { ownSession } from './names.js';

export const COMMAND_BYTES_MAX = 64 * 1024;

type Fields = Record<string, unknown>;

/** What an agent asks for, in the words of the coordinator's bodies. */
export interface InboxCommand {
  readonly agent_id: string;
  /** The name of its file. */
  readonly name: string;
  readonly event_type: string;
  readonly kind: 'claim' | 'renew' | 'release' | 'submit' | 'append';
  /** As `feature#edge`, where it is about an edge. */
  readonly subject: string | null;
  readonly request_id: string;
  readonly session_id: unknown;
  readonly body: Fields;
}

/** Why a file is no command at all. */
export interface Unreadable {
  readonly unreadable: string;
}

const KINDS: ReadonlyMap<string, InboxCommand['kind']> = new Map([
  ['edge_claim', 'claim'],
  ['heartbeat', 'renew'],
  ['edge_released', 'release'],
  ['edge_converged', 'submit'],
]);

/** The serialiser gives these itself: what an agent's clock or counter says of them is not believed. */
const GIVEN: ReadonlySet<string> = new Set(['timestamp', 'event_id', 'project', 'instance_id', 'seq']);

export function readCommand(agent_id: string, name: string, bytes: Buffer): InboxCommand | Unreadable {
  const read = parsed(bytes);
  if ('unreadable' in read) return read;
  const { event_type, data, ...top } = read.line;
  if (typeof event_type !== 'string') return { unreadable: 'It has no event_type.' };
  const kind = KINDS.get(event_type) ?? (isTold(event_type) ? 'append' : null);
  if (kind === null) {
    const known = [...KINDS.keys()].join(', ');
    const shown = JSON.stringify(event_type.slice(0, 100));
    return { unreadable: `${shown} is no command: expected ${known}, or a step that agents tell of.` };
  }
  // Some writers put everything into `data`. Of a step that is told, `data` is what it tells.
  const fields = withoutGiven(kind === 'append' ? top : { ...objectOf(data), ...top });
  if (fields.agent_id !== undefined && fields.agent_id !== agent_id) {
    return { unreadable: 'It names another agent than the folder it lies in.' };
  }
  const {
    agent_id: _,
    feature,
    feature_id = feature,
    edge,
    session_id = ownSession(agent_id),
    ...rest
  } = fields;
  if (kind !== 'append' && (typeof feature_id !== 'string' || typeof edge !== 'string')) {
    return {
      unreadable: `${event_type} is about an edge of a feature: it has both, feature and edge, as text.`,
    };
  }
  const request_id = `inbox-${sha256Hex(`${agent_id}\n${name}\n${sha256Hex(bytes)}`).slice(0, 40)}`;
  const said: Said = { event_type, agent_id, request_id, feature_id, edge, session_id, rest, data };
  const subject = edge === undefined ? null : `${feature_id}#${edge}`;
  return { agent_id, name, event_type, kind, subject, request_id, session_id, body: BODIES[kind](said) };
}

interface Said {
  readonly event_type: string;
  readonly agent_id: string;
  readonly request_id: string;
  readonly feature_id: unknown;
  readonly edge: unknown;
  readonly session_id: unknown;
  /** Everything else it says. What no body has room for is refused there, by its name. */
  readonly rest: Fields;
  readonly data: unknown;
}

const BODIES: Readonly<Record<InboxCommand['kind'], (said: Said) => Fields>> = {
  claim: ({ agent_id, request_id, feature_id, edge, session_id, rest }) => ({
    ...rest,
    feature_id,
    edge,
    agent_id,
    session_id,
    request_id,
  }),
  renew: (said) => {
    const { generation, agent_role: _, ...rest } = said.rest;
    return { ...rest, ...handleOf(said), expected_generation: generation };
  },
  release: (said) => {
    const { generation, agent_role: _, reason, ...rest } = said.rest;
    return { ...rest, ...handleOf(said), ...whyReleased(reason), expected_generation: generation };
  },
  submit: (said) => {
    const { agent_role: _, result, result_data = result, ...rest } = said.rest;
    return { ...rest, ...handleOf(said), ...(result_data === undefined ? {} : { result_data }) };
  },
  append: ({ event_type, agent_id, request_id, feature_id, edge, session_id, rest, data }) => {
    const { agent_role, generation, claim_id, payload = data, ...told } = rest;
    const about = defined({ feature_id, edge, agent_role, generation, claim_id });
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

const handleOf = ({ feature_id, edge, session_id, request_id }: Said): Fields => ({
  task_id: `${feature_id}#${edge}`,
  session_id,
  request_id,
});

/** Agents of this family write a sentence where we have a word. */
function whyReleased(reason: unknown): Fields {
  if (reason === undefined || reason === 'VOLUNTARY' || reason === 'ERROR') return defined({ reason });
  return { message: reason };
}

function parsed(bytes: Buffer): { readonly line: Fields } | Unreadable {
  const read = readStrictJson(bytes.toString('utf8'));
  if ('fault' in read) return { unreadable: `It is not one JSON object: ${read.fault}.` };
  return isObject(read.value) ? { line: read.value } : { unreadable: 'It is not one JSON object.' };
}

const withoutGiven = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !GIVEN.has(name)));

const defined = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

const objectOf = (value: unknown): Fields => (isObject(value) ? value : {});

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
