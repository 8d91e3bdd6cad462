import { adviceFor, type SpawnRefusal } from '../../contract/codes.js';
import type { Priority, VectorType } from '../../contract/values.js';
import { isoTime } from '../../events/envelope.js';
import { ownValue } from '../../own-value.js';
import { canonicalEdge } from '../definition/edge-name.js';
import type { Feature, Methodology, Profile, TimeBoxRule } from '../definition/methodology.js';
import { defaultProfileFor, profileEdges } from '../definition/profile.js';
import { parseDuration, timeBoxStatus } from '../definition/time-box.js';

const SPAWN_DEPTH_MAX = 3;

export interface SpawnRequest {
  readonly vector_type: VectorType;
  readonly feature_id: string;
  readonly parent: Feature | null;
  readonly edge: string | null;
  readonly reason: string;
  readonly title: string | null;
  readonly intent: string | null;
  readonly profile: string | null;
  readonly duration: string | null;
  readonly priority: Priority | null;
}

/** State that a spawn decision depends on. */
export interface SpawnFacts {
  readonly methodology: Methodology;
  readonly featureOf: (featureId: string) => Feature | null;
  /** Whether all work of the feature is done. */
  readonly isConverged: (featureId: string) => boolean;
  readonly now_ms: number;
}

type SpawnDecision =
  | { readonly ok: true; readonly feature: Feature }
  | { readonly ok: false; readonly code: SpawnRefusal; readonly says: string };

/** Decides whether a child may be spawned, and builds its feature. */
export function decideSpawn(request: SpawnRequest, facts: SpawnFacts): SpawnDecision {
  const { methodology, now_ms } = facts;
  const { profiles, default_profile } = methodology;
  const profile = ownValue(
    profiles,
    request.profile ?? defaultProfileFor(request.vector_type, profiles, default_profile),
  );
  if (profile === undefined) {
    const profileNames = Object.keys(methodology.profiles).join(', ');
    return refusedSpawn(
      'UNKNOWN_PROFILE',
      `Unknown profile ${request.profile}. Known profiles: ${profileNames}.`,
    );
  }
  const refusal = request.parent === null ? null : parentRefusal(request.parent, request, facts);
  if (refusal !== null) return refusal;
  const timeBox = spawnTimeBox(request, profile, now_ms);
  return 'code' in timeBox
    ? timeBox
    : { ok: true, feature: childFeature(request, profile, timeBox.rule, now_ms) };
}

function parentRefusal(parent: Feature, request: SpawnRequest, facts: SpawnFacts): SpawnDecision | null {
  const { feature_id } = parent;
  if (facts.isConverged(feature_id)) {
    return refusedSpawn(
      'PARENT_CONVERGED',
      `${feature_id} has converged and cannot spawn children. Spawn from a feature that is still in progress.`,
    );
  }
  if (request.edge !== null && !isEdgeOf(parent, request.edge, facts.methodology)) {
    const message = `${feature_id} has no edge ${request.edge} in its profile ${parent.profile}. List its edges with gen status --feature ${feature_id}.`;
    return refusedSpawn('UNKNOWN_EDGE', message);
  }
  if (spawnDepth(parent, facts) + 1 > SPAWN_DEPTH_MAX) {
    const message = `Spawns are nested at most ${SPAWN_DEPTH_MAX} deep. ${adviceFor('NESTED_TOO_DEEP')}`;
    return refusedSpawn('NESTED_TOO_DEEP', message);
  }
  return null;
}

function isEdgeOf(feature: Feature, edge: string, { profiles, topology }: Methodology): boolean {
  const profile = ownValue(profiles, feature.profile);
  return (
    profile === undefined ||
    profileEdges(profile, topology).some((profileEdge) => profileEdge.edge === canonicalEdge(edge))
  );
}

/** Number of spawns above a feature. The limit also ends a cycle, which only a file can create. */
function spawnDepth(feature: Feature, { featureOf }: SpawnFacts): number {
  let depth = 0;
  for (
    let current: Feature | null = feature;
    current?.parent != null && depth <= SPAWN_DEPTH_MAX;
    depth += 1
  ) {
    current = featureOf(current.parent.feature);
  }
  return depth;
}

