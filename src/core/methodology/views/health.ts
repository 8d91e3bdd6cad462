import type { HealthFinding, HealthReport } from '../../contract/methodology-views.js';
import type { ConfigFault } from '../../contract/problem.js';
import { subjectKeys } from '../../subject.js';
import { edgeReviewCommand, genCommand } from '../definition/command.js';
import { featureCycles } from '../definition/cycles.js';
import type { FeatureProgress } from '../progress/feature-progress.js';
import type { RouteInput } from '../progress/feature-state.js';
import { type ProjectProgress, projectProgressOf } from '../progress/project-progress.js';
import { escalationsOf } from '../routing/escalations.js';
import { undecidedDimensions } from '../routing/route-state.js';

type HealthFindingKind = HealthFinding['kind'];

/** Reports what is wrong or soon will be, derived from the log and the files. Repairs nothing. */
export function healthView(
  input: RouteInput,
  spent: HealthReport['spent'],
  faults: readonly ConfigFault[] = [],
): HealthReport {
  const project = projectProgressOf(input);
  const featureList = [...project.features.values()];
  const findings = [
    ...escalationsOf(project).map(({ since: _, ...escalation }) => escalation),
    ...featureList.flatMap((progress) => [...edgeFindings(progress), ...featureFindings(progress, project)]),
    ...noticeFindings(input),
    ...logFindings(input),
    ...projectFindings(project, faults),
  ];
  const countOf = (...kinds: HealthFindingKind[]): number =>
    findings.filter(({ kind }) => kinds.includes(kind)).length;
  const pending_reviews = countOf('review', 'escalation');
  const stale_claims = countOf('stale_claim');
  return {
    healthy: findings.every(({ severity }) => severity === 'low'),
    position: input.state.position,
    findings,
    counts: { features: featureList.length, pending_reviews, stale_claims, stuck: countOf('stuck') },
    health: { streams_lag_ms: 0, pending_reviews, stale_claims },
    spent,
    budget: input.methodology?.engine?.budget ?? null,
  };
}

const newFinding = (
  kind: HealthFindingKind,
  severity: HealthFinding['severity'],
  message: string,
  fields: Partial<HealthFinding> = {},
): HealthFinding => ({ kind, severity, feature_id: null, edge: null, says: message, next: null, ...fields });

/** A check that fails more often than this in a row is reported as a finding of its own. */
const FAILURES_IN_A_ROW_MAX = 3;

function edgeFindings({ row, isComplete }: FeatureProgress): HealthFinding[] {
  const { feature_id } = row.feature;
  const findings: HealthFinding[] = [];
  for (const [edge, state] of row.state?.edges ?? []) {
    const location = { feature_id, edge };
    const where = `${edge} of ${feature_id}`;
    if (state.has_unproven_convergence) {
      const message = `${where} reports convergence, but the log has no edge_converged for it`;
      findings.push(newFinding('unproven_convergence', 'high', message, location));
    }
    if (state.converged_unstarted) {
      findings.push(
        newFinding('unstarted_convergence', 'low', `${where} converged without being started`, location),
      );
    }
    for (const [check, times] of isComplete || state.status === 'converged' ? [] : state.failing) {
      if (times <= FAILURES_IN_A_ROW_MAX) continue;
      const message = `${check} has failed ${times} times in a row on ${where}`;
      findings.push(newFinding('failing_check', 'medium', message, location));
    }
  }
  for (const [edge, { agent_id, state }] of row.claims) {
    if (state !== 'lease_expired') continue;
    const message = `the lease of ${agent_id} on ${edge} of ${feature_id} has expired: any agent can claim it`;
    findings.push(newFinding('lease_expired', 'low', message, { feature_id, edge }));
  }
  return findings;
}

