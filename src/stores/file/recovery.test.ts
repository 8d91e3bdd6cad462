import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { transactionOf } from '../conformance/fixture.js';
import { TenantPermits } from '../permits.js';
import { LogDamaged, type Transaction } from '../store.js';
import { BLOCK_BYTES } from './block-writer.js';
import type { Disk } from './disk.js';
import { openFileStore } from './file-store.js';
import { readEvents } from './log-reader.js';
import { memoryDisk } from './memory-disk.testing.js';
import { nodeDisk } from './node-disk.js';
import { OpenFiles } from './open-files.js';
import { recoverLog } from './recovery.js';
import {
  activeFile,
  allEvents,
  commitOne,
  KEY,
  looseEventTransaction,
  newSubjectTransaction,
  projectLogFolder,
  reproducibleRandom,
} from './testing.js';

interface Reopened {
  readonly events: EventEnvelope[];
  readonly warnings: string[];
}

/** Recovers a log as opening the store does, and reads all of it. */
async function recover(folder: string, disk: Disk = nodeDisk): Promise<Reopened> {
  const warnings: string[] = [];
  const permits = new TenantPermits();
  const log = await recoverLog({
    disk,
    root: dirname(folder),
    folder,
    key: KEY,
    permits,
    open_files: new OpenFiles(),
    now_ms: Date.UTC(2026, 0, 1),
    warn: (sentence) => warnings.push(sentence),
  });
  const query = { after: 0, limit: 1_000_000 };
  const events = await readEvents(log, query, log.state.ledger.position);
  await log.files.close();
  return { events, warnings };
}

/**
 * A log of transactions with one and with several events, each its own batch, as a crash leaves it; and the mark of a
 * clean shutdown.
 */
async function writtenLog(
  transactions: number,
): Promise<{ log: Buffer; mark: Buffer; events: EventEnvelope[] }> {
  const root = await temporaryFolder();
  const store = await openFileStore({ root });
  for (let round = 0; round < transactions; round += 1) {
    await commitOne(
      store,
      round % 3 === 0 ? newSubjectTransaction(`s${round}`, 2) : looseEventTransaction(`note-${round}`),
    );
  }
  const events = await allEvents(store);
  await store.close();
  return {
    log: await readFile(activeFile(root)),
    mark: await readFile(join(projectLogFolder(root), 'durable')),
    events,
  };
}

const tornFiles = (files: Map<string, Buffer>) =>
  [...files.keys()].filter((path) => path.startsWith('p/torn-'));

const linesOf = (log: Buffer): Buffer[] => {
  const lines: Buffer[] = [];
  for (let start = 0; start < log.length; ) {
    const end = log.indexOf('\n', start) + 1;
    lines.push(log.subarray(start, end));
    start = end;
  }
  return lines;
};

const isSeal = (line: Buffer): boolean => line.toString().startsWith('{"seal":');

/** The number of events in sealed blocks within the first `bytes` of a log. */
function wholeEvents(lines: readonly Buffer[], bytes: number): number {
  let end = 0;
  let events = 0;
  let whole = 0;
  for (const line of lines) {
    end += line.length;
    if (end > bytes) break;
    if (isSeal(line)) whole = events;
    else events += 1;
  }
  return whole;
}

const bytesOfLastLines = (log: Buffer): number =>
  linesOf(log)
    .slice(-7)
    .reduce((sum, line) => sum + line.length, 0);

describe('a log truncated at any byte of its last blocks', () => {
  it('loses only the block without a seal, and keeps a copy of it, if it was not marked durable', async () => {
    const { log, events } = await writtenLog(7);
    const lines = linesOf(log);
    for (let size = log.length - bytesOfLastLines(log); size < log.length; size += 1) {
      const files = new Map([['p/events.jsonl', log.subarray(0, size)]]);
      const { events: recovered, warnings } = await recover('p', memoryDisk(files));
      expect(recovered).toEqual(events.slice(0, wholeEvents(lines, size)));
      const savedTails = tornFiles(files).map((path) => files.get(path) as Buffer);
      expect(savedTails).toHaveLength(warnings.length);
      const together = Buffer.concat([files.get('p/events.jsonl') as Buffer, ...savedTails]);
      expect(together.equals(log.subarray(0, size))).toBe(true);
    }
  });

  it('is refused without changes if it was marked durable', async () => {
    const { log, mark } = await writtenLog(7);
    for (let size = log.length - bytesOfLastLines(log); size < log.length; size += 1) {
      const files = new Map([
        ['p/events.jsonl', log.subarray(0, size)],
        ['p/durable', mark],
      ]);
      await expect(recover('p', memoryDisk(files))).rejects.toThrow(
        /events\.jsonl, lines? \d+.*: .*Restore the file from a backup/,
      );
      expect(tornFiles(files)).toEqual([]);
      expect(files.get('p/events.jsonl')).toHaveLength(size);
    }
  });
});

