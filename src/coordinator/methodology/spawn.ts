import type { z } from 'zod';
import type { MethodologyState } from '../../core/features/feature-state.js';
import {
  childPrefix,
  decideSpawn,
  nextId,
  type SpawnAsked,
  type SpawnGround,
} from '../../core/features/spawn.js';
import { surveyOf } from '../../core/features/survey.js';
import { command } from '../../core/graph/command.js';
import { canonicalEdge } from '../../core/graph/edge-name.js';
import type { FeatureVector, Methodology } from '../../core/graph/methodology.js';
import { featureSubject } from '../../core/subject.js';
import type { Caller } from '../caller.js';
import type { Desk } from '../desk.js';
import { newEventId } from '../identity.js';
import type { Attempt, Operation } from '../operation.js';
import { writeFeature } from '../operations/configure.js';
import { requestOf } from '../operations/shared.js';
import { UnitBuilder } from '../unit-builder.js';
import { rowOf, type Scene, sceneOf } from './scene.js';
import { actorOf, NOT_INITIALISED, step } from './told.js';
import type { SpawnReply, spawnBody } from './wire.js';

/** A question, a risk or an incident becomes work of its own; where an edge is named, that edge waits for it. */
export class SpawnOperation implements Operation<SpawnReply> {
  readonly kind = 'spawn';
  readonly request;

  constructor(
    private readonly body: z.output<typeof spawnBody>,
    private readonly folded: MethodologyState,
    private readonly caller: Caller,
  ) {
    this.request = requestOf(caller, 'spawn', body);
  }

  attempt(desk: Desk): Attempt<SpawnReply> {
    const unit = new UnitBuilder(desk, this.body.request_id ?? null);
    const vector = this.decide(desk);
    if ('code' in vector) {
      const { feature_id } = this.body;
      // That the id is taken stands on its record, which may be only about to be.
      if (feature_id !== undefined) unit.check(featureSubject(feature_id), seqOf(desk, feature_id));
      return { unit: unit.build(this.request), reply: refused(vector.code, vector.says) };
    }
    const { edge, blocks = true } = this.body;
    const waits = edge !== undefined && blocks ? canonicalEdge(edge) : null;
    const event_id = writeSpawn(unit, desk, {
      vector,
      waits,
      reason: this.body.reason,
      by: actorOf(this.body, this.caller),
    });
    const reply = spawned(vector, waits, event_id);
    return { unit: unit.build(this.request, reply), reply };
  }

  replay(): SpawnReply {
    throw new Error('a spawn is remembered with its reply');
  }

  private decide(desk: Desk): FeatureVector | { readonly code: string; readonly says: string } {
    const scene = sceneOf(desk.state, this.folded, desk);
    const { methodology } = scene;
    if (methodology === null) return { code: 'NOT_INITIALISED', says: NOT_INITIALISED };
    const { parent: parent_id, feature_id } = this.body;
    const parent = parent_id === undefined ? null : rowOf(scene, parent_id)?.vector;
    if (parent === undefined)
      return {
        code: 'UNKNOWN_FEATURE',
        says: `There is no feature ${parent_id}. What there is: gen status.`,
      };
    if (feature_id !== undefined && isTaken(desk, scene, feature_id)) {
      return { code: 'FEATURE_EXISTS', says: `There is a feature ${feature_id} already. Choose another id.` };
    }
    const id = feature_id ?? this.numbered(desk, scene);
    const spawning = decideSpawn(this.asked(id, parent), groundOf(scene, methodology));
    return spawning.ok ? spawning.vector : spawning;
  }

  private numbered(desk: Desk, scene: Scene): string {
    const { vector_type } = this.body;
    if (vector_type === 'feature') throw new Error('a feature is given its id');
    return numberedId(childPrefix(vector_type), desk, scene);
  }

  private asked(feature_id: string, parent: FeatureVector | null): SpawnAsked {
    const { vector_type, reason, edge = null, title = null, intent = null } = this.body;
    const { profile = null, duration = null, priority = null } = this.body;
    const said = { vector_type, reason, edge, title, intent, profile, duration, priority };
    return { ...said, feature_id, parent };
  }
}

function groundOf(scene: Scene, methodology: Methodology): SpawnGround {
  const { standings } = surveyOf(scene);
  return {
    methodology,
    vectorOf: (id) => standings.get(id)?.row.vector ?? null,
    isConverged: (id) => standings.get(id)?.complete ?? false,
    now_ms: scene.now_ms,
  };
}

const seqOf = (desk: Desk, feature_id: string): number => desk.record(featureSubject(feature_id))?.seq ?? 0;

/** Known by its record, by one that is about to be, or by the log of another tool. */
const isTaken = (desk: Desk, scene: Scene, feature_id: string): boolean =>
  desk.record(featureSubject(feature_id)) !== null || rowOf(scene, feature_id) !== undefined;

/** Of two that get the same number at once, one finds its record there, and is decided again. */
export function numberedId(prefix: string, desk: Desk, scene: Scene): string {
  const known = scene.rows.map(({ vector }) => vector.feature_id);
  return nextId(prefix, known, (id) => desk.record(featureSubject(id)) !== null);
}

export interface SpawnTold {
  readonly vector: FeatureVector;
  /** The edge of the parent that waits for it. */
  readonly waits: string | null;
  readonly reason: string;
  readonly by: string;
}

/** The child's record and the step that made it, in one unit. A new feature takes nothing from what was decided before. */
export function writeSpawn(unit: UnitBuilder, desk: Desk, { vector, waits, reason, by }: SpawnTold): string {
  const { feature_id, vector_type, profile, title, intent, parent, time_box } = vector;
  writeFeature(unit, desk, vector, by);
  const event_id = newEventId(desk.environment, desk.now_ms);
  const told = step(desk, 'spawn_created', by, {
    parent: parent?.feature,
    child: feature_id,
    vector_type,
    title,
    intent: intent ?? undefined,
    reason,
    profile,
    time_box: time_box === null ? undefined : `${time_box.duration_seconds} seconds`,
    triggered_at_edge: waits ?? undefined,
  });
  unit.told({ ...told, feature_id: parent?.feature ?? feature_id }, event_id);
  return event_id;
}

const spawned = (vector: FeatureVector, blocks: string | null, event_id: string): SpawnReply => ({
  success: true,
  reason: 'SPAWNED',
  feature_id: vector.feature_id,
  vector,
  blocks,
  event_id,
  next: command('start', '--feature', vector.feature_id),
});

const refused = (reason: string, next: string): SpawnReply => ({
  success: false,
  reason,
  feature_id: null,
  vector: null,
  blocks: null,
  event_id: null,
  next,
});
