import { factOf } from '../../src/core/claims/facts.js';
import { type Call, describeCall } from './history.js';
import type { RunOptions, RunResult } from './run.js';

const VIOLATIONS_SHOWN_MAX = 20;
const CALLS_SHOWN_MAX = 6;

export const isSound = ({ violations, ended }: RunResult): boolean =>
  violations.length === 0 && ended.length === 0;

/** A run in a few lines, and what was wrong with it in as many as that takes. */
export function report(options: RunOptions, result: RunResult): string {
  const { capabilities, coordinators, calls, events, faults, troubles, ended, violations } = result;
  const { seconds, clients, seed } = options;
  const unknown = calls.filter(({ answer }) => answer.kind === 'unknown').length;
  const granted = events.filter(({ event_type }) => factOf(event_type) === 'granted');
  const takeovers = granted.filter(({ payload }) => payload.previous_state === 'EXPIRED').length;
  const sides = Object.entries(troubles).map(
    ([side, counts]) => `  proxy on the side of the ${side}: ${counted(new Map(Object.entries(counts)))}`,
  );
  return [
    `${capabilities.name}: ${seconds} s, ${clients} clients, ${coordinators} coordinators, seed ${seed}`,
    ...byOperation(calls),
    `  ${calls.length} calls, ${unknown} of them with unknown outcome`,
    ...faults.map((fault) => `  ${fault}`),
    ...sides,
    `  ${events.length} events, ${granted.length} grants, ${takeovers} of them takeovers`,
    ...ended,
    verdict(violations.length, ended.length),
    ...violations
      .slice(0, VIOLATIONS_SHOWN_MAX)
      .flatMap(({ rule, says, calls: concerned, events: seen }) => [
        `${rule}: ${says}`,
        ...concerned.slice(0, CALLS_SHOWN_MAX).map((call) => `    ${describeCall(call)}`),
        ...seen.slice(0, CALLS_SHOWN_MAX).map((event) => `    ${JSON.stringify(event)}`),
      ]),
  ].join('\n');
}

function verdict(violations: number, ended: number): string {
  if (violations === 0 && ended === 0) return 'No violation.';
  const left = ended === 0 ? '' : `, ${ended} coordinators that ended by themselves`;
  return `${violations} violations${left}.`;
}

function byOperation(calls: readonly Call[]): string[] {
  const operations = new Map<string, Map<string, number>>();
  for (const { asked, answer } of calls) {
    const outcomes = operations.get(asked.operation) ?? new Map<string, number>();
    const outcome = answer.kind === 'refused' ? answer.reason : answer.kind;
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    operations.set(asked.operation, outcomes);
  }
  return [...operations].map(([operation, outcomes]) => `  ${operation.padEnd(8)}${counted(outcomes)}`);
}

const counted = (counts: ReadonlyMap<string, number>): string =>
  [...counts]
    .sort(([, one], [, other]) => other - one)
    .map(([name, count]) => `${count} ${name}`)
    .join(', ');
