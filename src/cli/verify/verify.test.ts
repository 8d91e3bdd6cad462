import { createHash, generateKeyPairSync, randomUUID } from 'node:crypto';
import { appendFile, copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.js';
import { publicKeyText, signCommand } from '../../client/sign-command.js';
import { Coordinator } from '../../coordinator/coordinator.js';
import type { EventEnvelope, NewEvent } from '../../core/events/envelope.js';
import type { SignedCommand } from '../../core/signing.js';
import { BlockWriters } from '../../stores/file/block-writer.js';
import { openFileStore } from '../../stores/file/file-store.js';
import { CHAIN_START } from '../../stores/file/line.js';
import { eventIn } from '../../stores/file/log-line.js';
import { fileMigrator } from '../../stores/file/migrator.js';
import { copyOfFormat1, FORMAT_1_KEY, format1Events } from '../../stores/file/testing/format-1.js';
import { WriteBatch } from '../../stores/file/write-batch.js';
import { transactionOf } from '../../stores/transaction.js';
import { PLAN } from '../testing/cli-harness.js';
import { runGen } from '../testing/terminal.js';

const KEY = { tenant_id: 'default', project_id: 'shop' };
const TASK = { task_id: 'A-001-schema', agent_id: 'agent-a', session_id: 'sess-a' };

/**
 * A log in which work was claimed, refused, released, claimed again and completed, in files of a few lines each.
 */
async function createWorkedLog(
  segment_bytes_max = 64 * 1024,
): Promise<{ cwd: string; projectFolder: string }> {
  const cwd = await temporaryFolder();
  const root = join(cwd, '.genesis', 'log');
  const store = await openFileStore({ root, segment_bytes_max });
  const coordinator = await Coordinator.open({ store });
  const { task_id } = TASK;
  await coordinator.plans.put(KEY, PLAN);
  await coordinator.claims.claimTask(KEY, TASK);
  await coordinator.claims.claimTask(KEY, { ...TASK, agent_id: 'agent-b', session_id: 'sess-b' });
  await coordinator.holder.releaseClaim(KEY, { task_id, session_id: 'sess-a', expected_generation: 1 });
  await coordinator.claims.claimTask(KEY, { ...TASK, agent_id: 'agent-b', session_id: 'sess-b' });
  await coordinator.holder.submitResult(KEY, {
    task_id,
    session_id: 'sess-b',
    generation: 2,
    result_data: { ok: true },
  });
  coordinator.close();
  await store.close();
  return { cwd, projectFolder: join(root, 'default', 'shop') };
}

/** A session's claim and result, both signed, in the store of a folder. Returns the events. */
async function createSignedLog(cwd: string): Promise<readonly EventEnvelope[]> {
  const store = await openFileStore({ root: join(cwd, '.genesis', 'log') });
  const coordinator = await Coordinator.open({ store });
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const sign = (command: SignedCommand, body: Record<string, unknown>) => {
    const sent = { ...body, request_id: `r-${command}` };
    return { ...sent, signature: signCommand({ ...KEY, command, body: sent }, privateKey) };
  };
  await coordinator.plans.put(KEY, PLAN);
  const session = { session_id: 'sess-a', project_id: KEY.project_id, public_key: publicKeyText(publicKey) };
  await coordinator.sessions.open(KEY.tenant_id, session);
  await coordinator.claims.claimTask(KEY, sign('claim_task', TASK));
  const { task_id, session_id } = TASK;
  const result = { task_id, session_id, generation: 1, result_data: { ok: true } };
  await coordinator.holder.submitResult(KEY, sign('submit_result', result));
  coordinator.close();
  const events = await store.events(KEY, { after: 0, limit: 100 });
  await store.close();
  return events;
}

it('checks the signatures of sessions, and reports an event with the signature of another command', async () => {
  const cwd = await temporaryFolder();
  const events = await createSignedLog(cwd);
  const sound = await runGen({ cwd }, 'verify');
  expect(sound).toMatchObject({ code: 0, out: expect.stringContaining('2 signatures of sessions checked') });

  // The store seals every event: only the signature shows that the session did not send this report.
  const { position, ...accepted } = events.find(({ payload }) => payload.result_id !== undefined)!;
  const { signature, signed_text } = accepted.payload;
  const { tenant_id, project_id, timestamp, agent_id, session_id } = accepted;
  const report = { tenant_id, project_id, timestamp, agent_id, session_id };
  const store = await openFileStore({ root: join(cwd, '.genesis', 'log') });
  const forged = {
    ...report,
    event_id: randomUUID(),
    event_type: 'iteration_completed',
    payload: { iteration: 1, status: 'converged', signature, signed_text },
  } as NewEvent;
  await store.commit([transactionOf(KEY, { loose_events: [forged] })]);
  await store.close();
  const broken = await runGen({ cwd }, 'verify', '--project', 'shop', '--json');
  expect(broken.code).toBe(1);
  const [{ signatures, breaks }] = JSON.parse(broken.out).logs;
  expect(signatures).toBe(3);
  const says = expect.stringMatching(/^position \d+: its session signed another command$/);
  expect(breaks).toEqual([expect.objectContaining({ rule: 'SIGNATURE', says })]);
  expect(Number(/\d+/.exec(breaks[0].says)?.[0])).toBeGreaterThan(position);
});

it('refuses a project that has no log, and names a similar project', async () => {
  const { cwd } = await createWorkedLog();
  const refused = await runGen({ cwd }, 'verify', '--project', 'shpo');
  expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('Did you mean shop?') });
  expect(await runGen({ cwd }, 'verify', '--project', 'shop')).toMatchObject({ code: 0 });
});