it('detects every flipped bit: refuses the log with the line, or cuts its unconfirmed end', async () => {
  const { log, events } = await writtenLog(24);
  const random = reproducibleRandom(20_260_101);
  const outcomeCounts = { refused: 0, cut: 0 };
  for (let round = 0; round < 5000; round += 1) {
    const damaged = Buffer.from(log);
    const at = Math.floor(random() * log.length);
    damaged[at] = (damaged[at] as number) ^ (1 << Math.floor(random() * 8));
    const files = new Map([['p/events.jsonl', damaged]]);
    try {
      const { events: recovered, warnings } = await recover('p', memoryDisk(files));
      outcomeCounts.cut += 1;
      expect(recovered.length).toBeLessThan(events.length);
      expect(JSON.stringify(recovered)).toBe(JSON.stringify(events.slice(0, recovered.length)));
      expect(warnings).toHaveLength(1);
    } catch (error) {
      if (!(error instanceof LogDamaged)) throw error;
      outcomeCounts.refused += 1;
      const line = log.subarray(0, at).filter((byte) => byte === 0x0a).length + 1;
      const { line: first, last_line: last = first } = error.damage;
      // A seal that reads as a foreign line, or counts other lines, is noticed at the next seal.
      expect(first).toBeLessThanOrEqual(line);
      expect(last).toBeGreaterThanOrEqual(line);
      expect(last - first).toBeLessThan(6);
      expect(error.message).toMatch(/events\.jsonl, lines? \d+( to \d+)?: /);
    }
  }
  expect(outcomeCounts.refused).toBeGreaterThan(4000);
  expect(outcomeCounts.cut).toBeGreaterThan(10);
});

