import { type CommitOutcome, StoreUnavailable, StoreUncertain, type Transaction } from './store.js';

/**
 * Applies the transactions of a commit in order. If `apply` throws `StoreUnavailable` for the first one, nothing has happened; for a
 * later one the commit is uncertain, because earlier ones are applied.
 */
export function applyInOrder(
  transactions: readonly Transaction[],
  apply: (transaction: Transaction) => CommitOutcome,
): CommitOutcome[] {
  const outcomes: CommitOutcome[] = [];
  try {
    for (const transaction of transactions) outcomes.push(apply(transaction));
    return outcomes;
  } catch (error) {
    if (outcomes.length > 0 && error instanceof StoreUnavailable) throw new StoreUncertain(error.message);
    throw error;
  }
}
