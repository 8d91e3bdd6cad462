import { readFile, rm } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import type { ManifestFile } from '../../core/methodology/definition/manifest.js';
import { refreshDrafts } from './refresh.js';
import { isDraftRefusal } from './refusal.js';
import { restoreDrafts } from './restore.js';
import { ALPHA, DraftsHarness } from './testing/drafts-harness.js';

const GRANT = { ...ALPHA, generation: 1 };

/** Returns a function that restores a candidate for a.ts. The candidate was made on another machine, from a.ts as `old`. */
async function restorerOf(text: string) {
  const elsewhere = await DraftsHarness.open();
  await elsewhere.writeShared('a.ts', 'old');
  await elsewhere.writeDraft('a.ts', text);
  const { files } = await elsewhere.collectValid();
  const bytesOf = async ({ sha256 }: ManifestFile) => Buffer.from(await elsewhere.blobText(sha256));
  return async (harness: DraftsHarness) => {
    const folder = harness.draftPath().slice(harness.root.length + 1);
    expect(await restoreDrafts(harness, GRANT, folder, files, bytesOf)).toBeNull();
  };
}

describe('a draft that is restored from a candidate of another machine', () => {
  it('has the base of the candidate, so that a later change in the project is refused', async () => {
    const restore = await restorerOf('mine');
    const harness = await DraftsHarness.open();
    await harness.writeShared('a.ts', 'theirs');
    await restore(harness);
    expect(await harness.collect()).toMatchObject({ refused: 'BASE_CHANGED', path: 'a.ts' });
    const refreshed = await refreshDrafts(harness, GRANT);
    if (refreshed === null || isDraftRefusal(refreshed)) throw new Error('The drafts were not refreshed.');
    expect(refreshed.map(({ path }) => path)).toEqual(['a.ts']);
    expect(await readFile(harness.draftPath('a.ts'), 'utf8')).toBe('theirs');
  });

  it('gives the same candidate if the project has not changed', async () => {
    const restore = await restorerOf('mine');
    const harness = await DraftsHarness.open();
    await harness.writeShared('a.ts', 'old');
    await restore(harness);
    expect(await refreshDrafts(harness, GRANT)).toEqual([]);
    expect(await harness.collectValid()).toMatchObject({ files: [{ path: 'a.ts', size_bytes: 4 }] });
  });

  it('does not replace a draft that exists, nor its base', async () => {
    const restore = await restorerOf('mine');
    const harness = await DraftsHarness.open();
    await harness.writeShared('a.ts', 'new');
    await harness.writeDraft('a.ts', 'newer');
    const before = await harness.collectValid();
    await restore(harness);
    expect(await harness.collectValid()).toEqual(before);
    await rm(harness.draftPath('a.ts'));
    await restore(harness);
    expect(await harness.collect()).toMatchObject({ refused: 'BASE_CHANGED' });
  });
});
