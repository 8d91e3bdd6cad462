import { chmod, lstat, mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type AcceptedManifest, promote } from './promote.js';
import { ALPHA, DraftsHarness, digest, write } from './testing/drafts-harness.js';

const accept = async (workspace: DraftsHarness, position = 1): Promise<AcceptedManifest> => ({
  ...ALPHA,
  generation: position,
  position,
  manifest: await workspace.collected(),
  human_approved: false,
});

const KEPT = '.ai-workspace/agents/alpha/conflicts/%52%45%51-%46-%50%41%59-1/code_unit_tests-gen1';

describe('an accepted manifest', () => {
  test('writes its files into the project once', async () => {
    const workspace = await DraftsHarness.open();
    await workspace.writeShared('src/a.ts', 'old');
    await workspace.writeDraft('src/a.ts', 'new');
    await workspace.writeDraft('docs/übung/日本.md', 'text');
    await write(workspace.draftPath('bin/run'), 'run', 0o755);
    const accepted = await accept(workspace);
    const promotion = await promote(workspace, workspace, accepted);
    const paths = ['bin/run', 'docs/übung/日本.md', 'src/a.ts'];
    expect(promotion).toEqual({ written: paths, unchanged: [], conflicts: [], failures: [] });
    expect(await workspace.readShared('src/a.ts')).toBe('new');
    expect(await workspace.readShared('docs/übung/日本.md')).toBe('text');
    expect([await workspace.isExecutable('bin/run'), await workspace.isExecutable('src/a.ts')]).toEqual([
      true,
      false,
    ]);
    const before = await lstat(join(workspace.root, 'src/a.ts'), { bigint: true });
    expect(await promote(workspace, workspace, accepted)).toMatchObject({ written: [], unchanged: paths });
    expect(await lstat(join(workspace.root, 'src/a.ts'), { bigint: true })).toEqual(before);
    expect((await readdir(join(workspace.root, 'src'))).sort()).toEqual(['a.ts']);
  });

  test('writes its files into a project that is reached through a link', async () => {
    const workspace = await DraftsHarness.open();
    const link = `${workspace.root}-link`;
    await symlink(workspace.root, link);
    onTestFinished(() => rm(link));
    const linked = new DraftsHarness(link);
    await linked.writeDraft('src/a.ts', 'a');
    expect(await promote(linked, linked, await accept(linked))).toMatchObject({ written: ['src/a.ts'] });
    expect(await workspace.readShared('src/a.ts')).toBe('a');
  });

  test('keeps the read permissions of a file, and changes only its execute permission', async () => {
    const workspace = await DraftsHarness.open();
    await workspace.writeShared('private', 'old');
    await chmod(join(workspace.root, 'private'), 0o640);
    await write(workspace.draftPath('private'), 'new', 0o755);
    await promote(workspace, workspace, await accept(workspace));
    expect((await lstat(join(workspace.root, 'private'))).mode & 0o777).toBe(0o750);
  });
});

describe('promotion does not overwrite', () => {
  test('an edit by a person, and keeps the accepted version separately', async () => {
    const workspace = await DraftsHarness.open();
    await workspace.writeShared('src/a.ts', 'old');
    await workspace.writeDraft('src/a.ts', 'new');
    await workspace.writeDraft('src/b.ts', 'b');
    const accepted = await accept(workspace);
    await workspace.writeShared('src/a.ts', 'by hand');
    const promotion = await promote(workspace, workspace, accepted);
    expect(promotion).toMatchObject({
      written: ['src/b.ts'],
      conflicts: [{ path: 'src/a.ts', generation: 1, sha256: digest('new'), kept_at: `${KEPT}/src/a.ts` }],
    });
    expect(await workspace.readShared('src/a.ts')).toBe('by hand');
    expect(await workspace.readShared(`${KEPT}/src/a.ts`)).toBe('new');
    expect((await promote(workspace, workspace, accepted)).conflicts).toEqual(promotion.conflicts);
    expect(await workspace.readShared('src/a.ts')).toBe('by hand');
  });

  test('an edit made after the new file is written and before it is renamed', async () => {
    const workspace = await DraftsHarness.open();
    await workspace.writeShared('src/a.ts', 'old');
    await workspace.writeDraft('src/a.ts', 'new');
    const accepted = await accept(workspace);
    const promotion = await promote(workspace, workspace, accepted, async (step) => {
      if (step === 'written') await workspace.writeShared('src/a.ts', 'by hand');
    });
    expect(promotion.conflicts).toMatchObject([{ path: 'src/a.ts', kept_at: `${KEPT}/src/a.ts` }]);
    expect(await workspace.readShared('src/a.ts')).toBe('by hand');
    expect(await readdir(join(workspace.root, 'src'))).toEqual(['a.ts']);
  });

  test('a folder at the path of a file, or a file at the path of a folder', async () => {
    const workspace = await DraftsHarness.open();
    await workspace.writeDraft('a', 'a');
    await workspace.writeDraft('b/c', 'c');
    const accepted = await accept(workspace);
    await workspace.writeShared('a/inner', 'x');
    await workspace.writeShared('b', 'x');
    const { written, conflicts } = await promote(workspace, workspace, accepted);
    expect(written).toEqual([]);
    expect(conflicts).toMatchObject([{ path: 'a' }, { path: 'b/c' }]);
    expect([await workspace.readShared('a/inner'), await workspace.readShared('b')]).toEqual(['x', 'x']);
    expect(await workspace.readShared(`${KEPT}/b/c`)).toBe('c');
  });

  test('the first of two results that started from the same file', async () => {
    const workspace = await DraftsHarness.open();
    await workspace.writeDraft('a', 'first');
    const first = await accept(workspace, 1);
    const beta = { ...ALPHA, agent_id: 'beta' };
    await workspace.writeDraft('a', 'second', beta);
    const manifest = await workspace.collected(beta);
    const second = { ...beta, generation: 2, position: 2, manifest, human_approved: false };
    const promotion = await promote(workspace, workspace, [second, first]);
    expect(promotion).toMatchObject({ written: ['a'], conflicts: [{ path: 'a', generation: 2 }] });
    expect(await workspace.readShared('a')).toBe('first');
    expect(await workspace.readShared(promotion.conflicts[0]?.kept_at ?? '')).toBe('second');
  });
});

