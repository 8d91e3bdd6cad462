import { command, newFeature } from '../graph/command.js';
import type { Escalation, RouteQuestion } from '../graph/route.js';
import type { Signal } from './feature-state.js';
import { type Standing, type Step, timeBoxOf, unconverged } from './standing.js';
import { type Survey, surveyOf } from './survey.js';

const SEVERITIES: readonly Escalation['severity'][] = ['critical', 'high', 'medium', 'low'];

/**
 * What waits for a human, the gravest first; of equals what is in the way of work comes before an intent, and then the
 * oldest. Folded from the log, stored nowhere.
 */
export function escalationsOf(
  question: RouteQuestion,
  survey: Survey = surveyOf(question),
): readonly Escalation[] {
  const found = [...question.state.signals.values()].map(ofSignal);
  const told = new Set(found.map(place));
  for (const standing of survey.standings.values()) {
    if (standing.complete) continue;
    // A review that an escalation asked for, or a silence the log has noted, is told once.
    found.push(...ofFeature(question, standing).filter((one) => !told.has(place(one))));
  }
  const rank = ({ severity }: Escalation): number => SEVERITIES.indexOf(severity);
  const isNew = ({ kind }: Escalation): number => (kind === 'intent' ? 1 : 0);
  return found.sort((a, b) => rank(a) - rank(b) || isNew(a) - isNew(b) || compare(a.since, b.since));
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

function place({ kind, feature_id, edge }: Escalation): string {
  return `${kind === 'escalation' ? 'review' : kind}:${feature_id}#${edge}`;
}

function ofSignal(signal: Signal): Escalation {
  const { kind, feature_id, edge, severity, at, says } = signal;
  return { kind, feature_id, edge, severity, since: at, says, next: nextFor(signal) };
}

/** An intent is settled by the spawn that names it. */
function nextFor({ id, kind, feature_id, edge, says }: Signal): string {
  if (kind === 'escalation') return reviewCommand(feature_id ?? '', edge ?? '');
  if (kind === 'stale_claim') return releaseCommand(feature_id ?? '', edge ?? '');
  const parent = feature_id === null ? [] : ['--parent', feature_id];
  return newFeature(...parent, '--intent', id, '--reason', says);
}

const reviewCommand = (feature: string, edge: string): string =>
  command('review', '--feature', feature, '--edge', edge);
const releaseCommand = (feature: string, edge: string): string =>
  command('task', 'force-release', `${feature}#${edge}`, '--reason', 'stale');

function ofFeature(question: RouteQuestion, standing: Standing): Escalation[] {
  return [
    ...unconverged(standing).flatMap((step) => ofStep(question, standing, step)),
    ...ofTimeBox(standing),
  ];
}

function ofStep({ methodology }: RouteQuestion, { row, profile }: Standing, step: Step): Escalation[] {
  const { edge, state, claim } = step;
  if (state === null) return [];
  const feature_id = row.vector.feature_id;
  const at = { feature_id, edge, since: state.last_at };
  const found: Escalation[] = [];
  if (step.status === 'pending_review') {
    const says = `${edge} of ${feature_id} waits for a review`;
    found.push({ ...at, kind: 'review', severity: 'high', says, next: reviewCommand(feature_id, edge) });
  }
  if (state.hold !== null) {
    const says = `${edge} of ${feature_id} is held: ${state.hold}`;
    const next = command('task', 'unhold', `${feature_id}#${edge}`, '--reason', 'settled');
    found.push({ ...at, kind: 'hold', severity: 'high', says, next });
  }
  if (step.stuck) {
    const says = `${edge} of ${feature_id} is stuck: delta ${state.delta} again and again, ${state.iteration} iterations so far`;
    const next = command(
      'spawn',
      '--type',
      'discovery',
      '--parent',
      feature_id,
      '--reason',
      `stuck on ${edge}`,
    );
    found.push({ ...at, kind: 'stuck', severity: 'critical', says, next });
  }
  const most = methodology?.edges[edge]?.max_iterations ?? profile.max_iterations;
  if (step.status === 'iterating' && state.deltas.length > 0 && state.iteration >= most) {
    const says = `${edge} of ${feature_id} has used its ${most} iterations`;
    found.push({
      ...at,
      kind: 'max_iterations',
      severity: 'medium',
      says,
      next: reviewCommand(feature_id, edge),
    });
  }
  if (claim?.state === 'stale') {
    const says = `${claim.agent_id} holds ${edge} of ${feature_id} and has not been heard of`;
    const next = releaseCommand(feature_id, edge);
    found.push({ ...at, kind: 'stale_claim', severity: 'medium', since: claim.since, says, next });
  }
  return found;
}

function ofTimeBox({ row, time_box }: Standing): Escalation[] {
  const box = timeBoxOf(row);
  if (box === null || time_box.status !== 'expired') return [];
  const { feature_id } = row.vector;
  return [
    {
      kind: 'time_box',
      feature_id,
      edge: null,
      severity: 'high',
      since: box.started ?? '',
      says: `the time box of ${feature_id} has run out: ${WHAT_THEN[box.on_expiry]}`,
      next: command('spawn', 'fold-back', feature_id),
    },
  ];
}

const WHAT_THEN = {
  fold_back: 'fold back what there is',
  escalate: 'somebody must decide how it goes on',
  accept_best_effort: 'what there is may be accepted',
} as const;
