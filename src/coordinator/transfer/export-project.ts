import type { Blobs } from '../../stores/blobs.js';
import type { ProjectKey, Store } from '../../stores/store.js';
import { ARCHIVE_FORMAT, type ArchiveLine, blobLine, blobsOf } from './archive.js';

const PAGE_EVENTS = 1000;

/** Exports a project up to its current position. Later events are not included. */
export async function* exportProject(
  store: Store,
  blobs: Blobs,
  projectKey: ProjectKey,
): AsyncGenerator<ArchiveLine> {
  const { tenant_id, project_id } = projectKey;
  const position = (await store.project(projectKey))?.position ?? 0;
  yield { archive: ARCHIVE_FORMAT, tenant_id, project_id, position };
  const exportedBlobs = new Set<string>();
  // A missing blob is skipped: the event still has its digest and size.
  const getOnce = async (sha256: string) => {
    if (exportedBlobs.has(sha256)) return null;
    exportedBlobs.add(sha256);
    return blobs.get(tenant_id, sha256);
  };
  for (let after = 0; after < position; ) {
    const events = await store.events(projectKey, { after, until_position: position, limit: PAGE_EVENTS });
    for (const event of events) {
      for await (const blob of blobsOf(event, getOnce)) yield blobLine(blob);
      yield { event };
    }
    const last = events.at(-1);
    if (last === undefined) throw new Error(`the events after ${after} of ${position} are missing`);
    after = last.position;
  }
}
