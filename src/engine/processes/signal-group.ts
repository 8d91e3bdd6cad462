/** Whether the platform has process groups. */
export const HAS_GROUPS = process.platform !== 'win32';

/** Signals a whole process group; without groups, its first process. Returns false if no process is left. */
export function signalGroup(group: number | undefined, signal: NodeJS.Signals | 0): boolean {
  if (group === undefined) return false;
  try {
    return process.kill(HAS_GROUPS ? -group : group, signal);
  } catch {
    return false;
  }
}
