import { chmod, lstat, mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type AcceptedManifest, promote } from './promote.js';
import { ALPHA, digest, write, Yard } from './testing/yard.js';

const accept = async (yard: Yard, position = 1): Promise<AcceptedManifest> => ({
  ...ALPHA,
  generation: position,
  position,
  manifest: await yard.collected(),
  human_approved: false,
});

const KEPT = '.ai-workspace/agents/alpha/conflicts/%52%45%51-%46-%50%41%59-1/code_unit_tests-gen1';

describe('an accepted manifest', () => {
  test('brings its files to where they belong, once', async () => {
    const yard = await Yard.open();
    await yard.share('src/a.ts', 'old');
    await yard.draft('src/a.ts', 'new');
    await yard.draft('docs/übung/日本.md', 'text');
    await write(yard.draftAt('bin/run'), 'run', 0o755);
    const accepted = await accept(yard);
    const promotion = await promote(yard, yard, accepted);
    const paths = ['bin/run', 'docs/übung/日本.md', 'src/a.ts'];
    expect(promotion).toEqual({ written: paths, unchanged: [], conflicts: [], failures: [] });
    expect(await yard.shared('src/a.ts')).toBe('new');
    expect(await yard.shared('docs/übung/日本.md')).toBe('text');
    expect([await yard.isExecutable('bin/run'), await yard.isExecutable('src/a.ts')]).toEqual([true, false]);
    const before = await lstat(join(yard.root, 'src/a.ts'), { bigint: true });
    expect(await promote(yard, yard, accepted)).toMatchObject({ written: [], unchanged: paths });
    expect(await lstat(join(yard.root, 'src/a.ts'), { bigint: true })).toEqual(before);
    expect((await readdir(join(yard.root, 'src'))).sort()).toEqual(['a.ts']);
  });

  test('in a project that is reached through a link', async () => {
    const yard = await Yard.open();
    const link = `${yard.root}-link`;
    await symlink(yard.root, link);
    onTestFinished(() => rm(link));
    const linked = new Yard(link);
    await linked.draft('src/a.ts', 'a');
    expect(await promote(linked, linked, await accept(linked))).toMatchObject({ written: ['src/a.ts'] });
    expect(await yard.shared('src/a.ts')).toBe('a');
  });

  test('keeps who may read a file, and only adds or takes the right to run it', async () => {
    const yard = await Yard.open();
    await yard.share('private', 'old');
    await chmod(join(yard.root, 'private'), 0o640);
    await write(yard.draftAt('private'), 'new', 0o755);
    await promote(yard, yard, await accept(yard));
    expect((await lstat(join(yard.root, 'private'))).mode & 0o777).toBe(0o750);
  });
});

describe('what a person did in between stays', () => {
  test('an edit, with the accepted bytes kept beside', async () => {
    const yard = await Yard.open();
    await yard.share('src/a.ts', 'old');
    await yard.draft('src/a.ts', 'new');
    await yard.draft('src/b.ts', 'b');
    const accepted = await accept(yard);
    await yard.share('src/a.ts', 'by hand');
    const promotion = await promote(yard, yard, accepted);
    expect(promotion).toMatchObject({
      written: ['src/b.ts'],
      conflicts: [{ path: 'src/a.ts', generation: 1, sha256: digest('new'), kept_at: `${KEPT}/src/a.ts` }],
    });
    expect(await yard.shared('src/a.ts')).toBe('by hand');
    expect(await yard.shared(`${KEPT}/src/a.ts`)).toBe('new');
    expect((await promote(yard, yard, accepted)).conflicts).toEqual(promotion.conflicts);
    expect(await yard.shared('src/a.ts')).toBe('by hand');
  });

  test('an edit at the last moment, when the new file is already written beside it', async () => {
    const yard = await Yard.open();
    await yard.share('src/a.ts', 'old');
    await yard.draft('src/a.ts', 'new');
    const accepted = await accept(yard);
    const promotion = await promote(yard, yard, accepted, async (step) => {
      if (step === 'written') await yard.share('src/a.ts', 'by hand');
    });
    expect(promotion.conflicts).toMatchObject([{ path: 'src/a.ts', kept_at: `${KEPT}/src/a.ts` }]);
    expect(await yard.shared('src/a.ts')).toBe('by hand');
    expect(await readdir(join(yard.root, 'src'))).toEqual(['a.ts']);
  });

  test('a folder where the file would be, a file where its folder would be', async () => {
    const yard = await Yard.open();
    await yard.draft('a', 'a');
    await yard.draft('b/c', 'c');
    const accepted = await accept(yard);
    await yard.share('a/inner', 'x');
    await yard.share('b', 'x');
    const { written, conflicts } = await promote(yard, yard, accepted);
    expect(written).toEqual([]);
    expect(conflicts).toMatchObject([{ path: 'a' }, { path: 'b/c' }]);
    expect([await yard.shared('a/inner'), await yard.shared('b')]).toEqual(['x', 'x']);
    expect(await yard.shared(`${KEPT}/b/c`)).toBe('c');
  });

  test('two results begun from the same file: the first in the log stands', async () => {
    const yard = await Yard.open();
    await yard.draft('a', 'first');
    const first = await accept(yard, 1);
    const beta = { ...ALPHA, agent_id: 'beta' };
    await yard.draft('a', 'second', beta);
    const manifest = await yard.collected(beta);
    const second = { ...beta, generation: 2, position: 2, manifest, human_approved: false };
    const promotion = await promote(yard, yard, [second, first]);
    expect(promotion).toMatchObject({ written: ['a'], conflicts: [{ path: 'a', generation: 2 }] });
    expect(await yard.shared('a')).toBe('first');
    expect(await yard.shared(promotion.conflicts[0]?.kept_at ?? '')).toBe('second');
  });
});

