import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { openFileStore } from '../../../stores/file/file-store.js';
import { promoteAccepted } from '../promote-accepted.js';
import { KEY, openProjectFolder } from './project-folder.js';

/** A child process to be killed: promotes, prints each step, and waits for a line before it continues. */
const [root = ''] = process.argv.slice(2);
const project = openProjectFolder(root);
const store = await openFileStore({ root: project.workspacePath('store') });
const input = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

await promoteAccepted(project, { store, blobs: project.blobs, key: KEY }, async (step, path) => {
  writeSync(1, `${step} ${path}\n`);
  await input.next();
});
await store.close();
process.exit(0);
