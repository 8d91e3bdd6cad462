import type { z } from 'zod';
import type { FeatureRow, MethodologyState } from '../../core/features/feature-state.js';
import {
  alreadyFolded,
  edgeFreedBy,
  foldBackFault,
  parentOf,
  remediationOf,
} from '../../core/features/fold-back.js';
import { REMEDIATION_PREFIX } from '../../core/features/spawn.js';
import { surveyOf } from '../../core/features/survey.js';
import { command } from '../../core/graph/command.js';
import type { Methodology } from '../../core/graph/methodology.js';
import { foldBackSubject } from '../../core/subject.js';
import type { Caller } from '../caller.js';
import type { Desk } from '../desk.js';
import type { Attempt, Operation } from '../operation.js';
import { requestOf } from '../operations/shared.js';
import { UnitBuilder } from '../unit-builder.js';
import { type Scene, sceneOf } from './scene.js';
import { numberedId, writeSpawn } from './spawn.js';
import { actorOf, NOT_INITIALISED, step } from './told.js';
import type { FoldBackReply, foldBackBody } from './wire.js';

interface Ready {
  readonly scene: Scene;
  readonly methodology: Methodology;
  readonly row: FeatureRow;
}

/** What a spawn found out goes back to its parent, once, and the edge that waited for it goes on. */
export class FoldBackOperation implements Operation<FoldBackReply> {
  readonly kind = 'fold_back';
  readonly request;

  constructor(
    private readonly body: z.output<typeof foldBackBody>,
    private readonly folded: MethodologyState,
    private readonly caller: Caller,
  ) {
    this.request = requestOf(caller, 'fold_back', body);
  }

  attempt(desk: Desk): Attempt<FoldBackReply> {
    const unit = new UnitBuilder(desk, this.body.request_id ?? null);
    const ready = this.decide(desk);
    if ('code' in ready) {
      // That it was folded back stands on its record, which may be only about to be.
      const subject = foldBackSubject(this.body.feature_id);
      unit.check(subject, desk.record(subject)?.seq ?? 0);
      return { unit: unit.build(this.request), reply: this.refused(ready.code, ready.says) };
    }
    const reply = this.write(unit, desk, ready);
    return { unit: unit.build(this.request, reply), reply };
  }

  replay(): FoldBackReply {
    throw new Error('a fold-back is remembered with its reply');
  }

  private decide(desk: Desk): Ready | { readonly code: string; readonly says: string } {
    const { feature_id, fold_back_status, question_answered = false } = this.body;
    const scene = sceneOf(desk.state, this.folded, desk);
    const { methodology } = scene;
    if (methodology === null) return { code: 'NOT_INITIALISED', says: NOT_INITIALISED };
    const standing = surveyOf(scene).standings.get(feature_id);
    if (standing === undefined)
      return {
        code: 'UNKNOWN_FEATURE',
        says: `There is no feature ${feature_id}. What there is: gen status.`,
      };
    if (desk.record(foldBackSubject(feature_id)) !== null) return alreadyFolded(feature_id);
    const fault = foldBackFault(standing, { fold_back_status, question_answered });
    return fault ?? { scene, methodology, row: standing.row };
  }

  private write(unit: UnitBuilder, desk: Desk, { scene, methodology, row }: Ready): FoldBackReply {
    const { feature_id: child, fold_back_status, question_answered } = this.body;
    const { summary, recommendation, artifacts, payload_path } = this.body;
    const by = actorOf(this.body, this.caller);
    const parent = parentOf(row) as string;
    const draft = step(desk, 'spawn_folded_back', by, {
      parent,
      child,
      fold_back_status,
      convergence_type: question_answered === true ? 'question_answered' : undefined,
      summary,
      recommendation,
      artifacts,
      payload_path,
    });
    unit.record(foldBackSubject(child), null, [draft]);
    let remediation: string | null = null;
    if (row.vector.vector_type === 'hotfix') {
      remediation = numberedId(REMEDIATION_PREFIX, desk, scene);
      const vector = remediationOf(row.vector, remediation, methodology, desk.now_ms);
      writeSpawn(unit, desk, { vector, waits: null, reason: vector.parent?.reason ?? vector.title, by });
    }
    const unblocked = edgeFreedBy(child, this.folded.features.get(parent));
    const next = command('start', '--feature', remediation ?? parent);
    return { success: true, reason: 'FOLDED_BACK', child, parent, unblocked, remediation, next };
  }

  private refused(reason: string, next: string): FoldBackReply {
    const nothing = { parent: null, unblocked: null, remediation: null };
    return { success: false, reason, child: this.body.feature_id, ...nothing, next };
  }
}
