import type { z } from 'zod';
import { adviceFor, type FoldBackRefusal } from '../../core/contract/codes.js';
import type { FoldBackReply, foldBackBody } from '../../core/contract/methodology.js';
import { genCommand } from '../../core/methodology/definition/command.js';
import type { Methodology } from '../../core/methodology/definition/methodology.js';
import type { FeatureRow, MethodologyState } from '../../core/methodology/progress/feature-state.js';
import {
  alreadyFoldedRefusal,
  edgeUnblockedBy,
  foldBackRefusal,
  parentIdOf,
  remediationFeature,
} from '../../core/methodology/progress/fold-back.js';
import { projectProgressOf } from '../../core/methodology/progress/project-progress.js';
import { REMEDIATION_PREFIX } from '../../core/methodology/progress/spawn.js';
import { foldBackSubject } from '../../core/subject.js';
import type { Caller } from '../authentication/caller.js';
import { requestKeyOf } from '../operations/shared.js';
import type { DecisionView } from '../queue/decision-view.js';
import type { Attempt, Operation } from '../queue/operation.js';
import { TransactionBuilder } from '../queue/transaction-builder.js';
import { numberedId, writeSpawn } from './spawn.js';
import { actorOf, stepEvent } from './step-event.js';
import { type ViewInput, viewInputOf } from './view-input.js';

interface FoldBackInput {
  readonly viewInput: ViewInput;
  readonly methodology: Methodology;
  readonly row: FeatureRow;
}

/** Folds a spawn's result back into its parent, once, and unblocks the edge that waited for it. */
export class FoldBackOperation implements Operation<FoldBackReply> {
  readonly kind = 'fold_back';
  readonly request;

  constructor(
    private readonly body: z.output<typeof foldBackBody>,
    private readonly methodologyState: MethodologyState,
    private readonly caller: Caller,
  ) {
    this.request = requestKeyOf(caller, 'fold_back', body);
  }

  attempt(view: DecisionView): Attempt<FoldBackReply> {
    const transaction = new TransactionBuilder(view, this.body.request_id ?? null);
    const input = this.decide(view);
    if ('code' in input) {
      // A refusal of a repeated fold-back depends on its record, which may be uncommitted.
      const subject = foldBackSubject(this.body.feature_id);
      transaction.check(subject, view.record(subject)?.seq ?? 0);
      return {
        transaction: transaction.build(this.request),
        reply: this.refusedReply(input.code, input.says),
      };
    }
    const reply = this.write(transaction, view, input);
    return { transaction: transaction.build(this.request, reply), reply };
  }

  replay(): FoldBackReply {
    throw new Error('the stored request of a fold-back contains its reply');
  }

  private decide(
    view: DecisionView,
  ): FoldBackInput | { readonly code: FoldBackRefusal; readonly says: string } {
    const { feature_id, fold_back_status, question_answered = false } = this.body;
    const viewInput = viewInputOf(view.state, this.methodologyState, view);
    const { methodology } = viewInput;
    if (methodology === null) return { code: 'NOT_INITIALISED', says: adviceFor('NOT_INITIALISED') };
    const progress = projectProgressOf(viewInput).features.get(feature_id);
    if (progress === undefined)
      return {
        code: 'UNKNOWN_FEATURE',
        says: `There is no feature ${feature_id}. ${adviceFor('UNKNOWN_FEATURE')}`,
      };
    if (view.record(foldBackSubject(feature_id)) !== null) return alreadyFoldedRefusal(feature_id);
    const fault = foldBackRefusal(progress, { fold_back_status, question_answered });
    return fault ?? { viewInput, methodology, row: progress.row };
  }

  private write(
    transaction: TransactionBuilder,
    view: DecisionView,
    { viewInput, methodology, row }: FoldBackInput,
  ): FoldBackReply {
    const { feature_id: child, fold_back_status, question_answered } = this.body;
    const { summary, recommendation, artifacts, payload_path } = this.body;
    const by = actorOf(this.body, this.caller);
    const parent = parentIdOf(row) as string;
    const draft = stepEvent(view, 'spawn_folded_back', by, {
      parent,
      child,
      fold_back_status,
      convergence_type: question_answered === true ? 'question_answered' : undefined,
      summary,
      recommendation,
      artifacts,
      payload_path,
    });
    transaction.putRecord(foldBackSubject(child), null, [draft]);
    let remediation: string | null = null;
    if (row.vector.vector_type === 'hotfix') {
      remediation = numberedId(REMEDIATION_PREFIX, view, viewInput);
      const vector = remediationFeature(row.vector, remediation, methodology, view.now_ms);
      writeSpawn(transaction, view, {
        vector,
        blockedEdge: null,
        reason: vector.parent?.reason ?? vector.title,
        actor: by,
      });
    }
    const unblocked = edgeUnblockedBy(child, this.methodologyState.features.get(parent));
    const next = genCommand('start', '--feature', remediation ?? parent);
    return { success: true, reason: 'FOLDED_BACK', child, parent, unblocked, remediation, next };
  }

  private refusedReply(reason: FoldBackRefusal, next: string): FoldBackReply {
    const emptyFields = { parent: null, unblocked: null, remediation: null } as const;
    return { success: false, reason, child: this.body.feature_id, ...emptyFields, next };
  }
}
