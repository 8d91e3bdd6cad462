import { createHash } from 'node:crypto';
import { EventIndex, type EventIndexState } from '../event-index.js';
import { type LedgerSnapshot, ProjectLedger } from '../ledger.js';
import type { TenantPermits } from '../permits.js';
import type { ProjectKey } from '../store.js';
import { type Disk, type DiskFile, readFully, readSmallFile, writeFully } from './disk.js';
import { paddedPosition, SNAPSHOTS_FOLDER } from './layout.js';
import { type LinePermit, permitFromLine, permitToLine } from './line.js';
import { visitLines } from './line-reader.js';
import { LineOffsets } from './offsets.js';
import { type PackedObjects, pack, unpack } from './packed.js';
import type { LogState } from './replay.js';

/** The state of a log when the snapshot was taken. */
export interface SnapshotPoint {
  readonly position: number;
  readonly hash: string;
  readonly newest_ms: number;
  /** The files of the log; the last one may have grown beyond `bytes`. */
  readonly segments: readonly { readonly first_position: number; readonly bytes: number }[];
}

/** A snapshot of another format is ignored like a damaged one: the log has everything. */
const FORMAT = 2;

interface SnapshotManifest extends SnapshotPoint {
  readonly format: number;
  readonly rules_seq: number;
  readonly files: Readonly<Record<string, string>>;
}

export interface SnapshotSource {
  readonly point: SnapshotPoint;
  readonly ledger: LedgerSnapshot;
  readonly index: EventIndexState;
  readonly offsets: Float64Array;
}

export const SNAPSHOTS_KEPT = 2;
const MANIFEST = 'manifest.json';
const TEMPORARY = 'unfinished';
/** Many values per line are read much faster than one, but commits wait while a line is encoded. */
const VALUES_PER_LINE_MAX = 1024;
const LINE_LENGTH_AIMED = 512 * 1024;

/**
 * Writes a snapshot beside the log while commits continue. It gets its final name only after `whenDurable`: the parts
 * are live and may include later commits.
 */
export async function writeSnapshot(
  disk: Disk,
  projectFolder: string,
  source: SnapshotSource,
  whenDurable: () => Promise<void>,
): Promise<void> {
  const folder = `${projectFolder}/${SNAPSHOTS_FOLDER}`;
  const temporary = `${folder}/${TEMPORARY}`;
  await disk.removeFolder(temporary);
  await disk.makeFolder(temporary);
  const files = await writeParts(disk, temporary, source);
  const manifest: SnapshotManifest = {
    format: FORMAT,
    ...source.point,
    rules_seq: source.ledger.rules_seq,
    files,
  };
  const text = JSON.stringify(manifest);
  await writeFile(disk, `${temporary}/${MANIFEST}`, [Buffer.from(`${text}\n${sha256(text)}\n`)]);
  await disk.syncFolder(temporary);
  await whenDurable();
  const name = paddedPosition(source.point.position);
  await disk.removeFolder(`${folder}/${name}`);
  await disk.rename(temporary, `${folder}/${name}`);
  await disk.syncFolder(folder);
  await disk.syncFolder(projectFolder);
  for (const old of (await snapshotNames(disk, projectFolder)).slice(SNAPSHOTS_KEPT)) {
    await disk.removeFolder(`${folder}/${old}`);
  }
}

async function writeParts(
  disk: Disk,
  folder: string,
  source: SnapshotSource,
): Promise<Record<string, string>> {
  const { ledger, index, offsets } = source;
  const parts: Record<string, Iterable<Uint8Array>> = {
    'subjects.bin': [bytesOf(index.subjects.owners)],
    'sessions.bin': [bytesOf(index.sessions.owners)],
    'offsets.bin': [bytesOf(offsets)],
    'subjects.jsonl': jsonLines(index.subjects.names, (names) => names),
    'sessions.jsonl': jsonLines(index.sessions.names, (names) => names),
    'heads.jsonl': jsonLines(ledger.heads, pack),
    'requests.jsonl': jsonLines(ledger.requests, pack),
    'notes.jsonl': jsonLines(ledger.note_ids, (ids) => ids),
    'slots.jsonl': jsonLines(ledger.slots, (permits) => permits.map(permitToLine)),
  };
  const files: Record<string, string> = {};
  for (const [name, chunks] of Object.entries(parts)) {
    files[name] = await writeFile(disk, `${folder}/${name}`, chunks);
  }
  return files;
}

function* jsonLines<T>(values: Iterable<T>, shape: (values: readonly T[]) => unknown) {
  let line: T[] = [];
  let count = VALUES_PER_LINE_MAX;
  for (const value of values) {
    line.push(value);
    if (line.length < count) continue;
    const text = JSON.stringify(shape(line));
    yield Buffer.from(`${text}\n`);
    count = Math.min(VALUES_PER_LINE_MAX, Math.ceil((line.length * LINE_LENGTH_AIMED) / text.length));
    line = [];
  }
  if (line.length > 0) yield Buffer.from(`${JSON.stringify(shape(line))}\n`);
}

