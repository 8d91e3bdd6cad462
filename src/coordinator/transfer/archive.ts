import type { EventEnvelope } from '../../core/events/envelope.js';

/** A project outside of any store: its header, then its events in order, each blob before the event that names it. */
export type ArchiveLine = ArchiveHeader | ArchivedBlob | ArchivedEvent;

export interface ArchiveHeader {
  readonly archive: typeof ARCHIVE_FORMAT;
  readonly tenant_id: string;
  readonly project_id: string;
  /** Of the last event: an archive that ends before it was cut short. */
  readonly position: number;
}

export interface ArchivedBlob {
  readonly blob_sha256: string;
  readonly base64: string;
}

export interface ArchivedEvent {
  readonly event: EventEnvelope;
}

export const ARCHIVE_FORMAT = 'genesis-fleet/1';

const SHA256 = /^[0-9a-f]{64}$/;

/** The blob an event names, if it names one. An event from elsewhere may call anything so. */
export const blobIn = ({ payload }: EventEnvelope): string | null =>
  typeof payload.blob_sha256 === 'string' && SHA256.test(payload.blob_sha256) ? payload.blob_sha256 : null;
