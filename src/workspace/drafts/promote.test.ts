import { chmod, lstat, mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type AcceptedManifest, promote } from './promote.js';
import { ALPHA, DraftsHarness, digest, write } from './testing/drafts-harness.js';

const acceptedManifest = async (harness: DraftsHarness, position = 1): Promise<AcceptedManifest> => ({
  ...ALPHA,
  generation: position,
  position,
  manifest: await harness.collectValid(),
  human_approved: false,
});

const CONFLICTS_FOLDER = '.ai-workspace/agents/alpha/conflicts/REQ-F-PAY-1+u/code_unit_tests-gen1';

describe('an accepted manifest', () => {
  test('writes its files into the project once', async () => {
    const harness = await DraftsHarness.open();
    await harness.writeShared('src/a.ts', 'old');
    await harness.writeDraft('src/a.ts', 'new');
    await harness.writeDraft('docs/übung/日本.md', 'text');
    await write(harness.draftPath('bin/run'), 'run', 0o755);
    const accepted = await acceptedManifest(harness);
    const promotion = await promote(harness, harness, accepted);
    const paths = ['bin/run', 'docs/übung/日本.md', 'src/a.ts'];
    expect(promotion).toEqual({ written: paths, unchanged: [], conflicts: [], failures: [] });
    expect(await harness.readShared('src/a.ts')).toBe('new');
    expect(await harness.readShared('docs/übung/日本.md')).toBe('text');
    expect([await harness.isExecutable('bin/run'), await harness.isExecutable('src/a.ts')]).toEqual([
      true,
      false,
    ]);
    const before = await lstat(join(harness.root, 'src/a.ts'), { bigint: true });
    expect(await promote(harness, harness, accepted)).toMatchObject({ written: [], unchanged: paths });
    expect(await lstat(join(harness.root, 'src/a.ts'), { bigint: true })).toEqual(before);
    expect((await readdir(join(harness.root, 'src'))).sort()).toEqual(['a.ts']);
  });

  test('writes its files into a project that is reached through a link', async () => {
    const harness = await DraftsHarness.open();
    const link = `${harness.root}-link`;
    await symlink(harness.root, link);
    onTestFinished(() => rm(link));
    const linkedHarness = new DraftsHarness(link);
    await linkedHarness.writeDraft('src/a.ts', 'a');
    expect(await promote(linkedHarness, linkedHarness, await acceptedManifest(linkedHarness))).toMatchObject({
      written: ['src/a.ts'],
    });
    expect(await harness.readShared('src/a.ts')).toBe('a');
  });

  test('keeps the read permissions of a file, and changes only its execute permission', async () => {
    const harness = await DraftsHarness.open();
    await harness.writeShared('private', 'old');
    await chmod(join(harness.root, 'private'), 0o640);
    await write(harness.draftPath('private'), 'new', 0o755);
    await promote(harness, harness, await acceptedManifest(harness));
    expect((await lstat(join(harness.root, 'private'))).mode & 0o777).toBe(0o750);
  });
});