describe('what commands other programs', () => {
  test('is kept aside without a human, and left alone where a person has put it in place', async () => {
    const yard = await Yard.open();
    await yard.draft('CLAUDE.md', 'new');
    await yard.draft('src/a.ts', 'new');
    const accepted = await accept(yard);
    const promotion = await promote(yard, yard, accepted);
    expect(promotion).toMatchObject({ written: ['src/a.ts'], conflicts: [{ path: 'CLAUDE.md' }] });
    expect(await yard.shared('CLAUDE.md')).toBeNull();
    expect(await yard.shared(`${KEPT}/CLAUDE.md`)).toBe('new');
    await yard.share('CLAUDE.md', 'new');
    expect(await promote(yard, yard, accepted)).toMatchObject({ written: [], conflicts: [] });
  });

  test('follows the version that a human approved, and not the one before it', async () => {
    const yard = await Yard.open();
    await yard.share('AGENTS.md', 'old');
    await yard.draft('AGENTS.md', 'unseen');
    const unseen = await accept(yard, 1);
    await yard.draft('AGENTS.md', 'seen');
    const seen = { ...(await accept(yard, 2)), human_approved: true };
    const promotion = await promote(yard, yard, [unseen, seen]);
    expect(promotion).toMatchObject({ written: ['AGENTS.md'], conflicts: [{ generation: 1 }] });
    expect(await yard.shared('AGENTS.md')).toBe('seen');
  });
});

describe('nothing outside the project is written', () => {
  async function outside(yard: Yard): Promise<string> {
    const folder = `${yard.root}-outside`;
    await mkdir(folder);
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    return folder;
  }

  test('through a link on the way, there before or put there while it writes', async () => {
    for (const when of ['before', 'fetched', 'written']) {
      const yard = await Yard.open();
      const folder = await outside(yard);
      await yard.draft('lib/a', 'a');
      const accepted = await accept(yard);
      const plant = async () => {
        await rm(join(yard.root, 'lib'), { recursive: true, force: true });
        await symlink(folder, join(yard.root, 'lib'));
      };
      if (when === 'before') await plant();
      const { written, conflicts } = await promote(yard, yard, accepted, async (step) => {
        if (step === when) await plant();
      });
      expect({ when, written, conflicts }).toMatchObject({ written: [], conflicts: [{ path: 'lib/a' }] });
      expect(await readdir(folder)).toEqual([]);
    }
  });

  test('through a link in the place of a file', async () => {
    const yard = await Yard.open();
    const folder = await outside(yard);
    await writeFile(join(folder, 'theirs'), 'theirs');
    await yard.draft('a', 'a');
    const accepted = await accept(yard);
    await symlink(join(folder, 'theirs'), join(yard.root, 'a'));
    expect((await promote(yard, yard, accepted)).conflicts).toMatchObject([{ path: 'a' }]);
    expect((await lstat(join(yard.root, 'a'))).isSymbolicLink()).toBe(true);
  });

  test('through a link in the place of the folder of conflicts', async () => {
    const yard = await Yard.open();
    const folder = await outside(yard);
    await yard.draft('a', 'a');
    const accepted = await accept(yard);
    await yard.share('a', 'by hand');
    await symlink(folder, yard.path('agents/alpha/conflicts'));
    expect((await promote(yard, yard, accepted)).conflicts).toMatchObject([{ path: 'a', kept_at: null }]);
    expect(await readdir(folder)).toEqual([]);
  });
});

test('bytes that no blob holds, or that are not those it names, are said and nothing is written', async () => {
  const yard = await Yard.open();
  await yard.draft('a', 'a');
  await yard.draft('b', 'b');
  const accepted = await accept(yard);
  const blobs = {
    put: async () => {},
    size: async () => 1,
    get: async (_: string, sha256: string) => (sha256 === digest('a') ? null : Buffer.from('other')),
  };
  const { written, failures } = await promote(yard, { ...yard, blobs }, accepted);
  expect(written).toEqual([]);
  expect(failures).toMatchObject([
    { path: 'a', again: true },
    { path: 'b', again: true },
  ]);
  expect(await yard.shared('b')).toBeNull();
});

test('a place that the disk refuses is said, and keeps no other file waiting', async () => {
  const yard = await Yard.open();
  await yard.draft('a', 'a');
  await yard.draft('b', 'b');
  const accepted = await accept(yard);
  // As a log may hold it from before such names were refused.
  const [first, ...others] = accepted.manifest.files;
  const files = [{ ...first!, path: 'x'.repeat(300) }, ...others];
  const promotion = await promote(yard, yard, { ...accepted, manifest: { ...accepted.manifest, files } });
  expect(promotion.written).toEqual(['b']);
  expect(promotion.failures).toMatchObject([{ path: files[0]!.path, again: true }]);
});
