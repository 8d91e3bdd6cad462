import { type AuditSink, type CheckpointId, isLater } from '../../coordinator/audit/sink.js';
import { contentEventId } from '../../coordinator/runtime/identity.js';
import { type Anchor, anchorSchema } from '../../core/audit/checkpoint.js';
import { ANCHOR_KEPT_EVENT } from '../../core/audit/key-events.js';
import { isoTime, type NewEvent } from '../../core/events/envelope.js';
import { anchorSubject, TENANT_PROJECT } from '../../core/subject.js';
import { readStoreEvents } from '../../stores/read-store-events.js';
import { type ProjectKey, type Store, StoreUnavailable } from '../../stores/store.js';
import { transactionOf } from '../../stores/transaction.js';

const KEEPER_AGENT_ID = 'audit';

/**
 * Keeps checkpoints in another store, in that store's log of each tenant. Checkpoints are sent about once a minute, so
 * the store is opened for each call: no connection has to survive an outage of that store.
 */
export class StoreSink implements AuditSink {
  private lastTurn: Promise<unknown> = Promise.resolve();

  constructor(
    readonly name: string,
    private readonly open: () => Promise<Store>,
  ) {}

  lastSent(projectKey: ProjectKey): Promise<CheckpointId | null> {
    return this.withStore(async (store) => {
      let last: CheckpointId | null = null;
      for await (const anchor of anchorsOfProject(store, projectKey))
        if (isLater(anchor, last)) last = anchor;
      return last;
    });
  }

  send(anchors: readonly Anchor[]): Promise<void> {
    return this.withStore(async (store) => {
      const at = isoTime(await store.now());
      const outcomes = await store.commit(
        anchors.map((anchor) =>
          transactionOf(logOf(anchor.tenant_id), { loose_events: [keptEvent(anchor, at)] }),
        ),
      );
      if (outcomes.some(({ kind }) => kind !== 'committed'))
        throw new StoreUnavailable('The store of the sink did not commit all checkpoints. Check that store.');
    });
  }

  /** Runs each call after the one before, because a file store has one writer. */
  private withStore<T>(work: (store: Store) => Promise<T>): Promise<T> {
    const done = this.lastTurn.then(async () => {
      const store = await this.open();
      try {
        return await work(store);
      } finally {
        await store.close();
      }
    });
    this.lastTurn = done.catch(() => {});
    return done;
  }
}

/** The checkpoints of other stores that this store keeps. */
export async function anchorsIn(store: Store, tenantIds: readonly string[]): Promise<Anchor[]> {
  const anchors: Anchor[] = [];
  for (const tenantId of tenantIds) {
    for await (const event of readStoreEvents(store, logOf(tenantId))) {
      const anchor = event.event_type === ANCHOR_KEPT_EVENT ? anchorSchema.safeParse(event.payload) : null;
      if (anchor?.success) anchors.push(anchor.data);
    }
  }
  return anchors;
}

async function* anchorsOfProject(
  store: Store,
  { tenant_id, project_id }: ProjectKey,
): AsyncGenerator<Anchor> {
  for await (const event of readStoreEvents(store, logOf(tenant_id), {
    subject: anchorSubject(project_id),
  })) {
    const anchor = anchorSchema.safeParse(event.payload);
    if (anchor.success) yield anchor.data;
  }
}

const logOf = (tenant_id: string): ProjectKey => ({ tenant_id, project_id: TENANT_PROJECT });

/** The event id derives from the checkpoint, so a checkpoint that is sent twice is written once. */
function keptEvent(anchor: Anchor, timestamp: string): NewEvent {
  const { tenant_id, project_id, incarnation, position, root } = anchor;
  return {
    event_id: contentEventId([ANCHOR_KEPT_EVENT, tenant_id, project_id, incarnation, position, root]),
    event_type: ANCHOR_KEPT_EVENT,
    timestamp,
    ...logOf(tenant_id),
    subject: anchorSubject(project_id),
    agent_id: KEEPER_AGENT_ID,
    payload: { ...anchor },
  };
}
