import type { z } from 'zod';
import { adviceFor, type SpawnRefusal } from '../../core/contract/codes.js';
import type { SpawnReply, spawnBody } from '../../core/contract/spawns.js';
import { genCommand } from '../../core/methodology/definition/command.js';
import { canonicalEdge } from '../../core/methodology/definition/edge-name.js';
import type { Feature, Methodology } from '../../core/methodology/definition/methodology.js';
import type { MethodologyState, RouteInput } from '../../core/methodology/progress/feature-state.js';
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
import { operationOf, requestKeyOf } from '../operations/shared.js';
import type { DecisionView } from '../queue/decision-view.js';
import { draftEvent, type TransactionBuilder } from '../queue/transaction-builder.js';
import { NOT_INITIALISED, type Refusal, rowOf, unknownFeature, viewInputOf } from './view-input.js';

type ParsedSpawnBody = z.output<typeof spawnBody>;

/**
 * Creates a feature: normally the child of a parent, from a question, risk or incident. The edge of the parent that the
 * body names waits for the child, unless `blocks` is false.
 */
export function spawnOperation(body: ParsedSpawnBody, state: MethodologyState, caller: Caller) {
  const run = (transaction: TransactionBuilder): SpawnReply => {
    const { feature_id, edge, reason, blocks = true } = body;
    const feature = decideChild(transaction.view, body, state);
    if ('code' in feature) {
      // The id may be taken by a record that is not committed yet: check that record.
      if (feature_id !== undefined) transaction.checkRecord(featureSubject(feature_id));
      return refusedReply(feature);
    }
    const blockedEdge = edge !== undefined && blocks ? canonicalEdge(edge) : null;
    const eventId = writeSpawn(transaction, { feature, blockedEdge, reason, actor: actorOf(caller, body) });
    return spawnedReply(feature, blockedEdge, eventId);
  };
  return operationOf('spawn', requestKeyOf(caller, 'spawn', body), run, body.request_id);
}

function decideChild(
  view: DecisionView,
  body: ParsedSpawnBody,
  state: MethodologyState,
): Feature | Refusal<SpawnRefusal> {
  const viewInput = viewInputOf(view.state, state, view);
  const { methodology } = viewInput;
  if (methodology === null) return NOT_INITIALISED;
  const { parent: parentId, feature_id } = body;
  const parent = parentId === undefined ? null : rowOf(viewInput, parentId)?.feature;
  if (parent === undefined) return unknownFeature(parentId);
  if (feature_id !== undefined && isFeatureIdTaken(view, viewInput, feature_id)) {
    const says = `Feature ${feature_id} already exists. ${adviceFor('FEATURE_EXISTS')}`;
    return { code: 'FEATURE_EXISTS', says };
  }
  const id = feature_id ?? nextFeatureId(body, view, viewInput);
  const decision = decideSpawn(spawnRequestOf(body, id, parent), spawnFactsOf(viewInput, methodology));
  return decision.ok ? decision.feature : decision;
}

function nextFeatureId({ vector_type }: ParsedSpawnBody, view: DecisionView, viewInput: RouteInput): string {
  if (vector_type === 'feature') throw new Error('spawning a feature requires its id');
  return nextNumberedId(childPrefix(vector_type), view, viewInput);
}

function spawnRequestOf(body: ParsedSpawnBody, feature_id: string, parent: Feature | null): SpawnRequest {
  const { vector_type, reason, edge = null, title = null, intent = null } = body;
  const { profile = null, duration = null, priority = null } = body;
  const fields = { vector_type, reason, edge, title, intent, profile, duration, priority };
  return { ...fields, feature_id, parent };
}

function spawnFactsOf(viewInput: RouteInput, methodology: Methodology): SpawnFacts {
  const { features: featureProgress } = projectProgressOf(viewInput);
  return {
    methodology,
    featureOf: (id) => featureProgress.get(id)?.row.feature ?? null,
    isConverged: (id) => featureProgress.get(id)?.isComplete ?? false,
    now_ms: viewInput.now_ms,
  };
}

/** Whether a record, committed or not, or a feature of an imported log has this id. */
const isFeatureIdTaken = (view: DecisionView, viewInput: RouteInput, featureId: string): boolean =>
  view.record(featureSubject(featureId)) !== null || rowOf(viewInput, featureId) !== undefined;

/** The next free id. Of two operations that choose the same id, the store commits one, and the other is decided again. */
export function nextNumberedId(prefix: string, view: DecisionView, viewInput: RouteInput): string {
  const existingIds = viewInput.rows.map(({ feature }) => feature.feature_id);
  return nextFreeId(prefix, existingIds, (id) => view.record(featureSubject(id)) !== null);
}

interface SpawnEventInput {
  readonly feature: Feature;
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
  { feature, blockedEdge, reason, actor }: SpawnEventInput,
): string {
  const { view } = transaction;
  const { feature_id, vector_type, profile, title, intent, parent, time_box } = feature;
  writeFeature(transaction, feature, actor);
  const eventId = view.newEventId();
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

const spawnedReply = (feature: Feature, blocks: string | null, event_id: string): SpawnReply => ({
  success: true,
  reason: 'SPAWNED',
  feature_id: feature.feature_id,
  vector: feature,
  blocks,
  event_id,
  next: genCommand('start', '--feature', feature.feature_id),
});

const refusedReply = ({ code, says }: Refusal<SpawnRefusal>): SpawnReply => ({
  success: false,
  reason: code,
  feature_id: null,
  vector: null,
  blocks: null,
  event_id: null,
  next: says,
});
