import { CallFailure } from './call.js';

/** Why a command had no effect, and what to do next. */
export interface ShownRefusal {
  readonly code: string;
  readonly message: string;
}

/** Whether a refusal only says that the work is done already. */
export const isHarmless = (code: unknown): boolean => code === 'DENIED_COMPLETED';

/** The refusal in a reply; null if the command took effect. */
export function refusalOf(reply: object): ShownRefusal | null {
  const { success, reason, next } = reply as { success?: unknown; reason?: unknown; next?: unknown };
  if (success !== false) return null;
  return { code: String(reason), message: typeof next === 'string' ? next : '' };
}

/** A failed call, as a refusal. A missing permission is named first. */
export function refusalOfError(error: unknown): ShownRefusal {
  if (!(error instanceof CallFailure)) return { code: 'ERROR', message: String(error) };
  const prefix = error.status === 403 ? 'Your key does not permit this. ' : '';
  return { code: error.code, message: `${prefix}${error.message}` };
}