it('verifies a valid log given by any path in its store, and changes nothing', async () => {
  const { cwd, projectFolder } = await createWorkedLog();
  const before = await readFile(join(projectFolder, 'events.jsonl'));
  await copyFile(join(projectFolder, 'events.jsonl'), join(cwd, 'copy.jsonl'));
  for (const log of [
    [],
    ['.genesis/log'],
    ['.genesis/log/default'],
    [projectFolder],
    [join(projectFolder, 'events.jsonl')],
    ['copy.jsonl'],
  ]) {
    const { code, out } = await runGen({ cwd }, 'verify', '--json', ...log);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ ok: true, logs: [{ ...KEY, events: 8, breaks: [] }] });
  }
  expect(await readFile(join(projectFolder, 'events.jsonl'))).toEqual(before);
  expect((await runGen({ cwd }, 'verify')).out).toContain('Every invariant holds.');
  expect((await runGen({ cwd }, 'verify', 'nowhere')).code).toBe(1);
});

it('reads a log that consists of several closed files', async () => {
  const { cwd, projectFolder } = await createWorkedLog(600);
  const { out } = await runGen({ cwd }, 'verify', '--json');
  const [report] = JSON.parse(out).logs;
  expect(report).toMatchObject({ events: 8, breaks: [] });
  expect(report.files).toBeGreaterThan(2);
  const [first] = (await readdir(join(projectFolder, 'segments'))).sort();
  await writeFile(join(projectFolder, 'segments', first ?? ''), '');
  expect(await runGen({ cwd }, 'verify')).toMatchObject({ code: 1, out: expect.stringContaining('CHAIN') });
});

// req: AUD-005, EVT-013
it('names the file and the lines of the block of a changed event', async () => {
  const { cwd, projectFolder } = await createWorkedLog();
  const file = join(projectFolder, 'events.jsonl');
  const text = await readFile(file, 'utf8');
  await writeFile(file, text.replace('"agent_id":"agent-b"', '"agent_id":"agent-c"'));
  const { code, out } = await runGen({ cwd }, 'verify');
  const lines = text.split('\n');
  const changed = lines.findIndex((line) => line.includes('"agent_id":"agent-b"')) + 1;
  const seal = lines.findIndex((line, at) => at >= changed && line.startsWith('{"seal":')) + 1;
  expect(code).toBe(1);
  expect(out).toContain(
    `.genesis/log/default/shop/events.jsonl:${changed}-${seal}: CHAIN: the seal does not match`,
  );
});

// req: AUD-005
it('detects a removed line, and durable lines removed from the end', async () => {
  const { cwd, projectFolder } = await createWorkedLog();
  const file = join(projectFolder, 'events.jsonl');
  const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
  const seals = lines.flatMap((line, at) => (line.startsWith('{"seal":') ? [at] : []));
  const block = (seals[0] as number) + 1;
  await writeFile(file, `${lines.toSpliced(block, 1).join('\n')}\n`);
  expect((await runGen({ cwd }, 'verify')).out).toMatch(
    new RegExp(`events\\.jsonl:${block + 1}: CHAIN: it is part 2/2 of a transaction`),
  );
  await writeFile(file, `${lines.slice(0, block).join('\n')}\n`);
  const { code, out } = await runGen({ cwd }, 'verify');
  expect(code).toBe(1);
  expect(out).toMatch(new RegExp(`events\\.jsonl:${block + 1}: CHAIN: the log ends here`));
});

