import { floorAfterLoss, HISTORY_LOST_EVENT, type LossOfHistory } from '../../core/audit/history-lost.js';
import type { RecordSignature } from '../../core/audit/signed-record.js';
import { generationFloor } from '../../core/claims/policy.js';
import type { AnyHead } from '../../core/fold.js';
import { LOSS_SUBJECT } from '../../core/subject.js';
import type { ProjectKey, Store } from '../../stores/store.js';
import { operationOf } from '../operations/shared.js';
import type { Operation } from '../queue/operation.js';
import { draftEvent } from '../queue/transaction-builder.js';

const PAGE_HEADS = 1000;

/** The loss of a project's history, as an operator accepts it. */
export type AcceptedLoss = Omit<LossOfHistory, 'record' | keyof RecordSignature>;

/** Adds the generation floor to an accepted loss: no generation above it can have been granted in the lost history. */
export function lossWithFloor(
  { by, reason, incarnation, kept_position, lost_events }: AcceptedLoss,
  highestGeneration: number,
  nowMs: number,
): LossOfHistory {
  const record = { generation_floor: floorAfterLoss(highestGeneration, lost_events, nowMs) };
  return { by, reason, incarnation, kept_position, lost_events, record };
}

export const recordLoss = (loss: LossOfHistory): Operation<LossOfHistory> =>
  operationOf('history_lost', null, (transaction) => {
    const draft = draftEvent(transaction.view, HISTORY_LOST_EVENT, loss.by, { ...loss });
    transaction.invalidateConcurrentDecisions().putRecord(LOSS_SUBJECT, [draft]);
    return loss;
  });

export async function readHighestGeneration(store: Store, projectKey: ProjectKey): Promise<number> {
  let highest = 0;
  for (let after: string | null = null; ; ) {
    const heads = (await store.scanHeads(projectKey, { after, limit: PAGE_HEADS })) as AnyHead[];
    for (const head of heads) highest = Math.max(highest, generationIn(head));
    const last = heads.at(-1);
    if (last === undefined) return highest;
    after = last.subject;
  }
}

/** The generation of a head. The record of an earlier loss counts with its generation floor, other records with 0. */
const generationIn = (head: AnyHead): number =>
  'generation' in head ? head.generation : head.subject === LOSS_SUBJECT ? generationFloor(head) : 0;
