import type { EventEnvelope } from '../../core/events/envelope.js';
import { manifestDigests, parseResultBlob } from '../../core/methodology/definition/manifest.js';

/** A line of a project archive: the header, then the events in order, each blob before the event that names it. */
export type ArchiveLine = ArchiveHeader | ArchivedBlob | { readonly event: EventEnvelope };

export interface ArchiveHeader {
  readonly archive: typeof ARCHIVE_FORMAT;
  readonly tenant_id: string;
  readonly project_id: string;
  /** Position of the last event. An archive whose events end earlier was truncated. */
  readonly position: number;
}

interface ArchivedBlob {
  readonly blob_sha256: string;
  readonly base64: string;
}

export const ARCHIVE_FORMAT = 'genesis-fleet/1';

const SHA256 = /^[0-9a-f]{64}$/;

/** The blob that an event names; null if it names none. In an imported event the field may have any content. */
const blobIn = ({ payload }: EventEnvelope): string | null =>
  typeof payload.blob_sha256 === 'string' && SHA256.test(payload.blob_sha256) ? payload.blob_sha256 : null;

interface NamedBlob {
  readonly blob_sha256: string;
  readonly bytes: Uint8Array;
}

/** The blobs an event names, directly or through the files of its result. Missing ones are skipped. */
export async function* blobsOf(event: EventEnvelope, get: (sha256: string) => Promise<Uint8Array | null>) {
  const ownDigest = blobIn(event);
  const result = ownDigest === null ? null : await get(ownDigest);
  if (ownDigest !== null && result !== null) yield { blob_sha256: ownDigest, bytes: result };
  const data = ownDigest === null ? event.payload.result_data : parseResultBlob(result ?? new Uint8Array());
  for (const blob_sha256 of manifestDigests(data)) {
    const bytes = await get(blob_sha256);
    if (bytes !== null) yield { blob_sha256, bytes };
  }
}

export const blobLine = ({ blob_sha256, bytes }: NamedBlob): ArchivedBlob => ({
  blob_sha256,
  base64: Buffer.from(bytes).toString('base64'),
});
