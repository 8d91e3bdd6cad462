import { commandingSentence } from '../graph/guarded-paths.js';
import type { Signal } from './feature-state.js';
import { countIn, fieldOf, nameIn, sentenceIn } from './payload.js';
import type { Scene } from './scene.js';

/** Intents that nobody has acted on, and what takes them off the list. */
export const signalSteps = {
  intent_raised: raised,
  spec_modified: actOnIntents,
  escalation_resolved: actOnIntents,
  intent_resolved: actOnIntents,
};

const SEVERITIES: readonly Signal['severity'][] = ['critical', 'high', 'medium', 'low'];

function raised({ state, event, payload, feature_id, edge_id }: Scene): void {
  const id = nameIn(payload, 'intent_id') ?? `intent@${event.position}`;
  if (state.signals.has(intentKey(id))) return;
  const said = nameIn(payload, 'severity')?.toLowerCase();
  state.signals.set(intentKey(id), {
    id,
    kind: 'intent',
    at: event.timestamp,
    position: event.position,
    feature_id,
    edge: edge_id,
    severity: SEVERITIES.find((severity) => severity === said) ?? 'high',
    says: sentenceIn(payload, 'trigger', 'delta', 'description', 'signal_source') ?? 'an intent was raised',
  });
}

/** Whoever acts on an intent names it: in a field of its own, or in the reason that it gives. */
export function actOnIntents({ state: { signals }, payload }: Scene): void {
  if (signals.size === 0) return;
  for (const id of intentsNamed(payload)) signals.delete(intentKey(id));
}

function* intentsNamed(payload: Scene['payload']): Generator<string> {
  for (const field of ['trigger_intent', 'intent_id', 'intent']) {
    const id = nameIn(payload, field);
    if (id !== null) yield id;
  }
  yield* (sentenceIn(payload, 'reason') ?? '').match(/\bINT-[\w-]*\w/g) ?? [];
  const several = fieldOf(payload, 'intents');
  if (Array.isArray(several)) for (const id of several.slice(0, 100)) if (typeof id === 'string') yield id;
}

export const staleId = (feature_id: string | null, edge: string | null): string =>
  `stale:${feature_id}#${edge}`;

/** The claim was heard of again. */
export function silence({ state, feature_id, edge_id }: Scene): void {
  if (state.signals.size > 0) state.signals.delete(staleId(feature_id, edge_id));
}

/** The claim has moved on: neither its silence nor its escalation waits for anybody. */
export function settle(scene: Scene): void {
  silence(scene);
  if (scene.state.signals.size > 0) scene.state.signals.delete(escalationId(scene));
}

export function waitForHuman(scene: Scene): void {
  const { state, event, payload, feature_id, edge_id } = scene;
  if (feature_id === null || edge_id === null) return;
  const id = escalationId(scene);
  state.signals.delete(id);
  const code = sentenceIn(payload, 'reason');
  const words = code === null ? 'no reason given' : reasonInWords(code, scene);
  state.signals.set(id, {
    id,
    kind: 'escalation',
    at: event.timestamp,
    position: event.position,
    feature_id,
    edge: edge_id,
    severity: 'high',
    says: `${event.agent_id} may not settle ${edge_id} of ${feature_id} alone: ${words}`,
  });
}

/** Beside its code, by which programs know it. Another tool may have given a reason of its own. */
function reasonInWords(code: string, { event: { agent_role }, payload }: Scene): string {
  switch (code) {
    case 'commands_programs':
      return `${commandingSentence(pathsIn(payload), countIn(payload, 'path_count') ?? undefined)} (${code})`;
    case 'spec_mutation':
      return `it changes the specification (${code})`;
    case 'outside_role_authority':
      return `it is outside the authority of ${agent_role === undefined ? 'who has no role' : `the role ${agent_role}`} (${code})`;
    case 'human_review_required':
      return `the edge asks for a human (${code})`;
    case 'review_pending':
      return `a human was asked before, and has not approved this candidate (${code})`;
    default:
      return code;
  }
}

const PATHS_READ_MAX = 20;

function pathsIn(payload: Scene['payload']): string[] {
  const paths = fieldOf(payload, 'paths');
  if (!Array.isArray(paths)) return [];
  return paths.slice(0, PATHS_READ_MAX).filter((path): path is string => typeof path === 'string');
}

const intentKey = (id: string): string => `intent:${id}`;
const escalationId = ({ feature_id, edge_id }: Scene): string => `escalation:${feature_id}#${edge_id}`;
