/** What a custom store needs: the types of the contract, its errors, and two helpers that implement most of it. */
export type { EventDraft, EventEnvelope, NewEvent } from '../../core/events/envelope.js';
export type { HeadTable } from '../../core/heads/head-table.js';
export { type Blobs, MemoryBlobs } from '../blobs.js';
export { type ProcessClock, SteadyClock, systemClock } from '../clock.js';
export { FolderBlobs } from '../file/folder-blobs.js';
export { ProjectLedger, type TransactionFields as TransactionRecord } from '../ledger.js';
export { lastPerMember, TenantPermits } from '../permits.js';
export * from '../store.js';
export { transactionOf } from '../transaction.js';
export { assertWellFormed } from '../well-formed.js';
export { lockFile } from './lock-file.js';
export { type CustomLogStore, type CustomStoreOptions, openLogStore, type RecordLog } from './log-store.js';
export type { OpenModuleOptions, StoreModule } from './module-store.js';
export type { SharedRecords } from './shared-records.js';
export { type CustomSharedStore, openSharedStore } from './shared-store.js';