/** Time box of a discovery. By default a discovery has the profile `minimal`, whose time box is too short for it. */
const DISCOVERY_TIME_BOX: TimeBoxRule = {
  duration_seconds: 24 * 3600,
  check_in_seconds: null,
  on_expiry: 'fold_back',
};

function spawnTimeBox(
  { vector_type, duration, parent }: SpawnRequest,
  profile: Profile,
  nowMs: number,
): { rule: TimeBoxRule | null } | ReturnType<typeof refusedSpawn> {
  const defaultRule = vector_type === 'discovery' ? DISCOVERY_TIME_BOX : profile.time_box;
  const parentSecondsLeft = parent === null ? null : secondsLeft(parent, nowMs);
  if (parentSecondsLeft === 0)
    return refusedSpawn(
      'PARENT_TIME_BOX',
      `The time box of ${parent?.feature_id} has expired. Fold ${parent?.feature_id} back, or spawn from another parent.`,
    );
  if (duration === null) {
    if (defaultRule === null || parentSecondsLeft === null) return { rule: defaultRule };
    return {
      rule: { ...defaultRule, duration_seconds: Math.min(defaultRule.duration_seconds, parentSecondsLeft) },
    };
  }
  const duration_seconds = parseDuration(duration);
  if (duration_seconds === null) {
    const message = `${duration} is not a valid duration. ${adviceFor('INVALID_DURATION')}`;
    return refusedSpawn('INVALID_DURATION', message);
  }
  if (parentSecondsLeft !== null && duration_seconds > parentSecondsLeft) {
    const message = `The time box of ${parent?.feature_id} has ${parentSecondsLeft} seconds left. ${adviceFor('PARENT_TIME_BOX')}`;
    return refusedSpawn('PARENT_TIME_BOX', message);
  }
  const { check_in_seconds = null, on_expiry = 'fold_back' } = defaultRule ?? {};
  return { rule: { duration_seconds, check_in_seconds, on_expiry } };
}

/** Seconds that are left in the time box of a feature; null if it has no time box. */
function secondsLeft({ time_box }: Feature, nowMs: number): number | null {
  if (time_box === null) return null;
  const { elapsed } = timeBoxStatus(time_box, nowMs);
  return Math.max(0, Math.floor(time_box.duration_seconds * (1 - elapsed)));
}

function childFeature(
  request: SpawnRequest,
  profile: Profile,
  rule: TimeBoxRule | null,
  nowMs: number,
): Feature {
  const { feature_id, vector_type, parent, edge, reason } = request;
  const now = isoTime(nowMs);
  return {
    feature_id,
    title: request.title ?? reason.slice(0, 200),
    intent: request.intent ?? parent?.intent ?? null,
    vector_type,
    profile: profile.name,
    // A child that blocks its parent is as urgent as the parent.
    priority: request.priority ?? parent?.priority ?? 'medium',
    created: now,
    time_box: rule && { ...rule, started: now },
    parent: parent && { feature: parent.feature_id, edge: edge && canonicalEdge(edge), reason },
    dependencies: [],
    requirements: [feature_id],
    acceptance_criteria: [],
    threshold_overrides: {},
    additional_checks: [],
  };
}

const refusedSpawn = (code: SpawnRefusal, says: string) => ({ ok: false, code, says }) as const;

export const childPrefix = (vectorType: Exclude<VectorType, 'feature'>): string =>
  `REQ-F-${vectorType === 'discovery' ? 'DISC' : vectorType.toUpperCase()}-`;
/** Prefix of the features that follow a hotfix. */
export const REMEDIATION_PREFIX = 'REQ-F-REMEDY-';
const NUMBER_DIGITS = 3;

/** The next free id: one above the highest number in use, skipping ids for which `isTaken` is true. */
export function nextFreeId(
  prefix: string,
  usedIds: Iterable<string>,
  isTaken: (id: string) => boolean,
): string {
  let sequence = 0;
  for (const id of usedIds) {
    const digits = id.startsWith(prefix) ? id.slice(prefix.length) : '';
    if (/^\d{1,9}$/.test(digits)) sequence = Math.max(sequence, Number(digits));
  }
  for (;;) {
    sequence += 1;
    const id = prefix + String(sequence).padStart(NUMBER_DIGITS, '0');
    if (!isTaken(id)) return id;
  }
}
