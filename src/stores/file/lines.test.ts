import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.js';
import type { EventEnvelope, NewEvent } from '../../core/events/envelope.js';
import { eventOf, transactionOf } from '../conformance/fixture.js';
import type { TransactionFields } from '../ledger.js';
import { BLOCK_BYTES, BlockWriters } from './block-writer.js';
import { openFileStore } from './file-store.js';
import { CHAIN_START, type DecodedLine, fieldsFromLog } from './line.js';
import { LogCheck } from './log-check.js';
import { decodeLine } from './log-line.js';
import {
  activeFile,
  allEvents,
  commitOne,
  KEY,
  looseEventTransaction,
  newSubjectTransaction,
} from './testing.js';
import { WriteBatch } from './write-batch.js';

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

/** The text of a batch of transactions. */
function batchText(transactions: readonly (readonly [readonly NewEvent[], TransactionFields])[]): string {
  const batch = new WriteBatch(new BlockWriters(), CHAIN_START, 0);
  let position = 1;
  for (const [events, record] of transactions) {
    batch.add(events, position, record, 7);
    position += events.length;
  }
  return batch.finish(0, undefined).bytes.toString();
}

const linesOf = (text: string): string[] => text.trimEnd().split('\n');

const decodeTransaction = (line: string | undefined): DecodedLine => {
  const decodedLine = decodeLine(Buffer.from(line ?? ''));
  if (typeof decodedLine === 'string' || decodedLine.kind !== 'transaction')
    throw new Error(JSON.stringify(decodedLine));
  return decodedLine.line;
};

/** The events in text that is read from the start of a log, or why it is not valid. */
function checkText(text: string): EventEnvelope[] | string {
  const events: EventEnvelope[] = [];
  const start = { key: null, seal: CHAIN_START, position: 0, foreign: [], isFormat1: true };
  const check = new LogCheck<number>(start, {
    onTransaction: (lines) => events.push(...lines.flatMap(({ line }) => line.event ?? [])),
    onWhole: () => {},
  });
  const bytes = Buffer.from(text, 'latin1');
  for (let from = 0; from < bytes.length; ) {
    const end = bytes.indexOf('\n', from);
    if (end < 0) return 'cut off';
    const fault = check.addLine(bytes.subarray(from, end), from);
    if (fault !== null) return fault.why;
    from = end + 1;
  }
  if (check.undecidedFault !== null) return check.undecidedFault.why;
  if (check.isWithinBlock) return 'without a seal';
  return check.unrecordedRedactions().length > 0 ? 'redacted' : events;
}

it('decodes an event unchanged, whatever its strings contain', () => {
  const text = batchText([[[EVENT], {}]]);
  expect(decodeTransaction(linesOf(text)[0])).toEqual({
    event: EVENT,
    isRedacted: false,
    log: { payload_sha256: expect.any(String) },
  });
  expect(Object.keys(decodeTransaction(linesOf(text)[0]).event ?? {}).sort()).toEqual(
    Object.keys(EVENT).sort(),
  );
});

it('a line has project and feature beside the edge for other tools, and not in the event', () => {
  const event = { ...EVENT, feature_id: 'REQ-F-1', edge: 'design→code' };
  const [line = ''] = linesOf(batchText([[[event], {}]]));
  expect(line).toContain('"feature_id":"REQ-F-1","edge":"design→code"');
  expect(line).toContain(',"project":"p","feature":"REQ-F-1","log":');
  expect(decodeTransaction(line).event).toEqual(event);
});

it('a line has the iteration and the delta of its payload where the family’s monitor looks, and not in the event', () => {
  const payload = { iteration: 3, delta: 2, status: 'iterating' };
  const event = { ...EVENT, feature_id: 'REQ-F-1', edge: 'design_code', payload };
  const [line = ''] = linesOf(batchText([[[event], {}]]));
  expect(JSON.parse(line)).toMatchObject({ feature: 'REQ-F-1', edge: 'design_code', iteration: 3, delta: 2 });
  expect(decodeTransaction(line).event).toEqual(event);
});