function featureFindings(
  { row, time_box, isComplete, profile }: FeatureProgress,
  { methodology, features }: ProjectProgress,
): HealthFinding[] {
  const { feature_id, dependencies, profile: profileName } = row.feature;
  const location = { feature_id };
  const findings: HealthFinding[] = [];
  for (const { feature } of dependencies) {
    if (features.has(feature)) continue;
    const message = `${feature_id} depends on ${feature}, which is not defined`;
    findings.push(newFinding('unknown_dependency', 'high', message, location));
  }
  if (profileName !== '' && !Object.hasOwn(methodology?.profiles ?? {}, profileName)) {
    const message = `${feature_id} names the unknown profile ${profileName}; using ${profile.name} instead`;
    findings.push(newFinding('unknown_profile', 'medium', message, location));
  }
  if (!isComplete && time_box.status === 'expiring') {
    const percentLeft = Math.round((1 - time_box.elapsed) * 100);
    findings.push(
      newFinding(
        'time_box_expiring',
        'low',
        `${percentLeft} % of the time box of ${feature_id} is left`,
        location,
      ),
    );
  }
  const parent = row.feature.parent ?? row.state?.parent ?? null;
  if (parent !== null && !features.has(parent.feature)) {
    const message = `${feature_id} was spawned from ${parent.feature}, which is not defined`;
    findings.push(newFinding('orphaned_spawn', 'high', message, location));
  }
  if (parent !== null && isComplete && row.state?.folded_back === null) {
    const next = genCommand('spawn', 'fold-back', feature_id);
    const message = `${feature_id} is finished and has not folded back to ${parent.feature}`;
    findings.push(newFinding('not_folded_back', 'medium', message, { ...location, next }));
  }
  return findings;
}

/** Waiting reviews whose last notice was not delivered. */
function noticeFindings({ state }: RouteInput): HealthFinding[] {
  return [...state.failed_notices].flatMap(([subject, { host, error }]) => {
    const { feature_id, edge } = subjectKeys(subject);
    const edgeState = state.features.get(feature_id ?? '')?.edges.get(edge ?? '');
    if (feature_id === undefined || edge === undefined || edgeState?.status !== 'pending_review') return [];
    const message = `${host} was not notified of the review of ${edge} of ${feature_id}: ${error}`;
    const next = edgeReviewCommand(feature_id, edge);
    return [newFinding('review_notice', 'medium', message, { feature_id, edge, next })];
  });
}

/** Features and event types in the log that are not defined. */
function logFindings({ state, rows }: RouteInput): HealthFinding[] {
  const defined = new Set(rows.filter((row) => row.is_defined).map(({ feature }) => feature.feature_id));
  const findings: HealthFinding[] = [];
  for (const { feature_id, last_position } of state.features.values()) {
    if (defined.has(feature_id)) continue;
    const message = `the log mentions ${feature_id} (last at position ${last_position}), but no such feature is defined`;
    findings.push(newFinding('missing_vector', 'medium', message, { feature_id }));
  }
  for (const [type, times] of state.unknown_types) {
    findings.push(
      newFinding(
        'unknown_type',
        'low',
        `${times} ${times === 1 ? 'event' : 'events'} of the unknown type ${type}`,
      ),
    );
  }
  return findings;
}

function projectFindings(
  { methodology, features }: ProjectProgress,
  faults: readonly ConfigFault[],
): HealthFinding[] {
  const featureDefinitions = [...features.values()].map(({ row }) => row.feature);
  const cycleFindings = featureCycles(featureDefinitions).map((cycle) => {
    const message = `features depend on each other in a cycle: ${cycle.join(' → ')}`;
    return newFinding('circular_dependency', 'critical', message, { feature_id: cycle[0] ?? null });
  });
  const dimensionFindings = (methodology === null ? [] : undecidedDimensions(methodology)).map((name) =>
    newFinding('constraint', 'medium', `the constraint dimension ${name} is undecided`),
  );
  const fileFindings = faults.map(({ file, line, message }) =>
    newFinding('configuration', 'medium', `${file}${line === undefined ? '' : `:${line}`}: ${message}`),
  );
  return [...cycleFindings, ...dimensionFindings, ...fileFindings];
}
