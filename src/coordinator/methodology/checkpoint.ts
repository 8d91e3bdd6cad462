import type { z } from 'zod';
import type { CheckpointReply, CheckpointSnapshot, checkpointBody } from '../../core/contract/checkpoints.js';
import type { CheckpointRefusal } from '../../core/contract/codes.js';
import { genCommand } from '../../core/methodology/definition/command.js';
import { evolveMethodology } from '../../core/methodology/progress/evolve.js';
import {
  emptyMethodologyState,
  type MethodologyState,
} from '../../core/methodology/progress/feature-state.js';
import { featureSnapshots } from '../../core/methodology/views/snapshot.js';
import { emptyWork, evolveWork } from '../../core/views/index.js';
import { actorOf, type Caller } from '../authentication/caller.js';
import { requestKeyOf } from '../operations/shared.js';
import type { Operation } from '../queue/operation.js';
import type { Project } from '../queue/project.js';
import { draftEvent, TransactionBuilder } from '../queue/transaction-builder.js';
import { NOT_INITIALISED, type Refusal, rowOf, unknownFeature, viewInputOf } from './view-input.js';

type ParsedCheckpointBody = z.output<typeof checkpointBody>;

/** The checkpoint's position in the log, or why it was refused. */
type RecordedCheckpoint =
  | { readonly event_id: string; readonly position: number; readonly timestamp: string }
  | Refusal<CheckpointRefusal>;

/** Marks a position of the log. The state at that position can be computed from the log at any time, and never changes. */
export function checkpointOperation(body: ParsedCheckpointBody, state: MethodologyState, caller: Caller) {
  const requestKey = requestKeyOf(caller, 'checkpoint', body);
  const operation: Operation<RecordedCheckpoint> = {
    kind: 'checkpoint',
    requestKey,
    attempt(view) {
      const transaction = new TransactionBuilder(view, body.request_id);
      const viewInput = viewInputOf(view.state, state, view);
      if (viewInput.methodology === null) return transaction.answer(requestKey, NOT_INITIALISED);
      const { features, context_hash, message, git_ref, snapshot_path } = body;
      const unknownId = features?.find((id) => rowOf(viewInput, id) === undefined);
      if (unknownId !== undefined) return transaction.answer(requestKey, unknownFeature(unknownId));
      const event_id = view.newEventId();
      const { position } = view.state;
      const feature_count = features?.length ?? viewInput.rows.length;
      const fields = { context_hash, feature_count, git_ref, message, snapshot_path, position };
      const draft = draftEvent(view, 'checkpoint_created', actorOf(caller, body), fields);
      const reply = { event_id, position, timestamp: draft.timestamp };
      return { transaction: transaction.addLooseEvent(draft, event_id).build(requestKey), reply };
    },
    replay([event]) {
      if (event === undefined) throw new Error('the stored request of a checkpoint has no event');
      const { event_id, timestamp, payload } = event;
      return { event_id, timestamp, position: payload.position as number };
    },
  };
  return operation;
}

export async function buildCheckpointReply(
  recorded: RecordedCheckpoint,
  body: ParsedCheckpointBody,
  project: Project,
): Promise<CheckpointReply> {
  if ('code' in recorded) {
    return { success: false, reason: recorded.code, snapshot: null, event_id: null, next: recorded.says };
  }
  const { event_id, position, timestamp } = recorded;
  const view = project.view();
  const { work, state } = await replayUntil(project, position);
  const rulesOf = (subject: string) => view.rulesOf(subject);
  const viewInput = viewInputOf(work, state, { now_ms: Date.parse(timestamp), rulesOf });
  const { context_hash, message = null, git_ref = null, features } = body;
  const isIncluded = (id: string) => features === undefined || features.includes(id);
  const snapshot: CheckpointSnapshot = {
    position,
    timestamp,
    message,
    context_hash,
    git_ref,
    feature_states: featureSnapshots(viewInput).filter(({ feature_id }) => isIncluded(feature_id)),
    tasks: { total: work.plan.subject_count, completed: work.heads.completedTasks },
  };
  return {
    success: true,
    reason: 'CHECKPOINTED',
    snapshot,
    event_id,
    next: genCommand('release', '--dry-run'),
  };
}

const PAGE_EVENTS = 500;

/** Replays the project's state at a position of its log. */
async function replayUntil({ store, key, environment }: Project, until_position: number) {
  const work = emptyWork();
  const state = emptyMethodologyState();
  for (;;) {
    const events = await store.events(key, { after: work.position, until_position, limit: PAGE_EVENTS });
    for (const event of events) {
      evolveWork(work, event);
      evolveMethodology(state, event);
    }
    if (events.length < PAGE_EVENTS) return { work, state };
    await environment.yieldToEventLoop();
  }
}
