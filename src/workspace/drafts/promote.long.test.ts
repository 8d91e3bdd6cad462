import { writeFileSync } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { MANIFEST_FILES_MAX, parseManifest } from '../../core/methodology/definition/manifest.js';
import { promote } from './promote.js';
import { ALPHA, DraftsHarness } from './testing/drafts-harness.js';

test(`promotes a manifest of ${MANIFEST_FILES_MAX} files, and refuses a larger one`, async () => {
  const workspace = await DraftsHarness.open();
  await mkdir(workspace.draftPath('many'), { recursive: true });
  for (let at = 0; at < MANIFEST_FILES_MAX; at += 1)
    writeFileSync(workspace.draftPath(`many/${at}`), `${at}`);
  const manifest = await workspace.collected();
  expect(manifest.files).toHaveLength(MANIFEST_FILES_MAX);
  expect(parseManifest(manifest)).toMatchObject({ ok: true });
  await workspace.writeDraft('one-more', 'x');
  expect(await workspace.collect()).toMatchObject({ refused: 'TOO_MANY' });
  const { written } = await promote(workspace, workspace, {
    ...ALPHA,
    generation: 1,
    position: 1,
    manifest,
    human_approved: false,
  });
  expect(written).toHaveLength(MANIFEST_FILES_MAX);
  expect(await readdir(join(workspace.root, 'many'))).toHaveLength(MANIFEST_FILES_MAX);
  expect(await workspace.readShared('many/1999')).toBe('1999');
});
