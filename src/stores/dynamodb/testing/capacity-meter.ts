import type { DynamodbProxy, ProxiedCall } from './proxy.js';

/** The total that a series of calls to DynamoDB has used. */
export interface CapacityUse {
  /** Transactions that happened. */
  transactions: number;
  /** Items that transactions wrote, deleted or checked. */
  transaction_items: number;
  /** Items that were written otherwise, such as index items. */
  other_items: number;
  write_units: number;
  items_read: number;
  read_units: number;
}

const NO_USE: CapacityUse = {
  transactions: 0,
  transaction_items: 0,
  other_items: 0,
  write_units: 0,
  items_read: 0,
  read_units: 0,
};

interface ConsumedCapacity {
  readonly CapacityUnits?: number;
}

/** The parts of a reply that tell what its call has used. */
interface MeteredReply {
  readonly ConsumedCapacity?: ConsumedCapacity | readonly ConsumedCapacity[];
  readonly Items?: readonly unknown[];
  readonly Item?: unknown;
  readonly Responses?: Readonly<Record<string, readonly unknown[]>>;
}

/** Asks the server for the capacity that each call consumes, and adds it up. */
export class CapacityMeter {
  use: CapacityUse = { ...NO_USE };

  constructor(proxy: DynamodbProxy) {
    proxy.fate = ({ body }) => {
      body.ReturnConsumedCapacity = 'INDEXES';
      return 'pass';
    };
    proxy.onReply = (call, reply) => this.add(useOf(call, reply));
  }

  reset(): void {
    this.use = { ...NO_USE };
  }

  private add(use: CapacityUse): void {
    for (const field of Object.keys(NO_USE) as (keyof CapacityUse)[]) this.use[field] += use[field];
  }
}

/** A failed call uses capacity too, but only AWS reports it. Here such a call counts only with its items. */
function useOf({ operation, body }: ProxiedCall, reply: MeteredReply): CapacityUse {
  const consumed = [reply.ConsumedCapacity ?? []].flat();
  const units = consumed.reduce((sum, { CapacityUnits = 0 }) => sum + CapacityUnits, 0);
  const writtenCount = countWrites(body);
  if (writtenCount === 0) return { ...NO_USE, items_read: countReads(reply), read_units: units };
  if (operation !== 'TransactWriteItems') return { ...NO_USE, other_items: writtenCount, write_units: units };
  const transactions = Number(consumed.length > 0);
  return { ...NO_USE, transactions, transaction_items: writtenCount, write_units: units };
}

function countWrites({ TransactItems, RequestItems, Item, UpdateExpression }: ProxiedCall['body']): number {
  if (TransactItems !== undefined) return (TransactItems as unknown[]).length;
  const puts = Object.values((RequestItems ?? {}) as Record<string, unknown>).filter(Array.isArray);
  return puts.flat().length + Number(Item !== undefined || UpdateExpression !== undefined);
}

function countReads({ Items, Item, Responses }: MeteredReply): number {
  const batch = Object.values(Responses ?? {}).flat();
  return (Items?.length ?? 0) + batch.length + Number(Item !== undefined);
}
