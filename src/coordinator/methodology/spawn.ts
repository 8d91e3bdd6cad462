import type { z } from 'zod';
import { adviceFor, type SpawnRefusal } from '../../core/contract/codes.js';
import type { SpawnReply, spawnBody } from '../../core/contract/methodology.js';
import { genCommand } from '../../core/methodology/definition/command.js';
import { canonicalEdge } from '../../core/methodology/definition/edge-name.js';
import type { FeatureVector, Methodology } from '../../core/methodology/definition/methodology.js';
import type { MethodologyState } from '../../core/methodology/progress/feature-state.js';
import { projectProgressOf } from '../../core/methodology/progress/project-progress.js';
import {
  childPrefix,
  decideSpawn,
  nextFreeId,
  type SpawnFacts,
  type SpawnRequest,
} from '../../core/methodology/progress/spawn.js';
import { featureSubject } from '../../core/subject.js';
import { actorOf, type Caller } from '../authentication/caller.js';
import { writeFeature } from '../operations/configure.js';
import { requestKeyOf } from '../operations/shared.js';
import type { DecisionView } from '../queue/decision-view.js';
import type { Attempt, Operation } from '../queue/operation.js';
import { draftEvent, TransactionBuilder } from '../queue/transaction-builder.js';
import { newEventId } from '../runtime/identity.js';
import {
  NOT_INITIALISED,
  type Refusal,
  rowOf,
  unknownFeature,
  type ViewInput,
  viewInputOf,
} from './view-input.js';

/** Spawns a child feature from a question, risk or incident. If an edge is named, that edge waits for it. */
export class SpawnOperation implements Operation<SpawnReply> {
  readonly kind = 'spawn';
  readonly request;

  constructor(
    private readonly body: z.output<typeof spawnBody>,
    private readonly methodologyState: MethodologyState,
    private readonly caller: Caller,
  ) {
    this.request = requestKeyOf(caller, 'spawn', body);
  }

  attempt(view: DecisionView): Attempt<SpawnReply> {
    const transaction = new TransactionBuilder(view, this.body.request_id);
    const vector = this.decide(view);
    if ('code' in vector) {
      const { feature_id } = this.body;
      // A refusal because the id is taken depends on its record, which may be uncommitted.
      if (feature_id !== undefined) transaction.checkRecord(featureSubject(feature_id));
      return transaction.answer(this.request, refusedSpawnReply(vector));
    }
    const { edge, reason, blocks = true } = this.body;
    const blockedEdge = edge !== undefined && blocks ? canonicalEdge(edge) : null;
    const actor = actorOf(this.caller, this.body);
    const eventId = writeSpawn(transaction, { vector, blockedEdge, reason, actor });
    return transaction.answer(this.request, spawnedReply(vector, blockedEdge, eventId));
  }

  private decide(view: DecisionView): FeatureVector | Refusal<SpawnRefusal> {
    const viewInput = viewInputOf(view.state, this.methodologyState, view);
    const { methodology } = viewInput;
    if (methodology === null) return NOT_INITIALISED;
    const { parent: parentId, feature_id } = this.body;
    const parent = parentId === undefined ? null : rowOf(viewInput, parentId)?.vector;
    if (parent === undefined) return unknownFeature(parentId);
    if (feature_id !== undefined && isFeatureIdTaken(view, viewInput, feature_id)) {
      const says = `Feature ${feature_id} already exists. ${adviceFor('FEATURE_EXISTS')}`;
      return { code: 'FEATURE_EXISTS', says };
    }
    const id = feature_id ?? this.nextFeatureId(view, viewInput);
    const decision = decideSpawn(this.spawnInput(id, parent), spawnContextOf(viewInput, methodology));
    return decision.ok ? decision.vector : decision;
  }

  private nextFeatureId(view: DecisionView, viewInput: ViewInput): string {
    const { vector_type } = this.body;
    if (vector_type === 'feature') throw new Error('spawning a feature requires its id');
    return numberedId(childPrefix(vector_type), view, viewInput);
  }

  private spawnInput(feature_id: string, parent: FeatureVector | null): SpawnRequest {
    const { vector_type, reason, edge = null, title = null, intent = null } = this.body;
    const { profile = null, duration = null, priority = null } = this.body;
    const fields = { vector_type, reason, edge, title, intent, profile, duration, priority };
    return { ...fields, feature_id, parent };
  }
}

function spawnContextOf(viewInput: ViewInput, methodology: Methodology): SpawnFacts {
  const { features: standings } = projectProgressOf(viewInput);
  return {
    methodology,
    vectorOf: (id) => standings.get(id)?.row.vector ?? null,
    isConverged: (id) => standings.get(id)?.isComplete ?? false,
    now_ms: viewInput.now_ms,
  };
}

/** Taken by a committed record, an uncommitted one, or a feature in an imported log. */
const isFeatureIdTaken = (view: DecisionView, viewInput: ViewInput, featureId: string): boolean =>
  view.record(featureSubject(featureId)) !== null || rowOf(viewInput, featureId) !== undefined;

/** The next free id. If two operations choose the same number, one finds its record changed and is decided again. */
export function numberedId(prefix: string, view: DecisionView, viewInput: ViewInput): string {
  const existingIds = viewInput.rows.map(({ vector }) => vector.feature_id);
  return nextFreeId(prefix, existingIds, (id) => view.record(featureSubject(id)) !== null);
}

interface SpawnEventInput {
  readonly vector: FeatureVector;
  /** The parent's edge that waits for the child. */
  readonly blockedEdge: string | null;
  readonly reason: string;
  readonly actor: string;
}

/**
 * Writes the child's record and the spawn event in one transaction. Does not change the rules: a new feature
 * invalidates no earlier decision.
 */
export function writeSpawn(
  transaction: TransactionBuilder,
  { vector, blockedEdge, reason, actor }: SpawnEventInput,
): string {
  const { view } = transaction;
  const { feature_id, vector_type, profile, title, intent, parent, time_box } = vector;
  writeFeature(transaction, vector, actor);
  const eventId = newEventId(view.environment, view.now_ms);
  const draft = draftEvent(view, 'spawn_created', actor, {
    parent: parent?.feature,
    child: feature_id,
    vector_type,
    title,
    intent: intent ?? undefined,
    reason,
    profile,
    time_box: time_box === null ? undefined : `${time_box.duration_seconds} seconds`,
    triggered_at_edge: blockedEdge ?? undefined,
  });
  transaction.addLooseEvent({ ...draft, feature_id: parent?.feature ?? feature_id }, eventId);
  return eventId;
}

const spawnedReply = (vector: FeatureVector, blocks: string | null, event_id: string): SpawnReply => ({
  success: true,
  reason: 'SPAWNED',
  feature_id: vector.feature_id,
  vector,
  blocks,
  event_id,
  next: genCommand('start', '--feature', vector.feature_id),
});

const refusedSpawnReply = ({ code, says }: Refusal<SpawnRefusal>): SpawnReply => ({
  success: false,
  reason: code,
  feature_id: null,
  vector: null,
  blocks: null,
  event_id: null,
  next: says,
});
