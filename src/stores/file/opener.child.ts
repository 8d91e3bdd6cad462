import { createInterface } from 'node:readline';
import { openFileStore } from './file-store.js';

/** A process that tries to open a store for each line of input, and prints the result. */
const [root = ''] = process.argv.slice(2);
console.log('ready');
for await (const _ of createInterface({ input: process.stdin })) {
  try {
    await openFileStore({ root });
    console.log('serving');
  } catch (error) {
    console.log(`refused: ${(error as Error).message}`);
  }
}
process.exit(0);
