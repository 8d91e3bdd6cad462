import { trackOfTask } from '../plan/task-id.js';
import { maxAgentsIn } from '../plan/track-capacity.js';
import type { Rules } from './policy.js';

/** The limits that refuse a grant when they are reached. */
export type GrantLimit =
  | 'max_concurrent_claims'
  | 'max_active_sessions'
  | 'max_agents_per_track'
  | 'max_generations_per_task';

/** A reached limit with its value, and the refusal as text: the limit, its value and the next step. */
interface ReachedLimit {
  readonly limit: GrantLimit;
  /** Null if the limit was lifted at the same moment. */
  readonly limit_value: number | null;
  readonly says: string;
}

export function describeReachedLimit(
  limit: GrantLimit,
  subject: string | null,
  rules: LimitValues,
): ReachedLimit {
  const track = limit === 'max_agents_per_track' && subject !== null ? trackOfTask(subject) : null;
  const limit_value = limitValue(limit, track, rules);
  const where = track === null ? '' : ` in track ${track}`;
  const value = limit_value === null ? '' : ` (${limit_value}${where})`;
  return { limit, limit_value, says: `The limit ${limit}${value} is reached. ${NEXT_STEPS[limit](track)}` };
}

type LimitValues = Pick<Rules, GrantLimit>;

function limitValue(limit: GrantLimit, track: string | null, rules: LimitValues): number | null {
  return limit === 'max_agents_per_track' ? maxAgentsIn(track, rules.max_agents_per_track) : rules[limit];
}

const NEXT_STEPS: Readonly<Record<GrantLimit, (track: string | null) => string>> = {
  max_concurrent_claims: () =>
    'Release a claim that you no longer need, or have an admin raise the limit: gen limits max_concurrent_claims=N.',
  max_active_sessions: () =>
    'Close a session that you no longer need, or have an admin raise the limit: gen limits max_active_sessions=N.',
  max_agents_per_track: (track) =>
    `Claim work in another track, or have an admin raise the limit: gen policy max_agents_per_track${track === null ? '' : `.${track}`}=N.`,
  max_generations_per_task: () =>
    'Claim another task, or have an admin raise the limit: gen limits max_generations_per_task=N.',
};
