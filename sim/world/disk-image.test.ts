import { expect, it } from 'vitest';
import { DiskImage } from './disk-image.js';
import { Rng } from './rng.js';

/** The contents that a power loss can leave of a file, over many random streams. */
function contentsAfterPowerLoss(prepare: (diskImage: DiskImage) => void): Set<string | null> {
  const contents = new Set<string | null>();
  for (let chance = 0; chance < 200; chance += 1) {
    const diskImage = new DiskImage();
    diskImage.makeFolder('/data');
    diskImage.syncFolder(diskImage.root);
    prepare(diskImage);
    diskImage.losePower(new Rng(`chance ${chance}`));
    contents.add(diskImage.fileAt('/data/log')?.content().toString() ?? null);
  }
  return contents;
}

it('keeps synced data in a synced folder', () => {
  const contents = contentsAfterPowerLoss((diskImage) => {
    const file = diskImage.makeFile('/data/log');
    file?.append(Buffer.from('abc'));
    file?.sync();
    diskImage.syncFolder(diskImage.folderAt('/data')!);
  });
  expect([...contents]).toEqual(['abc']);
});

it('a power failure may lose or tear unsynced data, but never earlier synced data', () => {
  const contents = contentsAfterPowerLoss((diskImage) => {
    const file = diskImage.makeFile('/data/log');
    file?.append(Buffer.from('abc'));
    file?.sync();
    diskImage.syncFolder(diskImage.folderAt('/data')!);
    file?.append(Buffer.from('de'));
  });
  expect([...contents].sort()).toEqual(['abc', 'abcd', 'abcde']);
});

it('a power failure may lose the directory entry of a file whose folder was not synced', () => {
  const contents = contentsAfterPowerLoss((diskImage) => {
    const file = diskImage.makeFile('/data/log');
    file?.append(Buffer.from('abc'));
    file?.sync();
  });
  expect(contents).toEqual(new Set([null, 'abc']));
});
