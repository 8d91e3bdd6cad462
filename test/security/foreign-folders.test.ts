/**
 * Who: another user of the same machine, who can write to a folder that the victim works in or below, such as a shared
 * folder of mode 1777; or someone who offers a repository to clone, with a link to a folder of that user.
 *
 * What they want: that the victim's `gen up` serves the attacker's store. The attacker makes `.ai-workspace` or
 * `.genesis/log` with a key of role operator in its log, and that key opens the victim's server.
 *
 * What stops them: a workspace or store folder that is found, and not named explicitly, must belong to the user who runs
 * the program, and so must its log, its secret and its keys. For root it may also belong to the user who called sudo.
 * Otherwise it is refused, with the owner and the setting that names it.
 */
import { chown, lchown, mkdir, readdir, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { cliFolder } from '../../src/cli/state/cli-folder.js';
import { runGen, startCommand, type TerminalOptions } from '../../src/cli/testing/terminal.js';
import { skipGroup } from '../../src/stores/testing/on-database.js';
import { Workspace } from '../../src/workspace/workspace.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const ATTACKER = 65_534;
const UP = ['up', '--port', '0', '--json'];

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

async function giveAway(path: string): Promise<void> {
  await lchown(path, ATTACKER, ATTACKER);
  for (const name of await readdir(path, { recursive: true }))
    await lchown(join(path, name), ATTACKER, ATTACKER);
}

/** A folder with a workspace and an operator's key in it. */
async function createWorkspace(): Promise<string> {
  const cwd = await temporaryFolder();
  expect(await runGen({ cwd }, 'init', '--name', 'shop')).toMatchObject({ code: 0 });
  await createKey(cwd, `workspace:${cwd}`);
  return cwd;
}

/** A folder with an embedded log and an operator's key in it. */
async function createEmbeddedLog(): Promise<string> {
  const cwd = await temporaryFolder();
  await mkdir(join(cwd, '.genesis'));
  await createKey(cwd, `file:${join(cwd, '.genesis/log')}`);
  return cwd;
}

async function createKey(cwd: string, store: string): Promise<string> {
  const { code, out, err } = await runGen({ cwd }, 'key', 'create', '--role', 'operator', '--store', store);
  expect({ code, err }).toMatchObject({ code: 0 });
  return out.trim();
}

/** What `gen up` prints when it refuses to start. A server that starts is a failure. */
async function refusalOf(terminal: TerminalOptions, ...argv: string[]): Promise<string> {
  const server = startCommand(terminal, ...UP, ...argv);
  const served = server.waitForOutput('"url"').then((text) => {
    server.stop('SIGINT');
    return `served: ${text}`;
  });
  const ended = server.ended.then(
    ({ code, err }) => `exit code ${code}: ${err}`,
    (error: Error) => `exit code 1: ${error.message}`,
  );
  const text = await Promise.race([served, ended]);
  await ended;
  return text.replace(/\s+/g, ' ');
}

/** Starts `gen up` and stops it. */
async function serve(terminal: TerminalOptions, ...argv: string[]): Promise<void> {
  const server = startCommand(terminal, ...UP, ...argv);
  const ended = server.ended.then(({ err }) => Promise.reject(new Error(err)));
  ended.catch(() => {});
  await Promise.race([server.waitForOutput('"url"'), ended]);
  server.stop('SIGINT');
  expect(await server.ended).toMatchObject({ code: 0 });
}

function tests(): void {
  describe('a workspace of another user', () => {
    it('is refused in its folder and below, with the path, the owner and what to do', async () => {
      const cwd = await createWorkspace();
      await giveAway(join(cwd, '.ai-workspace'));
      const below = join(cwd, 'src/pages');
      await mkdir(below, { recursive: true });
      for (const here of [cwd, below]) {
        const text = await refusalOf({ cwd: here });
        expect(text).toContain('exit code 1: A workspace was found here, but belongs to another user');
        expect(text).toContain(`${cwd}/.ai-workspace is owned by user id ${ATTACKER}`);
        expect(text).toContain('this process runs as user id 0');
        expect(text).toContain(`GENESIS_STORE=workspace:${cwd}, or --store workspace:${cwd}`);
        expect(text).toContain(`chown -R 0 ${cwd}/.ai-workspace`);
      }
      expect(await runGen({ cwd }, 'next')).toMatchObject({
        code: 1,
        err: expect.stringContaining('user id'),
      });
    });

    it('is refused if only its log, its secret or its keys belong to that user', async () => {
      const cwd = await createWorkspace();
      for (const part of ['events', 'events/events.jsonl', 'events/store.json', 'events/tenants']) {
        const path = join(cwd, '.ai-workspace', part);
        await chown(path, ATTACKER, ATTACKER);
        expect(await refusalOf({ cwd })).toContain(`exit code 1: A workspace was found here`);
        expect(await refusalOf({ cwd })).toContain(`${path} is owned by user id ${ATTACKER}`);
        await chown(path, 0, 0);
      }
      await serve({ cwd });
    });

    it('is refused behind a symbolic link of the user, which a clone can contain', async () => {
      const cwd = await createWorkspace();
      const theirs = join(await temporaryFolder(), 'events');
      await rename(join(cwd, '.ai-workspace/events'), theirs);
      await giveAway(theirs);
      await symlink(theirs, join(cwd, '.ai-workspace/events'));
      expect(await refusalOf({ cwd })).toContain(`.ai-workspace/events is owned by user id ${ATTACKER}`);
    });

    it('is used if --store or GENESIS_STORE names it', async () => {
      const cwd = await createWorkspace();
      await giveAway(join(cwd, '.ai-workspace'));
      await serve({ cwd }, '--store', `workspace:${cwd}`);
      await serve({ cwd, env: { GENESIS_STORE: `workspace:${cwd}` } });
      expect(Workspace.find(cwd, { GENESIS_STORE: `workspace:${cwd}` })?.root).toBe(cwd);
      const elsewhere = { GENESIS_STORE: `workspace:${cwd}/other` };
      expect(() => Workspace.find(cwd, elsewhere)).toThrow('belongs to another user');
    });

    it('does not hide the user’s own workspace in a folder below', async () => {
      const cwd = await createWorkspace();
      const shared = await temporaryFolder();
      await mkdir(join(shared, '.ai-workspace'));
      await giveAway(join(shared, '.ai-workspace'));
      await rename(cwd, join(shared, 'mine'));
      await serve({ cwd: join(shared, 'mine') });
    });

    it('does not determine the state folder of a command', async () => {
      const cwd = await temporaryFolder();
      const below = join(cwd, 'src');
      await mkdir(join(cwd, '.ai-workspace'));
      await mkdir(below);
      await giveAway(join(cwd, '.ai-workspace'));
      expect(cliFolder(startCommand({ cwd: below }, '--version').io)).toBe(join(below, '.genesis'));
    });
  });

  describe('a store folder of another user', () => {
    it('is refused in the current folder, with the path, the owner and what to do', async () => {
      const cwd = await createEmbeddedLog();
      const home = join(cwd, '.genesis');
      await giveAway(home);
      const text = await refusalOf({ cwd });
      expect(text).toContain('exit code 1: A store folder was found here, but belongs to another user');
      expect(text).toContain(`${home} is owned by user id ${ATTACKER}`);
      expect(text).toContain(`GENESIS_HOME=${home}`);
      expect(text).toContain(`chown -R 0 ${home}`);
    });

    it('is refused next to a workspace of the user', async () => {
      const cwd = await createWorkspace();
      await mkdir(join(cwd, '.genesis'), { recursive: true });
      await giveAway(join(cwd, '.genesis'));
      const below = join(cwd, 'src');
      await mkdir(below);
      const { io } = startCommand({ cwd: below }, '--version');
      expect(() => cliFolder(io)).toThrow(`${cwd}/.genesis is owned by user id ${ATTACKER}`);
    });

    it('is refused if only its log, its secret or its keys belong to that user, also from a folder below', async () => {
      const cwd = await createEmbeddedLog();
      const below = join(cwd, 'src');
      await mkdir(below);
      for (const part of ['log', 'log/store.json', 'log/_genesis']) {
        const path = join(cwd, '.genesis', part);
        await chown(path, ATTACKER, ATTACKER);
        for (const here of [cwd, below])
          expect(await refusalOf({ cwd: here })).toContain(`${path} is owned by user id ${ATTACKER}`);
        await chown(path, 0, 0);
      }
      await serve({ cwd });
    });

    it('is refused behind a symbolic link of the user', async () => {
      const theirs = join(await createEmbeddedLog(), '.genesis');
      await giveAway(theirs);
      const cwd = await temporaryFolder();
      await symlink(theirs, join(cwd, '.genesis'));
      expect(await refusalOf({ cwd })).toContain(`.genesis is owned by user id ${ATTACKER}`);
    });

    it('is ignored in a parent folder', async () => {
      const cwd = await createEmbeddedLog();
      await giveAway(join(cwd, '.genesis'));
      const below = join(cwd, 'mine');
      await mkdir(below);
      await serve({ cwd: below });
      expect(await readdir(below)).toEqual(['.genesis']);
    });

    it('is used if GENESIS_HOME names it', async () => {
      const cwd = await createEmbeddedLog();
      await giveAway(join(cwd, '.genesis'));
      await serve({ cwd, env: { GENESIS_HOME: '.genesis' } });
    });
  });

  describe('SUDO_UID', () => {
    it('lets root use the folders of the user who called sudo, and of no other user', async () => {
      const cwd = await createWorkspace();
      await mkdir(join(cwd, '.genesis'), { recursive: true });
      await giveAway(cwd);
      for (const SUDO_UID of ['65533', '', 'nobody', '-2', '0x0000fffe', '65534 ']) {
        vi.stubEnv('SUDO_UID', SUDO_UID);
        expect(await refusalOf({ cwd, env: { SUDO_UID } })).toContain('belongs to another user');
        expect(() => Workspace.find(cwd)).toThrow('belongs to another user');
      }
      const SUDO_UID = String(ATTACKER);
      vi.stubEnv('SUDO_UID', SUDO_UID);
      await serve({ cwd, env: { SUDO_UID } });
    });

    it('has no effect for users other than root', async () => {
      const cwd = await createWorkspace();
      vi.spyOn(process, 'getuid').mockReturnValue(1000);
      expect(() => Workspace.find(cwd, { SUDO_UID: '0' })).toThrow('owned by user id 0');
    });
  });

  it('no folder is refused on a platform without file owners', async () => {
    const cwd = await createWorkspace();
    await mkdir(join(cwd, '.genesis'), { recursive: true });
    await giveAway(cwd);
    const { getuid } = process;
    try {
      Object.assign(process, { getuid: undefined });
      expect(Workspace.find(cwd)?.root).toBe(cwd);
      expect(cliFolder(startCommand({ cwd }, '--version').io)).toBe(join(cwd, '.genesis'));
    } finally {
      Object.assign(process, { getuid });
    }
  });
}

if (process.getuid?.() === 0) tests();
else skipGroup('folders of another user', 'only root can change the owner of a file');

it('a user can continue to use the folders that they created', async () => {
  const cwd = await temporaryFolder();
  await serve({ cwd });
  expect(await runGen({ cwd }, 'init', '--name', 'shop')).toMatchObject({ code: 0 });
  await writeFile(join(cwd, 'README.md'), 'x');
  await serve({ cwd });
});
