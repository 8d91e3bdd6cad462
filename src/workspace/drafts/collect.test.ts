import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { chmod, link, mkdir, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join, relative } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { canonicalJson } from '../../core/canonical-json.js';
import {
  FILE_BYTES_MAX,
  MANIFEST_FILES_MAX,
  parseManifest,
} from '../../core/methodology/definition/manifest.js';
import { skipGroup } from '../../stores/testing/on-database.js';
import { OpenFolder } from '../open-folder.js';
import { beginDrafts } from './begin.js';
import { collectDrafts } from './collect.js';
import { readSafely } from './safe-read.js';
import { ALPHA, DraftsHarness, digest, write } from './testing/drafts-harness.js';

const SECRET = 'the secret';

async function openWithSecret(): Promise<{ harness: DraftsHarness; secret: string }> {
  const harness = await DraftsHarness.open();
  const secret = `${harness.root}-secret`;
  await mkdir(secret);
  onTestFinished(() => rm(secret, { recursive: true, force: true }));
  await writeFile(join(secret, 'a.ts'), SECRET);
  await harness.writeDraft('src/z.ts', 'z');
  return { harness, secret };
}

describe('the manifest of drafts', () => {
  test('has the digest, size, mode and base of each file, whose bytes are stored as blobs', async () => {
    const harness = await DraftsHarness.open();
    await harness.writeShared('src/a.ts', 'old');
    await harness.writeDraft('src/a.ts', 'new');
    await harness.writeDraft('docs/übung/日本.md', 'text');
    await write(harness.draftPath('bin/run'), '#!/bin/sh\n', 0o755);
    const manifest = await harness.collectValid();
    expect(manifest).toEqual({
      kind: 'files',
      files: [
        {
          path: 'bin/run',
          sha256: digest('#!/bin/sh\n'),
          size_bytes: 10,
          executable: true,
          base_sha256: null,
        },
        {
          path: 'docs/übung/日本.md',
          sha256: digest('text'),
          size_bytes: 4,
          executable: false,
          base_sha256: null,
        },
        {
          path: 'src/a.ts',
          sha256: digest('new'),
          size_bytes: 3,
          executable: false,
          base_sha256: digest('old'),
        },
      ],
      total_bytes: 17,
    });
    expect(parseManifest(manifest)).toMatchObject({ ok: true });
    expect(await harness.blobText(digest('new'))).toBe('new');
    expect(await harness.readShared('src/a.ts')).toBe('old');
  });

  test('is the same when it is collected again, also after the files were promoted', async () => {
    const harness = await DraftsHarness.open();
    await harness.writeShared('a', 'old');
    await harness.writeDraft('a', 'new');
    await harness.writeDraft('b', 'b');
    const manifest = await harness.collectValid();
    await harness.writeShared('a', 'new');
    await harness.writeShared('b', 'b');
    expect(canonicalJson(await harness.collect())).toBe(canonicalJson(manifest));
  });

  test('treats names in different Unicode normal forms as one name', async () => {
    const harness = await DraftsHarness.open();
    await harness.writeDraft('u\u0308bung', 'x');
    expect((await harness.collectValid()).files[0]?.path).toBe('\u00fcbung');
    await harness.writeDraft('\u00fcbung', 'y');
    expect(await harness.collect()).toMatchObject({ refused: 'BAD_NAME' });
  });

  test('is refused when the drafts have too many entries', async () => {
    const harness = await DraftsHarness.open();
    mkdirSync(harness.draftPath('empty'), { recursive: true });
    for (let at = 0; at <= 2 * MANIFEST_FILES_MAX; at += 1) mkdirSync(harness.draftPath(`empty/${at}`));
    expect(await harness.collect()).toMatchObject({ refused: 'TOO_MANY' });
  });
});

test('fails to collect drafts when a blob cannot be stored', async () => {
  const harness = await DraftsHarness.open();
  for (let at = 0; at < 40; at += 1) await harness.writeDraft(`${at}`, `${at}`);
  let puts = 0;
  const blobs = {
    get: async () => null,
    size: async () => null,
    put: async () => {
      puts += 1;
      await new Promise((resolve) => setImmediate(resolve));
      if (puts === 7) throw new Error('the disk is full');
    },
  };
  await expect(collectDrafts(harness, { ...harness, blobs }, ALPHA)).rejects.toThrow('the disk is full');
});

