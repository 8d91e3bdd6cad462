import type { EdgePlan } from '../../src/core/engine/edge-plan.js';
import type { EventEnvelope } from '../../src/core/events/envelope.js';

/** Events whose number depends on the executor: renewals, and claims by which it checks that it may continue. */
const EXECUTOR_EVENTS: ReadonlySet<string> = new Set(['heartbeat', 'claim_rejected']);

interface ComparableEvent {
  readonly event_type: string;
  readonly payload: unknown;
}

/**
 * The events of a run without what differs from execution to execution: ids, times, tokens, and the order of the checks
 * of a tier, which run side by side.
 */
export function comparableEvents(events: readonly EventEnvelope[], plan: EdgePlan): ComparableEvent[] {
  const comparedEvents = events.filter(({ event_type }) => !EXECUTOR_EVENTS.has(event_type));
  const comparable = comparedEvents.map(({ event_type, agent_id, subject, generation, payload }) => ({
    ...{ event_type, agent_id, subject, generation },
    payload: withoutTimes(payload, plan),
  }));
  return sortedTiers(comparable);
}

/** The payload without durations, and without digests of texts that contain one: those of an edge with agent checks. */
function withoutTimes(payload: object, { checks }: EdgePlan): unknown {
  const hasDurations = checks.some(({ type }) => type === 'agent');
  const digests = hasDurations ? ['input_sha256', 'findings', 'prompt_sha256'] : [];
  return JSON.parse(JSON.stringify(payload), (key, value) => {
    if (key === 'duration_ms') return 0;
    // The task is a reference to a blob with the token.
    if (key === 'task') return 'TASK';
    return digests.includes(key) ? 'DIGEST' : value;
  });
}

const checkOf = ({ payload }: ComparableEvent): string | null => {
  const { step } = payload as { step?: string };
  return step?.startsWith('run_check') || step?.startsWith('judge_check') ? step : null;
};

/** Sorts consecutive events of checks by check. The events of one check keep their order. */
function sortedTiers(events: readonly ComparableEvent[]): ComparableEvent[] {
  const sorted: ComparableEvent[] = [];
  let tier: ComparableEvent[] = [];
  const flush = (): void => {
    sorted.push(
      ...tier.sort((a, b) =>
        (checkOf(a) as string) < (checkOf(b) as string) ? -1 : checkOf(a) === checkOf(b) ? 0 : 1,
      ),
    );
    tier = [];
  };
  for (const event of events) {
    const check = checkOf(event);
    const handler = (each: string | null): string | undefined => each?.split(' ')[0];
    if (check === null || handler(check) !== handler(tier[0] === undefined ? check : checkOf(tier[0])))
      flush();
    if (check === null) sorted.push(event);
    else tier.push(event);
  }
  flush();
  return sorted;
}
