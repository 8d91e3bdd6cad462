/**
 * Who: someone who can push to a repository that contains a workspace.
 *
 * What they want: the token of everyone who pulls. `gen sync` remembers its remote in `.ai-workspace/sync.yml`; a commit
 * can name a server of theirs there, and the next `gen sync status` would send `GENESIS_TOKEN` to it.
 *
 * What stops them: a remote that is remembered in a file which git tracks is not used; `--remote URL` names it instead.
 */
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { gen } from '../../src/cli/testing/terminal.js';
import { GitClone } from './support/repository.js';

/** A server of the attacker. Returns its URL and the credentials that it was sent. */
async function listener(): Promise<{ url: string; credentials: unknown[] }> {
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
    const { url, credentials } = await listener();
    const clone = await GitClone.create();
    await writeFile(join(clone.root, '.ai-workspace/sync.yml'), syncFile(url));
    await clone.git('add', '--force', '.ai-workspace/sync.yml');
    const terminal = { cwd: clone.root, env: { GENESIS_TOKEN: 'the-victims-token' } };
    const { code, err } = await gen(terminal, 'sync', command);
    expect(code).toBe(2);
    expect(err).toContain('Git tracks sync.yml');
    expect(err).toContain('--remote URL');
    expect(credentials).toEqual([]);
  },
);

it('gen sync status uses a remembered remote that git does not track', async () => {
  const { url, credentials } = await listener();
  const clone = await GitClone.create();
  await writeFile(join(clone.root, '.ai-workspace/sync.yml'), syncFile(url));
  const terminal = { cwd: clone.root, env: { GENESIS_TOKEN: 'my-token' } };
  await gen(terminal, 'sync', 'status');
  expect(credentials).toContain('Bearer my-token');
});
