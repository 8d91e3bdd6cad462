import { readdirSync, readFileSync } from 'node:fs';

const TICKS_PER_SECOND = 100;

/** What a group of processes has used so far. */
interface ProcessUsage {
  readonly cpu_seconds: number;
  /** Bytes sent to the disk; null where the system does not count them. */
  readonly written_bytes: number | null;
}

/** One process, as in /proc/…/stat. */
interface ProcessStat {
  readonly pid: number;
  readonly parent: number;
  /** Processor time of the process and of its children that have ended. */
  readonly ticks: number;
}

/**
 * The usage of processes and of all their descendants, ended ones included: PostgreSQL has a process for each connection
 * and for each table that it vacuums. Null where the system does not report it, or if none of them runs.
 */
export function usageOf(rootPids: readonly number[]): ProcessUsage | null {
  const members = treeOf(rootPids, processStats());
  if (members.length === 0) return null;
  const ticks = members.reduce((sum, member) => sum + member.ticks, 0);
  const written = members.map(({ pid }) => writtenBytesOf(pid));
  return {
    cpu_seconds: ticks / TICKS_PER_SECOND,
    written_bytes: written.includes(null)
      ? null
      : written.reduce<number>((sum, bytes) => sum + (bytes ?? 0), 0),
  };
}

/** Starts counting; the returned function gives the usage since. */
export function startUsageMeter(rootPids: readonly number[]): () => ProcessUsage | null {
  const before = usageOf(rootPids);
  return () => {
    const after = usageOf(rootPids);
    if (before === null || after === null) return null;
    const hasBytes = before.written_bytes !== null && after.written_bytes !== null;
    return {
      cpu_seconds: after.cpu_seconds - before.cpu_seconds,
      written_bytes: hasBytes ? after.written_bytes - before.written_bytes : null,
    };
  };
}

export const childrenOf = (parent: number): number[] =>
  processStats().flatMap((stat) => (stat.parent === parent ? [stat.pid] : []));

/** The processes with these ids, and their descendants. */
export function treeOf(rootPids: readonly number[], processes: readonly ProcessStat[]): ProcessStat[] {
  const ids = new Set(rootPids);
  for (let size = 0; size < ids.size; ) {
    size = ids.size;
    for (const { pid, parent } of processes) if (ids.has(parent)) ids.add(pid);
  }
  return processes.filter(({ pid }) => ids.has(pid));
}

export function parseStat(text: string): ProcessStat {
  // The name in parentheses may contain any character. The fields after it begin with the third, the state.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [user, system, childrenUser, childrenSystem] = fields.slice(11, 15).map(Number);
  return {
    pid: Number.parseInt(text, 10),
    parent: Number(fields[1]),
    ticks: (user ?? 0) + (system ?? 0) + (childrenUser ?? 0) + (childrenSystem ?? 0),
  };
}

function processStats(): ProcessStat[] {
  const names = readOrNull(() => readdirSync('/proc')) ?? [];
  return names.flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    const text = readOrNull(() => readFileSync(`/proc/${name}/stat`, 'utf8'));
    return text === null ? [] : [parseStat(text)];
  });
}

/** Bytes that a process sent to the disk. Includes its children that have ended, as the processor time does. */
function writtenBytesOf(pid: number): number | null {
  const text = readOrNull(() => readFileSync(`/proc/${pid}/io`, 'utf8'));
  const match = /^write_bytes: (\d+)$/m.exec(text ?? '');
  return match === null ? null : Number(match[1]);
}

/** Null: the process has ended, or the system has no /proc. */
function readOrNull<Value>(read: () => Value): Value | null {
  try {
    return read();
  } catch {
    return null;
  }
}