describe('a file that configures other programs', () => {
  test('is not promoted without human approval, and is no conflict once a person has copied it', async () => {
    const workspace = await DraftsHarness.open();
    await workspace.writeDraft('CLAUDE.md', 'new');
    await workspace.writeDraft('src/a.ts', 'new');
    const accepted = await accept(workspace);
    const promotion = await promote(workspace, workspace, accepted);
    expect(promotion).toMatchObject({ written: ['src/a.ts'], conflicts: [{ path: 'CLAUDE.md' }] });
    expect(await workspace.readShared('CLAUDE.md')).toBeNull();
    expect(await workspace.readShared(`${KEPT}/CLAUDE.md`)).toBe('new');
    await workspace.writeShared('CLAUDE.md', 'new');
    expect(await promote(workspace, workspace, accepted)).toMatchObject({ written: [], conflicts: [] });
  });

  test('is promoted in the version that a human approved, not in the one before', async () => {
    const workspace = await DraftsHarness.open();
    await workspace.writeShared('AGENTS.md', 'old');
    await workspace.writeDraft('AGENTS.md', 'unseen');
    const unseen = await accept(workspace, 1);
    await workspace.writeDraft('AGENTS.md', 'seen');
    const seen = { ...(await accept(workspace, 2)), human_approved: true };
    const promotion = await promote(workspace, workspace, [unseen, seen]);
    expect(promotion).toMatchObject({ written: ['AGENTS.md'], conflicts: [{ generation: 1 }] });
    expect(await workspace.readShared('AGENTS.md')).toBe('seen');
  });
});

describe('promotion writes nothing outside the project', () => {
  async function outside(workspace: DraftsHarness): Promise<string> {
    const folder = `${workspace.root}-outside`;
    await mkdir(folder);
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    return folder;
  }

  test('through a link in the path, created before or during the write', async () => {
    for (const when of ['before', 'fetched', 'written']) {
      const workspace = await DraftsHarness.open();
      const folder = await outside(workspace);
      await workspace.writeDraft('lib/a', 'a');
      const accepted = await accept(workspace);
      const plant = async () => {
        await rm(join(workspace.root, 'lib'), { recursive: true, force: true });
        await symlink(folder, join(workspace.root, 'lib'));
      };
      if (when === 'before') await plant();
      const { written, conflicts } = await promote(workspace, workspace, accepted, async (step) => {
        if (step === when) await plant();
      });
      expect({ when, written, conflicts }).toMatchObject({ written: [], conflicts: [{ path: 'lib/a' }] });
      expect(await readdir(folder)).toEqual([]);
    }
  });

  test('through a link at the path of a file', async () => {
    const workspace = await DraftsHarness.open();
    const folder = await outside(workspace);
    await writeFile(join(folder, 'theirs'), 'theirs');
    await workspace.writeDraft('a', 'a');
    const accepted = await accept(workspace);
    await symlink(join(folder, 'theirs'), join(workspace.root, 'a'));
    expect((await promote(workspace, workspace, accepted)).conflicts).toMatchObject([{ path: 'a' }]);
    expect((await lstat(join(workspace.root, 'a'))).isSymbolicLink()).toBe(true);
  });

  test('through a link at the path of the conflicts folder', async () => {
    const workspace = await DraftsHarness.open();
    const folder = await outside(workspace);
    await workspace.writeDraft('a', 'a');
    const accepted = await accept(workspace);
    await workspace.writeShared('a', 'by hand');
    await symlink(folder, workspace.path('agents/alpha/conflicts'));
    expect((await promote(workspace, workspace, accepted)).conflicts).toMatchObject([
      { path: 'a', kept_at: null },
    ]);
    expect(await readdir(folder)).toEqual([]);
  });
});

test('reports a missing or damaged blob and writes nothing', async () => {
  const workspace = await DraftsHarness.open();
  await workspace.writeDraft('a', 'a');
  await workspace.writeDraft('b', 'b');
  const accepted = await accept(workspace);
  const blobs = {
    put: async () => {},
    size: async () => 1,
    get: async (_: string, sha256: string) => (sha256 === digest('a') ? null : Buffer.from('other')),
  };
  const { written, failures } = await promote(workspace, { ...workspace, blobs }, accepted);
  expect(written).toEqual([]);
  expect(failures).toMatchObject([
    { path: 'a', again: true },
    { path: 'b', again: true },
  ]);
  expect(await workspace.readShared('b')).toBeNull();
});

test('reports a path that the disk refuses, and promotes the other files', async () => {
  const workspace = await DraftsHarness.open();
  await workspace.writeDraft('a', 'a');
  await workspace.writeDraft('b', 'b');
  const accepted = await accept(workspace);
  // A log written before such names were refused may contain one.
  const [first, ...others] = accepted.manifest.files;
  const files = [{ ...first!, path: 'x'.repeat(300) }, ...others];
  const promotion = await promote(workspace, workspace, {
    ...accepted,
    manifest: { ...accepted.manifest, files },
  });
  expect(promotion.written).toEqual(['b']);
  expect(promotion.failures).toMatchObject([{ path: files[0]!.path, again: true }]);
});
