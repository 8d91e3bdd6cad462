import type { z } from 'zod';
import type { EventEnvelope } from '../../core/events/envelope.js';
import type { MethodologyState } from '../../core/features/feature-state.js';
import { snapshotsOf } from '../../core/features/snapshot.js';
import { command } from '../../core/graph/command.js';
import type { ProjectKey, Store } from '../../stores/store.js';
import type { Caller } from '../caller.js';
import type { Desk } from '../desk.js';
import type { Environment } from '../environment.js';
import { newEventId } from '../identity.js';
import type { Attempt, Operation } from '../operation.js';
import { requestOf } from '../operations/shared.js';
import { UnitBuilder } from '../unit-builder.js';
import { foldedAt } from './folded.js';
import { rowOf, sceneOf, type Vantage } from './scene.js';
import { actorOf, NOT_INITIALISED, step } from './told.js';
import type { CheckpointReply, checkpointBody, Snapshot } from './wire.js';

type Body = z.output<typeof checkpointBody>;

/** Where in the log the checkpoint stands, or why there is none. */
export type Marked =
  | { readonly event_id: string; readonly position: number; readonly timestamp: string }
  | { readonly code: string; readonly says: string };

/** Marks a position of the log. What the project was there can be told from the log at any time, and never changes. */
export class CheckpointOperation implements Operation<Marked> {
  readonly kind = 'checkpoint';
  readonly request;

  constructor(
    private readonly body: Body,
    private readonly folded: MethodologyState,
    private readonly caller: Caller,
  ) {
    this.request = requestOf(caller, 'checkpoint', body);
  }

  attempt(desk: Desk): Attempt<Marked> {
    const unit = new UnitBuilder(desk, this.body.request_id ?? null);
    const scene = sceneOf(desk.state, this.folded, desk);
    const refuse = (code: string, says: string) => ({
      unit: unit.build(this.request),
      reply: { code, says },
    });
    if (scene.methodology === null) return refuse('NOT_INITIALISED', NOT_INITIALISED);
    const { features, context_hash, message, git_ref, snapshot_path } = this.body;
    const unknown = features?.find((id) => rowOf(scene, id) === undefined);
    if (unknown !== undefined) return refuse('UNKNOWN_FEATURE', `There is no feature ${unknown}.`);
    const event_id = newEventId(desk.environment, desk.now_ms);
    const { position } = desk.state;
    const feature_count = features?.length ?? scene.rows.length;
    const said = { context_hash, feature_count, git_ref, message, snapshot_path, position };
    const draft = step(desk, 'checkpoint_created', actorOf(this.body, this.caller), said);
    const reply = { event_id, position, timestamp: draft.timestamp };
    return { unit: unit.told(draft, event_id).build(this.request), reply };
  }

  replay([event]: readonly EventEnvelope[]): Marked {
    if (event === undefined) throw new Error('a checkpoint that is remembered has no event');
    const { event_id, timestamp, payload } = event;
    return { event_id, timestamp, position: payload.position as number };
  }
}

export async function checkpointReply(
  marked: Marked,
  body: Body,
  past: { store: Store; key: ProjectKey; rulesOf: Vantage['rulesOf']; environment: Environment },
): Promise<CheckpointReply> {
  if ('code' in marked) {
    return { success: false, reason: marked.code, snapshot: null, event_id: null, next: marked.says };
  }
  const { event_id, position, timestamp } = marked;
  const { work, state } = await foldedAt(past, position);
  const scene = sceneOf(work, state, { now_ms: Date.parse(timestamp), rulesOf: past.rulesOf });
  const { context_hash, message = null, git_ref = null, features } = body;
  const isWanted = (id: string) => features === undefined || features.includes(id);
  const snapshot: Snapshot = {
    position,
    timestamp,
    message,
    context_hash,
    git_ref,
    feature_states: snapshotsOf(scene).filter(({ feature_id }) => isWanted(feature_id)),
    tasks: { total: work.plan.subject_count, completed: work.completed },
  };
  return { success: true, reason: 'CHECKPOINTED', snapshot, event_id, next: command('release', '--dry-run') };
}
