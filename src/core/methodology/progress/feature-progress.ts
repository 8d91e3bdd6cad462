import type { EdgeStatus } from '../../contract/values.js';
import { ownValue } from '../../own-value.js';
import type { Methodology, Profile } from '../definition/methodology.js';
import { defaultProfileFor, profileOf } from '../definition/profile.js';
import { type TimeBoxStatus, timeBoxStatus } from '../definition/time-box.js';
import type { PathStep } from './edge-path.js';
import { DELTAS_MAX } from './evolve-iteration.js';
import type { EdgeClaim, EdgeState, FeatureRow } from './feature-state.js';

/** One edge of a feature's profile, in the order of work, and its progress. */
export interface FeatureStep extends PathStep {
  readonly status: 'pending' | EdgeStatus;
  readonly state: EdgeState | null;
  readonly claim: EdgeClaim | null;
  /** Whether the last iterations, as many as the threshold, have all had the same delta, and it is not zero: see `isStuck`. */
  readonly stuck: boolean;
}

/** Progress of a feature on its own; `ProjectProgress` adds the effects of other features. */
export interface FeatureProgress {
  readonly row: FeatureRow;
  readonly profile: Profile;
  readonly steps: readonly FeatureStep[];
  readonly time_box: TimeBoxStatus;
  readonly isComplete: boolean;
}

export function featureProgressOf(
  methodology: Methodology,
  row: FeatureRow,
  nowMs: number,
  edgePathOf: (profile: Profile) => readonly PathStep[],
): FeatureProgress {
  const profile = effectiveProfile(methodology, row);
  const steps = edgePathOf(profile).map((pathStep) => featureStep(methodology, profile, row, pathStep));
  const isFoldedBack = row.state?.folded_back != null;
  const openSteps = unconvergedSteps({ steps });
  return {
    row,
    profile,
    steps,
    time_box: timeBoxStatus(effectiveTimeBox(row), nowMs),
    isComplete:
      isFoldedBack || (steps.length > 0 && openSteps.length === 0 && missingEdges(profile).length === 0),
  };
}

/** Whether a step counts: required, or optional and started, since started work must be finished. */
export const isCountedStep = ({ optional, state }: FeatureStep): boolean => !optional || state !== null;

export const unconvergedSteps = ({ steps }: Pick<FeatureProgress, 'steps'>): FeatureStep[] =>
  steps.filter((step) => isCountedStep(step) && step.status !== 'converged');

/** Edges that the profile prescribes but that cannot be worked on: without them the feature is not complete. */
export const missingEdges = ({ missing_edges = [] }: Profile): readonly string[] => missing_edges;

export function effectiveTimeBox({ feature, state }: FeatureRow) {
  const fromLog = state?.time_box ?? null;
  if (feature.time_box === null) return fromLog;
  return { ...feature.time_box, started: feature.time_box.started ?? fromLog?.started ?? null };
}

/** The profile of a feature. A child known only from its spawn may name none, and then gets the default of its type. */
function effectiveProfile(methodology: Methodology, { feature }: FeatureRow): Profile {
  const { profiles, default_profile } = methodology;
  const profileName =
    feature.profile === ''
      ? defaultProfileFor(feature.vector_type, profiles, default_profile)
      : feature.profile;
  return profileOf(methodology, { profile: profileName });
}

function featureStep(
  methodology: Methodology,
  profile: Profile,
  row: FeatureRow,
  pathStep: PathStep,
): FeatureStep {
  const { edge, transition, optional, needs } = pathStep;
  const state = row.state?.edges.get(edge) ?? null;
  const claim = row.claims.get(edge) ?? null;
  // Lists the fields, because a spread takes several times as long, and every feature has a step per edge.
  return {
    edge,
    transition,
    optional,
    needs,
    status: stepStatus(state, claim),
    state,
    claim,
    stuck: state !== null && isStuck(state, stuckThreshold(methodology, profile, edge)),
  };
}

/** The status of an edge. A claim in the state `suspended` blocks its edge, because no review is open that could end it. */
function stepStatus(state: EdgeState | null, claim: EdgeClaim | null): FeatureStep['status'] {
  if (state?.status === 'pending_review' && claim?.state === 'suspended') return 'blocked';
  return state?.status ?? 'pending';
}

const stuckThreshold = ({ edges }: Methodology, profile: Profile, edge: string): number =>
  ownValue(edges, edge)?.stuck_threshold ?? profile.stuck_threshold;

/**
 * Whether the last `threshold` deltas are equal and not zero. Only an edge that is being worked on can be stuck, or one that
 * waits for a person because its run was escalated. An edge that is on hold or waits for a spawned feature is not stuck: a
 * person has already acted on it.
 */
function isStuck(edge: EdgeState, threshold: number): boolean {
  const { status, deltas, hold, blocked_by, escalation } = edge;
  if (status === 'converged' || hold !== null || blocked_by !== null) return false;
  if (status !== 'iterating' && escalation === null) return false;
  const count = Math.min(Math.max(threshold, 1), DELTAS_MAX);
  const lastDeltas = deltas.slice(-count);
  const [first] = lastDeltas;
  return (
    lastDeltas.length === count && first != null && first > 0 && lastDeltas.every((delta) => delta === first)
  );
}