describe('collecting drafts refuses, with a code and the path,', () => {
  test('a folder without drafts or without changed drafts', async () => {
    const harness = await DraftsHarness.open();
    expect(await harness.collect()).toMatchObject({ refused: 'NO_DRAFTS', next: expect.any(String) });
    await mkdir(harness.draftPath('empty/folder'), { recursive: true });
    expect(await harness.collect()).toMatchObject({ refused: 'NO_DRAFTS' });
    await harness.writeShared('a', 'same');
    await harness.writeDraft('a', 'same');
    expect(await harness.collect()).toMatchObject({ refused: 'NO_DRAFTS' });
  });

  test('a symbolic link to a file outside or inside the drafts', async () => {
    const { harness, secret } = await openWithSecret();
    await symlink(join(secret, 'a.ts'), harness.draftPath('src/a.ts'));
    expect(await harness.collect()).toMatchObject({ refused: 'SYMLINK', path: 'src/a.ts' });
    await rm(harness.draftPath('src/a.ts'));
    await symlink('z.ts', harness.draftPath('src/y.ts'));
    expect(await harness.collect()).toMatchObject({ refused: 'SYMLINK', path: 'src/y.ts' });
  });

  test('a symbolic link to a folder, below or above the drafts', async () => {
    const { harness, secret } = await openWithSecret();
    await symlink(secret, harness.draftPath('lib'));
    expect(await harness.collect()).toMatchObject({ refused: 'SYMLINK', path: 'lib' });
    await rm(harness.workspacePath('agents/alpha/drafts'), { recursive: true });
    await symlink(secret, harness.workspacePath('agents/alpha/drafts'));
    expect(await harness.collect()).toMatchObject({ refused: 'SYMLINK' });
    await rm(harness.workspacePath('agents/alpha'), { recursive: true });
    await mkdir(join(secret, 'drafts'));
    await symlink(secret, harness.workspacePath('agents/alpha'));
    expect(await harness.collect()).toMatchObject({ refused: 'SYMLINK' });
  });

  test('a path into the specification through a link or through names that differ only in case', async () => {
    const { harness } = await openWithSecret();
    await harness.writeShared('specification/INTENT.md', 'what we want');
    await mkdir(join(harness.root, 'docs'));
    await symlink('../specification', join(harness.root, 'docs/s'));
    await harness.writeDraft('docs/s/INTENT.md', 'what I want');
    expect(await harness.collect()).toMatchObject({ refused: 'SYMLINK', path: 'docs/s/INTENT.md' });
    await rm(harness.draftPath('docs'), { recursive: true });
    await harness.writeDraft('SPECIFICATION/INTENT.md', 'a');
    await harness.writeDraft('specification/intent.md', 'b');
    expect(await harness.collect()).toMatchObject({
      refused: 'BAD_NAME',
      says: expect.stringContaining('the same file'),
    });
  });

  test('a hard link', async () => {
    const { harness, secret } = await openWithSecret();
    await link(join(secret, 'a.ts'), harness.draftPath('src/a.ts'));
    expect(await harness.collect()).toMatchObject({ refused: 'HARD_LINK', path: 'src/a.ts' });
    expect(await harness.blobs.size('local', digest(SECRET))).toBeNull();
  });

  test('a file whose name is a folder in the project', async () => {
    const { harness } = await openWithSecret();
    await harness.writeShared('test/a.test.ts', 'test');
    await harness.writeDraft('test', 'no tests');
    expect(await harness.collect()).toMatchObject({
      ...{ refused: 'NOT_A_FILE', path: 'test' },
      says: 'test is a folder, where a file is expected.',
    });
  });

  test('a pipe and a socket', async () => {
    const { harness } = await openWithSecret();
    execFileSync('mkfifo', [harness.draftPath('src/a.pipe')]);
    expect(await harness.collect()).toMatchObject({ refused: 'NOT_A_FILE', path: 'src/a.pipe' });
    await rm(harness.draftPath('src/a.pipe'));
    const server = createServer();
    // A socket path has at most 108 bytes.
    const shortPath = `${harness.root}/s`;
    await new Promise<void>((resolve) => server.listen(shortPath, resolve));
    onTestFinished(() => void server.close());
    await rename(shortPath, harness.draftPath('src/b.socket'));
    expect(await harness.collect()).toMatchObject({ refused: 'NOT_A_FILE', path: 'src/b.socket' });
  });

  test.each(['.git/hooks/post-checkout', '.ai-workspace/agent_roles.yml', 'a\nb', 'a\\b', 'dot.', 'space '])(
    'the invalid name %j',
    async (name) => {
      const { harness } = await openWithSecret();
      await harness.writeDraft(name, 'x');
      expect(await harness.collect()).toMatchObject({ refused: 'BAD_NAME' });
    },
  );

  test('a name that is not valid UTF-8', async () => {
    const { harness } = await openWithSecret();
    await writeFile(
      Buffer.concat([Buffer.from(`${harness.draftPath('')}/`), Buffer.from([0x61, 0xff])]),
      'x',
    );
    expect(await harness.collect()).toMatchObject({ refused: 'BAD_NAME' });
  });

  test('a file that is too large, without reading it', async () => {
    const { harness } = await openWithSecret();
    await writeFile(harness.draftPath('huge'), '');
    await truncate(harness.draftPath('huge'), FILE_BYTES_MAX + 1);
    expect(await harness.collect()).toMatchObject({ refused: 'TOO_LARGE', path: 'huge' });
  });

  if (process.getuid?.() === 0) skipGroup('an unreadable draft', 'root can read every file');
  else {
    test('a file without read permission', async () => {
      const { harness } = await openWithSecret();
      await chmod(harness.draftPath('src/z.ts'), 0);
      expect(await harness.collect()).toMatchObject({ refused: 'UNREADABLE', path: 'src/z.ts' });
    });
  }

  test('an agent or an edge whose id would lead outside its folder', async () => {
    const harness = await DraftsHarness.open();
    await harness.writeShared('.ai-workspace/agents/drafts/evil', 'x');
    const evil = { agent_id: '..', subject: '../../..#../..' };
    expect(await harness.collect(evil)).toMatchObject({ refused: 'NO_DRAFTS' });
    expect(harness.draftPath('', evil)).toContain('/agents/%2E./drafts/');
    const long = { agent_id: 'a', subject: `${'é'.repeat(100)}#e` };
    expect(await harness.collect(long)).toMatchObject({ refused: 'BAD_NAME' });
    expect(await harness.collect({ agent_id: 'a', subject: 'A-001-task' })).toMatchObject({
      refused: 'BAD_NAME',
    });
  });
});

