import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { chmod, link, mkdir, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { canonicalJson } from '../../core/canonical-json.js';
import { FILE_BYTES_MAX, MANIFEST_FILES_MAX, readManifest } from '../../core/graph/manifest.js';
import { skipGroup } from '../../stores/testing/on-engine.js';
import { HeldFolder } from '../held-folder.js';
import { beginDrafts } from './begin.js';
import { collectDrafts } from './collect.js';
import { readSafely } from './safe-read.js';
import { ALPHA, digest, EDGE, write, Yard } from './testing/yard.js';

const SECRET = 'the secret';

async function yardWithSecret(): Promise<{ yard: Yard; secret: string }> {
  const yard = await Yard.open();
  const secret = `${yard.root}-secret`;
  await mkdir(secret);
  onTestFinished(() => rm(secret, { recursive: true, force: true }));
  await writeFile(join(secret, 'a.ts'), SECRET);
  await yard.draft('src/z.ts', 'z');
  return { yard, secret };
}

describe('drafts become a manifest', () => {
  test('with the digest, the size, the mode and the base of each file, and their bytes kept', async () => {
    const yard = await Yard.open();
    await yard.share('src/a.ts', 'old');
    await yard.draft('src/a.ts', 'new');
    await yard.draft('docs/übung/日本.md', 'text');
    await write(yard.draftAt('bin/run'), '#!/bin/sh\n', 0o755);
    const manifest = await yard.collected();
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
    expect(readManifest(manifest)).toMatchObject({ ok: true });
    expect(await yard.blobText(digest('new'))).toBe('new');
    expect(await yard.shared('src/a.ts')).toBe('old');
  });

  test('the same again, also once the files are where they belong', async () => {
    const yard = await Yard.open();
    await yard.share('a', 'old');
    await yard.draft('a', 'new');
    await yard.draft('b', 'b');
    const manifest = await yard.collected();
    await yard.share('a', 'new');
    await yard.share('b', 'b');
    expect(canonicalJson(await yard.collect())).toBe(canonicalJson(manifest));
  });

  test('names in another normal form are one name', async () => {
    const yard = await Yard.open();
    await yard.draft('u\u0308bung', 'x');
    expect((await yard.collected()).files[0]?.path).toBe('\u00fcbung');
    await yard.draft('\u00fcbung', 'y');
    expect(await yard.collect()).toMatchObject({ refused: 'BAD_NAME' });
  });

  test('a folder of names without end is left after so many', async () => {
    const yard = await Yard.open();
    mkdirSync(yard.draftAt('empty'), { recursive: true });
    for (let at = 0; at <= 2 * MANIFEST_FILES_MAX; at += 1) mkdirSync(yard.draftAt(`empty/${at}`));
    expect(await yard.collect()).toMatchObject({ refused: 'TOO_MANY' });
  });
});

test('blobs that cannot be kept are no candidate', async () => {
  const yard = await Yard.open();
  for (let at = 0; at < 40; at += 1) await yard.draft(`${at}`, `${at}`);
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
  await expect(collectDrafts(yard, { ...yard, blobs }, ALPHA)).rejects.toThrow('the disk is full');
});

describe('drafts are refused, with a code and the path', () => {
  test('when there are none, or none was changed', async () => {
    const yard = await Yard.open();
    expect(await yard.collect()).toMatchObject({ refused: 'NO_DRAFTS', next: expect.any(String) });
    await mkdir(yard.draftAt('empty/folder'), { recursive: true });
    expect(await yard.collect()).toMatchObject({ refused: 'NO_DRAFTS' });
    await yard.share('a', 'same');
    await yard.draft('a', 'same');
    expect(await yard.collect()).toMatchObject({ refused: 'NO_DRAFTS' });
  });

  test('a symbolic link to a file, also within the drafts', async () => {
    const { yard, secret } = await yardWithSecret();
    await symlink(join(secret, 'a.ts'), yard.draftAt('src/a.ts'));
    expect(await yard.collect()).toMatchObject({ refused: 'SYMLINK', path: 'src/a.ts' });
    await rm(yard.draftAt('src/a.ts'));
    await symlink('z.ts', yard.draftAt('src/y.ts'));
    expect(await yard.collect()).toMatchObject({ refused: 'SYMLINK', path: 'src/y.ts' });
  });

  test('a symbolic link to a folder, below the drafts or above them', async () => {
    const { yard, secret } = await yardWithSecret();
    await symlink(secret, yard.draftAt('lib'));
    expect(await yard.collect()).toMatchObject({ refused: 'SYMLINK', path: 'lib' });
    await rm(yard.path('agents/alpha/drafts'), { recursive: true });
    await symlink(secret, yard.path('agents/alpha/drafts'));
    expect(await yard.collect()).toMatchObject({ refused: 'SYMLINK' });
    await rm(yard.path('agents/alpha'), { recursive: true });
    await mkdir(join(secret, 'drafts'));
    await symlink(secret, yard.path('agents/alpha'));
    expect(await yard.collect()).toMatchObject({ refused: 'SYMLINK' });
  });

  test('a way into the specification by another name: a link of the project, or of the case of a letter', async () => {
    const { yard } = await yardWithSecret();
    await yard.share('specification/INTENT.md', 'what we want');
    await mkdir(join(yard.root, 'docs'));
    await symlink('../specification', join(yard.root, 'docs/s'));
    await yard.draft('docs/s/INTENT.md', 'what I want');
    expect(await yard.collect()).toMatchObject({ refused: 'SYMLINK', path: 'docs/s/INTENT.md' });
    await rm(yard.draftAt('docs'), { recursive: true });
    await yard.draft('SPECIFICATION/INTENT.md', 'a');
    await yard.draft('specification/intent.md', 'b');
    expect(await yard.collect()).toMatchObject({
      refused: 'BAD_NAME',
      says: expect.stringContaining('one file'),
    });
  });

  test('a hard link', async () => {
    const { yard, secret } = await yardWithSecret();
    await link(join(secret, 'a.ts'), yard.draftAt('src/a.ts'));
    expect(await yard.collect()).toMatchObject({ refused: 'HARD_LINK', path: 'src/a.ts' });
    expect(await yard.blobs.size('local', digest(SECRET))).toBeNull();
  });

  test('what is no file: a pipe, a socket', async () => {
    const { yard } = await yardWithSecret();
    execFileSync('mkfifo', [yard.draftAt('src/a.pipe')]);
    expect(await yard.collect()).toMatchObject({ refused: 'NOT_A_FILE', path: 'src/a.pipe' });
    await rm(yard.draftAt('src/a.pipe'));
    const server = createServer();
    // The path of a socket may have 108 bytes at most.
    const short = `${yard.root}/s`;
    await new Promise<void>((resolve) => server.listen(short, resolve));
    onTestFinished(() => void server.close());
    await rename(short, yard.draftAt('src/b.socket'));
    expect(await yard.collect()).toMatchObject({ refused: 'NOT_A_FILE', path: 'src/b.socket' });
  });

  test.each(['.git/hooks/post-checkout', '.ai-workspace/agent_roles.yml', 'a\nb', 'a\\b', 'dot.', 'space '])(
    'a name that is none: %j',
    async (name) => {
      const { yard } = await yardWithSecret();
      await yard.draft(name, 'x');
      expect(await yard.collect()).toMatchObject({ refused: 'BAD_NAME' });
    },
  );

  test('a name that is no text', async () => {
    const { yard } = await yardWithSecret();
    await writeFile(Buffer.concat([Buffer.from(`${yard.draftAt('')}/`), Buffer.from([0x61, 0xff])]), 'x');
    expect(await yard.collect()).toMatchObject({ refused: 'BAD_NAME' });
  });

  test('a file that is too large, before it is read', async () => {
    const { yard } = await yardWithSecret();
    await writeFile(yard.draftAt('huge'), '');
    await truncate(yard.draftAt('huge'), FILE_BYTES_MAX + 1);
    expect(await yard.collect()).toMatchObject({ refused: 'TOO_LARGE', path: 'huge' });
  });

  if (process.getuid?.() === 0) skipGroup('a draft that may not be read', 'root may read everything');
  else {
    test('a file that may not be read', async () => {
      const { yard } = await yardWithSecret();
      await chmod(yard.draftAt('src/z.ts'), 0);
      expect(await yard.collect()).toMatchObject({ refused: 'UNREADABLE', path: 'src/z.ts' });
    });
  }

  test('an agent or an edge whose name leads elsewhere stays in its folder', async () => {
    const yard = await Yard.open();
    await yard.share('.ai-workspace/agents/drafts/evil', 'x');
    const evil = { agent_id: '..', subject: '../../..#../..' };
    expect(await yard.collect(evil)).toMatchObject({ refused: 'NO_DRAFTS' });
    expect(yard.draftAt('', evil)).toContain('/agents/%2E./drafts/');
    const long = { agent_id: 'a', subject: `${'é'.repeat(100)}#e` };
    expect(await yard.collect(long)).toMatchObject({ refused: 'BAD_NAME' });
    expect(await yard.collect({ agent_id: 'a', subject: 'A-001-task' })).toMatchObject({
      refused: 'BAD_NAME',
    });
  });
});

describe('a file swapped while it is read is refused', () => {
  const swaps: [string, string, (at: string, secret: string) => Promise<void>][] = [
    ['looked', 'by a link to another', (at, secret) => rm(at).then(() => symlink(join(secret, 'a.ts'), at))],
    ['looked', 'by another of the same size', (at) => rm(at).then(() => writeFile(at, 'y'))],
    [
      'looked',
      'by a hard link to another',
      (at, secret) => rm(at).then(() => link(join(secret, 'a.ts'), at)),
    ],
    ['looked', 'by nothing', (at) => rm(at)],
    ['looked', 'by a pipe', (at) => rm(at).then(() => void execFileSync('mkfifo', [at]))],
    ['read', 'after the reading', (at) => rm(at).then(() => writeFile(at, 'y'))],
    ['read', 'by more of itself', (at) => writeFile(at, 'zz')],
    ['read', 'by other bytes of the same size', (at) => writeFile(at, 'y')],
  ];

  test.each(swaps)('%s: %s', async (step, _what, swap) => {
    const { yard, secret } = await yardWithSecret();
    const refused = await yard.collect(ALPHA, async (now) => {
      if (now === step) await swap(yard.draftAt('src/z.ts'), secret);
    });
    expect(refused).toMatchObject({ refused: 'SWAPPED', path: 'src/z.ts' });
    expect(await yard.blobs.size('local', digest(SECRET))).toBeNull();
  });

  for (const by_handle of [true, false]) {
    const swapFolder = async (steps: 'looked' | 'before', turned_back: boolean) => {
      const { yard, secret } = await yardWithSecret();
      await yard.draft('lib/a.ts', 'mine');
      const names = ['.ai-workspace', ...yard.draftAt('lib').split('/.ai-workspace/')[1]!.split('/')];
      const folder = await HeldFolder.reach(yard.root, names, { by_handle });
      if (typeof folder === 'string') throw new Error(folder);
      onTestFinished(() => folder.close());
      const lib = yard.draftAt('lib');
      const swap = async () => {
        await rename(lib, `${lib}-away`);
        await symlink(secret, lib);
      };
      const back = () => rm(lib).then(() => rename(`${lib}-away`, lib));
      if (steps === 'before') await swap();
      return readSafely(
        { path: 'lib/a.ts', folder, name: 'a.ts' },
        {
          links: 'one',
          steps: async (step) => {
            if (step === 'looked' && steps === 'looked') await swap();
            if (step === 'read' && turned_back) await back();
          },
        },
      );
    };

    test(`a folder that becomes a link leads nowhere else (${by_handle ? 'by handle' : 'by path'})`, async () => {
      for (const when of ['looked', 'before'] as const) {
        for (const turned_back of [true, false]) {
          const read = await swapFolder(when, turned_back);
          // By handle the folder stays the one that was entered; by path the swap is found out.
          if (by_handle) expect(read).toMatchObject({ bytes: Buffer.from('mine') });
          else expect(read).toMatchObject({ refused: 'SWAPPED' });
        }
      }
    });
  }
});

describe('what the drafts rest on', () => {
  test('is what was there when they were begun; a file that moved since is named', async () => {
    const yard = await Yard.open();
    await yard.share('src/a.ts', 'one');
    await yard.share('src/b.ts', 'one');
    expect(await beginDrafts(yard, ALPHA, ['src/a.ts', 'src/b.ts', 'src/new.ts'])).toEqual({
      begun: [
        { path: 'src/a.ts', base_sha256: digest('one'), copied: true },
        { path: 'src/b.ts', base_sha256: digest('one'), copied: true },
        { path: 'src/new.ts', base_sha256: null, copied: false },
      ],
    });
    await yard.draft('src/a.ts', 'mine');
    await yard.draft('src/new.ts', 'mine');
    // Copied out and never changed: no part of the result, whatever becomes of it.
    await yard.share('src/b.ts', 'two');
    expect((await yard.collected()).files.map((file) => file.path)).toEqual(['src/a.ts', 'src/new.ts']);
    await yard.share('src/a.ts', 'theirs');
    await yard.share('src/new.ts', 'theirs');
    expect(await yard.collect()).toMatchObject({
      refused: 'BASE_CHANGED',
      path: 'src/a.ts',
      says: expect.stringContaining('src/a.ts, src/new.ts'),
    });
    await beginDrafts(yard, ALPHA, ['src/a.ts', 'src/new.ts']);
    const { files } = await yard.collected();
    expect(files.map((file) => file.base_sha256)).toEqual([digest('theirs'), digest('theirs')]);
    expect(files[0]?.sha256).toBe(digest('mine'));
  });

  test('a record that cannot be read is said, not guessed', async () => {
    const yard = await Yard.open();
    await yard.draft('a', 'x');
    await yard.collected();
    await writeFile(`${yard.draftAt()}.base.json`, '{"bases":{"a":7}}');
    expect(await yard.collect()).toMatchObject({ refused: 'BAD_BASE' });
  });

  test('nothing outside is copied out', async () => {
    const { yard, secret } = await yardWithSecret();
    await symlink(secret, join(yard.root, 'lib'));
    expect(await beginDrafts(yard, ALPHA, ['lib/a.ts'])).toMatchObject({ refused: 'SYMLINK' });
    expect(await beginDrafts(yard, ALPHA, ['../x'])).toMatchObject({ refused: 'BAD_NAME' });
    await yard.draft('lib/a.ts', 'x');
    expect(await yard.collect()).toMatchObject({ refused: 'SYMLINK', path: 'lib/a.ts' });
  });

  test('the executable bit alone is a change', async () => {
    const yard = await Yard.open();
    await yard.share('run', 'x');
    await write(yard.draftAt('run'), 'x', 0o755);
    expect((await yard.collected()).files).toMatchObject([{ executable: true, base_sha256: digest('x') }]);
    expect(EDGE).toBe('REQ-F-PAY-1#code_unit_tests');
  });
});
