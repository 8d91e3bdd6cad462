import { type CommandFailure, failureWithCode } from './exit.js';

/** Errors of stores and workspaces whose messages are for users, with their machine-readable codes. */
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

/** Turns a user-facing error into a failure. Rethrows any other error, which is a bug, with its stack. */
export function throwUserError(error: Error): never {
  throw Object.hasOwn(USER_ERRORS, error.name) ? userErrorFailure(error) : error;
}
