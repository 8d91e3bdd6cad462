import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { Genesis, isProblem } from '../src/client/index.js';
import { storeTests } from '../src/stores/conformance/suite.js';

const run = promisify(execFile);
const KINDS = ['log-store', 'shared-store'];

/** The examples inside the built package, which they import by its name as they do in a project that installs it. */
let examples: string;

beforeAll(async () => {
  examples = await mkdtemp(join(inject('built'), 'stores-'));
  await cp('examples/stores', examples, { recursive: true });
});

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'custom-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

const gen = (): string => join(inject('built'), 'dist/cli/main.js');

const environment = (home: string): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('GENESIS_'))),
  GENESIS_HOME: home,
});

/** Starts a server on a store, in a process of its own. */
async function serve(cwd: string, store: string): Promise<{ genesis: Genesis; stop: () => Promise<void> }> {
  const args = [gen(), 'up', '--json', '--port', '0', '--store', store];
  const child = spawn(process.execPath, args, { cwd, env: environment(cwd), stdio: ['ignore', 'pipe', 'pipe'] });
  const exited = once(child, 'exit');
  const stop = async (): Promise<void> => {
    child.kill();
    await exited;
  };
  onTestFinished(stop);
  let errors = '';
  child.stderr.on('data', (chunk) => {
    errors += chunk;
  });
  const failed = exited.then(() => {
    throw new Error(`The server exited: ${errors}`);
  });
  failed.catch(() => {});
  const [line] = (await Promise.race([once(createInterface(child.stdout), 'line'), failed])) as [string];
  const { url } = JSON.parse(line) as { url: string };
  return { genesis: new Genesis({ url, project: 'shop', agent_id: 'alice' }), stop };
}

describe.each(KINDS)('examples/stores/%s.mjs', (kind) => {
  test('passes the conformance suite', async () => {
    const { stdout } = await run(process.execPath, ['--test', '--test-reporter=tap', `${kind}.test.mjs`], {
      cwd: examples,
      maxBuffer: 64 * 1024 * 1024,
    });
    const count = storeTests({ open: () => Promise.reject(new Error('not opened')) }).length;
    expect(count).toBeGreaterThan(100);
    expect(stdout).toContain(`\n# pass ${count}\n# fail 0\n`);
  });

  test('serves gen up, and has the accepted result after a restart', async () => {
    const cwd = await newFolder();
    const store = `module:${join(examples, `${kind}.mjs`)}?folder=${encodeURIComponent(join(cwd, 'data'))}`;
    const first = await serve(cwd, store);
    const claimed = await first.genesis.claimTask({ task_id: 'A-001-schema' });
    if (isProblem(claimed) || claimed.reason !== 'GRANTED') throw new Error(JSON.stringify(claimed));
    const { generation, claim_id } = claimed;
    const large = 'x'.repeat(300_000);
    const submitted = await first.genesis.submitResult({
      task_id: 'A-001-schema',
      generation,
      claim_id,
      result: { large },
    });
    expect(submitted).toMatchObject({ reason: 'ACCEPTED' });
    await first.stop();
    const second = await serve(cwd, store);
    expect(await second.genesis.task('A-001-schema')).toMatchObject({ phase: 'COMPLETED' });
    await second.stop();
    const { stdout } = await run(process.execPath, [gen(), 'verify', store, '--json'], {
      cwd,
      env: environment(cwd),
    });
    expect(JSON.parse(stdout)).toMatchObject({ ok: true, logs: [{ project_id: 'shop' }] });
  });

  test('is shown in docs/custom-stores.md as it is', async () => {
    const shown = await readFile('docs/custom-stores.md', 'utf8');
    expect(shown).toContain(`\`\`\`js\n${await readFile(`examples/stores/${kind}.mjs`, 'utf8')}\`\`\``);
  });
});
