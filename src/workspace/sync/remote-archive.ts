import { ARCHIVE_FORMAT, type ArchiveLine, blobLine, blobsOf } from '../../coordinator/transfer/archive.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import type { ProjectKey, Store } from '../../stores/store.js';
import { RemoteUnavailable, type SyncRemote } from './remote.js';

const PAGE_SIZE = 1000;

/** The part of the remote's log that the workspace already has. */
export interface Replica {
  readonly store: Store;
  readonly until: number;
}

/**
 * A remote's log as an archive up to a position. Events that the replica lacks, and the blobs they name, come from the
 * remote; the rest comes from the replica.
 */
export async function* remoteArchive(
  remote: SyncRemote,
  projectKey: ProjectKey,
  position: number,
  replica: Replica | null,
): AsyncGenerator<ArchiveLine> {
  const until = replica?.until ?? 0;
  yield { archive: ARCHIVE_FORMAT, ...projectKey, position };
  for (let after = 0; after < position; ) {
    const isInReplica = replica !== null && after < until;
    const events: readonly EventEnvelope[] = isInReplica
      ? await replica.store.events(projectKey, { after, until_position: until, limit: PAGE_SIZE })
      : await remote.events(after, Math.min(PAGE_SIZE, position - after));
    for (const event of events) {
      // A blob missing at the remote is skipped: the event still has its digest and size. An invalid event names no
      // blobs; the import rejects it.
      if (!isInReplica && event?.payload)
        for await (const blob of blobsOf(event, (sha256) => remote.getBlob(sha256))) yield blobLine(blob);
      yield { event };
    }
    const last = events.at(-1);
    if (last === undefined)
      throw new RemoteUnavailable(`${remote.name} returned no events after position ${after}.`);
    after = last.position;
  }
}
