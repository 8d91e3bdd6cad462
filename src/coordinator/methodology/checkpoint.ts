import type { z } from 'zod';
import { adviceFor, type CheckpointRefusal } from '../../core/contract/codes.js';
import type { CheckpointReply, CheckpointSnapshot, checkpointBody } from '../../core/contract/methodology.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { genCommand } from '../../core/methodology/definition/command.js';
import type { MethodologyState } from '../../core/methodology/progress/feature-state.js';
import { featureSnapshots } from '../../core/methodology/views/snapshot.js';
import type { ProjectKey, Store } from '../../stores/store.js';
import type { Caller } from '../authentication/caller.js';
import { requestKeyOf } from '../operations/shared.js';
import type { DecisionView } from '../queue/decision-view.js';
import type { Attempt, Operation } from '../queue/operation.js';
import { TransactionBuilder } from '../queue/transaction-builder.js';
import type { Environment } from '../runtime/environment.js';
import { newEventId } from '../runtime/identity.js';
import { replayUntil } from './methodology-projection.js';
import { actorOf, stepEvent } from './step-event.js';
import { type RulesContext, rowOf, viewInputOf } from './view-input.js';

type ParsedCheckpointBody = z.output<typeof checkpointBody>;

/** The checkpoint's position in the log, or why it was refused. */
export type CheckpointMark =
  | { readonly event_id: string; readonly position: number; readonly timestamp: string }
  | { readonly code: CheckpointRefusal; readonly says: string };

/** Marks a position of the log. The project's state there can be recomputed from the log at any time and never changes. */
export class CheckpointOperation implements Operation<CheckpointMark> {
  readonly kind = 'checkpoint';
  readonly request;

  constructor(
    private readonly body: ParsedCheckpointBody,
    private readonly methodologyState: MethodologyState,
    private readonly caller: Caller,
  ) {
    this.request = requestKeyOf(caller, 'checkpoint', body);
  }

  attempt(view: DecisionView): Attempt<CheckpointMark> {
    const transaction = new TransactionBuilder(view, this.body.request_id ?? null);
    const viewInput = viewInputOf(view.state, this.methodologyState, view);
    const refuse = (code: CheckpointRefusal, says: string) => ({
      transaction: transaction.build(this.request),
      reply: { code, says },
    });
    if (viewInput.methodology === null) return refuse('NOT_INITIALISED', adviceFor('NOT_INITIALISED'));
    const { features, context_hash, message, git_ref, snapshot_path } = this.body;
    const unknown = features?.find((id) => rowOf(viewInput, id) === undefined);
    if (unknown !== undefined)
      return refuse('UNKNOWN_FEATURE', `There is no feature ${unknown}. ${adviceFor('UNKNOWN_FEATURE')}`);
    const event_id = newEventId(view.environment, view.now_ms);
    const { position } = view.state;
    const feature_count = features?.length ?? viewInput.rows.length;
    const fields = { context_hash, feature_count, git_ref, message, snapshot_path, position };
    const draft = stepEvent(view, 'checkpoint_created', actorOf(this.body, this.caller), fields);
    const reply = { event_id, position, timestamp: draft.timestamp };
    return { transaction: transaction.addLooseEvent(draft, event_id).build(this.request), reply };
  }

  replay([event]: readonly EventEnvelope[]): CheckpointMark {
    if (event === undefined) throw new Error('the stored request of a checkpoint has no event');
    const { event_id, timestamp, payload } = event;
    return { event_id, timestamp, position: payload.position as number };
  }
}

export async function checkpointReply(
  mark: CheckpointMark,
  body: ParsedCheckpointBody,
  source: { store: Store; key: ProjectKey; rulesOf: RulesContext['rulesOf']; environment: Environment },
): Promise<CheckpointReply> {
  if ('code' in mark) {
    return { success: false, reason: mark.code, snapshot: null, event_id: null, next: mark.says };
  }
  const { event_id, position, timestamp } = mark;
  const { work, state } = await replayUntil(source, position);
  const viewInput = viewInputOf(work, state, { now_ms: Date.parse(timestamp), rulesOf: source.rulesOf });
  const { context_hash, message = null, git_ref = null, features } = body;
  const isIncluded = (id: string) => features === undefined || features.includes(id);
  const snapshot: CheckpointSnapshot = {
    position,
    timestamp,
    message,
    context_hash,
    git_ref,
    feature_states: featureSnapshots(viewInput).filter(({ feature_id }) => isIncluded(feature_id)),
    tasks: { total: work.plan.subject_count, completed: work.completed },
  };
  return {
    success: true,
    reason: 'CHECKPOINTED',
    snapshot,
    event_id,
    next: genCommand('release', '--dry-run'),
  };
}
