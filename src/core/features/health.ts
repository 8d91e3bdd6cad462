import { command } from '../graph/command.js';
import type { ConfigFault } from '../graph/methodology.js';
import type { Escalation, RouteQuestion } from '../graph/route.js';
import { undecided } from '../graph/route-state.js';
import { circlesAmong } from './circles.js';
import { escalationsOf } from './escalations.js';
import type { Standing } from './standing.js';
import type { ServiceHealth } from './status.js';
import { type Survey, surveyOf } from './survey.js';

export type FindingKind =
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

export interface Finding {
  readonly kind: FindingKind;
  readonly severity: Escalation['severity'];
  readonly feature_id: string | null;
  readonly edge: string | null;
  readonly says: string;
  /** What to do about it, where there is a command for it. */
  readonly next: string | null;
}

export interface Health {
  readonly healthy: boolean;
  readonly position: number;
  readonly findings: readonly Finding[];
  readonly counts: {
    readonly features: number;
    readonly pending_reviews: number;
    readonly stale_claims: number;
    readonly stuck: number;
  };
  readonly health: ServiceHealth;
}

/** What is wrong or soon will be. Nothing is repaired: everything here follows from the log and the files. */
export function healthView(question: RouteQuestion, faults: readonly ConfigFault[] = []): Health {
  const survey = surveyOf(question);
  const escalations = escalationsOf(question, survey);
  const standings = [...survey.standings.values()];
  const findings = [
    ...escalations.map(ofEscalation),
    ...standings.flatMap((standing) => [
      ...edgeFindings(standing),
      ...featureFindings(question, standing, survey),
    ]),
    ...logFindings(question),
    ...projectFindings(question, standings, faults),
  ];
  const number = (...kinds: FindingKind[]): number =>
    findings.filter(({ kind }) => kinds.includes(kind)).length;
  const pending_reviews = number('review', 'escalation');
  const stale_claims = number('stale_claim');
  return {
    healthy: findings.every(({ severity }) => severity === 'low'),
    position: question.state.position,
    findings,
    counts: {
      features: standings.length,
      pending_reviews,
      stale_claims,
      stuck: number('stuck'),
    },
    health: { streams_lag_ms: 0, pending_reviews, stale_claims },
  };
}

const ofEscalation = ({ kind, severity, feature_id, edge, says, next }: Escalation): Finding => ({
  kind,
  severity,
  feature_id,
  edge,
  says,
  next,
});

const finding = (
  kind: FindingKind,
  severity: Finding['severity'],
  says: string,
  more: Partial<Finding> = {},
): Finding => ({ kind, severity, feature_id: null, edge: null, says, next: null, ...more });

/** More often than this in a row, and the check is a signal of its own. */
const FAILURES_IN_A_ROW_MAX = 3;

function edgeFindings({ row, complete }: Standing): Finding[] {
  const { feature_id } = row.vector;
  const found: Finding[] = [];
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
    for (const [check, times] of complete || state.status === 'converged' ? [] : state.failing) {
      if (times <= FAILURES_IN_A_ROW_MAX) continue;
      found.push(
        finding('failing_check', 'medium', `${check} has failed ${times} times in a row on ${where}`, at),
      );
    }
  }
  for (const [edge, { agent_id, state }] of row.claims) {
    if (state !== 'lease_expired') continue;
    const says = `the lease of ${agent_id} on ${edge} of ${feature_id} has run out: anybody may take it over`;
    found.push(finding('lease_expired', 'low', says, { feature_id, edge }));
  }
  return found;
}

function featureFindings(
  { methodology }: RouteQuestion,
  { row, time_box, complete, profile }: Standing,
  { standings }: Survey,
): Finding[] {
  const { feature_id, dependencies, profile: named } = row.vector;
  const at = { feature_id };
  const found: Finding[] = [];
  for (const { feature } of dependencies) {
    if (standings.has(feature)) continue;
    found.push(
      finding(
        'unknown_dependency',
        'high',
        `${feature_id} depends on ${feature}, which nobody has defined`,
        at,
      ),
    );
  }
  if (named !== '' && !Object.hasOwn(methodology?.profiles ?? {}, named)) {
    const says = `${feature_id} names the profile ${named}, which is not there; ${profile.name} stands in`;
    found.push(finding('unknown_profile', 'medium', says, at));
  }
  if (!complete && time_box.status === 'expiring') {
    const left = Math.round((1 - time_box.elapsed) * 100);
    found.push(
      finding('time_box_expiring', 'low', `${left} % of the time box of ${feature_id} are left`, at),
    );
  }
  const parent = row.vector.parent ?? row.state?.parent ?? null;
  if (parent !== null && !standings.has(parent.feature)) {
    const says = `${feature_id} was spawned from ${parent.feature}, which nobody has defined`;
    found.push(finding('orphaned_spawn', 'high', says, at));
  }
  if (parent !== null && complete && row.state?.folded_back === null) {
    const next = command('spawn', 'fold-back', feature_id);
    const says = `${feature_id} is finished and has not folded back to ${parent.feature}`;
    found.push(finding('not_folded_back', 'medium', says, { ...at, next }));
  }
  return found;
}

/** What the log names and nobody has defined. */
function logFindings({ state, rows }: RouteQuestion): Finding[] {
  const defined = new Set(rows.filter((row) => row.defined).map(({ vector }) => vector.feature_id));
  const found: Finding[] = [];
  for (const { feature_id, last_position } of state.features.values()) {
    if (defined.has(feature_id)) continue;
    const says = `the log speaks of ${feature_id} (last at position ${last_position}), and no feature of that name is defined`;
    found.push(finding('missing_vector', 'medium', says, { feature_id }));
  }
  for (const [type, times] of state.unknown_types) {
    found.push(finding('unknown_type', 'low', `${times} events of a type that nobody knows: ${type}`));
  }
  return found;
}

function projectFindings(
  { methodology }: RouteQuestion,
  standings: readonly Standing[],
  faults: readonly ConfigFault[],
): Finding[] {
  const dependsOn = new Map(
    standings.map(({ row: { vector } }) => [
      vector.feature_id,
      vector.dependencies.map(({ feature }) => feature),
    ]),
  );
  const circles = circlesAmong(dependsOn).map((circle) =>
    finding(
      'circular_dependency',
      'critical',
      `features wait for each other in a circle: ${circle.join(' → ')}`,
      {
        feature_id: circle[0] ?? null,
      },
    ),
  );
  const open = (methodology === null ? [] : undecided(methodology)).map((name) =>
    finding('constraint', 'medium', `the project has not decided its ${name}`),
  );
  const files = faults.map(({ file, line, message }) =>
    finding('configuration', 'medium', `${file}${line === undefined ? '' : `:${line}`}: ${message}`),
  );
  return [...circles, ...open, ...files];
}
