import type { z } from 'zod';
import type { FoldBackRefusal } from '../../core/contract/codes.js';
import type { FoldBackReply, foldBackBody } from '../../core/contract/spawns.js';
import { genCommand } from '../../core/methodology/definition/command.js';
import type { Methodology } from '../../core/methodology/definition/methodology.js';
import type {
  FeatureRow,
  MethodologyState,
  RouteInput,
} from '../../core/methodology/progress/feature-state.js';
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
import { actorOf, type Caller } from '../authentication/caller.js';
import { operationOf, requestKeyOf } from '../operations/shared.js';
import type { DecisionView } from '../queue/decision-view.js';
import { draftEvent, type TransactionBuilder } from '../queue/transaction-builder.js';
import { nextNumberedId, writeSpawn } from './spawn.js';
import { NOT_INITIALISED, type Refusal, unknownFeature, viewInputOf } from './view-input.js';

interface FoldBackInput {
  readonly viewInput: RouteInput;
  readonly methodology: Methodology;
  readonly row: FeatureRow;
}

type ParsedFoldBackBody = z.output<typeof foldBackBody>;

/** Folds the result of a spawned feature back into its parent, once, and unblocks the parent's edge that waited for it. */
export function foldBackOperation(body: ParsedFoldBackBody, state: MethodologyState, caller: Caller) {
  const run = (transaction: TransactionBuilder): FoldBackReply => {
    const { view } = transaction;
    const input = decideFoldBack(view, body, viewInputOf(view.state, state, view));
    if (!('code' in input)) return writeFoldBack(transaction, body, input, actorOf(caller, body));
    // A repeated fold-back is refused because of the record of the first one, which may not be committed yet.
    transaction.checkRecord(foldBackSubject(body.feature_id));
    const emptyFields = { parent: null, unblocked: null, remediation: null } as const;
    return { success: false, reason: input.code, child: body.feature_id, ...emptyFields, next: input.says };
  };
  return operationOf('fold_back', requestKeyOf(caller, 'fold_back', body), run, body.request_id);
}

function decideFoldBack(
  view: DecisionView,
  { feature_id, fold_back_status, question_answered = false }: ParsedFoldBackBody,
  viewInput: RouteInput,
): FoldBackInput | Refusal<FoldBackRefusal> {
  const { methodology } = viewInput;
  if (methodology === null) return NOT_INITIALISED;
  const progress = projectProgressOf(viewInput).features.get(feature_id);
  if (progress === undefined) return unknownFeature(feature_id);
  if (view.record(foldBackSubject(feature_id)) !== null) return alreadyFoldedRefusal(feature_id);
  const fault = foldBackRefusal(progress, { fold_back_status, question_answered });
  return fault ?? { viewInput, methodology, row: progress.row };
}

function writeFoldBack(
  transaction: TransactionBuilder,
  body: ParsedFoldBackBody,
  { viewInput, methodology, row }: FoldBackInput,
  by: string,
): FoldBackReply {
  const { view } = transaction;
  const { feature_id: child, fold_back_status, question_answered } = body;
  const { summary, recommendation, artifacts, payload_path } = body;
  const parent = parentIdOf(row) as string;
  const draft = draftEvent(view, 'spawn_folded_back', by, {
    parent,
    child,
    fold_back_status,
    convergence_type: question_answered === true ? 'question_answered' : undefined,
    summary,
    recommendation,
    artifacts,
    payload_path,
  });
  transaction.putRecord(foldBackSubject(child), [draft]);
  let remediation: string | null = null;
  if (row.feature.vector_type === 'hotfix') {
    remediation = nextNumberedId(REMEDIATION_PREFIX, view, viewInput);
    const feature = remediationFeature(row.feature, remediation, methodology, view.now_ms);
    const reason = feature.parent?.reason ?? feature.title;
    writeSpawn(transaction, { feature, blockedEdge: null, reason, actor: by });
  }
  const unblocked = edgeUnblockedBy(child, viewInput.state.features.get(parent));
  const next = genCommand('start', '--feature', remediation ?? parent);
  return { success: true, reason: 'FOLDED_BACK', child, parent, unblocked, remediation, next };
}
