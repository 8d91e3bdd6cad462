import { appendFile, readFile, rm, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { openFileStore } from './file-store.js';
import { nodeDisk } from './node-disk.js';
import {
  activeFile,
  allEvents,
  commitOne,
  looseEventTransaction,
  newSubjectTransaction,
  projectLogFolder,
} from './testing.js';
import { type LogPoint, readLogUnverified } from './unverified-reader.js';

async function writeStore(segment_bytes_max = 64 * 1024 * 1024) {
  const root = await temporaryFolder();
  const store = await openFileStore({ root, segment_bytes_max });
  for (let index = 0; index < 20; index += 1) {
    await commitOne(store, newSubjectTransaction(`subject-${index}`, 1 + (index % 3)));
    await commitOne(
      store,
      looseEventTransaction(`remark-${index}`, { says: `,"log":{"prev":" ,"payload": \n → ${index}` }),
    );
  }
  const events = await allEvents(store);
  await store.close();
  return { root, events };
}

async function readUnverified(root: string): Promise<EventEnvelope[] | null> {
  const events: EventEnvelope[] = [];
  const fits = await readLogUnverified(nodeDisk, projectLogFolder(root), (event) => events.push(event));
  return fits ? events : null;
}

async function rewrite(root: string, change: (lines: string[]) => string[]): Promise<void> {
  const lines = (await readFile(activeFile(root), 'utf8')).trimEnd().split('\n');
  await writeFile(activeFile(root), `${change(lines).join('\n')}\n`);
}

it('reads the same events as the store, from one file and from many', async () => {
  for (const segmentBytesMax of [64 * 1024 * 1024, 2000]) {
    const { root, events } = await writeStore(segmentBytesMax);
    expect(await readUnverified(root)).toEqual(events);
  }
});

it('reads a line that is longer than its buffer', async () => {
  const root = await temporaryFolder();
  const store = await openFileStore({ root });
  await commitOne(store, looseEventTransaction('long', { says: 'x'.repeat(3 * 1024 * 1024) }));
  const events = await allEvents(store);
  await store.close();
  expect(await readUnverified(root)).toEqual(events);
});

it('does not verify the digest of a payload', async () => {
  const { root, events } = await writeStore();
  await rewrite(root, (lines) => lines.map((line) => line.replace('→ 7', '→ 8')));
  expect(await readUnverified(root)).toHaveLength(events.length);
});

it('requires verification if lines are torn, missing, duplicated or reordered', async () => {
  const changes: ((lines: string[]) => string[])[] = [
    (lines) => lines.slice(1),
    (lines) => lines.toSpliced(7, 1),
    (lines) => lines.toSpliced(7, 0, lines[7] as string),
    (lines) => lines.toSpliced(7, 2, lines[8] as string, lines[7] as string),
    // Detected by the mark beside the log, which records how far it reached.
    (lines) => lines.slice(0, -1),
    (lines) => lines.map((line, at) => (at === 7 ? line.slice(0, -9) : line)),
    (lines) => lines.map((line) => line.replace(/"position":9,/, '"position":10,')),
    (lines) => lines.map((line) => line.replace(/"payload":\{.*\}$/, '"payload":null}')),
    (lines) => lines.map((line, at) => (at === 7 ? '{"event_type":"foreign"}' : line)),
    (lines) => lines.toSpliced(7, 0, 'null'),
    // Two halves that a comma would join again.
    (lines) => lines.map((line, at) => (at === 7 ? line.replace(',"event_type"', '\n"event_type"') : line)),
  ];
  for (const change of changes) {
    const { root } = await writeStore();
    await rewrite(root, change);
    expect(await readUnverified(root), String(change)).toBeNull();
  }
});

it('requires verification if a line is still being written', async () => {
  const { root } = await writeStore();
  const [first = ''] = (await readFile(activeFile(root), 'utf8')).split('\n');
  await appendFile(activeFile(root), first.slice(0, 50));
  expect(await readUnverified(root)).toBeNull();
});

describe('from the end of an earlier reading', () => {
  async function readFrom(root: string, from: LogPoint): Promise<number[] | null> {
    const positions: number[] = [];
    const onEvent = ({ position }: EventEnvelope) => positions.push(position);
    return (await readLogUnverified(nodeDisk, projectLogFolder(root), onEvent, from)) && positions;
  }

  /** Writes a log, notes its end as `from`, and adds twenty events. */
  async function growLog(segment_bytes_max: number) {
    const { root, events } = await writeStore(segment_bytes_max);
    const read = await readLogUnverified(nodeDisk, projectLogFolder(root), () => {});
    if (read === null || read.end === null) throw new Error('The log does not end with a seal.');
    const store = await openFileStore({ root, segment_bytes_max });
    for (let index = 0; index < 20; index += 1)
      await commitOne(store, looseEventTransaction(`more-${index}`));
    await store.close();
    return { root, from: read.end, last: events.length };
  }

  it('reads the events after it, also if its file was closed meanwhile', async () => {
    for (const segmentBytesMax of [64 * 1024 * 1024, 2000]) {
      const { root, from, last } = await growLog(segmentBytesMax);
      const added = Array.from({ length: 20 }, (_, index) => last + 1 + index);
      expect(await readFrom(root, from)).toEqual(added);
    }
  });

  it('reads nothing if nothing was added', async () => {
    const { root } = await growLog(64 * 1024 * 1024);
    const read = await readLogUnverified(nodeDisk, projectLogFolder(root), () => {});
    expect(await readFrom(root, read?.end as LogPoint)).toEqual([]);
  });

  it('requires verification if that place is not in this log', async () => {
    const { root, from } = await growLog(64 * 1024 * 1024);
    const other = await growLog(64 * 1024 * 1024);
    expect(await readFrom(other.root, from)).toBeNull();
    const { segment } = from;
    for (const bytes of [0, segment.bytes - 1, segment.bytes + 1, segment.bytes * 100])
      expect(await readFrom(root, { ...from, segment: { ...segment, bytes } })).toBeNull();
    expect(await readFrom(root, { ...from, position: from.position - 1 })).toBeNull();
    await rm(activeFile(root));
    expect(await readFrom(root, from)).toBeNull();
  });

  it('has no end to continue from while lines of other programs are not sealed', async () => {
    const { root } = await writeStore();
    await appendFile(activeFile(root), '{"event_type":"of another program"}\n');
    expect(await readLogUnverified(nodeDisk, projectLogFolder(root), () => {})).toEqual({ end: null });
  });
});
