import type { MethodologySignal } from '../../contract/gaps.js';
import { SEVERITIES } from '../../contract/values.js';
import { checkFilesText, omittedChecksText } from '../../engine/guarded-check-files.js';
import { toolConfigText } from '../definition/guarded-paths.js';
import type { EventContext } from './event-context.js';
import { countIn, payloadField, shortTextIn, truncatedTextIn } from './payload.js';

/** Handlers for events that raise or resolve intents. */
export const signalHandlers = {
  intent_raised: onIntentRaised,
  spec_modified: resolveIntents,
  escalation_resolved: resolveIntents,
  intent_resolved: resolveIntents,
};

function onIntentRaised(context: EventContext): void {
  const { state, event, payload } = context;
  const id = shortTextIn(payload, 'intent_id') ?? `intent@${event.position}`;
  if (state.signals.has(intentSignalKey(id))) return;
  const severityName = shortTextIn(payload, 'severity')?.toLowerCase();
  raiseSignal(context, intentSignalKey(id), {
    id,
    kind: 'intent',
    severity: SEVERITIES.find((severity) => severity === severityName) ?? 'high',
    says:
      truncatedTextIn(payload, 'trigger', 'delta', 'description', 'signal_source') ?? 'an intent was raised',
  });
}

function raiseSignal(
  { state, event, feature_id, edge_id }: EventContext,
  key: string,
  signal: Pick<MethodologySignal, 'id' | 'kind' | 'severity' | 'says'>,
): void {
  const { timestamp: at, position } = event;
  state.signals.set(key, { ...signal, at, position, feature_id, edge: edge_id });
}

/** Removes the intents that an event names, in a field or in its reason. */
export function resolveIntents({ state: { signals }, payload }: EventContext): void {
  if (signals.size === 0) return;
  for (const id of intentIdsIn(payload)) signals.delete(intentSignalKey(id));
}

function* intentIdsIn(payload: EventContext['payload']): Generator<string> {
  for (const field of ['trigger_intent', 'intent_id', 'intent']) {
    const id = shortTextIn(payload, field);
    if (id !== null) yield id;
  }
  yield* (truncatedTextIn(payload, 'reason') ?? '').match(/\bINT-[\w-]*\w/g) ?? [];
  const intents = payloadField(payload, 'intents');
  if (Array.isArray(intents)) for (const id of intents.slice(0, 100)) if (typeof id === 'string') yield id;
}

/** Removes the signal of a stale claim, because its holder is active again. */
export function clearStaleSignal(context: EventContext): void {
  if (context.state.signals.size > 0) context.state.signals.delete(edgeSignalKey('stale', context));
}

/** Removes the signals of a claim that is neither stale nor escalated any more. */
export function clearClaimSignals(context: EventContext): void {
  clearStaleSignal(context);
  if (context.state.signals.size > 0) context.state.signals.delete(edgeSignalKey('escalation', context));
}

/** Raises the signal of a stale claim once until it is removed, however often a tool repeats the event. */
export function raiseStaleSignal(context: EventContext, says: string): void {
  if (context.feature_id === null || context.edge_id === null) return;
  const id = edgeSignalKey('stale', context);
  if (context.state.signals.has(id)) return;
  raiseSignal(context, id, { id, kind: 'stale_claim', severity: 'medium', says });
}

export function raiseEscalation(context: EventContext): void {
  const { state, event, payload, feature_id, edge_id } = context;
  if (feature_id === null || edge_id === null) return;
  const id = edgeSignalKey('escalation', context);
  state.signals.delete(id);
  const code = truncatedTextIn(payload, 'reason');
  const reason = code === null ? 'no reason given' : describeReason(code, context);
  const says = `${event.agent_id} cannot converge ${edge_id} of ${feature_id} without a person: ${reason}`;
  raiseSignal(context, id, { id, kind: 'escalation', severity: 'high', says });
}

const OVERDUE_TEXT = 'the deadline has passed without an answer';

/** Raises the severity of an escalation whose deadline has passed. Its reason stays, and the review can still be decided. */
export function markEscalationOverdue(context: EventContext): void {
  const { state, feature_id, edge_id } = context;
  const id = edgeSignalKey('escalation', context);
  const signal = state.signals.get(id);
  if (signal?.severity === 'critical') return;
  if (signal !== undefined) {
    state.signals.set(id, { ...signal, severity: 'critical', says: `${signal.says}; ${OVERDUE_TEXT}` });
    return;
  }
  const says = `${edge_id} of ${feature_id} waits for a review; ${OVERDUE_TEXT}`;
  raiseSignal(context, id, { id, kind: 'escalation', severity: 'critical', says });
}

/** Explains a reason code to people and appends the code for programs. Unknown codes of other tools are returned unchanged. */
function describeReason(code: string, { event: { agent_role }, payload }: EventContext): string {
  switch (code) {
    case 'changes_evaluators':
      return `${checkFilesText(textsIn(payload, 'paths'), countIn(payload, 'path_count') ?? undefined)} (${code})`;
    case 'omits_checks':
      return `${omittedChecksText(textsIn(payload, 'omitted_checks'))} (${code})`;
    case 'commands_programs':
      return `${toolConfigText(textsIn(payload, 'paths'), countIn(payload, 'path_count') ?? undefined)} (${code})`;
    case 'spec_mutation':
      return `the result changes the specification (${code})`;
    case 'outside_role_authority':
      return `the edge is outside the authority of ${agent_role === undefined ? 'an agent without a role' : `the role ${agent_role}`} (${code})`;
    case 'human_review_required':
      return `the edge requires a person (${code})`;
    case 'review_pending':
      return `another candidate of this claim is under review or was not approved (${code})`;
    default:
      return code;
  }
}

const TEXTS_READ_MAX = 20;

function textsIn(payload: EventContext['payload'], field: 'paths' | 'omitted_checks'): string[] {
  const texts = payloadField(payload, field);
  if (!Array.isArray(texts)) return [];
  return texts.slice(0, TEXTS_READ_MAX).filter((text): text is string => typeof text === 'string');
}

const intentSignalKey = (id: string): string => `intent:${id}`;
const edgeSignalKey = (kind: 'stale' | 'escalation', { feature_id, edge_id }: EventContext): string =>
  `${kind}:${feature_id}#${edge_id}`;