describe('a log in segments', () => {
  async function writeSegmentedLog(): Promise<{ root: string; events: EventEnvelope[] }> {
    const root = await temporaryFolder();
    const store = await openFileStore({ root, segment_bytes_max: 2000 });
    for (let round = 0; round < 40; round += 1) await commitOne(store, newSubjectTransaction(`s${round}`, 2));
    const events = await allEvents(store);
    await store.close();
    return { root, events };
  }
  const segmentsOf = async (root: string) => (await readdir(join(projectLogFolder(root), 'segments'))).sort();

  it('returns the same events with snapshots and without', async () => {
    const { root, events } = await writeSegmentedLog();
    expect((await segmentsOf(root)).length).toBeGreaterThan(5);
    expect(events.map((event) => event.position)).toEqual(
      Array.from({ length: 80 }, (_, index) => index + 1),
    );
    expect(await readdir(join(projectLogFolder(root), 'snapshots'))).toHaveLength(2);
    expect((await recover(projectLogFolder(root))).events).toEqual(events);
    await rm(join(projectLogFolder(root), 'snapshots'), { recursive: true });
    expect((await recover(projectLogFolder(root))).events).toEqual(events);
  });

  it('restores the same heads, requests, loose events and permits from a snapshot', async () => {
    const states = [];
    for (const segment_bytes_max of [1, 1_000_000_000]) {
      const root = await temporaryFolder();
      let store = await openFileStore({ root, segment_bytes_max });
      for (let round = 0; round < 12; round += 1) {
        const until_ms = round % 4 === 0 ? null : Number.POSITIVE_INFINITY;
        const permits = [{ scope: 's', member: `m${round % 6}`, until_ms }];
        const requests = [{ key: `r${round}`, digest: 'd', keep: true, reply: { payload: { round } } }];
        await commitOne(
          store,
          newSubjectTransaction(`s${round}`, 1, {
            permits,
            requests,
            changes_rules: round % 5 === 0,
          }),
        );
        await commitOne(store, looseEventTransaction(`note-${round % 7}`));
      }
      await store.close();
      store = await openFileStore({ root, segment_bytes_max });
      const replay = await commitOne(
        store,
        newSubjectTransaction('x', 1, { requests: [{ key: 'r3', digest: 'd', keep: false }] }),
      );
      states.push({
        heads: await store.scanHeads(KEY, { after: null, limit: 99 }),
        row: await store.project(KEY),
        replay: replay.kind === 'replay' ? replay.request : replay,
        note: (await commitOne(store, looseEventTransaction('note-3'))).kind,
        occupancy: await store.countPermits(KEY.tenant_id, 's'),
        events: (await allEvents(store)).map((event) => [event.position, event.subject]),
        of_subject: await store
          .events(KEY, { after: 0, limit: 9, subject: '~s7' })
          .then((found) => found.length),
      });
      await store.close();
    }
    const [tiny, whole] = states as unknown as [Record<string, unknown>, Record<string, unknown>];
    const comparable = ({ heads: _, ...rest }: Record<string, unknown>) => ({
      ...rest,
      replay: { ...(rest.replay as object), at_ms: 0 },
    });
    expect(comparable(tiny)).toEqual(comparable(whole));
    expect(JSON.stringify(tiny.heads)).toBe(JSON.stringify(whole.heads));
  });

  it('is refused when a closed segment is missing, with a snapshot and without', async () => {
    const { root } = await writeSegmentedLog();
    const names = await segmentsOf(root);
    await rm(join(projectLogFolder(root), 'segments', names[2] as string));
    await expect(recover(projectLogFolder(root))).rejects.toThrow(/jsonl, line 1: the file is missing/);
    await rm(join(projectLogFolder(root), 'snapshots'), { recursive: true });
    await expect(recover(projectLogFolder(root))).rejects.toThrow(/closed segment is missing/);
  });

  it('is refused when the last closed segment is missing', async () => {
    const { root } = await writeSegmentedLog();
    await rm(join(projectLogFolder(root), 'snapshots'), { recursive: true });
    await rm(join(projectLogFolder(root), 'segments', (await segmentsOf(root)).pop() as string));
    await expect(recover(projectLogFolder(root))).rejects.toBeInstanceOf(LogDamaged);
  });

  it('is refused with the lines of the block when a closed segment is damaged', async () => {
    const { root } = await writeSegmentedLog();
    await rm(join(projectLogFolder(root), 'snapshots'), { recursive: true });
    const path = join(projectLogFolder(root), 'segments', (await segmentsOf(root))[1] as string);
    const bytes = await readFile(path);
    const second = bytes.indexOf('"agent-1"', bytes.indexOf('\n')) + 1;
    bytes[second] = (bytes[second] as number) ^ 1;
    await writeFile(path, bytes);
    await expect(recover(projectLogFolder(root))).rejects.toThrow(
      /jsonl, lines 1 to 3: the seal does not match/,
    );
  });

  it('ignores a damaged snapshot and uses the older one, or the log', async () => {
    const { root, events } = await writeSegmentedLog();
    const snapshots = join(projectLogFolder(root), 'snapshots');
    for (const [count, name] of (await readdir(snapshots)).sort().reverse().entries()) {
      for (const file of ['heads.jsonl', 'offsets.bin', 'blocks.bin', 'manifest.json']) {
        const bytes = await readFile(join(snapshots, name, file));
        const damaged = Buffer.from(bytes);
        damaged[5] = (damaged[5] as number) ^ 4;
        await writeFile(join(snapshots, name, file), damaged);
        const { events: recovered, warnings } = await recover(projectLogFolder(root));
        expect(recovered).toEqual(events);
        expect(warnings).toHaveLength(count + 1);
        if (file !== 'manifest.json') await writeFile(join(snapshots, name, file), bytes);
      }
    }
  });

  it('ignores an intact snapshot of another format', async () => {
    const { root, events } = await writeSegmentedLog();
    const snapshots = join(projectLogFolder(root), 'snapshots');
    for (const name of await readdir(snapshots)) {
      const path = join(snapshots, name, 'manifest.json');
      const [text = ''] = (await readFile(path, 'utf8')).split('\n');
      const older = text.replace(/"format":\d+/, '"format":2');
      await writeFile(path, `${older}\n${createHash('sha256').update(older).digest('base64url')}\n`);
    }
    const { events: recovered, warnings } = await recover(projectLogFolder(root));
    expect(recovered).toEqual(events);
    expect(warnings).toHaveLength(2);
    expect(warnings[0]).toContain('a format that this version does not support');
  });

  it('continues after a crash between the closing of a file and the start of the next', async () => {
    const { root, events } = await writeSegmentedLog();
    await rm(join(projectLogFolder(root), 'snapshots'), { recursive: true });
    await rm(join(projectLogFolder(root), 'durable'));
    const active = await readFile(activeFile(root)).catch(() => Buffer.alloc(0));
    await rm(activeFile(root), { force: true });
    const store = await openFileStore({ root });
    const recovered = await allEvents(store);
    const lost = linesOf(active).filter((line) => !isSeal(line)).length;
    expect(recovered).toEqual(events.slice(0, events.length - lost));
    expect(await commitOne(store, looseEventTransaction('next'))).toMatchObject({
      positions: [recovered.length + 1],
    });
    await store.close();
    expect((await recover(projectLogFolder(root))).events).toHaveLength(recovered.length + 1);
  });
});