/** Returns the digest of what was written. */
async function writeFile(disk: Disk, path: string, chunks: Iterable<Uint8Array>): Promise<string> {
  const digest = createHash('sha256');
  const file = await disk.openAppend(path);
  try {
    for (const chunk of chunks) {
      digest.update(chunk);
      await writeFully(file, chunk);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return digest.digest('base64url');
}

/** Newest first. */
export async function snapshotNames(disk: Disk, projectFolder: string): Promise<string[]> {
  const names = await disk.list(`${projectFolder}/${SNAPSHOTS_FOLDER}`);
  return names.filter((name) => /^\d{12,}$/.test(name)).sort((a, b) => Number(b) - Number(a));
}

export interface LoadedSnapshot {
  readonly point: SnapshotPoint;
  readonly state: LogState;
}

/** Throws if any part of the snapshot is not as it was written. Permits are set only after everything is read. */
export async function loadSnapshot(
  disk: Disk,
  folder: string,
  key: ProjectKey,
  permits: TenantPermits,
): Promise<LoadedSnapshot> {
  const manifest = await readManifest(disk, folder);
  const lines = <T>(name: string) => readJsonLines<T[], T>(disk, folder, name, manifest, (values) => values);
  const packs = <T extends object>(name: string) =>
    readJsonLines<PackedObjects, T>(disk, folder, name, manifest, unpack);
  const binary = (name: string) => readBinary(disk, folder, name, manifest);
  const index = EventIndex.fromState({
    subjects: { names: await lines('subjects.jsonl'), owners: int32s(await binary('subjects.bin')) },
    sessions: { names: await lines('sessions.jsonl'), owners: int32s(await binary('sessions.bin')) },
  });
  const offsets = LineOffsets.of(float64s(await binary('offsets.bin')));
  const ledger = ProjectLedger.load(key, permits, {
    position: manifest.position,
    rules_seq: manifest.rules_seq,
    heads: await packs('heads.jsonl'),
    requests: await packs('requests.jsonl'),
    note_ids: await lines('notes.jsonl'),
    slots: (await lines<LinePermit>('slots.jsonl')).map(permitFromLine),
  });
  const { hash, newest_ms } = manifest;
  return { point: manifest, state: { ledger, index, offsets, hash, newest_ms } };
}

async function readManifest(disk: Disk, folder: string): Promise<SnapshotManifest> {
  const [text = '', digest = ''] = ((await readSmallFile(disk, `${folder}/${MANIFEST}`)) ?? '').split('\n');
  if (text === '' || sha256(text) !== digest) throw new Error(`${MANIFEST} is not whole`);
  const manifest = JSON.parse(text) as SnapshotManifest;
  if (manifest.format !== FORMAT) throw new Error(`${MANIFEST} has a format that this version does not know`);
  return manifest;
}

async function readJsonLines<Line, T>(
  disk: Disk,
  folder: string,
  name: string,
  manifest: SnapshotManifest,
  valuesOf: (line: Line) => readonly T[],
): Promise<T[]> {
  const all: T[] = [];
  const digest = createHash('sha256');
  await withFile(disk, `${folder}/${name}`, (file) =>
    visitLines(file, 0, (line) => {
      digest.update(line).update('\n');
      for (const value of valuesOf(JSON.parse(line.toString('utf8')) as Line)) all.push(value);
    }),
  );
  if (digest.digest('base64url') !== manifest.files[name])
    throw new Error(`${name} is not as it was written`);
  return all;
}

async function readBinary(
  disk: Disk,
  folder: string,
  name: string,
  manifest: SnapshotManifest,
): Promise<Buffer> {
  const bytes = await withFile(disk, `${folder}/${name}`, async (file) =>
    readFully(file, 0, await file.size()),
  );
  if (sha256(bytes) !== manifest.files[name]) throw new Error(`${name} is not as it was written`);
  return bytes;
}

async function withFile<T>(disk: Disk, path: string, action: (file: DiskFile) => Promise<T>): Promise<T> {
  const file = await disk.openRead(path);
  if (file === null) throw new Error(`${path} is missing`);
  try {
    return await action(file);
  } finally {
    await file.close();
  }
}

const sha256 = (data: string | Uint8Array): string => createHash('sha256').update(data).digest('base64url');

const bytesOf = (values: Int32Array | Float64Array): Uint8Array =>
  new Uint8Array(values.buffer, values.byteOffset, values.byteLength);

// Copies, because a buffer's memory may not be aligned for numbers.
const int32s = (bytes: Buffer): Int32Array => new Int32Array(new Uint8Array(bytes).buffer);
const float64s = (bytes: Buffer): Float64Array => new Float64Array(new Uint8Array(bytes).buffer);
