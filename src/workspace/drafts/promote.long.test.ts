import { writeFileSync } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { MANIFEST_FILES_MAX, parseManifest } from '../../core/methodology/definition/manifest.js';
import { promote } from './promote.js';
import { ALPHA, DraftsHarness } from './testing/drafts-harness.js';

test(`promotes a manifest of ${MANIFEST_FILES_MAX} files, and refuses a larger one`, async () => {
  const harness = await DraftsHarness.open();
  await mkdir(harness.draftPath('many'), { recursive: true });
  for (let at = 0; at < MANIFEST_FILES_MAX; at += 1) writeFileSync(harness.draftPath(`many/${at}`), `${at}`);
  const manifest = await harness.collectValid();
  expect(manifest.files).toHaveLength(MANIFEST_FILES_MAX);
  expect(parseManifest(manifest)).toMatchObject({ ok: true });
  await harness.writeDraft('one-more', 'x');
  expect(await harness.collect()).toMatchObject({ refused: 'TOO_MANY' });
  const { written } = await promote(harness, harness, {
    ...ALPHA,
    generation: 1,
    position: 1,
    manifest,
    human_approved: false,
  });
  expect(written).toHaveLength(MANIFEST_FILES_MAX);
  expect(await readdir(join(harness.root, 'many'))).toHaveLength(MANIFEST_FILES_MAX);
  expect(await harness.readShared('many/1999')).toBe('1999');
});
