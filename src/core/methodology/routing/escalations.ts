import { compareText } from '../../compare-text.js';
import type { MethodologySignal } from '../../contract/gaps.js';
import type { Escalation } from '../../contract/start.js';
import { SEVERITIES } from '../../contract/values.js';
import { suspendedCommand } from '../../engine/suspended-advice.js';
import {
  edgeReviewCommand,
  genCommand,
  newFeatureCommand,
  stuckSpawnCommand,
} from '../definition/command.js';
import {
  effectiveTimeBox,
  type FeatureProgress,
  type FeatureStep,
  unconvergedSteps,
} from '../progress/feature-progress.js';
import type { ProjectProgress } from '../progress/project-progress.js';

/**
 * Items that wait for a person, most severe first. Within one severity, blocked work comes before intents, and older items
 * before newer ones. They are derived from the log and not stored.
 */
export function escalationsOf(project: ProjectProgress): readonly Escalation[] {
  const escalations = [...project.state.signals.values()].map(escalationOfSignal);
  const reportedKeys = new Set(escalations.map(escalationKey));
  for (const progress of project.features.values()) {
    if (progress.isComplete) continue;
    const ofFeature = [
      ...unconvergedSteps(progress).flatMap((step) => escalationsOfStep(project, progress, step)),
      ...escalationsOfTimeBox(progress),
    ];
    // Skips reviews and stale claims that a signal in the log has already reported.
    escalations.push(...ofFeature.filter((escalation) => !reportedKeys.has(escalationKey(escalation))));
  }
  const severityRank = ({ severity }: Escalation): number => SEVERITIES.indexOf(severity);
  const kindRank = ({ kind }: Escalation): number => (kind === 'intent' ? 1 : 0);
  return escalations.sort(
    (a, b) => severityRank(a) - severityRank(b) || kindRank(a) - kindRank(b) || compareText(a.since, b.since),
  );
}

function escalationKey({ kind, feature_id, edge }: Escalation): string {
  return `${kind === 'escalation' ? 'review' : kind}:${feature_id}#${edge}`;
}

function escalationOfSignal(signal: MethodologySignal): Escalation {
  const { kind, feature_id, edge, severity, at, says } = signal;
  return { kind, feature_id, edge, severity, since: at, says, next: signalCommand(signal) };
}

/** The command that resolves a signal. A spawn that names an intent resolves the intent. */
function signalCommand({ id, kind, feature_id, edge, says }: MethodologySignal): string {
  if (kind === 'escalation') return edgeReviewCommand(feature_id ?? '', edge ?? '');
  if (kind === 'stale_claim') return releaseCommand(feature_id ?? '', edge ?? '');
  const parent = feature_id === null ? [] : ['--parent', feature_id];
  return newFeatureCommand(...parent, '--intent', id, '--reason', says);
}

const releaseCommand = (feature: string, edge: string): string =>
  genCommand('task', 'force-release', `${feature}#${edge}`, '--reason', 'stale');

function escalationsOfStep(
  { methodology }: ProjectProgress,
  { row, profile }: FeatureProgress,
  step: FeatureStep,
): Escalation[] {
  const { edge, state, claim, status } = step;
  if (state === null) return [];
  const { feature_id } = row.feature;
  const where = `${edge} of ${feature_id}`;
  const escalations: Escalation[] = [];
  const addEscalation = (
    kind: Escalation['kind'],
    severity: Escalation['severity'],
    says: string,
    next: string,
    since = state.last_at,
  ): void => {
    escalations.push({ kind, feature_id, edge, severity, since, says, next });
  };
  const reviewCommand = edgeReviewCommand(feature_id, edge);
  if (claim?.state === 'suspended') {
    const message = `${where} is suspended, and no candidate waits for a review`;
    addEscalation('suspended', 'high', message, suspendedCommand(`${feature_id}#${edge}`, state.last_run));
  }
  if (status === 'pending_review')
    addEscalation('review', 'high', `${where} waits for a review`, reviewCommand);
  if (state.hold !== null) {
    const unholdCommand = genCommand('task', 'unhold', `${feature_id}#${edge}`, '--reason', 'settled');
    addEscalation('hold', 'high', `${where} is on hold: ${state.hold}`, unholdCommand);
  }
  if (step.stuck) {
    const message = `${where} is stuck at delta ${state.delta} after ${state.iteration} iterations`;
    addEscalation('stuck', 'critical', message, stuckSpawnCommand(feature_id, edge));
  }
  const iterationsMax = methodology?.edges[edge]?.max_iterations ?? profile.max_iterations;
  if (status === 'iterating' && state.deltas.length > 0 && state.iteration >= iterationsMax) {
    addEscalation(
      'max_iterations',
      'medium',
      `${where} has used all ${iterationsMax} iterations`,
      reviewCommand,
    );
  }
  if (claim?.state === 'stale') {
    const message = `${claim.agent_id} holds ${where} and is inactive`;
    addEscalation('stale_claim', 'medium', message, releaseCommand(feature_id, edge), claim.since);
  }
  return escalations;
}

function escalationsOfTimeBox({ row, time_box }: FeatureProgress): Escalation[] {
  const timeBox = effectiveTimeBox(row);
  if (timeBox === null || time_box.status !== 'expired') return [];
  const { feature_id } = row.feature;
  return [
    {
      kind: 'time_box',
      feature_id,
      edge: null,
      severity: 'high',
      since: timeBox.started ?? '',
      says: `the time box of ${feature_id} has expired: ${EXPIRY_TEXTS[timeBox.on_expiry]}`,
      next: genCommand('spawn', 'fold-back', feature_id),
    },
  ];
}

const EXPIRY_TEXTS = {
  fold_back: 'fold back the current result',
  escalate: 'a person must decide how to continue',
  accept_best_effort: 'the current result may be accepted',
} as const;