it('names an unfinished line at the end of a log', async () => {
  const { cwd, projectFolder } = await createWorkedLog();
  await appendFile(join(projectFolder, 'events.jsonl'), '{"event_id":"half ');
  const { code, out } = await runGen({ cwd }, 'verify');
  expect(code).toBe(1);
  expect(out).toMatch(/events\.jsonl:\d+: TRAILING: 18 bytes are unfinished/);
});

it('detects violated invariants in a log whose hash chain is intact', async () => {
  const { cwd, projectFolder } = await createWorkedLog();
  const lines = (await readFile(join(projectFolder, 'events.jsonl'), 'utf8')).trimEnd().split('\n');
  const events = lines.flatMap((line) => eventIn(Buffer.from(line)) ?? []);
  // An attacker who can compute seals removes the release: two sessions hold the task at once.
  const forged = events.filter(({ event_type }) => event_type !== 'CLAIM_RELEASED');
  await mkdir(join(cwd, 'forged'));
  await writeFile(join(cwd, 'forged', 'events.jsonl'), chainedText(forged));
  const { code, out } = await runGen({ cwd }, 'verify', 'forged');
  expect(code).toBe(1);
  const line = forged.findLastIndex(({ event_type }) => event_type === 'CLAIM_ACQUIRED') + 1;
  expect(out).toMatch(new RegExp(`forged/events\\.jsonl:${line}: INV-\\d\\d A-001-schema: `));
});

it('reports a run that converged without a result, and notes a run that its executor has ended twice', async () => {
  const { cwd, projectFolder } = await createWorkedLog();
  const lines = (await readFile(join(projectFolder, 'events.jsonl'), 'utf8')).trimEnd().split('\n');
  const events = lines.flatMap((line) => eventIn(Buffer.from(line)) ?? []);
  const sha256 = 'a'.repeat(64);
  const run_id = randomUUID();
  const runEvent = (event_type: string, payload: object): EventEnvelope => ({
    ...{ ...KEY, event_id: randomUUID(), timestamp: '2026-01-04T06:00:00.000Z', agent_id: 'engine' },
    ...{ subject: 'REQ-F-A#design_code', generation: 1, position: 0 },
    ...{ event_type, payload: { run_id, ...payload } },
  });
  const spent = { input_tokens: 0, output_tokens: 0, usd: 0, seconds: 0 };
  const end = { status: 'CONVERGED', reason: null, says: '', iterations: 1, spent };
  const digests = { machine_sha256: sha256, config_sha256: sha256 };
  const machine = { bucket: '', key: sha256, version: sha256 };
  const forged = [
    ...events,
    runEvent('run_started', { workflow_type: 'STANDARD', machine, ...digests }),
    runEvent('run_ended', end),
    runEvent('run_ended', { ...end, status: 'FAILED' }),
  ];
  await mkdir(join(cwd, 'forged'));
  await writeFile(join(cwd, 'forged', 'events.jsonl'), chainedText(forged));
  const { code, out } = await runGen({ cwd }, 'verify', 'forged');
  expect(code).toBe(1);
  const last = forged.length;
  expect(out).toContain(
    `events.jsonl:${last - 1}: RUN-02 REQ-F-A#design_code: position ${last - 1}: run_ended`,
  );
  expect(out).toContain(`events.jsonl:${last}: RUN-04 REQ-F-A#design_code: position ${last}: run_ended`);
  expect(out.split('\n').filter((line) => line.includes('RUN-'))).toEqual([
    expect.not.stringContaining('note: '),
    expect.stringContaining('note: '),
  ]);
});

function chainedText(events: readonly EventEnvelope[]): string {
  const batch = new WriteBatch(new BlockWriters(), CHAIN_START, 0);
  for (const [at, event] of events.entries()) batch.add([event], at + 1, {}, 0);
  return batch.finish(0, undefined).bytes.toString();
}

