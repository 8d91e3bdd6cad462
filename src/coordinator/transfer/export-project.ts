import type { Blobs } from '../../stores/blobs.js';
import type { ProjectKey, Store } from '../../stores/store.js';
import { ARCHIVE_FORMAT, type ArchiveLine, blobIn } from './archive.js';

const PAGE = 1000;

/** Everything a project has come to until now. Work may go on meanwhile: what comes later is not in it. */
export async function* exportProject(
  store: Store,
  blobs: Blobs,
  key: ProjectKey,
): AsyncGenerator<ArchiveLine> {
  const { tenant_id, project_id } = key;
  const position = (await store.project(key))?.position ?? 0;
  yield { archive: ARCHIVE_FORMAT, tenant_id, project_id, position };
  const told = new Set<string>();
  for (let after = 0; after < position; ) {
    const events = await store.events(key, { after, until_position: position, limit: PAGE });
    for (const event of events) {
      const blob_sha256 = blobIn(event);
      if (blob_sha256 !== null && !told.has(blob_sha256)) {
        told.add(blob_sha256);
        const bytes = await blobs.get(tenant_id, blob_sha256);
        // A blob that is gone is gone here too: the event tells its digest and size all the same.
        if (bytes !== null) yield { blob_sha256, base64: Buffer.from(bytes).toString('base64') };
      }
      yield { event };
    }
    const last = events.at(-1);
    if (last === undefined) throw new Error(`the events after ${after} of ${position} are missing`);
    after = last.position;
  }
}