describe('a draft that is replaced while it is read', () => {
  const swaps: [string, string, (at: string, secret: string) => Promise<void>][] = [
    ['looked', 'by a symbolic link', (at, secret) => rm(at).then(() => symlink(join(secret, 'a.ts'), at))],
    ['looked', 'by another file of the same size', (at) => rm(at).then(() => writeFile(at, 'y'))],
    ['looked', 'by a hard link', (at, secret) => rm(at).then(() => link(join(secret, 'a.ts'), at))],
    ['looked', 'by removal', (at) => rm(at)],
    ['looked', 'by a pipe', (at) => rm(at).then(() => void execFileSync('mkfifo', [at]))],
    ['read', 'by another file', (at) => rm(at).then(() => writeFile(at, 'y'))],
    ['read', 'by appended bytes', (at) => writeFile(at, 'zz')],
    ['read', 'by other bytes of the same size', (at) => writeFile(at, 'y')],
  ];

  test.each(swaps)('is refused after step %s: %s', async (step, _what, swap) => {
    const { harness, secret } = await openWithSecret();
    const refused = await harness.collect(ALPHA, async (currentStep) => {
      if (currentStep === step) await swap(harness.draftPath('src/z.ts'), secret);
    });
    expect(refused).toMatchObject({ refused: 'SWAPPED', path: 'src/z.ts' });
    expect(await harness.blobs.size('local', digest(SECRET))).toBeNull();
  });

  for (const by_handle of [true, false]) {
    const swapFolder = async (swapTime: 'looked' | 'before', isRestored: boolean) => {
      const { harness, secret } = await openWithSecret();
      await harness.writeDraft('lib/a.ts', 'mine');
      const path = relative(harness.root, harness.draftPath('lib'));
      const folder = await OpenFolder.openBelow(harness.root, path, { by_handle });
      if (typeof folder === 'string') throw new Error(folder);
      onTestFinished(() => folder.close());
      const lib = harness.draftPath('lib');
      const swap = async () => {
        await rename(lib, `${lib}-away`);
        await symlink(secret, lib);
      };
      const restoreFolder = () => rm(lib).then(() => rename(`${lib}-away`, lib));
      if (swapTime === 'before') await swap();
      return readSafely(
        { path: 'lib/a.ts', folder, name: 'a.ts' },
        {
          links: 'one',
          onStep: async (step) => {
            if (step === 'looked' && swapTime === 'looked') await swap();
            if (step === 'read' && isRestored) await restoreFolder();
          },
        },
      );
    };

    test(`is never read through a folder that became a link (${by_handle ? 'by handle' : 'by path'})`, async () => {
      for (const swapTime of ['looked', 'before'] as const) {
        for (const isRestored of [true, false]) {
          const read = await swapFolder(swapTime, isRestored);
          // By handle, the file is read in the folder that was opened. By path, the swap is detected.
          if (by_handle) expect(read).toMatchObject({ bytes: Buffer.from('mine') });
          else expect(read).toMatchObject({ refused: 'SWAPPED' });
        }
      }
    });
  }
});

