import { createHash, type Hash } from 'node:crypto';
import { HEADS_PER_PAGE, type HeadsSummary } from '../../core/heads/claim-heads.js';
import { EventIndex, type EventIndexState } from '../event-index.js';
import { type LedgerSnapshot, ProjectLedger } from '../ledger.js';
import type { TenantPermits } from '../permits.js';
import type { ProjectKey } from '../store.js';
import { BlockIndex } from './block-index.js';
import { appendSynced, type Disk, type DiskFile, readSmallFile, readWhole, withFile } from './disk.js';
import { paddedPosition, SNAPSHOTS_FOLDER } from './layout.js';
import { base64urlDigest, type LinePermit, permitFromLine, permitToLine } from './line.js';
import { visitLines } from './line-reader.js';
import { decodeText } from './log-line.js';
import { LineOffsets, NumberList } from './offsets.js';
import { type PackedObjects, pack, unpack } from './packed.js';
import type { LogState } from './replay.js';

/** The state of a log when the snapshot was taken. */
export interface SnapshotPoint {
  readonly position: number;
  /** The last seal, and the one before the first block. */
  readonly seal: string;
  readonly first_seal_before: string;
  readonly newest_ms: number;
  /** The files of the log; the last one may have grown beyond `bytes`. */
  readonly segments: readonly { readonly first_position: number; readonly bytes: number }[];
}

/** A snapshot of another format is ignored like a damaged one: the log has everything. */
const FORMAT = 5;

interface SnapshotManifest extends SnapshotPoint {
  readonly format: number;
  readonly rules_seq: number;
  readonly files: Readonly<Record<string, string>>;
}

interface SnapshotSource {
  readonly point: SnapshotPoint;
  readonly ledger: LedgerSnapshot;
  readonly index: EventIndexState;
  readonly offsets: Float64Array;
  readonly blocks: Float64Array;
  /** The foreign lines that no seal covers yet. */
  readonly foreign: readonly Buffer[];
}

const SNAPSHOTS_MAX = 2;
const MANIFEST = 'manifest.json';
const NEWLINE = Buffer.from('\n');
const TEMPORARY = 'unfinished';
/** Many values per line are read much faster than one, but commits wait while a line is encoded. */
const VALUES_PER_LINE_MAX = 1024;
const LINE_LENGTH_TARGET = 512 * 1024;

/**
 * Writes a snapshot beside the log while commits continue. It gets its final name only after `whenDurable`: the parts
 * are live, and may include later commits that are not durable yet.
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
  await appendSynced(disk, `${temporary}/${MANIFEST}`, [Buffer.from(`${text}\n${base64urlDigest(text)}\n`)]);
  await disk.syncFolder(temporary);
  await whenDurable();
  const name = paddedPosition(source.point.position);
  await disk.removeFolder(`${folder}/${name}`);
  await disk.rename(temporary, `${folder}/${name}`);
  await disk.syncFolder(folder);
  await disk.syncFolder(projectFolder);
  for (const old of (await snapshotNames(disk, projectFolder)).slice(SNAPSHOTS_MAX)) {
    await disk.removeFolder(`${folder}/${old}`);
  }
}

async function writeParts(
  disk: Disk,
  folder: string,
  source: SnapshotSource,
): Promise<Record<string, string>> {
  const { ledger, index, offsets, blocks, foreign } = source;
  const { summary } = ledger;
  const parts: Record<string, Iterable<Uint8Array>> = {
    'subjects.bin': [bytesOf(index.subjects.owners)],
    'sessions.bin': [bytesOf(index.sessions.owners)],
    'times.bin': [bytesOf(index.times)],
    'offsets.bin': [bytesOf(offsets)],
    'blocks.bin': [bytesOf(blocks)],
    'foreign.jsonl': foreign.map((line) => Buffer.concat([line, NEWLINE])),
    'subjects.jsonl': jsonLines(index.subjects.names, (names) => names),
    'sessions.jsonl': jsonLines(index.sessions.names, (names) => names),
    'completed.jsonl': encodeTexts(ledger.pages),
    'summary.jsonl': jsonLines([summary], (values) => values),
    'heads.jsonl': jsonLines(ledger.heads, pack),
    'requests.jsonl': jsonLines(ledger.requests, pack),
    'notes.jsonl': jsonLines(ledger.loose_event_ids, (ids) => ids),
    'slots.jsonl': jsonLines(ledger.permits, (permits) => permits.map(permitToLine)),
  };
  const files: Record<string, string> = {};
  for (const [name, chunks] of Object.entries(parts)) {
    const digest = createHash('sha256');
    await appendSynced(disk, `${folder}/${name}`, hashChunks(chunks, digest));
    files[name] = digest.digest('base64url');
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
    count = Math.min(VALUES_PER_LINE_MAX, Math.ceil((line.length * LINE_LENGTH_TARGET) / text.length));
    line = [];
  }
  if (line.length > 0) yield Buffer.from(`${JSON.stringify(shape(line))}\n`);
}

function* encodeTexts(texts: Iterable<string>): Generator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

function* hashChunks(chunks: Iterable<Uint8Array>, digest: Hash): Generator<Uint8Array> {
  for (const chunk of chunks) {
    digest.update(chunk);
    yield chunk;
  }
}

/** The names of the snapshots, newest first. */
export async function snapshotNames(disk: Disk, projectFolder: string): Promise<string[]> {
  const names = await disk.list(`${projectFolder}/${SNAPSHOTS_FOLDER}`);
  return names.filter((name) => /^\d{12,}$/.test(name)).sort((a, b) => Number(b) - Number(a));
}

