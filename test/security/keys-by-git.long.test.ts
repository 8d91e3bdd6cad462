/**
 * Who: someone who can push to a repository that contains a workspace, or who offers one to clone. They have no account
 * on the victim's machine.
 *
 * What they want: access to the server that the victim runs in their clone. The attacker controls everything that git
 * carries: keys made in their own clone, the secret of their own store, an older state of the victim's log in which a
 * revoked key still works. Git overwrites ignored files on a pull, so `.gitignore` alone stops nothing.
 *
 * What stops them: a key record is bound to the secret of the store that made it, by an HMAC over everything that it
 * grants. A record that is not bound to the secret of this store grants nothing. While git tracks the secret or the key
 * log, no key works. Any key record, bound or not, keeps an open server closed. Secret files are in `.gitignore`, and
 * `gen up` and `gen verify` name each tracked file to remove, with the commands.
 */
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runGen, startCommand } from '../../src/cli/testing/terminal.js';
import { exportProject } from '../../src/coordinator/transfer/export-project.js';
import { importProject } from '../../src/coordinator/transfer/import-project.js';
import { openStoreUrl } from '../../src/server/store-url.js';
import { bearer } from '../support/bearer.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { GitRepository } from './support/repository.js';
import { KEY_LOG, writeUnboundKey } from './support/unbound-key.js';

const EVENTS = '.ai-workspace/events';
const [SECRET, TENANTS, KEYS] = [`${EVENTS}/store.json`, `${EVENTS}/tenants`, `${EVENTS}/tenants/_genesis`];

/** Returns the status of a request that every key of the tenant may make. */
async function requestStatus(url: string, token: string | null): Promise<number> {
  const response = await fetch(`${url}/api/tenants/default/limits`, {
    headers: token === null ? {} : bearer(token),
  });
  await response.arrayBuffer();
  return response.status;
}

/** The command lines that a warning tells the operator to run. */
const commandsIn = (err: string): string[] => err.match(/git -C .*$/gm) ?? [];

describe('a key that was created in another clone', () => {
  it('is not in the files that git tracks', async () => {
    const attacker = await GitRepository.create();
    await attacker.createKey();
    await attacker.serveWhile(async () => {});
    await attacker.commit();
    const carried = await attacker.git('ls-files');
    expect(carried).toContain(`${EVENTS}/events.jsonl`);
    for (const secret of [SECRET, TENANTS, 'server.json']) expect(carried).not.toContain(secret);
  });

  it('grants no access if git carries its record anyway, and does not open the server to everyone', async () => {
    const attacker = await GitRepository.create();
    const token = await attacker.createKey('operator');
    await attacker.commit(TENANTS);
    const victim = await attacker.clone();
    const err = await victim.serveWhile(async (url) => {
      expect(await requestStatus(url, token)).toBe(401);
      expect(await requestStatus(url, null)).toBe(401);
    });
    expect(err).toContain('gen key create');
  });

  it('grants no access if git also carries the secret of its store', async () => {
    const attacker = await GitRepository.create();
    const token = await attacker.createKey('operator');
    await attacker.commit(TENANTS, SECRET);
    const victim = await attacker.clone();
    const err = await victim.serveWhile(async (url) => {
      expect(await requestStatus(url, token)).toBe(401);
    });
    expect(err).toContain(SECRET);
  });

  it('grants no access after a pull replaces the files of a victim that has its own keys', async () => {
    const attacker = await GitRepository.create();
    await attacker.commit();
    const victim = await attacker.clone();
    const ownToken = await victim.createKey();
    await victim.serveWhile(async (url) => expect(await requestStatus(url, ownToken)).toBe(200));
    const token = await attacker.createKey('operator');
    await attacker.commit(TENANTS, SECRET);
    await victim.git('pull', '--quiet');
    await victim.serveWhile(async (url) => expect(await requestStatus(url, token)).toBe(401));
  });
});

describe('a key that was revoked', () => {
  it('stays revoked with an older state of the log', async () => {
    const attacker = await GitRepository.create();
    await attacker.commit();
    const victim = await attacker.clone();
    await victim.createKey();
    const token = await victim.createKey('agent');
    const older = await copyKeyLog(victim);
    const admin = await victim.createKey('admin');
    await victim.serveWhile(async (url) => {
      const keyId = token.split('_')[2];
      const path = `${url}/api/tenants/default/keys/${keyId}`;
      expect((await fetch(path, { method: 'DELETE', headers: bearer(admin) })).status).toBe(200);
      expect(await requestStatus(url, token)).toBe(401);
    });
    await cp(older, join(attacker.root, KEYS), { recursive: true });
    await attacker.commit(TENANTS);
    await victim.git('pull', '--quiet');
    await victim.serveWhile(async (url) => expect(await requestStatus(url, token)).toBe(401));
  });
});

