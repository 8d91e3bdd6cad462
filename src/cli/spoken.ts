import { type CommandFailure, failed } from './exit.js';

/** What stores and workspaces say is for people; each with the code that programs know it by. */
const SPOKEN: Readonly<Record<string, string>> = {
  StoreRefused: 'STORE_REFUSED',
  StoreUnavailable: 'UNAVAILABLE',
  StoreUncertain: 'UNKNOWN',
  StoreBroken: 'STORE_BROKEN',
  LogDamaged: 'LOG_DAMAGED',
  WorkspaceRefused: 'WORKSPACE_REFUSED',
};

export const spokenFailure = ({ name, message }: Error): CommandFailure =>
  failed((Object.hasOwn(SPOKEN, name) ? SPOKEN[name] : undefined) ?? 'FAILED', message);

/** Anything that they do not say is a bug, and keeps its stack. */
export function spoken(error: Error): never {
  throw Object.hasOwn(SPOKEN, error.name) ? spokenFailure(error) : error;
}
