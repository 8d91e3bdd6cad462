import { createHash, randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { payloadDigest } from '../../src/coordinator/audit/audit-hash.js';
import type { EventEnvelope } from '../../src/core/events/envelope.js';
import { HISTORY_SUBJECT, LOSS_SUBJECT } from '../../src/core/subject.js';
import {
  DATABASE_NAMES,
  type DatabaseName,
  migrate,
  onSharedDatabase,
} from '../../src/stores/testing/shared-database.js';
import { AuditedProject, expectAttackReported, resultText, TASKS } from './audited-project.js';
import { REWRITE_EVENTS } from './rewrite-events.js';

const [FIRST, SECOND, THIRD, FOURTH] = TASKS;

/** A store beside the shared one, without data. */
async function emptyStore(name: DatabaseName, url: string): Promise<string> {
  const namespace = `attacks_${randomUUID().slice(0, 8)}`;
  const empty = new URL(url);
  if (name === 'mysql' || name === 'dynamodb') empty.pathname = `/${namespace}`;
  else empty.searchParams.set('namespace', namespace);
  await migrate(empty.href);
  return empty.href;
}

async function expectSound(project: AuditedProject, url: string): Promise<void> {
  expect(await project.verify(url)).toMatchObject({ code: 0 });
  expect(await project.up(url)).toMatchObject({ isStarted: true, code: 0 });
}

const positionsText = (after: number, upto: number): string =>
  `differs from the signed log is between positions ${after + 1} and ${upto}`;

for (const name of DATABASE_NAMES) {
  await onSharedDatabase(name, ({ url }) => {
    describe(`the verification of a log on ${name}`, () => describeAttacks(name, url));
  });
}

function describeAttacks(name: DatabaseName, sharedUrl: string): void {
  // A separate store: coordinators of other tests watch every project with claims, and sign its log with their keys.
  let url: string;
  let otherUrl: string;
  beforeAll(async () => {
    url = await emptyStore(name, sharedUrl);
    otherUrl = await emptyStore(name, url);
  });

  it('reports a restored backup', async () => {
    const project = await AuditedProject.create();
    await project.work(url, [FIRST]);
    await project.copy(url, otherUrl);
    await project.work(url, [SECOND]);
    const [kept, lost] = await project.anchored();
    await expectAttackReported(
      project,
      otherUrl,
      `ANCHOR LOG_SHORTER: the log ends at ${kept! + 1}, but the anchor covers ${lost}`,
    );
    await expectSound(project, url);
  });

  it('reports a fork', async () => {
    const project = await AuditedProject.create();
    await project.work(url, [FIRST]);
    await project.copy(url, otherUrl);
    await project.work(url, [SECOND]);
    await project.work(otherUrl, [THIRD, FOURTH], { anchors: 'fork.jsonl' });
    const [shared, differs] = await project.anchored();
    await expectAttackReported(project, otherUrl, 'ANCHOR DIFFERS', positionsText(shared!, differs!));
  });

  it('reports a rewritten row', async () => {
    const project = await AuditedProject.create();
    for (const task of [FIRST, SECOND, THIRD]) await project.work(url, [task]);
    const { projectKey } = project;
    await REWRITE_EVENTS[name](url, { projectKey, from: resultText(SECOND), to: 'forged' });
    const [before, after] = await project.anchored();
    await expectAttackReported(
      project,
      url,
      'AUDIT ROOT_DIFFERS',
      'ANCHOR DIFFERS',
      positionsText(before!, after!),
    );
  });

  it('reports a rewritten row that a planted record calls a redaction', async () => {
    const project = await AuditedProject.create();
    await project.work(url, [FIRST]);
    const { projectKey } = project;
    const isResult = (event: EventEnvelope): boolean => JSON.stringify(event).includes(resultText(FIRST));
    const original = (await project.events(url)).find(isResult)!;
    await REWRITE_EVENTS[name](url, { projectKey, from: resultText(FIRST), to: 'forged' });
    const { position, payload } = (await project.events(url))[original.position - 1]!;
    const payload_sha256 = createHash('sha256').update(JSON.stringify(payload)).digest('hex');
    const events = [{ position, payload_sha256, original_sha256: payloadDigest(original.payload) }];
    const redaction = { before: '2030-01-01T00:00:00.000Z', retention_days: 90, events };
    await project.plant(url, 'HISTORY_FORGOTTEN', HISTORY_SUBJECT, redaction);
    await expectAttackReported(project, url, 'AUDIT UNSIGNED_RECORD');
  });

  it('reports a restored backup that a planted record calls an accepted loss', async () => {
    const project = await AuditedProject.create();
    await project.work(url, [FIRST]);
    await project.copy(url, otherUrl);
    await project.work(url, [SECOND]);
    const record = { generation_floor: 9 };
    const lost = { by: 'mallory', reason: '', incarnation: 99, kept_position: 0, lost_events: 1, record };
    await project.plant(otherUrl, 'HISTORY_LOST', LOSS_SUBJECT, lost);
    await expectAttackReported(project, otherUrl, 'AUDIT UNSIGNED_RECORD', 'ANCHOR LOG_SHORTER');
  });

  it('reports a change of what a redaction has left of a payload', async () => {
    const project = await AuditedProject.create();
    expect(await project.redact(url, FIRST)).toBeGreaterThan(0);
    expect(JSON.stringify(await project.events(url))).not.toContain('private');
    await expectSound(project, url);
    const { projectKey } = project;
    await REWRITE_EVENTS[name](url, { projectKey, from: '"reason":"VOLUNTARY"', to: '"reason":"ERROR"' });
    const [covered] = await project.anchored();
    await expectAttackReported(project, url, 'AUDIT ROOT_DIFFERS', positionsText(0, covered!));
  });

  it('reports a checkpoint of a key that is not enrolled', async () => {
    const project = await AuditedProject.create();
    await project.work(url, [FIRST]);
    const [checkpoint] = await project.checkpoints(url);
    await project.append(url, await project.signedAgain(checkpoint!, 'forged.pem'));
    await expectAttackReported(project, url, 'AUDIT UNKNOWN_KEY');
  });

  it('reports a key that enrolled itself after the anchor, with which the server starts, but warns', async () => {
    const project = await AuditedProject.create();
    await project.work(url, [FIRST]);
    await project.work(url, [SECOND], { key: 'forged.pem', anchors: 'forged.jsonl' });
    const { key_id } = await project.signer('forged.pem');
    const text = new RegExp(`ANCHOR UNVOUCHED_KEY.*${key_id}`);
    const verified = await project.verify(url);
    expect(verified.out).toMatch(text);
    expect(verified.code).toBe(1);
    const up = await project.up(url);
    expect(up.err).toMatch(text);
    expect(up).toMatchObject({ isStarted: true, code: 0 });
  });

  it('reports a checkpoint of lost history that was written again, as if the log still had that history', async () => {
    const project = await AuditedProject.create();
    await project.work(url, [FIRST]);
    await project.copy(url, otherUrl);
    await project.work(url, [SECOND]);
    const [known, lost] = await project.checkpoints(url);
    const position = await project.append(otherUrl, lost!);
    await expectAttackReported(project, otherUrl, 'AUDIT BAD_POSITION', 'ANCHOR LOG_SHORTER');
    expect(position).toBeLessThan(lost!.position);
    expect(await project.head(otherUrl)).toMatchObject({ position: known!.position });
  });

  // The old checkpoint is still true, but it covers less than the last one. The last one remains the head.
  it('reports an old checkpoint that was written again, which changes nothing', async () => {
    const project = await AuditedProject.create();
    await project.work(url, [FIRST]);
    await project.work(url, [SECOND]);
    const [old, last] = await project.checkpoints(url);
    await project.append(url, old!);
    expect(await project.head(url)).toMatchObject({ position: last!.position, root: last!.root });
    await project.work(url, [THIRD]);
    expect((await project.head(url)).position).toBeGreaterThan(last!.position);
    await expectAttackReported(project, url, 'AUDIT REPLAYED');
  });

  it('succeeds again once the loss from a restored backup was accepted', async () => {
    const restoredUrl = await emptyStore(name, url);
    const project = await AuditedProject.create();
    await project.work(url, [FIRST]);
    await project.copy(url, restoredUrl);
    await project.work(url, [SECOND]);
    const before = await project.claim(restoredUrl, FOURTH);
    expect(await project.acceptLoss(restoredUrl)).toMatchObject({ code: 0 });
    await expectSound(project, restoredUrl);
    expect(await project.renew(restoredUrl, FOURTH, before)).toMatchObject({ success: false });
    expect((await project.claim(restoredUrl, THIRD)).generation).toBeGreaterThan(1_000_000);
    await project.work(restoredUrl, [SECOND]);
    await expectSound(project, restoredUrl);
  });
}
