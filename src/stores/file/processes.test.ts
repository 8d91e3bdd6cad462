import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.js';
import { openFileStore } from './file-store.js';
import { allEvents, reproducibleRandom } from './testing.js';

const ROUNDS = Number(process.env.ROUNDS ?? 15);

interface StoreProcess {
  readonly process: ChildProcess;
  /** The next line it prints; null after it has ended. */
  nextLine(): Promise<string | null>;
  kill(): Promise<void>;
}

/** Bundled once: starting TypeScript in every round would take longer than the rest of the test. */
let bundles: string;
beforeAll(async () => {
  bundles = await mkdtemp(join(tmpdir(), 'file-store-children-'));
  await build({
    entryPoints: ['crash-writer.child.ts', 'opener.child.ts'].map((name) => join(import.meta.dirname, name)),
    bundle: true,
    platform: 'node',
    format: 'esm',
    outExtension: { '.js': '.mjs' },
    outdir: bundles,
  });
});
afterAll(() => rm(bundles, { recursive: true }));

const NODE_PATH = join(import.meta.dirname, '../../../node_modules');

function start(script: string, args: readonly string[]): StoreProcess {
  const child = spawn(process.execPath, [join(bundles, script), ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
    // The native part of the lock cannot be bundled.
    env: { ...process.env, NODE_PATH },
  });
  const exited = once(child, 'exit');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const kill = async () => {
    child.kill('SIGKILL');
    await exited;
  };
  onTestFinished(kill);
  return {
    process: child,
    nextLine: async () => ((await lines.next()) as IteratorResult<string, undefined>).value ?? null,
    kill,
  };
}

interface ConfirmedCommit {
  readonly subject: string;
  readonly positions: readonly number[];
}

/** Runs a writer until it has confirmed this many commits, kills it, and returns everything it confirmed. */
async function writeAndKill(root: string, name: string, commits: number): Promise<ConfirmedCommit[]> {
  const child = start('crash-writer.child.mjs', [root, name]);
  const confirmed: ConfirmedCommit[] = [];
  for (let line = await child.nextLine(); line !== null; line = await child.nextLine()) {
    confirmed.push(JSON.parse(line) as ConfirmedCommit);
    if (confirmed.length === commits) child.process.kill('SIGKILL');
  }
  await child.kill();
  expect(confirmed.length).toBeGreaterThanOrEqual(commits);
  return confirmed;
}

/** Opens what the killed writer left: every confirmed transaction is complete, and no transaction is partial. */
async function expectConfirmedCommits(root: string, confirmed: readonly ConfirmedCommit[]): Promise<void> {
  const store = await openFileStore({ root });
  const events = await allEvents(store);
  expect(events.map((event) => event.position)).toEqual(events.map((_, index) => index + 1));
  for (const { subject, positions } of confirmed) {
    const found = positions.map((position) => events[position - 1]);
    expect(found.every((event) => event?.subject === subject || event?.event_id === `note${subject}`)).toBe(
      true,
    );
  }
  const counts = new Map<string, number>();
  for (const { subject } of events)
    if (subject !== undefined) counts.set(subject, (counts.get(subject) ?? 0) + 1);
  for (const [subject, count] of counts) {
    const round = Number(subject.slice(subject.lastIndexOf('-') + 1));
    expect(`${subject} ${count}`).toBe(`${subject} ${(round % 3) + 1}`);
    const noted = events.some((event) => event.event_id === `note${subject}`);
    expect(`${subject} ${noted}`).toBe(`${subject} ${round % 4 === 0}`);
  }
  await store.close();
}

it(
  `keeps every confirmed transaction complete through ${ROUNDS} kills under load`,
  async () => {
    const random = reproducibleRandom(7);
    const runRounds = async (lane: number, rounds: number) => {
      let root = await temporaryFolder();
      for (let round = 0; round < rounds; round += 1) {
        // The log survives several kills, but does not grow so large that reading it dominates the test.
        if (round % 5 === 0) root = await temporaryFolder();
        await expectConfirmedCommits(
          root,
          await writeAndKill(root, `w${lane}-${round}`, 1 + Math.floor(random() * 200)),
        );
      }
    };
    await Promise.all([runRounds(0, Math.ceil(ROUNDS / 2)), runRounds(1, Math.floor(ROUNDS / 2))]);
  },
  // Ends a hanging test, also in a nightly run with many rounds.
  (15 + ROUNDS) * 60_000,
);

it('lets one of ten processes open the store, even while it is frozen, and another after it has exited', async () => {
  const root = await temporaryFolder();
  const children = Array.from({ length: 10 }, () => start('opener.child.mjs', [root]));
  for (const child of children) expect(await child.nextLine()).toBe('ready');
  for (const child of children) child.process.stdin?.write('open\n');
  const answers = await Promise.all(children.map((child) => child.nextLine()));
  const holders = children.filter((_, index) => answers[index] === 'serving');
  expect(holders).toHaveLength(1);
  const [holder] = holders as [StoreProcess];
  const others = children.filter((child) => child !== holder);
  const sentence = new RegExp(
    `^refused: The process ${holder.process.pid} has the store .* open.*stop it first`,
  );

  holder.process.kill('SIGSTOP');
  for (const child of others) {
    child.process.stdin?.write('open\n');
    expect(await child.nextLine()).toMatch(sentence);
  }
  await holder.kill();
  const [next] = others as [StoreProcess];
  next.process.stdin?.write('open\n');
  expect(await next.nextLine()).toBe('serving');
});
