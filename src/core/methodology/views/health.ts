import { genCommand } from '../definition/command.js';
import type { ConfigFault } from '../definition/methodology.js';
import { findCycles } from '../progress/cycles.js';
import type { FeatureProgress } from '../progress/feature-progress.js';
import { type ProjectProgress, projectProgressOf } from '../progress/project-progress.js';
import type { RouteInput } from '../progress/route-input.js';
import { escalationsOf } from '../routing/escalations.js';
import type { Escalation } from '../routing/route.js';
import { undecidedDimensions } from '../routing/route-state.js';
import type { ServiceHealth } from './status.js';

export type HealthFindingKind =
  | Escalation['kind']
  | 'failing_check'
  | 'lease_expired'
  | 'orphaned_spawn'
  | 'not_folded_back'
  | 'missing_vector'
  | 'unproven_convergence'
  | 'unstarted_convergence'
  | 'circular_dependency'
  | 'unknown_dependency'
  | 'unknown_profile'
  | 'time_box_expiring'
  | 'unknown_type'
  | 'constraint'
  | 'configuration';

export interface HealthFinding {
  readonly kind: HealthFindingKind;
  readonly severity: Escalation['severity'];
  readonly feature_id: string | null;
  readonly edge: string | null;
  readonly says: string;
  /** The command that resolves the finding, if there is one. */
  readonly next: string | null;
}

export interface HealthReport {
  readonly healthy: boolean;
  readonly position: number;
  readonly findings: readonly HealthFinding[];
  readonly counts: {
    readonly features: number;
    readonly pending_reviews: number;
    readonly stale_claims: number;
    readonly stuck: number;
  };
  readonly health: ServiceHealth;
}

/** Reports current and imminent problems, derived from the log and the files. Repairs nothing. */
export function healthView(input: RouteInput, faults: readonly ConfigFault[] = []): HealthReport {
  const projectProgress = projectProgressOf(input);
  const escalations = escalationsOf(input, projectProgress);
  const featureList = [...projectProgress.features.values()];
  const findings = [
    ...escalations.map(findingOfEscalation),
    ...featureList.flatMap((progress) => [
      ...edgeFindings(progress),
      ...featureFindings(input, progress, projectProgress),
    ]),
    ...logFindings(input),
    ...projectFindings(input, featureList, faults),
  ];
  const countOf = (...kinds: HealthFindingKind[]): number =>
    findings.filter(({ kind }) => kinds.includes(kind)).length;
  const pending_reviews = countOf('review', 'escalation');
  const stale_claims = countOf('stale_claim');
  return {
    healthy: findings.every(({ severity }) => severity === 'low'),
    position: input.state.position,
    findings,
    counts: {
      features: featureList.length,
      pending_reviews,
      stale_claims,
      stuck: countOf('stuck'),
    },
    health: { streams_lag_ms: 0, pending_reviews, stale_claims },
  };
}

const findingOfEscalation = ({
  kind,
  severity,
  feature_id,
  edge,
  says,
  next,
}: Escalation): HealthFinding => ({
  kind,
  severity,
  feature_id,
  edge,
  says,
  next,
});

const finding = (
  kind: HealthFindingKind,
  severity: HealthFinding['severity'],
  message: string,
  more: Partial<HealthFinding> = {},
): HealthFinding => ({ kind, severity, feature_id: null, edge: null, says: message, next: null, ...more });

/** A check that fails more often than this in a row is a finding of its own. */
const FAILURES_IN_A_ROW_MAX = 3;

