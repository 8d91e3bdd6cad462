import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../test/support/temporary-folder.js';
import { readBounded, readBoundedFile } from './read-bounded.js';

it('reads a file up to the limit, in bytes', async () => {
  const path = join(await temporaryFolder(), 'file');
  await writeFile(path, 'é'.repeat(5));
  expect((await readBoundedFile(path, 10))?.toString()).toBe('é'.repeat(5));
  expect(await readBoundedFile(path, 9)).toBeNull();
  await expect(readBoundedFile(`${path}-missing`, 9)).rejects.toMatchObject({ code: 'ENOENT' });
});

it('stops reading a stream that exceeds the limit, and returns null', async () => {
  let sent = 0;
  async function* endless() {
    for (;;) {
      sent += 1;
      yield Buffer.alloc(4);
    }
  }
  expect(await readBounded(endless(), 10)).toBeNull();
  expect(sent).toBe(3);
});