/** Copies the victim's key log, as a former colleague may have done, and returns the folder of the copy. */
async function copyKeyLog(victim: GitRepository): Promise<string> {
  const copy = join(victim.root, '..', `${victim.root.split('/').at(-1)}-copy`);
  await cp(join(victim.root, KEYS), copy, { recursive: true });
  return copy;
}

describe('a secret file that git tracks', () => {
  it('is reported by gen up and gen verify with the commands that untrack it, after which new keys work', async () => {
    const attacker = await GitRepository.create();
    const token = await attacker.createKey('operator');
    await attacker.commit(TENANTS, SECRET);
    const victim = await attacker.clone();
    const err = await victim.serveWhile(async () => {});
    const verified = await victim.gen('verify');
    expect(verified.code).toBe(0);
    for (const text of [err, verified.err]) {
      expect(text).toContain(SECRET);
      expect(text).toContain(TENANTS);
      expect(commandsIn(text)).toHaveLength(2);
    }
    for (const line of commandsIn(err)) await victim.shell(line);
    expect(await victim.git('ls-files', EVENTS)).not.toMatch(/store\.json|tenants/);
    const ownToken = await victim.createKey();
    const quiet = await victim.serveWhile(async (url) => {
      expect(await requestStatus(url, ownToken)).toBe(200);
      expect(await requestStatus(url, token)).toBe(401);
    });
    expect(commandsIn(quiet)).toEqual([]);
  });

  it('is not searched for outside a repository', async () => {
    const clone = await GitRepository.create();
    await clone.shell('rm -rf .git');
    const token = await clone.createKey();
    const err = await clone.serveWhile(async (url) => expect(await requestStatus(url, token)).toBe(200));
    expect(err).not.toContain('git');
  });

  it('is not hidden by a bare repository that an attacker adds, whose configuration is not used', async () => {
    const attacker = await GitRepository.create();
    const token = await attacker.createKey('operator');
    const events = join(attacker.root, EVENTS);
    for (const name of ['objects', 'refs']) {
      await mkdir(join(events, name), { recursive: true });
      await writeFile(join(events, name, 'kept'), '');
    }
    await writeFile(join(events, 'HEAD'), 'ref: refs/heads/main\n');
    const command = `touch ${attacker.root}/taken; false`;
    const settings = `[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n\tfsmonitor = "${command}"\n`;
    await writeFile(join(events, 'config'), settings);
    await attacker.commit(TENANTS, SECRET);
    const victim = await attacker.clone();
    const err = await victim.serveWhile(async (url) => expect(await requestStatus(url, token)).toBe(401));
    expect(err).toContain(SECRET);
    await expect(readFile(join(attacker.root, 'taken'))).rejects.toThrow('ENOENT');
  });
});

describe('the .gitignore of an existing workspace', () => {
  it('gets the missing lines from gen migrate, and keeps the lines of a person', async () => {
    const clone = await GitRepository.create();
    const file = join(clone.root, '.ai-workspace', '.gitignore');
    await writeFile(file, '# mine\nnotes/\nevents/store.json\nevents/lock\n');
    const err = await clone.serveWhile(async () => {});
    expect(err).toContain('gen migrate');
    const migrated = await clone.gen('migrate');
    expect(migrated.code).toBe(0);
    const text = await readFile(file, 'utf8');
    expect(text.startsWith('# mine\nnotes/\nevents/store.json\nevents/lock\n')).toBe(true);
    expect(text.split('\n')).toContain('events/tenants/');
    expect(text.match(/^events\/lock$/gm)).toHaveLength(1);
    expect((await clone.gen('migrate')).out).toContain('nothing to do');
    expect(await readFile(file, 'utf8')).toBe(text);
    await clone.createKey();
    await clone.commit();
    expect(await clone.git('ls-files')).not.toContain(TENANTS);
  });
});

/** Opens a store as a command without a server does, and closes it again. */
async function inStore<T>(
  url: string,
  work: (opened: Awaited<ReturnType<typeof openStoreUrl>>) => Promise<T>,
) {
  const opened = await openStoreUrl(url, () => {});
  return work(opened).finally(() => opened.store.close());
}

