import type { MigrationStep, Migrator } from '../migrator.js';
import { lockStore } from './file-store.js';
import { nodeDisk } from './node-disk.js';
import { FORMAT, readStoreFile, writeStoreFile } from './store-file.js';

const FORMAT_2: MigrationStep = {
  version: 2,
  name: 'log format 2: blocks of lines with one seal',
  statements: ['set "format":2 in store.json'],
};

/** Migrates the folder of a store. Only `store.json` changes: the log is read in every format. */
export function fileMigrator(root: string): Migrator {
  const disk = nodeDisk;
  const pending = async (): Promise<readonly MigrationStep[]> =>
    (await readStoreFile(disk, root))?.format === 1 ? [FORMAT_2] : [];
  return {
    // A store that does not exist yet is created in the newest format.
    status: async () => ({ found: (await readStoreFile(disk, root))?.format ?? FORMAT, wanted: FORMAT }),
    pending,
    async up() {
      if ((await pending()).length === 0) return [];
      // A program that has the store open may be an older one, which still writes format 1.
      const lock = await lockStore(disk, root);
      try {
        const storeFile = await readStoreFile(disk, root);
        if (storeFile === null || storeFile.format !== 1) return [];
        await writeStoreFile(disk, root, { ...storeFile, format: FORMAT });
        return [FORMAT_2];
      } finally {
        await lock.release();
      }
    },
    close: async () => {},
  };
}
