import { claimEventKindOf } from '../../src/core/claims/claim-event-kinds.js';
import { describeCall, type RecordedCall } from './history.js';
import type { HistoryRunOptions, HistoryRunResult } from './run.js';

const VIOLATIONS_SHOWN_MAX = 20;
const CALLS_SHOWN_MAX = 6;

export const hasPassed = ({ violations, unexpectedExits }: HistoryRunResult): boolean =>
  violations.length === 0 && unexpectedExits.length === 0;

/** Summarises a run in a few lines and describes its first violations. */
export function reportText(options: HistoryRunOptions, result: HistoryRunResult): string {
  const { capabilities, coordinators, calls, events, violations } = result;
  const { faults, connectionFaults, unexpectedExits } = result;
  const { seconds, clients, seed } = options;
  const unknownCount = calls.filter(({ outcome }) => outcome.kind === 'unknown').length;
  const granted = events.filter(({ event_type }) => claimEventKindOf(event_type) === 'granted');
  const takeovers = granted.filter(({ payload }) => payload.previous_state === 'EXPIRED').length;
  const proxyLines = Object.entries(connectionFaults).map(
    ([side, counts]) => `  proxy to the ${side}: ${formatCounts(new Map(Object.entries(counts)))}`,
  );
  return [
    `${capabilities.name}: ${seconds} s, ${clients} clients, ${coordinators} coordinators, seed ${seed}`,
    ...operationLines(calls),
    `  ${calls.length} calls, ${unknownCount} of them with unknown outcome`,
    ...faults.map((fault) => `  ${fault}`),
    ...proxyLines,
    `  ${events.length} events, ${granted.length} grants, ${takeovers} of them takeovers`,
    ...unexpectedExits,
    verdictLine(violations.length, unexpectedExits.length),
    ...violations
      .slice(0, VIOLATIONS_SHOWN_MAX)
      .flatMap(({ rule, message, calls: violationCalls, events: violationEvents }) => [
        `${rule}: ${message}`,
        ...violationCalls.slice(0, CALLS_SHOWN_MAX).map((call) => `    ${describeCall(call)}`),
        ...violationEvents.slice(0, CALLS_SHOWN_MAX).map((event) => `    ${JSON.stringify(event)}`),
      ]),
  ].join('\n');
}

function verdictLine(violations: number, unexpectedExits: number): string {
  if (violations === 0 && unexpectedExits === 0) return 'No violation.';
  const exitsText = unexpectedExits === 0 ? '' : `, ${unexpectedExits} coordinators that exited unexpectedly`;
  return `${violations} violations${exitsText}.`;
}

function operationLines(calls: readonly RecordedCall[]): string[] {
  const operations = new Map<string, Map<string, number>>();
  for (const { request, outcome } of calls) {
    const outcomes = operations.get(request.operation) ?? new Map<string, number>();
    const name = outcome.kind === 'refused' ? outcome.reason : outcome.kind;
    outcomes.set(name, (outcomes.get(name) ?? 0) + 1);
    operations.set(request.operation, outcomes);
  }
  return [...operations].map(([operation, outcomes]) => `  ${operation.padEnd(8)}${formatCounts(outcomes)}`);
}

const formatCounts = (counts: ReadonlyMap<string, number>): string =>
  [...counts]
    .sort(([, one], [, other]) => other - one)
    .map(([name, count]) => `${count} ${name}`)
    .join(', ');
