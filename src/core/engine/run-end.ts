import type { Head } from '../claims/head.js';
import type { AppendRefusal } from '../contract/codes.js';
import { RUN_STATUSES } from '../contract/values.js';
import { genCommand } from '../methodology/definition/command.js';

type RunStatus = (typeof RUN_STATUSES)[number];

interface ReportedEnd {
  readonly event_type: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

interface EndRefusal {
  readonly reason: Extract<AppendRefusal, 'NOT_CONVERGED' | 'TASK_ALREADY_COMPLETED'>;
  readonly next: string;
}

/**
 * Why a run cannot end with the status that its executor reports; null if it can. The head decides whether the edge has
 * converged, not the executor: a run can end as converged only if its edge has converged, and a run of a converged edge
 * cannot fail or escalate.
 */
export function runEndRefusal({ event_type, payload }: ReportedEnd, head: Head): EndRefusal | null {
  const status = event_type === 'run_ended' ? statusOf(payload.status) : null;
  const isCompleted = head.phase === 'COMPLETED';
  if (status === 'CONVERGED' && !isCompleted) {
    const next = `A run ends as CONVERGED only after a result of its edge was accepted. The phase of ${head.subject} is ${head.phase}. Submit the result first, or end the run with another status.`;
    return { reason: 'NOT_CONVERGED', next };
  }
  if ((status === 'ESCALATED' || status === 'FAILED') && isCompleted) {
    const next = `A result of ${head.subject} was accepted, so its run cannot end as ${status}. Run ${genCommand('iterate', head.subject)}: it records how the run has ended.`;
    return { reason: 'TASK_ALREADY_COMPLETED', next };
  }
  return null;
}

const statusOf = (value: unknown): RunStatus | null =>
  RUN_STATUSES.find((status) => status === value) ?? null;
