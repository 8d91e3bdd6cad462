import { writeFileSync } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { MANIFEST_FILES_MAX, readManifest } from '../../core/graph/manifest.js';
import { promote } from './promote.js';
import { ALPHA, Yard } from './testing/yard.js';

test(`a manifest of ${MANIFEST_FILES_MAX} files is promoted, and one of more is refused`, async () => {
  const yard = await Yard.open();
  await mkdir(yard.draftAt('many'), { recursive: true });
  for (let at = 0; at < MANIFEST_FILES_MAX; at += 1) writeFileSync(yard.draftAt(`many/${at}`), `${at}`);
  const manifest = await yard.collected();
  expect(manifest.files).toHaveLength(MANIFEST_FILES_MAX);
  expect(readManifest(manifest)).toMatchObject({ ok: true });
  await yard.draft('one-more', 'x');
  expect(await yard.collect()).toMatchObject({ refused: 'TOO_MANY' });
  const { written } = await promote(yard, yard, {
    ...ALPHA,
    generation: 1,
    position: 1,
    manifest,
    human_approved: false,
  });
  expect(written).toHaveLength(MANIFEST_FILES_MAX);
  expect(await readdir(join(yard.root, 'many'))).toHaveLength(MANIFEST_FILES_MAX);
  expect(await yard.shared('many/1999')).toBe('1999');
});
