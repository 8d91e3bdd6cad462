import type { LogReport } from '../../coordinator/audit/verify/log-verifier.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { dependenciesOf, type Plan } from '../../core/plan/index.js';
import type { InjectedFaults } from './fault-injector.js';

/** One guarantee of the coordinator, and whether the finished run satisfies it. */
export interface Guarantee {
  readonly says: string;
  readonly holds: boolean;
  readonly seen: string;
}

interface DemoEvidence {
  readonly plan: Plan;
  readonly events: readonly EventEnvelope[];
  readonly faults: InjectedFaults;
  /** The data of the zombie's refused result, as read from the coordinator; null if it was not kept. */
  readonly refusedData: unknown;
  readonly log: LogReport;
}

type Verdict = Omit<Guarantee, 'says'>;

export const guaranteesOf = (evidence: DemoEvidence): Guarantee[] =>
  GUARANTEES.map(([says, check]) => ({ says, ...check(evidence) }));

const ofType = (events: readonly EventEnvelope[], type: string) =>
  events.filter(({ event_type }) => event_type === type);

function checkSingleResults({ plan, events }: DemoEvidence): Verdict {
  const results = ofType(events, 'RESULT_SUBMITTED');
  const counts = [...plan.subjects()].map((id) => results.filter(({ subject }) => subject === id).length);
  const singleResultCount = counts.filter((count) => count === 1).length;
  return {
    holds: counts.length > 0 && singleResultCount === counts.length,
    seen: `${singleResultCount} of ${counts.length} tasks, ${results.length} results`,
  };
}

function checkTakeover({ events, faults: { killed } }: DemoEvidence): Verdict {
  if (killed === null) return { holds: false, seen: 'no agent was killed' };
  const takeover = ofType(events, 'CLAIM_ACQUIRED').find(
    ({ subject, generation = 0 }) => subject === killed.task_id && generation === killed.generation + 1,
  );
  const holds = takeover !== undefined && takeover.agent_id !== killed.agent.name;
  const seen = holds
    ? `${killed.task_id}: ${killed.agent.name} → ${takeover.agent_id}`
    : `${killed.task_id} was not reassigned from ${killed.agent.name}`;
  return { holds, seen };
}

function checkZombieRefused({ events, faults: { zombie } }: DemoEvidence): Verdict {
  if (zombie === null) return { holds: false, seen: 'no agent was frozen' };
  const isResultOfZombie = (event: EventEnvelope) =>
    event.subject === zombie.task_id && event.agent_id === zombie.agent.name;
  const refused = ofType(events, 'RESULT_REJECTED').find(isResultOfZombie);
  const acceptedResult = ofType(events, 'RESULT_SUBMITTED').find(({ subject }) => subject === zombie.task_id);
  const holds = refused !== undefined && acceptedResult !== undefined && !isResultOfZombie(acceptedResult);
  const seen = holds
    ? `${zombie.agent.name}: ${String(refused.payload.rejection_reason)}; ${acceptedResult.agent_id}’s result accepted`
    : `${zombie.agent.name}’s result on ${zombie.task_id} was not refused`;
  return { holds, seen };
}

function checkRefusedResultKept({ refusedData, faults: { zombie } }: DemoEvidence): Verdict {
  const by = (refusedData as { by?: unknown } | null)?.by;
  const holds = zombie !== null && by === zombie.agent.name;
  const seen = holds
    ? `${zombie.agent.name}’s result can be read and adopted`
    : 'the refused result is missing';
  return { holds, seen };
}

function checkOrder({ plan, events }: DemoEvidence): Verdict {
  const done = new Set<string>();
  let grantsTotal = 0;
  let earlyTotal = 0;
  for (const { event_type, subject = '' } of events) {
    if (event_type === 'RESULT_SUBMITTED') done.add(subject);
    if (event_type !== 'CLAIM_ACQUIRED') continue;
    grantsTotal += 1;
    if (!dependenciesOf(plan, subject).every((id) => done.has(id))) earlyTotal += 1;
  }
  return {
    holds: grantsTotal > 0 && earlyTotal === 0,
    seen: `${grantsTotal} grants, ${earlyTotal} too early`,
  };
}

function checkLog({ log }: DemoEvidence): Verdict {
  const [first] = log.breaks;
  return {
    holds: log.events > 0 && first === undefined,
    seen: first === undefined ? `${log.events} events` : `line ${first.line}: ${first.rule}: ${first.says}`,
  };
}

const GUARANTEES: readonly [says: string, check: (evidence: DemoEvidence) => Verdict][] = [
  ['Every task has exactly one accepted result', checkSingleResults],
  ['A dead agent’s task is reassigned under the next generation', checkTakeover],
  ['A zombie’s late result is refused', checkZombieRefused],
  ['Refused results are kept', checkRefusedResultKept],
  ['No task starts before its dependencies finish', checkOrder],
  ['The log passes verification: chain, order and every invariant', checkLog],
];
