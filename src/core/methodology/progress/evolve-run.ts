import { RUN_STATUSES } from '../../contract/values.js';
import type { EventContext } from './event-context.js';
import { shortTextIn, truncatedTextIn } from './payload.js';

/** Handlers for the runs of an edge. */
export const runEventHandlers = {
  run_requested: onRunRequested,
  run_started: onRunStarted,
  run_ended: onRunEnded,
};

function onRunRequested(context: EventContext): void {
  recordRun(context, 'REQUESTED');
}

function onRunStarted(context: EventContext): void {
  const edge = context.existingEdge();
  if (edge !== null) edge.escalation = null;
  recordRun(context, 'RUNNING');
}

function recordRun(context: EventContext, status: 'REQUESTED' | 'RUNNING'): void {
  const edge = context.existingEdge();
  const run_id = shortTextIn(context.payload, 'run_id');
  if (edge !== null && run_id !== null) edge.last_run = { run_id, status };
}

function onRunEnded(context: EventContext): void {
  const edge = context.existingEdge();
  if (edge === null) return;
  const { payload } = context;
  const endStatus = shortTextIn(payload, 'status');
  const status = RUN_STATUSES.find((runStatus) => runStatus === endStatus);
  const { last_run } = edge;
  if (status !== undefined && last_run !== null && last_run.run_id === shortTextIn(payload, 'run_id'))
    edge.last_run = { ...last_run, status };
  edge.escalation = endStatus === 'ESCALATED' ? truncatedTextIn(payload, 'says') : null;
}