it('keeps transactions without events when every batch may close a segment', async () => {
  const root = await temporaryFolder();
  const requestTransaction = (key: string) =>
    transactionOf(KEY, { requests: [{ key, digest: 'd', keep: true }] });
  let store = await openFileStore({ root, segment_bytes_max: 1 });
  await commitOne(store, looseEventTransaction('first'));
  for (const key of ['a', 'b', 'c'])
    expect((await commitOne(store, requestTransaction(key))).kind).toBe('committed');
  await commitOne(store, looseEventTransaction('second'));
  await store.close();
  await rm(join(projectLogFolder(root), 'snapshots'), { recursive: true });
  store = await openFileStore({ root, segment_bytes_max: 1 });
  for (const key of ['a', 'b', 'c'])
    expect((await commitOne(store, requestTransaction(key))).kind).toBe('replay');
  expect(await allEvents(store)).toHaveLength(2);
  await store.close();
});

it('refuses a log whose file is missing although it was marked durable', async () => {
  const { mark } = await writtenLog(3);
  await expect(recover('p', memoryDisk(new Map([['p/durable', mark]])))).rejects.toThrow(
    /events\.jsonl, line 1: the file is missing/,
  );
});

it('refuses a log that belongs to another project', async () => {
  const { log } = await writtenLog(3);
  const root = await temporaryFolder();
  await mkdir(join(root, 't', 'q'), { recursive: true });
  await writeFile(join(root, 't', 'q', 'events.jsonl'), log);
  const store = await openFileStore({ root });
  await expect(store.projects('t')).rejects.toThrow(/line 1: it belongs to t\/p, not to t\/q/);
  await store.close();
});

describe('a write after the damaged one', () => {
  it('shows that a damaged seal before it was durable', async () => {
    const { log } = await writtenLog(6);
    const seals = [...log.toString('latin1').matchAll(/\{"seal":"/g)].map(({ index }) => index);
    const damaged = Buffer.from(log);
    damaged[(seals.at(-2) as number) + 1] = 0;
    await expect(recover('p', memoryDisk(new Map([['p/events.jsonl', damaged]])))).rejects.toThrow(
      LogDamaged,
    );
  });

  /** The log after commits that are each written separately. */
  async function logAfter(...commits: readonly (readonly Transaction[])[]): Promise<Buffer> {
    const root = await temporaryFolder();
    const store = await openFileStore({ root });
    for (const transactions of commits) await store.commit(transactions);
    await store.close();
    return readFile(activeFile(root));
  }
  const requestTransaction = (key: string) =>
    transactionOf(KEY, { requests: [{ key, digest: 'd', keep: true }] });

  it('proves that lines without events were durable', async () => {
    const log = await logAfter(
      [looseEventTransaction('a')],
      [requestTransaction('first')],
      [requestTransaction('second')],
    );
    const damaged = Buffer.from(log.toString('latin1').replace('"key":"first"', '"key":"other"'), 'latin1');
    await expect(recover('p', memoryDisk(new Map([['p/events.jsonl', damaged]])))).rejects.toThrow(
      /lines 3 to 4: the seal does not match/,
    );
  });

  it('proves nothing if it was the same write: a crash may lose its first block only', async () => {
    const said = { said: 'x'.repeat(BLOCK_BYTES) };
    const large = ['b', 'c', 'd'].map((id) => looseEventTransaction(id, said));
    const log = await logAfter([looseEventTransaction('a')], large);
    expect(linesOf(log).filter(isSeal)).toHaveLength(4);
    const torn = Buffer.from(log);
    const lost = torn.indexOf('"event_id":"b"') + 5000;
    torn.fill(0, lost, lost + 4096);
    const files = new Map([['p/events.jsonl', torn]]);
    const { events, warnings } = await recover('p', memoryDisk(files));
    expect(events.map(({ event_id }) => event_id)).toEqual(['a']);
    expect(warnings).toHaveLength(1);
  });
});
