import { generateKeyPairSync } from 'node:crypto';
import { cp, mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { AuditedProject, expectAttackReported, resultText } from '../../../test/audit/audited-project.js';
import { HarnessAgent } from '../../../test/support/agent.js';
import { PROJECT_KEY, planOf } from '../../../test/support/coordinator-harness.js';
import { Coordinator } from '../../coordinator/coordinator.js';
import { openAuditKey } from '../../server/audit/audit-key.js';
import { FileSink } from '../../server/audit/file-sink.js';
import { openSinks } from '../../server/audit/sinks.js';
import { openFileStore } from '../../stores/file/file-store.js';
import { base64urlDigest, CHAIN_START, PAYLOAD_MARK } from '../../stores/file/line.js';
import { UNRECORDED_REDACTION } from '../../stores/file/redacted-lines.js';
import { SealInput, sealedText } from '../../stores/file/seal.js';
import { runGen, startCommand } from '../testing/terminal.js';

const TASKS = ['A-001-a', 'A-002-b', 'A-003-c', 'A-004-d'] as const;

/** A folder with a log, a key and anchors kept elsewhere. */
class AuditedFolder {
  private constructor(readonly cwd: string) {}

  static async open(): Promise<AuditedFolder> {
    const cwd = await mkdtemp(join(tmpdir(), 'anchor-'));
    onTestFinished(() => rm(cwd, { recursive: true, force: true }));
    return new AuditedFolder(cwd);
  }

  /** Completes tasks and writes a checkpoint, as one run of a server does. */
  async completeTasks(
    tasks: readonly string[],
    log = 'log',
    key = 'key.pem',
    anchors = 'anchors.jsonl',
  ): Promise<void> {
    const store = await openFileStore({ root: join(this.cwd, log) });
    const { signer } = await openAuditKey(join(this.cwd, key));
    const sinks = [new FileSink(join(this.cwd, anchors))];
    const coordinator = await Coordinator.open({ store, audit: { signer, sinks } });
    await coordinator.plans.put(PROJECT_KEY, planOf(...TASKS));
    const agent = new HarnessAgent({ coordinator } as never, 'alpha', 's1');
    for (const task of tasks) {
      await agent.claim(task);
      await agent.submit(task);
    }
    await coordinator.audit.stop();
    coordinator.close();
    await store.close();
  }

  /** Runs a step with a coordinator that signs nothing. */
  private async withCoordinator<T>(log: string, step: (coordinator: Coordinator) => Promise<T>): Promise<T> {
    const store = await openFileStore({ root: join(this.cwd, log) });
    const coordinator = await Coordinator.open({ store });
    try {
      return await step(coordinator);
    } finally {
      coordinator.close();
      await store.close();
    }
  }

  claim(log: string, task: string): Promise<{ generation: number; claim_id: string }> {
    return this.withCoordinator(log, async (coordinator) => {
      const agent = new HarnessAgent({ coordinator } as never, 'beta', 's2');
      const { claim } = await agent.claim(task);
      return { generation: claim!.generation, claim_id: claim!.id! };
    });
  }

  renew(log: string, task: string, claim: { generation: number; claim_id: string }): Promise<unknown> {
    return this.withCoordinator(log, async (coordinator) =>
      coordinator.holder.renewLease(PROJECT_KEY, {
        task_id: task,
        session_id: 's2',
        claim_id: claim.claim_id,
        expected_generation: claim.generation,
      }),
    );
  }

  async recordLossUnsigned(log: string): Promise<void> {
    const loss = { by: 'mallory', reason: 'none', incarnation: 9, kept_position: 1, lost_events: 1 };
    await this.withCoordinator(log, (coordinator) => coordinator.audit.acceptLoss(PROJECT_KEY, loss));
  }

  copyLog(from: string, to: string): Promise<void> {
    return cp(join(this.cwd, from), join(this.cwd, to), { recursive: true });
  }

  /** Runs gen verify on the log, with the anchors that were kept. */
  verify(log = 'log', anchors = 'anchors.jsonl') {
    return runGen({ cwd: this.cwd }, 'verify', log, '--anchor', anchors);
  }
}

describe('gen verify --anchor', () => {
  it('accepts the log to which the anchors belong', async () => {
    const folder = await AuditedFolder.open();
    await folder.completeTasks([TASKS[0]]);
    await folder.completeTasks([TASKS[1]]);
    const { code, out } = await folder.verify();
    expect(out).toContain('2 signed checkpoints');
    expect(code).toBe(0);
  });

  it('refuses an anchor file that is too large, without reading it', async () => {
    const folder = await AuditedFolder.open();
    await folder.completeTasks([TASKS[0]]);
    await writeFile(join(folder.cwd, 'large.jsonl'), '');
    await truncate(join(folder.cwd, 'large.jsonl'), 64 * 1024 * 1024 + 1);
    const { code, err } = await folder.verify('log', 'large.jsonl');
    expect(code).toBe(1);
    expect(err).toContain(
      'large.jsonl has more than 64 MiB. Pass the output of gen audit head --json, or the file of a sink.',
    );
  });

  it('reports a log that was replaced by an old copy of its whole folder', async () => {
    const folder = await AuditedFolder.open();
    await folder.completeTasks([TASKS[0]]);
    await folder.copyLog('log', 'old');
    await folder.completeTasks([TASKS[1]]);
    expect((await runGen({ cwd: folder.cwd }, 'verify', 'old')).code).toBe(0);
    const { code, out } = await folder.verify('old');
    expect(code).toBe(1);
    expect(out).toMatch(/ANCHOR LOG_SHORTER: the log ends at \d+, but the anchor covers \d+/);
  });

  it('gen up refuses a log that is behind its anchor, and starts on the complete log', async () => {
    const folder = await AuditedFolder.open();
    await folder.completeTasks([TASKS[0]]);
    await folder.copyLog('log', 'old');
    await folder.completeTasks([TASKS[1]]);
    const startUp = (log: string) =>
      startCommand(
        { cwd: folder.cwd },
        'up',
        '--store',
        `file:${join(folder.cwd, log)}`,
        '--port',
        '0',
        '--anchor',
        'anchors.jsonl',
      );
    const refused = await startUp('old').ended;
    expect(refused.code).not.toBe(0);
    expect(refused.err).toMatch(/ANCHOR LOG_SHORTER/);
    const running = startUp('log');
    await running.waitForOutput('is listening');
    running.stop('SIGTERM');
    expect((await running.ended).code).toBe(0);
  });

  it('reports a history that was rewritten with another key, though its seals are valid', async () => {
    const folder = await AuditedFolder.open();
    await folder.completeTasks([TASKS[0], TASKS[1]]);
    await folder.completeTasks([TASKS[2], TASKS[1], TASKS[0]], 'forged', 'forged.pem', 'forged.jsonl');
    expect((await runGen({ cwd: folder.cwd }, 'verify', 'forged')).code).toBe(0);
    const { code, out } = await folder.verify('forged');
    expect(code).toBe(1);
    expect(out).toContain('ANCHOR DIFFERS');
    expect(out).toMatch(/differs from the signed log is between positions 1 and \d+/);
  });

  it('reports a log that forked from the anchored log', async () => {
    const folder = await AuditedFolder.open();
    await folder.completeTasks([TASKS[0]]);
    await folder.copyLog('log', 'fork');
    await folder.completeTasks([TASKS[1]]);
    await folder.completeTasks([TASKS[2], TASKS[3]], 'fork', 'key.pem', 'fork.jsonl');
    const { code, out } = await folder.verify('fork');
    expect(code).toBe(1);
    expect(out).toContain('ANCHOR DIFFERS');
    const [first] = (await readFile(join(folder.cwd, 'anchors.jsonl'), 'utf8')).trim().split('\n');
    const { position } = JSON.parse(first!);
    expect(out).toContain(`is between positions ${position + 1} and`);
  });

  it('does not trust an anchor that was changed or is signed with another key', async () => {
    const folder = await AuditedFolder.open();
    await folder.completeTasks([TASKS[0]]);
    const [line] = (await readFile(join(folder.cwd, 'anchors.jsonl'), 'utf8')).trim().split('\n');
    const anchor = JSON.parse(line!);
    await writeFile(
      join(folder.cwd, 'changed.json'),
      JSON.stringify({ ...anchor, position: anchor.position + 1 }),
    );
    expect((await folder.verify('log', 'changed.json')).out).toContain('ANCHOR BAD_SIGNATURE');
    const { x } = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' });
    await writeFile(join(folder.cwd, 'other.json'), JSON.stringify({ ...anchor, public_key: x }));
    expect((await folder.verify('log', 'other.json')).code).toBe(1);
  });

  it('reports a log that is missing as a whole', async () => {
    const folder = await AuditedFolder.open();
    await folder.completeTasks([TASKS[0]]);
    const { project_id: _, ...anchorFields } = JSON.parse(
      (await readFile(join(folder.cwd, 'anchors.jsonl'), 'utf8')).trim().split('\n')[0]!,
    );
    await writeFile(join(folder.cwd, 'gone.json'), JSON.stringify({ ...anchorFields, project_id: 'gone' }));
    expect((await folder.verify('log', 'gone.json')).out).toContain('there is no log');
  });

  it('says what is wrong with a file that is not an anchor', async () => {
    const folder = await AuditedFolder.open();
    await folder.completeTasks([TASKS[0]]);
    await writeFile(join(folder.cwd, 'no.json'), '{"format":"something else"}');
    const { code, err } = await folder.verify('log', 'no.json');
    expect(code).not.toBe(0);
    expect(err).toContain('Pass the output of gen audit head --json, or the file of a sink.');
    expect((await folder.verify('log', 'nowhere.json')).err).toContain('cannot be read (ENOENT)');
  });
});

it('gen verify reads anchors that another store keeps', async () => {
  const folder = await AuditedFolder.open();
  await folder.completeTasks([TASKS[0]]);
  await folder.copyLog('log', 'old');
  await folder.completeTasks([TASKS[1]]);
  const lines = (await readFile(join(folder.cwd, 'anchors.jsonl'), 'utf8'))
    .split('\n')
    .filter((line) => line !== '');
  const address = `store:file:${join(folder.cwd, 'other')}`;
  const [sink] = openSinks(address, folder.cwd, folder.cwd);
  await sink!.send(lines.map((line) => JSON.parse(line)));
  expect(await folder.verify('log', address)).toMatchObject({ code: 0 });
  expect((await folder.verify('old', address)).out).toContain('ANCHOR LOG_SHORTER');
  const empty = await folder.verify('log', `store:file:${join(folder.cwd, 'empty')}`);
  expect(empty.err).toContain('holds no checkpoints of other stores');
});

/** Waits for a higher floor of generations: the floor after a loss is a time in seconds. */
async function waitForNextSecond(): Promise<void> {
  const startS = Math.floor(Date.now() / 1000);
  while (Math.floor(Date.now() / 1000) === startS) await setImmediate();
}

describe('gen audit accept-loss', () => {
  /** A log that lost the second task: an old folder was copied back. */
  async function folderWithLoss(): Promise<AuditedFolder> {
    const folder = await AuditedFolder.open();
    await folder.completeTasks([TASKS[0]]);
    await folder.copyLog('log', 'old');
    await folder.completeTasks([TASKS[1]]);
    return folder;
  }
  const acceptLossIn = (folder: AuditedFolder, log: string, ...options: string[]) =>
    runGen(
      { cwd: folder.cwd, env: { GENESIS_AUDIT_KEY: 'key.pem' } },
      'audit',
      'accept-loss',
      ...['--store', `file:${join(folder.cwd, log)}`, '--anchor', 'anchors.jsonl'],
      ...options,
    );

  it('continues a log that was copied back, and the anchors agree from then on', async () => {
    const folder = await folderWithLoss();
    const before = await folder.claim('old', TASKS[3]);
    const { code, out } = await acceptLossIn(folder, 'old', '--reason', 'restored Monday');
    expect(out).toMatch(/kept \d+ events, lost \d+ events; the next generation is \d+\./);
    expect(code).toBe(0);
    const verified = await folder.verify('old');
    expect(verified.out).toMatch(/accepted the loss of \d+ events after position \d+: restored Monday/);
    expect(verified.code).toBe(0);
    // Anchors that are kept from now on belong to the same list.
    await folder.completeTasks([TASKS[1]], 'old');
    expect(await folder.verify('old')).toMatchObject({ code: 0 });
    expect(await folder.verify('log')).toMatchObject({ code: 1 });
    const anchors = (await readFile(join(folder.cwd, 'anchors.jsonl'), 'utf8')).trim().split('\n');
    expect(JSON.parse(anchors.at(-1)!).incarnation).toBeGreaterThan(1);
    expect(await folder.renew('old', TASKS[3], before)).toMatchObject({ success: false });
  });

  it('grants nothing again after a second loss, even if the first was lost with its anchors', async () => {
    const folder = await folderWithLoss();
    await folder.copyLog('old', 'again');
    await folder.copyLog('anchors.jsonl', 'anchors-of-then.jsonl');
    await acceptLossIn(folder, 'old', '--reason', 'first');
    const first = await folder.claim('old', TASKS[3]);
    await folder.copyLog('anchors-of-then.jsonl', 'anchors.jsonl');
    await waitForNextSecond();
    await acceptLossIn(folder, 'again', '--reason', 'second');
    const second = await folder.claim('again', TASKS[3]);
    expect(second.generation).toBeGreaterThan(first.generation);
    expect(second.claim_id).not.toBe(first.claim_id);
    expect(await folder.renew('again', TASKS[3], first)).toMatchObject({ success: false });
  });

  it('sends the checkpoint of the loss to the sinks', async () => {
    const folder = await folderWithLoss();
    const env = { GENESIS_AUDIT_KEY: 'key.pem', GENESIS_AUDIT_SINKS: 'file:anchors.jsonl' };
    const store = `file:${join(folder.cwd, 'old')}`;
    const accepting = ['accept-loss', '--store', store, '--anchor', 'anchors.jsonl', '--reason', 'x'];
    expect(await runGen({ cwd: folder.cwd, env }, 'audit', ...accepting)).toMatchObject({ code: 0 });
    const verified = await folder.verify('old');
    expect(verified.out).toMatch(/agrees with \d+ anchors, the last one covers \d+ events/);
    expect(verified.code).toBe(0);
  });

  it('grants no generation and no claim id again that was granted in the lost period', async () => {
    const folder = await folderWithLoss();
    const lost = await folder.claim('log', TASKS[3]);
    await acceptLossIn(folder, 'old', '--reason', 'restored Monday');
    const granted = await folder.claim('old', TASKS[3]);
    expect(granted.generation).toBeGreaterThan(1_000_000);
    expect(granted.claim_id).not.toBe(lost.claim_id);
    expect(await folder.renew('old', TASKS[3], lost)).toMatchObject({ success: false });
    expect((await runGen({ cwd: folder.cwd }, 'verify', 'old')).code).toBe(0);
  });

  it('continues a log that forked', async () => {
    const folder = await folderWithLoss();
    await folder.completeTasks([TASKS[2], TASKS[3]], 'old', 'key.pem', 'anchors.jsonl');
    expect((await folder.verify('old')).out).toContain('ANCHOR DIFFERS');
    expect(await acceptLossIn(folder, 'old', '--reason', 'the fork is the truth')).toMatchObject({ code: 0 });
    expect(await folder.verify('old')).toMatchObject({ code: 0 });
  });

  it('refuses a log that agrees with its anchors, and a log that was changed', async () => {
    const folder = await folderWithLoss();
    const agreeing = await acceptLossIn(folder, 'log', '--reason', 'why not');
    expect(agreeing).toMatchObject({ code: 1 });
    expect(agreeing.err).toContain('there is no loss to accept');
    await folder.completeTasks([TASKS[2]], 'forged', 'forged.pem', 'forged.jsonl');
    const forged = await acceptLossIn(folder, 'forged', '--reason', 'why not');
    expect(forged.err).toContain('ANCHOR UNVOUCHED_KEY');
    expect(forged).toMatchObject({ code: 1 });
  });

  it('a loss without a signature does not count, because anyone who can write to the log could record it', async () => {
    const folder = await folderWithLoss();
    await folder.recordLossUnsigned('old');
    expect((await folder.verify('old')).out).toContain('ANCHOR LOG_SHORTER');
  });
});

describe('gen verify and gen up report, on a log of files,', () => {
  interface AttackedFolder {
    readonly project: AuditedProject;
    /** Two logs of the project: the log to which the anchors belong, and another log. */
    readonly url: string;
    readonly otherUrl: string;
  }
  async function attackedFolder(): Promise<AttackedFolder> {
    const project = await AuditedProject.create();
    return { project, url: `file:${project.cwd}/log`, otherUrl: `file:${project.cwd}/other` };
  }

  /** Changes lines of a log and computes every seal again, which needs no secret. */
  async function rewriteLines({ project, url }: AttackedFolder, change: (line: string) => string) {
    const { tenant_id, project_id } = project.projectKey;
    const folder = join(url.slice('file:'.length), tenant_id, project_id);
    const segments = (await readdir(join(folder, 'segments')).catch(() => [])).sort();
    const seals = new SealInput();
    let seal = CHAIN_START;
    seals.begin(seal);
    const rewriteLine = (line: string): string => {
      if (!line.startsWith('{"seal":')) {
        const changed = change(line);
        seals.addLine(Buffer.from(changed));
        return `${changed}\n`;
      }
      const sealed = sealedText(Buffer.from(line));
      seal = seals.digest(sealed);
      seals.begin(seal);
      return `{"seal":"${seal}",${sealed}\n`;
    };
    for (const file of [
      ...segments.map((name) => join(folder, 'segments', name)),
      join(folder, 'events.jsonl'),
    ]) {
      const lines = (await readFile(file, 'utf8')).split('\n').filter((line) => line !== '');
      await writeFile(file, lines.map(rewriteLine).join(''));
    }
  }

  /** Replaces a text in the payload of a line. With `restatesDigest`, the line also states the new digest. */
  const editLine = (line: string, from: string, to: string, restatesDigest: boolean): string => {
    const [envelope = '', payload = ''] = line.split(PAYLOAD_MARK);
    if (!payload.includes(from)) return line;
    const forged = payload.replace(from, to);
    const digest = `"payload_sha256":"${base64urlDigest(forged.slice(0, -1))}"`;
    return [restatesDigest ? envelope.replace(/"payload_sha256":"[^"]+"/, digest) : envelope, forged].join(
      PAYLOAD_MARK,
    );
  };

  it('another history under the same key, with valid seals and checkpoints', async () => {
    const { project, url, otherUrl } = await attackedFolder();
    await project.work(url, [TASKS[0], TASKS[1]]);
    await project.work(otherUrl, [TASKS[2], TASKS[1], TASKS[0]], { anchors: 'forged.jsonl' });
    expect((await runGen({ cwd: project.cwd }, 'verify', 'other')).code).toBe(0);
    const [covered] = await project.anchored();
    await expectAttackReported(project, otherUrl, 'ANCHOR DIFFERS', `is between positions 1 and ${covered}`);
  });

  it('an edited payload, with every seal computed again', async () => {
    const attacked = await attackedFolder();
    const { project, url } = attacked;
    await project.work(url, [TASKS[0]]);
    await project.work(url, [TASKS[1]]);
    // The forged text has the same length, because the store also records the length of the file.
    const forgedResult = resultText(TASKS[1]).replace('result', 'forged');
    await rewriteLines(attacked, (line) => editLine(line, resultText(TASKS[1]), forgedResult, true));
    const [before, after] = await project.anchored();
    const where = `is between positions ${before! + 1} and ${after}`;
    await expectAttackReported(project, url, 'AUDIT ROOT_DIFFERS', 'ANCHOR DIFFERS', where);
  });

  it.each([
    ['an edit of what remains of a redacted payload', false, [UNRECORDED_REDACTION]],
    [
      'an edit of what remains of a redacted payload, with every seal computed again',
      true,
      ['AUDIT ROOT_DIFFERS', 'ANCHOR DIFFERS'],
    ],
  ])('%s', async (_, withDigest, expectedRules) => {
    const attacked = await attackedFolder();
    const { project, url } = attacked;
    expect(await project.redact(url, TASKS[0])).toBeGreaterThan(0);
    expect(await project.verify(url)).toMatchObject({ code: 0 });
    await rewriteLines(attacked, (line) => editLine(line, '"VOLUNTARY"', '"FORGOTTEN"', withDigest));
    await expectAttackReported(project, url, ...expectedRules);
  });

  it('a checkpoint of a key that is not enrolled', async () => {
    const { project, url } = await attackedFolder();
    await project.work(url, [TASKS[0]]);
    const [checkpoint] = await project.checkpoints(url);
    await project.append(url, await project.signedAgain(checkpoint!, 'forged.pem'));
    await expectAttackReported(project, url, 'AUDIT UNKNOWN_KEY');
  });

  it('a checkpoint of lost history, replayed so that the log seems to have it', async () => {
    const { project, url, otherUrl } = await attackedFolder();
    await project.work(url, [TASKS[0]]);
    await project.copy(url, otherUrl);
    await project.work(url, [TASKS[1]]);
    const [covered, lost] = await project.checkpoints(url);
    await project.append(otherUrl, lost!);
    await expectAttackReported(project, otherUrl, 'AUDIT BAD_POSITION', 'ANCHOR LOG_SHORTER');
    expect(await project.head(otherUrl)).toMatchObject({ position: covered!.position });
  });

  it('a checkpoint of lost history, replayed after the loss was accepted and the log is as long again', async () => {
    const { project, url, otherUrl } = await attackedFolder();
    await project.work(url, [TASKS[0]]);
    await project.copy(url, otherUrl);
    await project.work(url, [TASKS[1], TASKS[2], TASKS[3]]);
    const lost = (await project.checkpoints(url)).at(-1)!;
    expect(await project.acceptLoss(otherUrl)).toMatchObject({ code: 0 });
    const head = await project.head(otherUrl);
    expect(head.position).toBeLessThan(lost.position);
    for (const task of [TASKS[1], TASKS[2], TASKS[3]]) await project.claim(otherUrl, task);
    expect(await project.append(otherUrl, lost)).toBeGreaterThan(lost.position);
    await expectAttackReported(project, otherUrl, 'AUDIT WRONG_INCARNATION', 'AUDIT ROOT_DIFFERS');
    expect(await project.head(otherUrl)).toEqual(head);
  });

  // The replayed checkpoint is true, but covers less than the last checkpoint, which stays the last.
  it('an old checkpoint that is replayed, although it changes nothing', async () => {
    const { project, url } = await attackedFolder();
    await project.work(url, [TASKS[0]]);
    await project.work(url, [TASKS[1]]);
    const [old] = await project.checkpoints(url);
    const head = await project.head(url);
    await project.append(url, old!);
    expect(await project.head(url)).toEqual(head);
    await project.work(url, [TASKS[2]]);
    expect((await project.verify(url)).out).toContain('AUDIT REPLAYED');
    expect(await project.up(url)).toMatchObject({ isStarted: false });
  });
});