it('keeps the record of a transaction: permits without expiry, and replies that look like payloads', () => {
  const record = {
    rules_seq: 3,
    permits: [
      { scope: 's', member: 'a', until_ms: Number.POSITIVE_INFINITY },
      { scope: 's', member: 'b', until_ms: null },
      { scope: 's', member: 'c', until_ms: 5 },
    ],
    requests: [
      { key: 'k', digest: 'd', reply: { a: 1, payload: { b: [2] } } },
      { key: 'l', digest: 'd' },
    ],
  };
  const [withEvent, bare = ''] = linesOf(
    batchText([
      [[EVENT], record],
      [[], record],
    ]),
  );
  expect(fieldsFromLog(decodeTransaction(withEvent).log)).toEqual(record);
  expect(decodeTransaction(bare).event).toBeNull();
  expect(fieldsFromLog(decodeTransaction(bare).log)).toEqual(record);
  expect(bare).toMatch(
    /^\{"log":\{"rules_seq":3,"slots":\[\["s","a","forever"\],\["s","b",null\],\["s","c",5\]\],/,
  );
});

it('writes each line independently of the lines before it', () => {
  const other = { ...EVENT, event_type: 'LEASE_RENEWED', payload: { text: 'ü'.repeat(1000) } };
  const later = { ...EVENT, timestamp: '2026-01-01T00:00:00.001Z' };
  const elsewhere = { ...EVENT, tenant_id: 'u', project_id: 'q' };
  const events = [EVENT, EVENT, other, other, later, elsewhere, EVENT];
  const together = linesOf(batchText(events.map((event) => [[event], {}])));
  const alone = events.map((event) => linesOf(batchText([[[event], {}]]))[0]);
  const withoutPosition = (line: string | undefined) => line?.replace(/"position":\d+/, '');
  expect(together.slice(0, -1).map(withoutPosition)).toEqual(alone.map(withoutPosition));
});

it('detects a change of any byte of a block', () => {
  const text = Buffer.from(
    batchText([
      [[EVENT, { ...EVENT, seq: 2 }], { rules_seq: 1 }],
      [[], { rules_seq: 2 }],
    ]),
  );
  expect(checkText(text.toString('latin1'))).toHaveLength(2);
  for (let at = 0; at < text.length; at += 1) {
    const changed = Buffer.from(text);
    changed[at] = (changed[at] as number) ^ 2;
    expect(typeof checkText(changed.toString('latin1')), `byte ${at}`).toBe('string');
  }
});

it('distinguishes a line whose transaction is incomplete from a line after an incomplete transaction', () => {
  const [first, second, single, seal] = linesOf(
    batchText([
      [[EVENT, { ...EVENT, seq: 2 }], {}],
      [[EVENT], {}],
    ]),
  );
  const checkedLines = (...lines: unknown[]) =>
    checkText(Buffer.from(`${lines.join('\n')}\n`).toString('latin1'));
  expect(checkedLines(first, second, single, seal)).toHaveLength(3);
  expect(checkedLines(first, single, seal)).toBe('the transaction before it is incomplete');
  expect(checkedLines(second, single, seal)).toBe(
    'it is part 2/2 of a transaction whose other parts are missing',
  );
});

it('writes lines of valid JSON, and seals them as documented', async () => {
  const root = await temporaryFolder();
  const store = await openFileStore({ root });
  const requests = [{ key: 'k', digest: 'd', keep: true }];
  await commitOne(store, newSubjectTransaction('s', 2, { requests }));
  await commitOne(store, looseEventTransaction('note-1', { text: 'hello' }));
  await store.close();
  const lines = linesOf(await readFile(activeFile(root), 'utf8'));
  const parsed = lines.map((line) => JSON.parse(line));
  expect(parsed.map((line) => line.log?.unit)).toEqual(['1/2', '2/2', undefined, undefined, undefined]);
  expect(parsed[2]).toEqual({ seal: expect.any(String), lines: 2, durable: 0, at_ms: expect.any(Number) });
  expect(parsed[4]).toMatchObject({ lines: 1, durable: 2 });
  const coveredPart = (line: string) => line.split(',"payload":')[0];
  const seal = (prev: string, [text = '', ...block]: string[]) =>
    createHash('sha256')
      .update(`${[prev, ...block.map(coveredPart), text.slice('{"seal":"",'.length + 43)].join('\n')}`)
      .digest('base64url');
  expect(parsed[2].seal).toBe(
    seal(CHAIN_START, [lines[2] as string, lines[0] as string, lines[1] as string]),
  );
  expect(parsed[4].seal).toBe(seal(parsed[2].seal, [lines[4] as string, lines[3] as string]));
  expect(Object.keys(parsed[0])).toEqual([
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
  expect(parsed[3]).toMatchObject({ event_id: 'note-1', position: 3, payload: { text: 'hello' } });
});

it('splits a large write into blocks, but splits no transaction', async () => {
  const root = await temporaryFolder();
  const store = await openFileStore({ root });
  const said = 'x'.repeat(BLOCK_BYTES / 4);
  const transaction = (at: number) =>
    transactionOf(KEY, {
      loose_events: [0, 1].map((part) => eventOf(KEY, { event_id: `${at}-${part}`, payload: { said } })),
    });
  await store.commit(Array.from({ length: 9 }, (_, at) => transaction(at)));
  const events = await allEvents(store);
  await store.close();
  const lines = linesOf(await readFile(activeFile(root), 'utf8')).map((line) => JSON.parse(line));
  const seals = lines.filter(({ seal }) => seal !== undefined);
  expect(seals.map((seal) => seal.lines)).toEqual([4, 4, 4, 4, 2]);
  expect(seals.map((seal) => seal.continues)).toEqual([undefined, true, true, true, true]);
  const reopened = await openFileStore({ root });
  expect(await allEvents(reopened)).toEqual(events);
  expect(events).toHaveLength(18);
  await reopened.close();
});