describe('promotion does not overwrite', () => {
  test('an edit by a person, and keeps the accepted version separately', async () => {
    const harness = await DraftsHarness.open();
    await harness.writeShared('src/a.ts', 'old');
    await harness.writeDraft('src/a.ts', 'new');
    await harness.writeDraft('src/b.ts', 'b');
    const accepted = await acceptedManifest(harness);
    await harness.writeShared('src/a.ts', 'by hand');
    const promotion = await promote(harness, harness, accepted);
    expect(promotion).toMatchObject({
      written: ['src/b.ts'],
      conflicts: [
        { path: 'src/a.ts', generation: 1, sha256: digest('new'), kept_at: `${CONFLICTS_FOLDER}/src/a.ts` },
      ],
    });
    expect(await harness.readShared('src/a.ts')).toBe('by hand');
    expect(await harness.readShared(`${CONFLICTS_FOLDER}/src/a.ts`)).toBe('new');
    expect((await promote(harness, harness, accepted)).conflicts).toEqual(promotion.conflicts);
    expect(await harness.readShared('src/a.ts')).toBe('by hand');
  });

  test('an edit made after the new file is written and before it is renamed', async () => {
    const harness = await DraftsHarness.open();
    await harness.writeShared('src/a.ts', 'old');
    await harness.writeDraft('src/a.ts', 'new');
    const accepted = await acceptedManifest(harness);
    const promotion = await promote(harness, harness, accepted, async (step) => {
      if (step === 'written') await harness.writeShared('src/a.ts', 'by hand');
    });
    expect(promotion.conflicts).toMatchObject([
      { path: 'src/a.ts', kept_at: `${CONFLICTS_FOLDER}/src/a.ts` },
    ]);
    expect(await harness.readShared('src/a.ts')).toBe('by hand');
    expect(await readdir(join(harness.root, 'src'))).toEqual(['a.ts']);
  });

  test('a folder at the path of a file, or a file at the path of a folder', async () => {
    const harness = await DraftsHarness.open();
    await harness.writeDraft('a', 'a');
    await harness.writeDraft('b/c', 'c');
    const accepted = await acceptedManifest(harness);
    await harness.writeShared('a/inner', 'x');
    await harness.writeShared('b', 'x');
    const { written, conflicts } = await promote(harness, harness, accepted);
    expect(written).toEqual([]);
    expect(conflicts).toMatchObject([{ path: 'a' }, { path: 'b/c' }]);
    expect([await harness.readShared('a/inner'), await harness.readShared('b')]).toEqual(['x', 'x']);
    expect(await harness.readShared(`${CONFLICTS_FOLDER}/b/c`)).toBe('c');
  });

  test('the first of two results that started from the same file', async () => {
    const harness = await DraftsHarness.open();
    await harness.writeDraft('a', 'first');
    const first = await acceptedManifest(harness, 1);
    const beta = { ...ALPHA, agent_id: 'beta' };
    await harness.writeDraft('a', 'second', beta);
    const manifest = await harness.collectValid(beta);
    const second = { ...beta, generation: 2, position: 2, manifest, human_approved: false };
    const promotion = await promote(harness, harness, [second, first]);
    expect(promotion).toMatchObject({ written: ['a'], conflicts: [{ path: 'a', generation: 2 }] });
    expect(await harness.readShared('a')).toBe('first');
    expect(await harness.readShared(promotion.conflicts[0]?.kept_at ?? '')).toBe('second');
  });
});

describe('a file that configures other programs', () => {
  test('is not promoted without approval by a person, and is not a conflict once a person has copied it', async () => {
    const harness = await DraftsHarness.open();
    await harness.writeDraft('CLAUDE.md', 'new');
    await harness.writeDraft('src/a.ts', 'new');
    const accepted = await acceptedManifest(harness);
    const promotion = await promote(harness, harness, accepted);
    expect(promotion).toMatchObject({ written: ['src/a.ts'], conflicts: [{ path: 'CLAUDE.md' }] });
    expect(await harness.readShared('CLAUDE.md')).toBeNull();
    expect(await harness.readShared(`${CONFLICTS_FOLDER}/CLAUDE.md`)).toBe('new');
    await harness.writeShared('CLAUDE.md', 'new');
    expect(await promote(harness, harness, accepted)).toMatchObject({ written: [], conflicts: [] });
  });

  test('is promoted in the version that a person approved, not in the one before', async () => {
    const harness = await DraftsHarness.open();
    await harness.writeShared('AGENTS.md', 'old');
    await harness.writeDraft('AGENTS.md', 'unseen');
    const unapproved = await acceptedManifest(harness, 1);
    await harness.writeDraft('AGENTS.md', 'seen');
    const approved = { ...(await acceptedManifest(harness, 2)), human_approved: true };
    const promotion = await promote(harness, harness, [unapproved, approved]);
    expect(promotion).toMatchObject({ written: ['AGENTS.md'], conflicts: [{ generation: 1 }] });
    expect(await harness.readShared('AGENTS.md')).toBe('seen');
  });
});

