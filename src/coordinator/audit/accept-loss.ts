import {
  floorAfterLoss,
  generationFloor,
  HISTORY_LOST_EVENT,
  type LossOfHistory,
} from '../../core/audit/history-lost.js';
import type { AnyHead } from '../../core/fold.js';
import { LOSS_SUBJECT } from '../../core/subject.js';
import type { ProjectKey, Store } from '../../stores/store.js';
import { operationOf } from '../operations/shared.js';
import type { Operation } from '../queue/operation.js';
import { draftEvent } from '../queue/transaction-builder.js';

const PAGE_HEADS = 1000;

/** What an operator accepts as lost, of one project. */
export type AcceptedLoss = Omit<LossOfHistory, 'record'>;

/** Records a loss. Decisions from now on grant generations above all that may have been granted in what was lost. */
export const recordLoss = (lost: AcceptedLoss, highestGeneration: number): Operation<LossOfHistory> =>
  operationOf('history_lost', null, (transaction) => {
    const { view } = transaction;
    const highest = Math.max(highestGeneration, generationFloor(view.record(LOSS_SUBJECT)));
    const record = { generation_floor: floorAfterLoss(highest, lost.lost_events) };
    const payload: LossOfHistory = { ...lost, record };
    const draft = draftEvent(view, HISTORY_LOST_EVENT, lost.by, { ...payload });
    transaction.invalidateConcurrentDecisions().putRecord(LOSS_SUBJECT, [draft]);
    return payload;
  });

export async function highestGeneration(store: Store, projectKey: ProjectKey): Promise<number> {
  let highest = 0;
  for (let after: string | null = null; ; ) {
    const heads = (await store.scanHeads(projectKey, { after, limit: PAGE_HEADS })) as AnyHead[];
    for (const head of heads) if ('generation' in head) highest = Math.max(highest, head.generation);
    const last = heads.at(-1);
    if (last === undefined) return highest;
    after = last.subject;
  }
}
