import { CommandFailure } from './exit.js';

const SPOKEN = new Set([
  'StoreRefused',
  'StoreUnavailable',
  'StoreUncertain',
  'StoreBroken',
  'WorkspaceRefused',
]);

/** What stores and workspaces say is for people; anything else is a bug, and keeps its stack. */
export function spoken(error: Error): never {
  throw SPOKEN.has(error.name) ? new CommandFailure(error.message) : error;
}
