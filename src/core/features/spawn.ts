import { isoTime } from '../events/envelope.js';
import { canonicalEdge } from '../graph/edge-name.js';
import type {
  FeatureVector,
  Methodology,
  Priority,
  Profile,
  TimeBoxRule,
  VectorType,
} from '../graph/methodology.js';
import { edgesOf } from '../graph/profile.js';
import { parseDuration, timeBoxStatus } from '../graph/time-box.js';

export const NESTING_MAX = 3;
const DAY_SECONDS = 24 * 3600;

export interface SpawnAsked {
  readonly vector_type: VectorType;
  readonly feature_id: string;
  readonly parent: FeatureVector | null;
  readonly edge: string | null;
  readonly reason: string;
  readonly title: string | null;
  readonly intent: string | null;
  readonly profile: string | null;
  readonly duration: string | null;
  readonly priority: Priority | null;
}

/** What a spawn is judged on. */
export interface SpawnGround {
  readonly methodology: Methodology;
  readonly vectorOf: (feature_id: string) => FeatureVector | null;
  /** Everything the feature has to do is done. */
  readonly isConverged: (feature_id: string) => boolean;
  readonly now_ms: number;
}

export type SpawnRefusal =
  | 'UNKNOWN_PROFILE'
  | 'UNKNOWN_EDGE'
  | 'PARENT_CONVERGED'
  | 'NESTED_TOO_DEEP'
  | 'INVALID_DURATION'
  | 'PARENT_TIME_BOX';
export type Spawning =
  | { readonly ok: true; readonly vector: FeatureVector }
  | { readonly ok: false; readonly code: SpawnRefusal; readonly says: string };

/** Whether a child may be spawned, and what it is then. */
export function decideSpawn(asked: SpawnAsked, ground: SpawnGround): Spawning {
  const { methodology, now_ms } = ground;
  const profile = methodology.profiles[asked.profile ?? profileFor(asked.vector_type, methodology)];
  if (profile === undefined) {
    const known = Object.keys(methodology.profiles).join(', ');
    return refused('UNKNOWN_PROFILE', `There is no profile ${asked.profile}. Known are: ${known}.`);
  }
  const fault = asked.parent === null ? null : parentFault(asked.parent, asked, ground);
  if (fault !== null) return fault;
  const box = timeBoxOf(asked, profile, now_ms);
  return 'code' in box ? box : { ok: true, vector: vectorOf(asked, profile, box.rule, now_ms) };
}

function parentFault(parent: FeatureVector, asked: SpawnAsked, ground: SpawnGround): Spawning | null {
  const { feature_id } = parent;
  if (ground.isConverged(feature_id)) {
    return refused('PARENT_CONVERGED', `${feature_id} is done, and has no question left to ask.`);
  }
  if (asked.edge !== null && !isEdgeOf(parent, asked.edge, ground.methodology)) {
    return refused(
      'UNKNOWN_EDGE',
      `${feature_id} has no edge ${asked.edge} in its profile ${parent.profile}. What it has: gen status --feature ${feature_id}.`,
    );
  }
  if (depthOf(parent, ground) + 1 > NESTING_MAX) {
    return refused('NESTED_TOO_DEEP', `Spawns are nested at most ${NESTING_MAX} deep. Fold one back first.`);
  }
  return null;
}

function isEdgeOf(vector: FeatureVector, edge: string, { profiles, topology }: Methodology): boolean {
  const profile = profiles[vector.profile];
  return (
    profile === undefined || edgesOf(profile, topology).some((known) => known.edge === canonicalEdge(edge))
  );
}

/** How many spawns lead to it. A circle, which only a file can make, ends the counting. */
function depthOf(vector: FeatureVector, { vectorOf: find }: SpawnGround): number {
  let depth = 0;
  for (let at: FeatureVector | null = vector; at?.parent != null && depth <= NESTING_MAX; depth += 1) {
    at = find(at.parent.feature);
  }
  return depth;
}

const PROFILE_BY_TYPE: Readonly<Partial<Record<VectorType, string>>> = {
  discovery: 'minimal',
  spike: 'spike',
  poc: 'poc',
  hotfix: 'hotfix',
};