function edgeFindings({ row, isComplete }: FeatureProgress): HealthFinding[] {
  const { feature_id } = row.vector;
  const found: HealthFinding[] = [];
  for (const [edge, state] of row.state?.edges ?? []) {
    const at = { feature_id, edge };
    const where = `${edge} of ${feature_id}`;
    if (state.unproven) {
      found.push(
        finding(
          'unproven_convergence',
          'high',
          `${where} calls itself converged, and no edge_converged says so`,
          at,
        ),
      );
    }
    if (state.started_unseen) {
      found.push(
        finding('unstarted_convergence', 'low', `${where} converged, and nobody had started it`, at),
      );
    }
    for (const [check, times] of isComplete || state.status === 'converged' ? [] : state.failing) {
      if (times <= FAILURES_IN_A_ROW_MAX) continue;
      found.push(
        finding('failing_check', 'medium', `${check} has failed ${times} times in a row on ${where}`, at),
      );
    }
  }
  for (const [edge, { agent_id, state }] of row.claims) {
    if (state !== 'lease_expired') continue;
    const message = `the lease of ${agent_id} on ${edge} of ${feature_id} has run out: anybody may take it over`;
    found.push(finding('lease_expired', 'low', message, { feature_id, edge }));
  }
  return found;
}

function featureFindings(
  { methodology }: RouteInput,
  { row, time_box, isComplete, profile }: FeatureProgress,
  { features }: ProjectProgress,
): HealthFinding[] {
  const { feature_id, dependencies, profile: profileName } = row.vector;
  const at = { feature_id };
  const found: HealthFinding[] = [];
  for (const { feature } of dependencies) {
    if (features.has(feature)) continue;
    found.push(
      finding(
        'unknown_dependency',
        'high',
        `${feature_id} depends on ${feature}, which nobody has defined`,
        at,
      ),
    );
  }
  if (profileName !== '' && !Object.hasOwn(methodology?.profiles ?? {}, profileName)) {
    const message = `${feature_id} names the profile ${profileName}, which is not there; ${profile.name} stands in`;
    found.push(finding('unknown_profile', 'medium', message, at));
  }
  if (!isComplete && time_box.status === 'expiring') {
    const left = Math.round((1 - time_box.elapsed) * 100);
    found.push(
      finding('time_box_expiring', 'low', `${left} % of the time box of ${feature_id} are left`, at),
    );
  }
  const parent = row.vector.parent ?? row.state?.parent ?? null;
  if (parent !== null && !features.has(parent.feature)) {
    const message = `${feature_id} was spawned from ${parent.feature}, which nobody has defined`;
    found.push(finding('orphaned_spawn', 'high', message, at));
  }
  if (parent !== null && isComplete && row.state?.folded_back === null) {
    const next = genCommand('spawn', 'fold-back', feature_id);
    const message = `${feature_id} is finished and has not folded back to ${parent.feature}`;
    found.push(finding('not_folded_back', 'medium', message, { ...at, next }));
  }
  return found;
}

/** Features and event types in the log that are not defined. */
function logFindings({ state, rows }: RouteInput): HealthFinding[] {
  const defined = new Set(rows.filter((row) => row.defined).map(({ vector }) => vector.feature_id));
  const found: HealthFinding[] = [];
  for (const { feature_id, last_position } of state.features.values()) {
    if (defined.has(feature_id)) continue;
    const message = `the log speaks of ${feature_id} (last at position ${last_position}), and no feature of that name is defined`;
    found.push(finding('missing_vector', 'medium', message, { feature_id }));
  }
  for (const [type, times] of state.unknown_types) {
    found.push(finding('unknown_type', 'low', `${times} events of a type that nobody knows: ${type}`));
  }
  return found;
}

function projectFindings(
  { methodology }: RouteInput,
  features: readonly FeatureProgress[],
  faults: readonly ConfigFault[],
): HealthFinding[] {
  const dependsOn = new Map(
    features.map(({ row: { vector } }) => [
      vector.feature_id,
      vector.dependencies.map(({ feature }) => feature),
    ]),
  );
  const cycles = findCycles(dependsOn).map((cycle) =>
    finding(
      'circular_dependency',
      'critical',
      `features wait for each other in a circle: ${cycle.join(' → ')}`,
      {
        feature_id: cycle[0] ?? null,
      },
    ),
  );
  const openDimensions = (methodology === null ? [] : undecidedDimensions(methodology)).map((name) =>
    finding('constraint', 'medium', `the project has not decided its ${name}`),
  );
  const files = faults.map(({ file, line, message }) =>
    finding('configuration', 'medium', `${file}${line === undefined ? '' : `:${line}`}: ${message}`),
  );
  return [...cycles, ...openDimensions, ...files];
}
