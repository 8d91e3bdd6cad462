/**
 * Who: someone who can push to a repository that contains a workspace.
 *
 * What they want: the token of everyone who pulls. `gen sync` remembers its remote in `.ai-workspace/sync.yml`; a commit
 * can name a server of theirs there, and the next `gen sync status` would send `GENESIS_TOKEN` to it.
 *
 * What stops them: a remote that is remembered in a file which git tracks is not used; `--remote URL` names it instead.
 * A remembered remote that is a module is never used, because opening it would run its code.
 */
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { runGen } from '../../src/cli/testing/terminal.js';
import { GitRepository } from './support/repository.js';

/** A server of the attacker. Returns its URL and the credentials that it was sent. */
async function startAttackerServer(): Promise<{ url: string; credentials: unknown[] }> {
  const credentials: unknown[] = [];
  const server = createServer((request, response) => {
    credentials.push(request.headers.authorization);
    response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, credentials };
}

const syncFile = (url: string): string =>
  `remote: ${url}\ntenant_id: default\nproject_id: shop\nreplicated_position: 0\npushed_position: 0\nlast_pull: null\nlast_push: null\n`;

it.each(['status', 'push', 'pull'])(
  'gen sync %s sends no token to a remote that came with the repository',
  async (command) => {
    const { url, credentials } = await startAttackerServer();
    const clone = await GitRepository.create();
    await writeFile(join(clone.root, '.ai-workspace/sync.yml'), syncFile(url));
    await clone.git('add', '--force', '.ai-workspace/sync.yml');
    const terminal = { cwd: clone.root, env: { GENESIS_TOKEN: 'the-victims-token' } };
    const { code, err } = await runGen(terminal, 'sync', command);
    expect(code).toBe(2);
    expect(err).toContain('Git tracks sync.yml');
    expect(err).toContain('--remote URL');
    expect(credentials).toEqual([]);
  },
);

it('gen sync status uses a remembered remote that git does not track', async () => {
  const { url, credentials } = await startAttackerServer();
  const clone = await GitRepository.create();
  await writeFile(join(clone.root, '.ai-workspace/sync.yml'), syncFile(url));
  const terminal = { cwd: clone.root, env: { GENESIS_TOKEN: 'my-token' } };
  await runGen(terminal, 'sync', 'status');
  expect(credentials).toContain('Bearer my-token');
});

it('gen sync status does not run a module that a file names as the last remote', async () => {
  const clone = await GitRepository.create();
  const module = join(clone.root, 'store.mjs');
  await writeFile(module, `import { writeFileSync } from 'node:fs'; writeFileSync('${module}.ran', '');`);
  await writeFile(join(clone.root, '.ai-workspace/sync.yml'), syncFile(`module:${module}`));
  const { code, err } = await runGen({ cwd: clone.root }, 'sync', 'status');
  expect(code).toBe(2);
  expect(err).toContain('it must be named each time: --remote URL');
  expect(existsSync(`${module}.ran`)).toBe(false);
});