it('distinguishes redactions by retention from other changes', async () => {
  const { cwd, projectFolder } = await createWorkedLog();
  const root = join(cwd, '.genesis', 'log');
  const store = await openFileStore({ root });
  const events = await store.events(KEY, { after: 0, limit: 100, types: ['RESULT_SUBMITTED'] });
  const { position, seq: _, ...event } = events[0] as EventEnvelope;
  const { result_data: __, ...payload } = event.payload;
  const payload_sha256 = createHash('sha256').update(JSON.stringify(payload)).digest('hex');
  const redaction = { event_id: randomUUID(), event_type: 'HISTORY_FORGOTTEN', subject: '~history' };
  const note = { ...event, ...redaction, payload: { events: [{ position, payload_sha256 }] } };
  await store.commit([transactionOf(KEY, { loose_events: [note] })]);
  await store.redact(KEY, [{ ...(events[0] as EventEnvelope), payload }]);
  await store.close();
  expect((await runGen({ cwd }, 'verify')).out).toContain('Every invariant holds.');

  const [segment = ''] = await readdir(join(projectFolder, 'segments'));
  const file = join(projectFolder, 'segments', segment);
  const text = await readFile(file, 'utf8');
  await writeFile(file, text.replace(/"agent-b"(?=[^\n]* \}\n)/, '"agent-c"'));
  expect(await readFile(file, 'utf8')).toHaveLength(text.length);
  const changed = await runGen({ cwd }, 'verify');
  expect(changed.code).toBe(1);
});

it('gen verify counts lines of other programs, and those that no seal covers yet', async () => {
  const { cwd, projectFolder } = await createWorkedLog();
  const line = `${JSON.stringify({ event_type: 'edge_started', project: 'shop' })}\n`;
  await appendFile(join(projectFolder, 'events.jsonl'), line.repeat(2));
  const lineCount = (await readFile(join(projectFolder, 'events.jsonl'), 'utf8'))
    .trimEnd()
    .split('\n').length;
  const unsealed = await runGen({ cwd }, 'verify');
  expect(unsealed).toMatchObject({
    code: 1,
    out: expect.stringContaining('2 lines of other programs, 2 not yet sealed'),
  });
  expect(unsealed.out).toContain(`events.jsonl:${lineCount - 1}-${lineCount}: TRAILING: 2 lines of another`);
  expect(unsealed.out).not.toContain('Every invariant holds');
  const store = await openFileStore({ root: join(cwd, '.genesis', 'log') });
  const event = (await store.events(KEY, { after: 0, limit: 1 }))[0] as EventEnvelope;
  const { position: _, seq: __, subject: ___, ...eventFields } = event;
  await store.commit([transactionOf(KEY, { loose_events: [{ ...eventFields, event_id: randomUUID() }] })]);
  await store.close();
  const sealed = await runGen({ cwd }, 'verify');
  expect(sealed).toMatchObject({
    code: 0,
    out: expect.stringContaining('2 lines of other programs, all sealed'),
  });
  const text = await readFile(join(projectFolder, 'events.jsonl'), 'utf8');
  await writeFile(join(projectFolder, 'events.jsonl'), text.replace(line, ''));
  const { code, out } = await runGen({ cwd }, 'verify', '--json');
  const seal = text.replace(line, '').trimEnd().split('\n').length;
  expect([code, JSON.parse(out).logs[0].breaks]).toEqual([
    1,
    [
      expect.objectContaining({
        line: seal,
        rule: 'CHAIN',
        says: expect.stringContaining('changed or removed'),
      }),
    ],
  ]);
});

it('verifies a log in format 1, and a log that continues in format 2', async () => {
  const root = await copyOfFormat1();
  const before = await runGen({ cwd: root }, 'verify', '--json', root);
  expect(JSON.parse(before.out)).toMatchObject({ ok: true, logs: [{ events: 13, lines: 14, files: 3 }] });
  await fileMigrator(root).up();
  const store = await openFileStore({ root });
  const { position: _, ...event } = (await format1Events())[11] as EventEnvelope;
  const loose_events = [{ ...event, event_id: randomUUID() }];
  await store.commit([transactionOf(FORMAT_1_KEY, { loose_events })]);
  await store.close();
  const after = await runGen({ cwd: root }, 'verify', '--json', root);
  expect(JSON.parse(after.out)).toMatchObject({
    ok: true,
    logs: [{ events: 14, lines: 16, foreign_lines: 0 }],
  });
});

it('gen verify never calls the log of another program valid', async () => {
  const cwd = await temporaryFolder();
  const line = `${JSON.stringify({ event_type: 'edge_started', project: 'shop' })}\n`;
  await writeFile(join(cwd, 'events.jsonl'), line.repeat(3));
  const { code, out } = await runGen({ cwd }, 'verify', 'events.jsonl');
  expect(code).toBe(1);
  expect(out).toMatch(/events\.jsonl:1-3: TRAILING: this is the log of another program/);
  // Lines that are not JSON belong to another program.
  await writeFile(join(cwd, 'events.jsonl'), 'one\ntwo\n');
  expect((await runGen({ cwd }, 'verify', 'events.jsonl')).code).toBe(1);
});
