import { genCommand, newFeatureCommand } from '../definition/command.js';
import {
  effectiveTimeBox,
  type FeatureProgress,
  type FeatureStep,
  unconvergedSteps,
} from '../progress/feature-progress.js';
import type { MethodologySignal } from '../progress/feature-state.js';
import { type ProjectProgress, projectProgressOf } from '../progress/project-progress.js';
import type { RouteInput } from '../progress/route-input.js';
import type { Escalation } from './route.js';

const SEVERITIES: readonly Escalation['severity'][] = ['critical', 'high', 'medium', 'low'];

/**
 * Items that wait for a human, by severity; within one severity, blocked work comes before intents, then the oldest
 * first. Folded from the log, stored nowhere.
 */
export function escalationsOf(
  input: RouteInput,
  projectProgress: ProjectProgress = projectProgressOf(input),
): readonly Escalation[] {
  const found = [...input.state.signals.values()].map(escalationOfSignal);
  const reported = new Set(found.map(escalationKey));
  for (const progress of projectProgress.features.values()) {
    if (progress.isComplete) continue;
    // Skips reviews and stale claims that a signal in the log has already reported.
    found.push(...escalationsOfFeature(input, progress).filter((one) => !reported.has(escalationKey(one))));
  }
  const rank = ({ severity }: Escalation): number => SEVERITIES.indexOf(severity);
  const isNew = ({ kind }: Escalation): number => (kind === 'intent' ? 1 : 0);
  return found.sort((a, b) => rank(a) - rank(b) || isNew(a) - isNew(b) || compare(a.since, b.since));
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

function escalationKey({ kind, feature_id, edge }: Escalation): string {
  return `${kind === 'escalation' ? 'review' : kind}:${feature_id}#${edge}`;
}

function escalationOfSignal(signal: MethodologySignal): Escalation {
  const { kind, feature_id, edge, severity, at, says } = signal;
  return { kind, feature_id, edge, severity, since: at, says, next: signalCommand(signal) };
}

/** The command that resolves a signal. A spawn that names an intent resolves the intent. */
function signalCommand({ id, kind, feature_id, edge, says }: MethodologySignal): string {
  if (kind === 'escalation') return reviewCommand(feature_id ?? '', edge ?? '');
  if (kind === 'stale_claim') return releaseCommand(feature_id ?? '', edge ?? '');
  const parent = feature_id === null ? [] : ['--parent', feature_id];
  return newFeatureCommand(...parent, '--intent', id, '--reason', says);
}

const reviewCommand = (feature: string, edge: string): string =>
  genCommand('review', '--feature', feature, '--edge', edge);
const releaseCommand = (feature: string, edge: string): string =>
  genCommand('task', 'force-release', `${feature}#${edge}`, '--reason', 'stale');

function escalationsOfFeature(input: RouteInput, progress: FeatureProgress): Escalation[] {
  return [
    ...unconvergedSteps(progress).flatMap((step) => escalationsOfStep(input, progress, step)),
    ...escalationsOfTimeBox(progress),
  ];
}

function escalationsOfStep(
  { methodology }: RouteInput,
  { row, profile }: FeatureProgress,
  step: FeatureStep,
): Escalation[] {
  const { edge, state, claim } = step;
  if (state === null) return [];
  const feature_id = row.vector.feature_id;
  const at = { feature_id, edge, since: state.last_at };
  const found: Escalation[] = [];
  if (step.status === 'pending_review') {
    const message = `${edge} of ${feature_id} waits for a review`;
    found.push({
      ...at,
      kind: 'review',
      severity: 'high',
      says: message,
      next: reviewCommand(feature_id, edge),
    });
  }
  if (state.hold !== null) {
    const message = `${edge} of ${feature_id} is held: ${state.hold}`;
    const next = genCommand('task', 'unhold', `${feature_id}#${edge}`, '--reason', 'settled');
    found.push({ ...at, kind: 'hold', severity: 'high', says: message, next });
  }
  if (step.stuck) {
    const message = `${edge} of ${feature_id} is stuck: delta ${state.delta} again and again, ${state.iteration} iterations so far`;
    const next = genCommand(
      'spawn',
      '--type',
      'discovery',
      '--parent',
      feature_id,
      '--reason',
      `stuck on ${edge}`,
    );
    found.push({ ...at, kind: 'stuck', severity: 'critical', says: message, next });
  }
  const iterationsMax = methodology?.edges[edge]?.max_iterations ?? profile.max_iterations;
  if (step.status === 'iterating' && state.deltas.length > 0 && state.iteration >= iterationsMax) {
    const message = `${edge} of ${feature_id} has used its ${iterationsMax} iterations`;
    found.push({
      ...at,
      kind: 'max_iterations',
      severity: 'medium',
      says: message,
      next: reviewCommand(feature_id, edge),
    });
  }
  if (claim?.state === 'stale') {
    const message = `${claim.agent_id} holds ${edge} of ${feature_id} and has not been heard of`;
    const next = releaseCommand(feature_id, edge);
    found.push({ ...at, kind: 'stale_claim', severity: 'medium', since: claim.since, says: message, next });
  }
  return found;
}

function escalationsOfTimeBox({ row, time_box }: FeatureProgress): Escalation[] {
  const box = effectiveTimeBox(row);
  if (box === null || time_box.status !== 'expired') return [];
  const { feature_id } = row.vector;
  return [
    {
      kind: 'time_box',
      feature_id,
      edge: null,
      severity: 'high',
      since: box.started ?? '',
      says: `the time box of ${feature_id} has run out: ${EXPIRY_MESSAGES[box.on_expiry]}`,
      next: genCommand('spawn', 'fold-back', feature_id),
    },
  ];
}

const EXPIRY_MESSAGES = {
  fold_back: 'fold back what there is',
  escalate: 'somebody must decide how it goes on',
  accept_best_effort: 'what there is may be accepted',
} as const;