/** Throws if any part of the snapshot is not as it was written. Permits are set only after everything is read. */
export async function loadSnapshot(
  disk: Disk,
  folder: string,
  key: ProjectKey,
  permits: TenantPermits,
): Promise<{ point: SnapshotPoint; state: LogState }> {
  const manifest = await readManifest(disk, folder);
  const part = async <T>(name: string, read: (file: DiskFile, digest: Hash) => Promise<T>): Promise<T> => {
    const digest = createHash('sha256');
    const content = await withFile(disk, `${folder}/${name}`, (file) => read(file, digest));
    if (content === null) throw new Error(`${folder}/${name} is missing`);
    if (digest.digest('base64url') !== manifest.files[name])
      throw new Error(`${name} does not match its digest`);
    return content;
  };
  const lines = <T>(name: string) =>
    part(name, (file, digest) => readJsonLines<T[], T>(file, digest, (values) => values));
  const packs = <T extends object>(name: string) =>
    part(name, (file, digest) => readJsonLines<PackedObjects, T>(file, digest, unpack));
  const binary = (name: string) => part(name, readBinary);
  const index = EventIndex.fromState({
    subjects: { names: await lines('subjects.jsonl'), owners: int32s(await binary('subjects.bin')) },
    sessions: { names: await lines('sessions.jsonl'), owners: int32s(await binary('sessions.bin')) },
    times: float64s(await binary('times.bin')),
  });
  const numbers = async (name: string) => NumberList.of(float64s(await binary(name)));
  const offsets = new LineOffsets(await numbers('offsets.bin'));
  const blocks = new BlockIndex(manifest.first_seal_before, await numbers('blocks.bin'));
  const foreign = await part('foreign.jsonl', readRawLines);
  const ledger = ProjectLedger.load(key, permits, {
    position: manifest.position,
    rules_seq: manifest.rules_seq,
    pages: await part('completed.jsonl', readPages),
    summary: (await lines<HeadsSummary>('summary.jsonl'))[0] ?? { tracks_by_agent: [] },
    heads: await packs('heads.jsonl'),
    requests: await packs('requests.jsonl'),
    loose_event_ids: await lines('notes.jsonl'),
    permits: (await lines<LinePermit>('slots.jsonl')).map(permitFromLine),
  });
  const { seal, newest_ms } = manifest;
  return { point: manifest, state: { ledger, index, offsets, blocks, foreign, seal, newest_ms } };
}

async function readManifest(disk: Disk, folder: string): Promise<SnapshotManifest> {
  const [text = '', digest = ''] = ((await readSmallFile(disk, `${folder}/${MANIFEST}`)) ?? '').split('\n');
  if (text === '' || base64urlDigest(text) !== digest)
    throw new Error(`${MANIFEST} is incomplete or damaged`);
  const manifest = JSON.parse(text) as SnapshotManifest;
  if (manifest.format !== FORMAT)
    throw new Error(`${MANIFEST} has a format that this version does not support`);
  return manifest;
}

async function readJsonLines<Line, T>(
  file: DiskFile,
  digest: Hash,
  valuesOf: (line: Line) => readonly T[],
): Promise<T[]> {
  const all: T[] = [];
  await visitLines(file, 0, (line) => {
    digest.update(line).update('\n');
    for (const value of valuesOf(JSON.parse(line.toString('utf8')) as Line)) all.push(value);
  });
  return all;
}

async function readRawLines(file: DiskFile, digest: Hash): Promise<Buffer[]> {
  const all: Buffer[] = [];
  await visitLines(file, 0, (line) => {
    digest.update(line).update(NEWLINE);
    all.push(Buffer.from(line));
  });
  return all;
}

/** The packed heads of completed work, in pages of `HEADS_PER_PAGE`. */
async function readPages(file: DiskFile, digest: Hash): Promise<string[]> {
  const bytes = await readBinary(file, digest);
  const pages: string[] = [];
  for (let start = 0; start < bytes.length; ) {
    let end = start;
    for (let lines = 0; lines < HEADS_PER_PAGE && end < bytes.length; lines += 1)
      end = bytes.indexOf(NEWLINE, end) + 1;
    pages.push(decodeText(bytes.subarray(start, end)));
    start = end;
  }
  return pages;
}

async function readBinary(file: DiskFile, digest: Hash): Promise<Buffer> {
  const bytes = await readWhole(file);
  digest.update(bytes);
  return bytes;
}

const bytesOf = (values: Int32Array | Float64Array): Uint8Array =>
  new Uint8Array(values.buffer, values.byteOffset, values.byteLength);

// Copies, because a buffer's memory may not be aligned for numbers.
const int32s = (bytes: Buffer): Int32Array => new Int32Array(new Uint8Array(bytes).buffer);
const float64s = (bytes: Buffer): Float64Array => new Float64Array(new Uint8Array(bytes).buffer);
