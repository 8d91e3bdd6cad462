import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { openFileStore } from '../../../stores/file/file-store.js';
import { promoteAccepted } from '../redo.js';
import { KEY, openYard } from './place.js';

/** A process to be killed: promotes, and at each step says so and waits to be told to go on. */
const [root = ''] = process.argv.slice(2);
const yard = openYard(root);
const store = await openFileStore({ root: yard.path('store') });
const words = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

await promoteAccepted(yard, { store, blobs: yard.blobs, key: KEY }, async (step, path) => {
  writeSync(1, `${step} ${path}\n`);
  await words.next();
});
await store.close();
process.exit(0);