describe('a key from before keys were bound', () => {
  it('is refused in a workspace, with the command that creates a new one', async () => {
    const clone = await GitRepository.create();
    const store = `workspace:${clone.root}`;
    const token = await inStore(store, (opened) => writeUnboundKey(opened.store));
    const err = await clone.serveWhile(async (url) => {
      expect(await requestStatus(url, token)).toBe(401);
      expect(await requestStatus(url, null)).toBe(401);
    });
    expect(err).toContain('1 key of this log is refused');
    expect(err).toContain(`gen key create --role admin --store ${store}`);
    await clone.gen('migrate');
    await clone.serveWhile(async (url) => expect(await requestStatus(url, token)).toBe(401));
  });

  it('works in other stores, and gen migrate binds it, after which unbound keys are refused', async () => {
    const cwd = await temporaryFolder();
    const store = `file:${cwd}/log`;
    const old = await inStore(store, (opened) => writeUnboundKey(opened.store, { label: 'old' }));
    const warned = await upIn(cwd, store, async (url) => expect(await requestStatus(url, old)).toBe(200));
    expect(warned).toContain(`gen migrate --store ${store}`);
    expect((await runGen({ cwd }, 'migrate', '--status', '--store', store)).code).toBe(1);
    const migrated = await runGen({ cwd }, 'migrate', '--store', store);
    expect(migrated.out).toContain(`${old.split('_')[2]} admin of default (old)`);
    expect((await runGen({ cwd }, 'migrate', '--status', '--store', store)).code).toBe(0);
    const quiet = await upIn(cwd, store, async (url) => expect(await requestStatus(url, old)).toBe(200));
    expect(quiet).not.toContain('gen migrate');
    const planted = await inStore(store, (opened) =>
      writeUnboundKey(opened.store, { role: 'operator', tenant_id: null }),
    );
    await upIn(cwd, store, async (url) => {
      expect(await requestStatus(url, planted)).toBe(401);
      expect(await requestStatus(url, old)).toBe(200);
    });
  });

  it('is refused in a store whose first key was bound', async () => {
    const cwd = await temporaryFolder();
    const store = `file:${cwd}/log`;
    await runGen({ cwd }, 'key', 'create', '--role', 'admin', '--store', store);
    const planted = await inStore(store, (opened) => writeUnboundKey(opened.store));
    await upIn(cwd, store, async (url) => expect(await requestStatus(url, planted)).toBe(401));
  });
});

describe('a key log that comes from elsewhere than git', () => {
  it('grants no access if its folder is copied into another store', async () => {
    const cwd = await temporaryFolder();
    const made = await runGen(
      { cwd },
      'key',
      'create',
      '--role',
      'operator',
      '--store',
      `file:${cwd}/theirs`,
    );
    await runGen({ cwd }, 'key', 'create', '--role', 'admin', '--store', `file:${cwd}/elsewhere`);
    await cp(join(cwd, 'theirs', '_genesis'), join(cwd, 'ours', '_genesis'), { recursive: true });
    const err = await upIn(cwd, `file:${cwd}/ours`, async (url) => {
      expect(await requestStatus(url, made.out.trim())).toBe(401);
    });
    expect(err).toContain('gen key create');
  });

  it('is not imported from an archive', async () => {
    const cwd = await temporaryFolder();
    await runGen({ cwd }, 'key', 'create', '--role', 'operator', '--store', `file:${cwd}/theirs`);
    await inStore(`file:${cwd}/theirs`, async (theirs) => {
      const archive = exportProject(theirs.store, theirs.blobs, KEY_LOG);
      const imported = await inStore(`file:${cwd}/ours`, ({ store, blobs }) =>
        importProject(store, blobs, archive),
      );
      expect(imported).toMatchObject({
        refused: 'ARCHIVE_BROKEN',
        detail: expect.stringContaining('tenant_id'),
      });
    });
  });
});

describe('a plain store in a repository', () => {
  it('keeps itself out of git, and trusts no key if git carries it anyway', async () => {
    const clone = await GitRepository.create();
    const store = `file:${clone.root}/data`;
    const made = await clone.gen('key', 'create', '--role', 'operator', '--store', store);
    await clone.commit();
    expect(await clone.git('ls-files')).not.toContain('data/');
    await clone.git('add', '--force', 'data/store.json', 'data/_genesis');
    await clone.commit();
    const victim = await clone.clone();
    const err = await upIn(victim.root, `file:${victim.root}/data`, async (url) => {
      expect(await requestStatus(url, made.out.trim())).toBe(401);
    });
    expect(commandsIn(err)).toHaveLength(2);
  });
});

async function upIn(cwd: string, store: string, work: (url: string) => Promise<void>): Promise<string> {
  const server = startCommand({ cwd }, 'up', '--port', '0', '--json', '--store', store);
  const text = await server.waitForOutput('\n');
  try {
    await work((JSON.parse(text.split('\n')[0] ?? '') as { url: string }).url);
  } finally {
    server.stop('SIGINT');
  }
  return (await server.ended).err;
}