describe('the base of a draft', () => {
  test('is the shared file when the draft was begun, and a later change to it is refused by name', async () => {
    const harness = await DraftsHarness.open();
    await harness.writeShared('src/a.ts', 'one');
    await harness.writeShared('src/b.ts', 'one');
    expect(await beginDrafts(harness, ALPHA, ['src/a.ts', 'src/b.ts', 'src/new.ts'])).toEqual({
      begun: [
        { path: 'src/a.ts', base_sha256: digest('one'), copied: true },
        { path: 'src/b.ts', base_sha256: digest('one'), copied: true },
        { path: 'src/new.ts', base_sha256: null, copied: false },
      ],
    });
    await harness.writeDraft('src/a.ts', 'mine');
    await harness.writeDraft('src/new.ts', 'mine');
    // This draft was copied and never changed, so it is not part of the result even when the shared file changes.
    await harness.writeShared('src/b.ts', 'two');
    expect((await harness.collectValid()).files.map((file) => file.path)).toEqual(['src/a.ts', 'src/new.ts']);
    await harness.writeShared('src/a.ts', 'theirs');
    await harness.writeShared('src/new.ts', 'theirs');
    expect(await harness.collect()).toMatchObject({
      refused: 'BASE_CHANGED',
      path: 'src/a.ts',
      says: expect.stringContaining('src/a.ts, src/new.ts'),
    });
    await beginDrafts(harness, ALPHA, ['src/a.ts', 'src/new.ts']);
    const { files } = await harness.collectValid();
    expect(files.map((file) => file.base_sha256)).toEqual([digest('theirs'), digest('theirs')]);
    expect(files[0]?.sha256).toBe(digest('mine'));
  });

  test('is not guessed from an invalid record', async () => {
    const harness = await DraftsHarness.open();
    await harness.writeDraft('a', 'x');
    await harness.collectValid();
    await writeFile(`${harness.draftPath()}.base.json`, '{"bases":{"a":7}}');
    expect(await harness.collect()).toMatchObject({ refused: 'BAD_BASE' });
  });

  test('is never copied from outside the project', async () => {
    const { harness, secret } = await openWithSecret();
    await symlink(secret, join(harness.root, 'lib'));
    expect(await beginDrafts(harness, ALPHA, ['lib/a.ts'])).toMatchObject({ refused: 'SYMLINK' });
    expect(await beginDrafts(harness, ALPHA, ['../x'])).toMatchObject({ refused: 'BAD_NAME' });
    await harness.writeDraft('lib/a.ts', 'x');
    expect(await harness.collect()).toMatchObject({ refused: 'SYMLINK', path: 'lib/a.ts' });
  });

  test('has the content of a draft that is collected because only its executable bit changed', async () => {
    const harness = await DraftsHarness.open();
    await harness.writeShared('run', 'x');
    await write(harness.draftPath('run'), 'x', 0o755);
    expect((await harness.collectValid()).files).toMatchObject([
      { executable: true, base_sha256: digest('x') },
    ]);
  });
});
