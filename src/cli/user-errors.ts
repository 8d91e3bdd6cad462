import { type CommandFailure, failureWithCode } from './exit.js';

/** What stores and workspaces say is for people; each with the code that programs know it by. */
const USER_ERRORS: Readonly<Record<string, string>> = {
  StoreRefused: 'STORE_REFUSED',
  StoreUnavailable: 'UNAVAILABLE',
  StoreUncertain: 'UNKNOWN',
  StoreBroken: 'STORE_BROKEN',
  LogDamaged: 'LOG_DAMAGED',
  WorkspaceRefused: 'WORKSPACE_REFUSED',
};

export const userErrorFailure = ({ name, message }: Error): CommandFailure =>
  failureWithCode((Object.hasOwn(USER_ERRORS, name) ? USER_ERRORS[name] : undefined) ?? 'FAILED', message);

/** Anything that they do not say is a bug, and keeps its stack. */
export function throwUserError(error: Error): never {
  throw Object.hasOwn(USER_ERRORS, error.name) ? userErrorFailure(error) : error;
}