describe('promotion writes nothing outside the project', () => {
  async function newOutsideFolder(harness: DraftsHarness): Promise<string> {
    const folder = `${harness.root}-outside`;
    await mkdir(folder);
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    return folder;
  }

  test('through a link in the path, created before or during the write', async () => {
    for (const linkTime of ['before', 'fetched', 'written']) {
      const harness = await DraftsHarness.open();
      const folder = await newOutsideFolder(harness);
      await harness.writeDraft('lib/a', 'a');
      const accepted = await acceptedManifest(harness);
      const plantLink = async () => {
        await rm(join(harness.root, 'lib'), { recursive: true, force: true });
        await symlink(folder, join(harness.root, 'lib'));
      };
      if (linkTime === 'before') await plantLink();
      const { written, conflicts } = await promote(harness, harness, accepted, async (step) => {
        if (step === linkTime) await plantLink();
      });
      expect({ linkTime, written, conflicts }).toMatchObject({ written: [], conflicts: [{ path: 'lib/a' }] });
      expect(await readdir(folder)).toEqual([]);
    }
  });

  test('through a link at the path of a file', async () => {
    const harness = await DraftsHarness.open();
    const folder = await newOutsideFolder(harness);
    await writeFile(join(folder, 'theirs'), 'theirs');
    await harness.writeDraft('a', 'a');
    const accepted = await acceptedManifest(harness);
    await symlink(join(folder, 'theirs'), join(harness.root, 'a'));
    expect((await promote(harness, harness, accepted)).conflicts).toMatchObject([{ path: 'a' }]);
    expect((await lstat(join(harness.root, 'a'))).isSymbolicLink()).toBe(true);
  });

  test('through a link at the path of the conflicts folder', async () => {
    const harness = await DraftsHarness.open();
    const folder = await newOutsideFolder(harness);
    await harness.writeDraft('a', 'a');
    const accepted = await acceptedManifest(harness);
    await harness.writeShared('a', 'by hand');
    await symlink(folder, harness.workspacePath('agents/alpha/conflicts'));
    expect((await promote(harness, harness, accepted)).conflicts).toMatchObject([
      { path: 'a', kept_at: null },
    ]);
    expect(await readdir(folder)).toEqual([]);
  });
});

test('reports a missing or damaged blob and writes nothing', async () => {
  const harness = await DraftsHarness.open();
  await harness.writeDraft('a', 'a');
  await harness.writeDraft('b', 'b');
  const accepted = await acceptedManifest(harness);
  const blobs = {
    put: async () => {},
    size: async () => 1,
    get: async (_: string, sha256: string) => (sha256 === digest('a') ? null : Buffer.from('other')),
  };
  const { written, failures } = await promote(harness, { ...harness, blobs }, accepted);
  expect(written).toEqual([]);
  expect(failures).toMatchObject([
    { path: 'a', is_retryable: true },
    { path: 'b', is_retryable: true },
  ]);
  expect(await harness.readShared('b')).toBeNull();
});

test('reports a path that the disk refuses, and promotes the other files', async () => {
  const harness = await DraftsHarness.open();
  await harness.writeDraft('a', 'a');
  await harness.writeDraft('b', 'b');
  const accepted = await acceptedManifest(harness);
  // A log of an earlier version, which did not refuse such names, may contain one.
  const [first, ...others] = accepted.manifest.files;
  const files = [{ ...first!, path: 'x'.repeat(300) }, ...others];
  const promotion = await promote(harness, harness, {
    ...accepted,
    manifest: { ...accepted.manifest, files },
  });
  expect(promotion.written).toEqual(['b']);
  expect(promotion.failures).toMatchObject([{ path: files[0]!.path, is_retryable: true }]);
});
