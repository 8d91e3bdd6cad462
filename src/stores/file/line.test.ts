import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { openFileStore } from './file-store.js';
import { type DecodedLine, decodeLine, HASH_LENGTH, NO_HASH, recordFromLog } from './line.js';
import { EventLineWriter } from './line-writer.js';
import {
  activeFile,
  commitOne,
  looseEventTransaction,
  newSubjectTransaction,
  temporaryFolder,
} from './testing.js';

const EVENT: EventEnvelope = {
  event_id: 'e-1',
  event_type: 'CLAIM_ACQUIRED',
  timestamp: '2026-01-01T00:00:00.000Z',
  tenant_id: 't',
  project_id: 'p',
  position: 1,
  subject: 'A-001 "quoted\\ \u2028 ü \ud800',
  seq: 1,
  agent_id: 'x","payload":{}',
  payload: { text: 'ü "," \n', nested: { payload: { log: 1 } } },
};
const FIRST = { prev: NO_HASH, position: 1, part: 1, parts: 1 };

const encodeLine = (...line: Parameters<EventLineWriter['write']>): { text: string; hash: string } => {
  const out = new EventLineWriter();
  const hash = out.write(...line);
  return { text: out.bytes.toString(), hash };
};

const decoded = (text: string): DecodedLine => {
  const line = decodeLine(Buffer.from(text.slice(0, -1)));
  if (typeof line === 'string') throw new Error(line);
  return line;
};

it('decodes an event unchanged, whatever its strings contain', () => {
  const line = encodeLine(EVENT, FIRST, null);
  expect(line.text.endsWith('}\n')).toBe(true);
  expect(line.text.slice(0, -1)).not.toContain('\n');
  expect(decoded(line.text)).toMatchObject({ hash: line.hash, event: EVENT });
  expect(Object.keys(decoded(line.text).event ?? {}).sort()).toEqual(Object.keys(EVENT).sort());
});

it('keeps the record of a transaction: permits without expiry, and replies that look like payloads', () => {
  const record = {
    rules_seq: 3,
    slots: [
      { scope: 's', member: 'a', until_ms: Number.POSITIVE_INFINITY },
      { scope: 's', member: 'b', until_ms: null },
      { scope: 's', member: 'c', until_ms: 5 },
    ],
    requests: [
      { key: 'k', digest: 'd', reply: { a: 1, payload: { b: [2] } } },
      { key: 'l', digest: 'd' },
    ],
  };
  expect(recordFromLog(decoded(encodeLine(EVENT, FIRST, record).text).log)).toEqual(record);
  const bare = decoded(encodeLine(null, FIRST, record).text);
  expect(bare.event).toBeNull();
  expect(recordFromLog(bare.log)).toEqual(record);
});

it('writes each line independently of the lines before it', () => {
  const other = { ...EVENT, event_type: 'LEASE_RENEWED', payload: { text: 'ü'.repeat(100_000) } };
  const later = { ...EVENT, timestamp: '2026-01-01T00:00:00.001Z' };
  const elsewhere = { ...EVENT, tenant_id: 'u', project_id: 'q' };
  const lines = [EVENT, EVENT, null, other, other, later, elsewhere, EVENT];
  const out = new EventLineWriter();
  const hashes = lines.map((event) => out.write(event, FIRST, null));
  const alone = lines.map((event) => encodeLine(event, FIRST, null));
  expect(hashes).toEqual(alone.map(({ hash }) => hash));
  expect(out.bytes.toString() === alone.map(({ text }) => text).join('')).toBe(true);
});

it('detects a change of any byte of a line', () => {
  const bytes = Buffer.from(encodeLine(EVENT, FIRST, null).text.slice(0, -1));
  for (let at = 0; at < bytes.length; at += 1) {
    const changed = Buffer.from(bytes);
    changed[at] = (changed[at] as number) ^ 2;
    expect(typeof decodeLine(changed)).toBe('string');
  }
});

it('writes lines of valid JSON, each with the hash of the line before', async () => {
  const root = await temporaryFolder();
  const store = await openFileStore({ root });
  await commitOne(
    store,
    newSubjectTransaction('s', 2, { requests: [{ key: 'k', digest: 'd', keep: true }] }),
  );
  await commitOne(store, looseEventTransaction('note-1', { text: 'hello' }));
  await store.close();
  const lines = (await readFile(activeFile(root), 'utf8')).trimEnd().split('\n');
  const parsed = lines.map((line) => JSON.parse(line));
  expect(parsed.map((line) => line.log.prev)).toEqual([NO_HASH, parsed[0].hash, parsed[1].hash]);
  expect(parsed.map((line) => line.log.unit)).toEqual(['1/2', '2/2', '1/1']);
  expect(parsed.map((line) => line.log.durable)).toEqual([0, undefined, 2]);
  expect(parsed[2].hash).toHaveLength(HASH_LENGTH);
  expect(Object.keys(parsed[0])).toEqual([
    'hash',
    'event_id',
    'event_type',
    'timestamp',
    'tenant_id',
    'project_id',
    'position',
    'subject',
    'seq',
    'agent_id',
    'log',
    'payload',
  ]);
  expect(parsed[2]).toMatchObject({ event_id: 'note-1', position: 3, payload: { text: 'hello' } });
});