/** A profile that a project has done without leaves the project's own. */
function profileFor(vector_type: VectorType, { profiles, default_profile }: Methodology): string {
  const usual = PROFILE_BY_TYPE[vector_type];
  return usual !== undefined && usual in profiles ? usual : default_profile;
}

/** The minimal profile is meant for minutes; a question to find out about takes a day. */
const DISCOVERY_BOX: TimeBoxRule = {
  duration_seconds: DAY_SECONDS,
  check_in_seconds: null,
  on_expiry: 'fold_back',
};

function timeBoxOf(
  { vector_type, duration, parent }: SpawnAsked,
  profile: Profile,
  now_ms: number,
): { rule: TimeBoxRule | null } | (Spawning & { ok: false }) {
  const usual = vector_type === 'discovery' ? DISCOVERY_BOX : profile.time_box;
  const left = parent === null ? null : secondsLeft(parent, now_ms);
  if (left === 0) return refused('PARENT_TIME_BOX', `The time box of ${parent?.feature_id} has run out.`);
  if (duration === null) {
    if (usual === null || left === null) return { rule: usual };
    return { rule: { ...usual, duration_seconds: Math.min(usual.duration_seconds, left) } };
  }
  const duration_seconds = parseDuration(duration);
  if (duration_seconds === null) {
    return refused('INVALID_DURATION', `${duration} is no duration. Say it as 2 weeks, 3 days or 1h30m.`);
  }
  if (left !== null && duration_seconds > left) {
    return refused('PARENT_TIME_BOX', `${parent?.feature_id} has ${left} seconds left. Ask for less.`);
  }
  const { check_in_seconds = null, on_expiry = 'fold_back' } = usual ?? {};
  return { rule: { duration_seconds, check_in_seconds, on_expiry } };
}

/** Null: as much as it likes. */
function secondsLeft({ time_box }: FeatureVector, now_ms: number): number | null {
  if (time_box === null) return null;
  const { elapsed } = timeBoxStatus(time_box, now_ms);
  return Math.max(0, Math.floor(time_box.duration_seconds * (1 - elapsed)));
}

function vectorOf(
  asked: SpawnAsked,
  profile: Profile,
  rule: TimeBoxRule | null,
  now_ms: number,
): FeatureVector {
  const { feature_id, vector_type, parent, edge, reason } = asked;
  const now = isoTime(now_ms);
  return {
    feature_id,
    title: asked.title ?? reason.slice(0, 200),
    intent: asked.intent ?? parent?.intent ?? null,
    vector_type,
    profile: profile.name,
    // What a parent waits for is as urgent as the parent.
    priority: asked.priority ?? parent?.priority ?? 'medium',
    created: now,
    time_box: rule === null ? null : { ...rule, started: now },
    parent:
      parent === null
        ? null
        : { feature: parent.feature_id, edge: edge === null ? null : canonicalEdge(edge), reason },
    dependencies: [],
    requirements: [feature_id],
    acceptance_criteria: [],
    threshold_overrides: {},
    additional_checks: [],
  };
}

const refused = (code: SpawnRefusal, says: string): Spawning & { ok: false } => ({ ok: false, code, says });

const PREFIXES: Readonly<Record<Exclude<VectorType, 'feature'>, string>> = {
  discovery: 'REQ-F-DISC-',
  spike: 'REQ-F-SPIKE-',
  poc: 'REQ-F-POC-',
  hotfix: 'REQ-F-HOTFIX-',
};
export const childPrefix = (vector_type: Exclude<VectorType, 'feature'>): string => PREFIXES[vector_type];
/** What a hotfix leaves to be done properly. */
export const REMEDIATION_PREFIX = 'REQ-F-REMEDY-';
const NUMBER_DIGITS = 3;

/** The next id that nobody has: one beyond the highest number in use, or further where `isTaken` says so. */
export function nextId(prefix: string, known: Iterable<string>, isTaken: (id: string) => boolean): string {
  let number = 0;
  for (const id of known) {
    const digits = id.startsWith(prefix) ? id.slice(prefix.length) : '';
    if (/^\d{1,9}$/.test(digits)) number = Math.max(number, Number(digits));
  }
  for (;;) {
    number += 1;
    const id = prefix + String(number).padStart(NUMBER_DIGITS, '0');
    if (!isTaken(id)) return id;
  }
}
