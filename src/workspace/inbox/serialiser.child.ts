import { writeSync } from 'node:fs';
import { Coordinator } from '../../coordinator/coordinator.js';
import { openWorkspaceStore } from '../store.js';
import { Workspace } from '../workspace.js';
import { Serialiser } from './serialiser.js';
import { watchInboxes } from './watch.js';

/** A child process to be killed: serves a workspace's inboxes, and prints every step before the next. */
const [root = ''] = process.argv.slice(2);
const workspace = new Workspace(root);
const { store, blobs, key } = await openWorkspaceStore(workspace, () => {});
const coordinator = await Coordinator.open({ store, blobs });
const serialiser = new Serialiser({
  events: workspace.events,
  context: { project: workspace, coordinator, store, blobs, key },
  now: () => new Date(),
  warn: (sentence) => writeSync(2, `${sentence}\n`),
  onStep: (step, { agent_id, name }) => writeSync(1, `${step} ${agent_id} ${name}\n`),
});
await watchInboxes({
  eventsFolder: workspace.events,
  serialiser,
  signal: new AbortController().signal,
  warn: (sentence) => writeSync(2, `${sentence}\n`),
});
